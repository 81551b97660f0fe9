"""All compiled code of the package, with one module per topic.

From the lowest layer to the highest:

- `cache`, `libraries`, `compilation`: how functions are compiled, and where the result is cached;
- `views`, `arrays`: how kernels see the arrays;
- `answers`, `parts`: what kernels return, and what is compiled only when it is needed;
- `standardisation`, `cosines`, `profiles`: features as linear models hear them;
- `random_numbers`, `boxes`, `intensity`: the building blocks of the Mondrian process;
- `correlation`: which features are relevant to a real target;
- `estimates`, `structure`: what nodes predict, and how they are linked;
- `fading`: how a sample counts in sums that fade;
- `densities`: what nodes predict of a real target;
- `store`, `room`: the samples that pure leaves keep, and room for new nodes and samples;
- `growth`, `expansion`: how trees grow, by extension and in pure cells;
- `aggregation`, `voices`, `voting`: the average over prunings, linear models, and their vote;
- `regression`: how trees predict and learn a real target;
- `stacking`, `trends`: ridge regressions beside the trees, and how voters are weighed;
- `intervals`, `target_vote`: the vote on a real target, and how sure it is;
- `words`, `hearing`: features of which an absent one is 0; what voices and trends do with a sample;
- `tracing`: the path of one sample and the like, for explanations;
- `learning`, `blocks`: the kernels that Python calls, for one sample and for a block;
- `warming`: compiling everything beforehand.

They follow `river_amf/DESIGN.md` and the papers that it is based on: [AMF] Mourtada,
Gaiffas, Scornet, *AMF: Aggregated Mondrian Forests for Online Learning* (2021); [MF]
Lakshminarayanan, Roy, Teh, *Mondrian Forests* (2014); [CTW] Willems, Shtarkov, Tjalkens, *The
Context-Tree Weighting Method* (1995); [FS] Herbster, Warmuth, *Tracking the Best Expert* (1998).
DESIGN.md has the other sources.

Notation: node v has counts n_v(c) with sum N_v; there are C classes; a is the Dirichlet parameter,
eta the step and b the split prior; r_v is called log_odds in the code; log g is the growth of log
wbar that a child passes on to its parent. Of a real target, a node has the weight N_v, the mean m_v
and the sum of squares S_v instead of counts.
"""

from river_amf.kernels import correlation as correlation  # these have parts only
from river_amf.kernels import regression as regression
from river_amf.kernels import target_vote as target_vote
from river_amf.kernels.aggregation import recompute_all_odds
from river_amf.kernels.answers import (
    BOXES_FULL,
    DONE,
    INFINITE,
    NODES_FULL,
    RELEASED,
    STORE_FULL,
    TOO_HEAVY,
    UNCOMPILED,
)
from river_amf.kernels.arrays import LARGEST_FLOAT, NEVER, NONE, UNLISTED
from river_amf.kernels.blocks import (
    CLOSED,
    OPEN,
    UNOPENED,
    close_chunk,
    open_chunk,
    run_chunk,
)
from river_amf.kernels.estimates import LARGEST_ODDS, LOG_SCALE
from river_amf.kernels.intensity import LARGEST_NEWEST
from river_amf.kernels.learning import learn_sample, predict_sample
from river_amf.kernels.parts import compile_part
from river_amf.kernels.room import ready_samples
from river_amf.kernels.store import compact_rows, keep_few_rows
from river_amf.kernels.tracing import VISIT, category_number, hull_of_leaf, trace_sample
from river_amf.kernels.voting import VOICE_FLOOR, VOTE_FLOOR
from river_amf.kernels.warming import are_in_use, warm_up
from river_amf.kernels.words import FIRST_VOTE as FIRST_VOTE_OF_WORDS
from river_amf.kernels.words import LARGEST_INPUT as LARGEST_INPUT_OF_WORDS

__all__ = [
    "BOXES_FULL",
    "CLOSED",
    "DONE",
    "FIRST_VOTE_OF_WORDS",
    "INFINITE",
    "LARGEST_FLOAT",
    "LARGEST_INPUT_OF_WORDS",
    "LARGEST_NEWEST",
    "LARGEST_ODDS",
    "LOG_SCALE",
    "NEVER",
    "NODES_FULL",
    "NONE",
    "OPEN",
    "RELEASED",
    "STORE_FULL",
    "TOO_HEAVY",
    "UNCOMPILED",
    "UNLISTED",
    "UNOPENED",
    "VISIT",
    "VOICE_FLOOR",
    "VOTE_FLOOR",
    "are_in_use",
    "category_number",
    "close_chunk",
    "compact_rows",
    "compile_part",
    "hull_of_leaf",
    "keep_few_rows",
    "learn_sample",
    "open_chunk",
    "predict_sample",
    "ready_samples",
    "recompute_all_odds",
    "run_chunk",
    "trace_sample",
    "warm_up",
]
