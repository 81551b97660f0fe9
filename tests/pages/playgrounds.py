"""What tests of the playground share: how its page packs arrays, undone."""

import base64
import gzip
import json
import re

import numpy as np


def scene_of(html):
    """Return what a page's script is given."""
    (text,) = re.findall(r'<script type="application/json" id="scene">(.*?)</script>', html, re.S)
    return json.loads(text)


class Packed:
    """The arrays of a page."""

    def __init__(self, html):
        self.scene = scene_of(html)
        self._pool = gzip.decompress(base64.b64decode(self.scene["pool"]))

    def array(self, place, shape, kind="u1"):
        """Return the array that begins at a byte of the pool."""
        n = int(np.prod(shape))
        return np.frombuffer(self._pool, kind, n, place).reshape(shape)

    def places(self, fine):
        """Return where whole numbers (..., 2) lie in the plane."""
        view = np.array(self.scene["view"])
        low, high = view[[0, 2]], view[[1, 3]]
        return low + fine / self.scene["fine"] * (high - low)

    def probable(self, painted):
        """Return the labels of painted bytes and their probabilities."""
        n_labels, n_levels = len(self.scene["labels"]), self.scene["levels"]
        label, level = np.divmod(painted.astype(int), n_levels)
        chance = 1.0 / n_labels
        return label, chance + level / (n_levels - 1) * (1.0 - chance)
