"""Blocks of encoded samples, in which the kernels write, too."""

import math

import numpy as np

from river_amf.state import layout
from river_amf.state.arena import Arena
from river_amf.state.layout import Array

CHUNK_BYTES = 2**22  # memory in use for one chunk of a block: half of a second-level cache
_LEAST_CHUNK = 64  # samples


class EncodedBlock:
    """A block of samples, with buffers for what the kernels write about it."""

    votes: Array

    def __init__(self, values: Array, targets: Array, weights: Array, answers: Array) -> None:
        self.values = values  # (samples, columns), encoded; some columns may not be features yet
        self.targets = targets  # the index of each label, or a number
        self.weights = weights  # samples of weight 0 are not learned
        self.answers = answers  # a row of predictions for each sample
        self.record = np.zeros(1, layout.BLOCK)
        self.address: int = self.record.ctypes.data

    def prepare(
        self, arena: Arena, n_samples: int, *, predicts: bool, learns: bool, keeps: bool = False
    ) -> None:
        """Allocate the buffers of chunks."""
        lengths = arena.capacities | {"chunk": 1}
        fields = [field for field in layout.BLOCK_FIELDS.values() if "chunk" in field.axes]
        bytes_a_sample = sum(8 * math.prod(field.shape(lengths)) for field in fields)
        self.chunk = min(n_samples, max(_LEAST_CHUNK, CHUNK_BYTES // bytes_a_sample))
        lengths["chunk"] = self.chunk
        for name, field in layout.BLOCK_FIELDS.items():
            if name not in ("values", "targets", "weights", "answers"):
                setattr(self, name, np.zeros(field.shape(lengths), field.dtype))
            array = getattr(self, name)
            self.record[name] = array.ctypes.data
            for axis, length in zip(field.axes, array.shape, strict=True):
                if isinstance(axis, str):
                    self.record[f"{axis}_capacity"] = length
        self.record["predicts"], self.record["learns"] = predicts, learns
        self.record["keeps"] = keeps

    @property
    def stage(self) -> int:
        """How far the chunk under way has come."""
        return int(self.record["stage"][0])
