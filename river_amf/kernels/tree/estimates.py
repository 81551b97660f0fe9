"""Predictions of nodes, their weights against the nodes below, and how both learn samples.

Odds are stored divided by a power of two (DESIGN.md: node prediction, fading, odds as stored).
"""

from __future__ import annotations

import math

import numpy as np

from river_amf.kernels.numba_tools.arrays import Array, Forest, Record, Tree
from river_amf.kernels.numba_tools.compilation import extra, helper, hot
from river_amf.state.layout import FADED_COUNTS, FADED_SHARE, FADED_SUM

ODDS_SCALE = 2.0**512  # the odds of a node are divided by powers of this to stay within float64
LOG_SCALE = 512 * math.log(2.0)
LARGEST_ODDS = 2.0**256  # larger odds are divided; odds below its inverse are multiplied
LARGEST_LOG_ODDS = 1e300
FEW_SCALES = 4.0  # after this many divisions, they are 0

SWITCHING = 0.001  # how far a node's faded share is pulled toward 1/2 at each sample
LEAST_COUNT = 1e-307  # smaller faded counts become 0, as the Dirichlet parameter is at least 1e-300
SHARE_MEMORY = 500.0  # the number of samples in the running mean of the faded shares
CLOSED_FORM = 3  # column of `pure` for log weights without fading


@hot
def shares(node: Record) -> tuple[float, float]:
    """Return a node's share sigma(r) = odds / (1 + odds) and the rest sigma(-r), both accurate."""
    odds, scale = node["odds"], node["odds_scale"]
    if scale == 0.0:
        rest = 1.0 / (1.0 + odds)
        return odds * rest, rest
    smaller = odds if scale < 0.0 else 1.0 / odds
    for _ in range(int(min(abs(scale), FEW_SCALES))):
        smaller /= ODDS_SCALE
    return (smaller, 1.0) if scale < 0.0 else (1.0, smaller)


@hot
def multiply_odds(node: Record, factor: float) -> None:
    """Multiply the odds of a node by a factor of at least SAFE^-3 and at most SAFE^3."""
    odds = node["odds"] * factor
    if odds > LARGEST_ODDS:
        odds /= ODDS_SCALE
        node["odds_scale"] += 1.0
    elif odds < 1.0 / LARGEST_ODDS:
        odds *= ODDS_SCALE
        node["odds_scale"] -= 1.0
    node["odds"] = odds


@hot
def log_odds_in(node: Record) -> float:
    return math.log(node["odds"]) + node["odds_scale"] * LOG_SCALE


@hot
def set_log_odds(node: Record, log_odds: float) -> None:
    """Write the log-odds r_v to a node, where infinite ones are replaced by very large ones."""
    log_odds = min(max(log_odds, -LARGEST_LOG_ODDS), LARGEST_LOG_ODDS)
    scale = np.rint(log_odds / LOG_SCALE)
    rest = log_odds - scale * LOG_SCALE
    node["odds"] = math.exp(min(max(rest, -0.5 * LOG_SCALE), 0.5 * LOG_SCALE))
    node["odds_scale"] = scale


@hot
def softplus(log_odds: float) -> float:
    """Return the stable softplus log(1 + exp(r)) (DESIGN.md: learning)."""
    return max(log_odds, 0.0) + math.log1p(math.exp(-abs(log_odds)))


@hot
def tempered(settings: Record, log_p: float) -> float:
    """Return eta log p of a score or weight, with a very large number for an infinite one."""
    return min(max(settings["step"] * log_p, -LARGEST_LOG_ODDS), LARGEST_LOG_ODDS)


@hot
def log_odds_of(settings: Record, log_own: float, log_children: float) -> float:
    """Return r_v = log((1-b) / b) + log w_v - log (wbar_left wbar_right)."""
    return settings["log_stop"] - settings["log_split"] + log_own - log_children


@hot
def log_own_surplus(settings: Record, log_odds: float) -> float:
    """Return rho = log w_v - log wbar_v (DESIGN.md: structural changes)."""
    return -settings["log_stop"] - softplus(-log_odds)


@helper
def log_score(settings: Record, count: float, n_samples: float, weight: float) -> float:
    """Return the log of the probability of a label at a node, before the sample is counted."""
    # For weight 1, this is log p_v(y); otherwise the increment of -L_v, so that the order of the
    # samples does not matter (DESIGN.md: sample weights).
    a = settings["dirichlet"]
    total = settings["total_dirichlet"]
    if weight == 1.0:
        return math.log(count + a) - math.log(n_samples + total)
    return (
        math.lgamma(count + weight + a)
        - math.lgamma(count + a)
        - math.lgamma(n_samples + weight + total)
        + math.lgamma(n_samples + total)
    )


@hot
def probability(tree: Tree, index: int, label: int) -> float:
    settings, n_samples = tree.settings, tree.nodes[index]["n_samples"]
    a, total = settings["dirichlet"], settings["total_dirichlet"]
    p = (tree.counts[index, label] + a) / (n_samples + total)
    if tree.state["fades"]:
        row = tree.faded[index]
        p_faded = (row[FADED_COUNTS + label] + a) / (row[FADED_SUM] + total)
        p += row[FADED_SHARE] * (p_faded - p)
    return p


