"""Status codes of kernels: done, what is wrong, or which capacity is used up."""

DONE = 0
RELEASED = 1  # done, and some trees no longer keep samples, or it is time for cosines
INFINITE = 2  # the sample has an infinite value, and nothing has been changed
TOO_HEAVY = 3  # with this sample, the sum of the weights would be too large; nothing has changed
LOST = 4  # done, and none of the last labels had a prediction

# Which capacity is used up: of the store, of a tree, or of the ring of predictions.
ENOUGH_CAPACITY = 0
STORE_FULL = -1
NODES_FULL = -2
BOXES_FULL = -3
PENDING_FULL = -4
RESTARTED = -5  # no capacity is used up: tree t has restarted, where a kernel returns RESTARTED - t
