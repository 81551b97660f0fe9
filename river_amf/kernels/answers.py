"""What kernels answer to Python; what is negative is lacking.

A kernel that is called again, once there is more room, goes on where it stopped (DESIGN.md: room).
"""

DONE = 0
RELEASED = 1  # done, and some tree no longer keeps samples
INFINITE = 2  # nothing was changed: the sample holds an infinite value

NOTHING = 0  # is lacking
STORE_FULL = -1
NODES_FULL = -2
BOXES_FULL = -3
