"""The log-loss of `evaluate` and `compare`, computed in the plainest way."""

import math


def losses(predictions):
    """Return the losses of (label, probabilities, whether the label is new), where they count."""
    clamped = []
    for y, proba, is_new in predictions:
        if proba and (y in proba or not is_new):
            clamped.append(-math.log(min(max(proba.get(y, 0.0), 1e-15), 1 - 1e-15)))
    return clamped


def log_loss(model, samples):
    """Test and train a model on each sample, and return its mean loss."""
    predictions, seen = [], set()
    for x, y in samples:
        predictions.append((y, dict(model.predict_proba_one(x) or {}), y not in seen))
        seen.add(y)
        model.learn_one(x, y)
    counted = losses(predictions)
    return sum(counted) / len(counted) if counted else math.nan
