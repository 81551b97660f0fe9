"""Paths, and weights and parts of predictions, as tables and texts."""
