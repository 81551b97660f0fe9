"""All compiled code of the package, and the names that the rest of it uses most.

From the lowest layer to the highest:

- `status`: what kernels return;
- `numba_tools`: how functions are compiled and cached, and how kernels see the arrays;
- `features`: split intensities, and features as linear models take them;
- `tree`: how trees grow, keep samples, predict, and average over their prunings;
- `classification`: linear models of labels, and the opinion pool;
- `regression`: what nodes predict of a real target, trends, and the stack that weighs them;
- `by_kind`: what of all that differs between kinds of forests;
- `steps`: the steps in which a sample is predicted and learned, alone or in a block;
- `contributions`, `learning`, `chunks`: the kernels that Python calls, for a sample or a block.

Comments cite the sections of DESIGN.md, which has the notation and the sources. Log-odds r_v are
`log_odds`, and log g is the growth of log wbar that a child passes on to its parent.
"""

from river_amf.kernels.chunks import CLOSED, OPEN, UNOPENED, close_chunk, open_chunk, run_chunk
from river_amf.kernels.classification.opinion_pool import LINEAR_FLOOR, VOTE_FLOOR
from river_amf.kernels.classification.sparse_model import FIRST_VOTE as FIRST_SPARSE_WEIGHT
from river_amf.kernels.classification.sparse_model import (
    LARGEST_WORD_INPUT as LARGEST_INPUT_OF_WORDS,
)
from river_amf.kernels.contributions import N_MORE, OF_FOREST, PROFILES, STACKS, parts_of_sample
from river_amf.kernels.learning import (
    VISIT,
    category_number,
    hull_of_leaf,
    learn_sample,
    novelty_of_sample,
    predict_sample,
    take_pending,
    trace_sample,
)
from river_amf.kernels.numba_tools.arrays import NONE, UNLISTED
from river_amf.kernels.numba_tools.compilation import compile_kernels, kinds_in_use, warm_up
from river_amf.kernels.pending import N_LOST
from river_amf.kernels.status import (
    BOXES_FULL,
    DONE,
    INFINITE,
    LOST,
    NODES_FULL,
    PENDING_FULL,
    RELEASED,
    RESTARTED,
    STORE_FULL,
    TOO_HEAVY,
)
from river_amf.kernels.tree.aggregation import recompute_all_odds
from river_amf.kernels.tree.estimates import LOG_SCALE
from river_amf.kernels.tree.readiness import ready_samples
from river_amf.kernels.tree.sample_store import compact_rows
