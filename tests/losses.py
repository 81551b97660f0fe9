"""The log-loss of `evaluate` and `compare`, computed in the plainest way."""

import math


def log_loss(model, samples):
    """Test and train a model on each sample, and return its mean loss."""
    losses, seen = [], set()
    for x, y in samples:
        proba = model.predict_proba_one(x) or {}
        if proba and (y in proba or y in seen):  # labels that are new to the model do not count
            losses.append(-math.log(min(max(proba.get(y, 0.0), 1e-15), 1 - 1e-15)))
        seen.add(y)
        model.learn_one(x, y)
    return sum(losses) / len(losses) if losses else math.nan
