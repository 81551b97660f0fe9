"""The memory of a forest: its layout, and the arena that holds its arrays."""
