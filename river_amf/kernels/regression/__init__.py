"""Nodes, trends and the stack of a regression."""
