"""Functions with a body each for plain classifiers, other classifiers, and regressors."""

from river_amf.kernels import pending
from river_amf.kernels.classification import experts, label_trees, opinion_pool
from river_amf.kernels.features import (
    correlation,
    intensity,
    quantiles,
    standardization,
    unusual_values,
)
from river_amf.kernels.numba_tools.compilation import choose, extra, nothing
from river_amf.kernels.regression import target_pool, target_trees, trends

learn_tree = choose(label_trees.learn_tree, label_trees.learn_tree, target_trees.learn_tree)
take_vote = choose(opinion_pool.take_vote, opinion_pool.take_vote, target_trees.take_vote)
score_tree = choose(nothing, opinion_pool.count_tree_loss, target_trees.update_error_variance)
pool_votes = choose(nothing, opinion_pool.answer_votes, target_pool.pool_votes)
learn_vote = choose(nothing, opinion_pool.learn_vote, target_pool.learn_vote)
weigh_features = choose(nothing, intensity.weigh_features, correlation.weigh_features)
run_experts = choose(nothing, experts.run_experts, nothing)
standardize = extra(standardization.standardize)
take_bins = choose(nothing, quantiles.take_bins, nothing)
run_words = choose(nothing, experts.run_words, nothing)
follow_trends = choose(nothing, nothing, trends.follow_trends)
note_jump = choose(nothing, nothing, target_pool.note_jump)
note_unusual = choose(nothing, nothing, unusual_values.note_unusual)
note_prediction = extra(pending.note_prediction)
find_pending = choose(pending.no_pending, pending.find_pending, pending.find_pending)
pass_pending = extra(pending.pass_pending)