@helper
def log_weight(settings: Record, counts: Array, n_samples: float) -> float:
    """Return the log weight log w_v = -eta L_v of counts (DESIGN.md: cumulative loss)."""
    if n_samples == 0.0:
        return 0.0
    loss = math.lgamma(n_samples + settings["total_dirichlet"]) - settings["lgamma_total"]
    for c in range(settings["n_classes"]):
        if counts[c] > 0.0:
            loss -= math.lgamma(counts[c] + settings["dirichlet"]) - settings["lgamma_dirichlet"]
    return tempered(settings, -loss)


@hot
def log_weight_of_pure(forest: Forest, n_samples: float) -> float:
    # For small whole n_samples it is kept in a table, as computing lgamma costs as much as a walk.
    settings = forest.settings
    table = forest.pure
    index = int(n_samples) if 0.0 <= n_samples < len(table) else 0  # NaN in a forged file
    if index == n_samples and not math.isnan(table[index, CLOSED_FORM]):
        return table[index, CLOSED_FORM]
    loss = math.lgamma(n_samples + settings["total_dirichlet"]) - settings["lgamma_total"]
    loss -= math.lgamma(n_samples + settings["dirichlet"]) - settings["lgamma_dirichlet"]
    log_w = tempered(settings, -loss) if n_samples > 0.0 else 0.0
    if index == n_samples:
        table[index, CLOSED_FORM] = log_w
    return log_w


@hot
def cleared_count(count: float) -> float:
    # Subnormal products are slow, and by rounding a count times gamma > 1/2 never gets to 0.
    return count if count > LEAST_COUNT else 0.0


@extra
@hot
def learn_faded(tree: Tree, row: Array, label: int, p_whole: float) -> float:
    """Count a sample of weight 1 in a node's faded counts; return the node's p_v(y) from before."""
    # The node predicts (1 - q) p_whole + q p_faded. Its faded share q is updated by Bayes' rule and
    # then pulled toward 1/2, a fixed share [HW].
    settings, share = tree.settings, row[FADED_SHARE]
    a, total = settings["dirichlet"], settings["total_dirichlet"]
    faded_p = share * (row[FADED_COUNTS + label] + a) / (row[FADED_SUM] + total)
    p = (1.0 - share) * p_whole + faded_p
    row[FADED_SHARE] = 0.5 * SWITCHING + (1.0 - SWITCHING) * faded_p / p
    gamma = settings["fading_factor"]
    row[FADED_SUM] = gamma * row[FADED_SUM] + 1.0
    for c in range(FADED_COUNTS, FADED_COUNTS + settings["n_classes"]):
        row[c] *= gamma
        row[c] = cleared_count(row[c])
    row[FADED_COUNTS + label] += 1.0
    return p


@extra
@helper
def learn_faded_weight(
    tree: Tree, row: Array, label: int, log_p_whole: float, weight: float
) -> float:
    """Do the same as learn_faded for any weight, in logarithms."""
    # The counts fade by gamma^w and gain (1 - gamma^w) / (1 - gamma), as if the weight came bit by
    # bit. The faded estimator scores p_faded(y)^w, and the share is pulled toward 1/2 once.
    settings, share = tree.settings, row[FADED_SHARE]
    a, total = settings["dirichlet"], settings["total_dirichlet"]
    p_faded = (row[FADED_COUNTS + label] + a) / (row[FADED_SUM] + total)
    score = weight * math.log(p_faded) if p_faded > 0.0 else -LARGEST_LOG_ODDS
    log_whole = math.log1p(-share) + max(log_p_whole, -LARGEST_LOG_ODDS)
    log_faded = math.log(share) + max(score, -LARGEST_LOG_ODDS)
    log_p = max(log_whole, log_faded) + math.log1p(math.exp(-abs(log_whole - log_faded)))
    row[FADED_SHARE] = 0.5 * SWITCHING + (1.0 - SWITCHING) * math.exp(log_faded - log_p)
    gamma = settings["fading_factor"]
    decay = math.pow(gamma, weight)
    gain = -math.expm1(weight * math.log(gamma)) / (1.0 - gamma)
    row[FADED_SUM] = decay * row[FADED_SUM] + gain
    for c in range(FADED_COUNTS, FADED_COUNTS + settings["n_classes"]):
        row[c] *= decay
        row[c] = cleared_count(row[c])
    row[FADED_COUNTS + label] += gain
    return log_p


@helper
def replay_pure(forest: Forest, n_samples: int) -> tuple[float, float, float]:
    """Return log w_v / eta, the faded share and the faded sum after n samples of one label."""
    # The samples have weight 1. Other threads may write the same values to `pure` at once.
    settings, table = forest.settings, forest.pure
    a, total, gamma = settings["dirichlet"], settings["total_dirichlet"], settings["fading_factor"]
    k = min(n_samples, len(table) - 1)
    while k > 0 and math.isnan(table[k, 0] + table[k, 1] + table[k, 2]):
        k -= 1
    log_w, share, faded_sum = 0.0, 0.5, 0.0
    if k > 0:
        log_w, share, faded_sum = table[k, 0], table[k, 1], table[k, 2]
    while k < n_samples:
        faded_p = share * ((faded_sum + a) / (faded_sum + total))
        p = (1.0 - share) * ((k + a) / (k + total)) + faded_p
        share = 0.5 * SWITCHING + (1.0 - SWITCHING) * faded_p / p
        faded_sum = gamma * faded_sum + 1.0
        log_w += math.log(p)
        k += 1
        if k < len(table):
            table[k, 0], table[k, 1], table[k, 2] = log_w, share, faded_sum
    return log_w, share, faded_sum


@hot
def note_share(state: Record, faded_share: float) -> None:
    state["faded_share"] += (faded_share - state["faded_share"]) / SHARE_MEMORY
