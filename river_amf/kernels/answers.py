"""The values that kernels return to Python. A negative value says which kind of room ran out.

A kernel that is called again, once there is more room, continues where it stopped
(DESIGN.md: room).
"""

DONE = 0
RELEASED = 1  # done, and some trees no longer keep samples
INFINITE = 2  # the sample has an infinite value, and nothing has been changed
TOO_HEAVY = 3  # with this sample, the sum of the weights would be too large; nothing has changed

NOTHING = 0  # ran out
STORE_FULL = -1
NODES_FULL = -2
BOXES_FULL = -3
UNCOMPILED = -8  # less the number of the part that has to be compiled
