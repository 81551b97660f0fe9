"""The opinion pool on labels, and the linear models in it."""
