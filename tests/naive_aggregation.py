"""The average over prunings of any tree (DESIGN.md: aggregation), by recursion and enumeration.

A node has `left` and `right`, None at a leaf, and `log_evidence`, the log of the factor that splits
that were undone leave to wbar (DESIGN.md: budget). `log_w` is a function: the log-weight of a node
by itself.
"""

import math
from itertools import accumulate


def add_up(values):
    """Sum from left to right, rounding each time as compiled code does (`sum` may compensate)."""
    total = 0.0
    for value in values:
        total += value
    return total


def log_add(a, b):
    """Compute log(exp(a) + exp(b)) without overflow."""
    return max(a, b) + math.log1p(math.exp(-abs(a - b)))


def softplus(x):
    """Compute log(1 + exp(x)) without overflow."""
    return log_add(0.0, x)


def sigma(x):
    """Compute 1 / (1 + exp(-x)) without overflow."""
    return math.exp(-softplus(-x))


def weigh(node, log_w, split_prior, log_odds):
    """Return log wbar, the weight of all prunings of the subtree; write the log-odds of its nodes.

    wbar_v = w_v at a leaf, (1-b) w_v + b wbar_left wbar_right elsewhere, times the evidence;
    r_v = log((1-b)/b) + log w_v - log wbar_left - log wbar_right, infinite at a leaf, which takes
    all the mass that reaches it.
    """
    b = split_prior
    by_itself = log_w(node)
    if node.left is None:
        log_odds[node] = math.inf
        return node.log_evidence + by_itself
    below = weigh(node.left, log_w, b, log_odds) + weigh(node.right, log_w, b, log_odds)
    log_odds[node] = math.log1p(-b) - math.log(b) + by_itself - below
    return node.log_evidence + log_add(math.log1p(-b) + by_itself, math.log(b) + below)


def masses_by_recursion(path, log_odds):
    """Return the mass of each node of a path: its share sigma(r_v) of what those above leave."""
    masses, remaining = [], 1.0
    for node in path:
        masses.append(remaining * sigma(log_odds[node]))
        remaining *= sigma(-log_odds[node])  # zero at the leaf
    return masses


def prunings(node, log_w, split_prior):
    """List the prunings T of a small subtree: leaves of T, and log pi(T) + sum of their log w.

    pi(T) = b^(internal nodes of T) (1-b)^(leaves of T that are not leaves of the full tree), times
    the evidence.
    """
    b = split_prior
    if node.left is None:
        return [([node], node.log_evidence + log_w(node))]
    return [([node], node.log_evidence + math.log1p(-b) + log_w(node))] + [
        (left + right, node.log_evidence + math.log(b) + log_left + log_right)
        for left, log_left in prunings(node.left, log_w, b)
        for right, log_right in prunings(node.right, log_w, b)
    ]


def masses_by_enumeration(path, log_w, split_prior):
    """Return the mass of each node of a path: the weight of the prunings of which it is a leaf."""
    found = prunings(path[0], log_w, split_prior)
    largest = max(log_weight for _, log_weight in found)
    weights = [(leaves, math.exp(log_weight - largest)) for leaves, log_weight in found]
    total = math.fsum(weight for _, weight in weights)
    return [math.fsum(weight for leaves, weight in weights if v in leaves) / total for v in path]


def fading(decay, weight):
    """Return the factor by which a sample fades a sum, and the weight with which it is added.

    The latter is the sum of the first `weight` powers of the decay.
    """
    return decay**weight, -math.expm1(weight * math.log(decay)) / (1 - decay)


def fade(pairs, factor):
    """Give each value, of a weight w, its faded weight: it counts in and fades bit by bit."""
    later = [*accumulate((w for _, w in reversed(pairs)), initial=0.0)][-2::-1]
    return [
        (value, fading(factor, w)[1] * math.exp(after * math.log(factor)))
        for (value, w), after in zip(pairs, later, strict=True)
    ]


def mix(masses, predictions):
    """Average vectors of probabilities."""
    pairs = list(zip(masses, predictions, strict=True))
    return [math.fsum(mass * p[c] for mass, p in pairs) for c in range(len(predictions[0]))]
