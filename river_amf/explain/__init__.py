"""Paths, votes of experts and the trees of a forest, as arrays and objects."""
