"""Rows of a block on their way through the trees, in chunks."""

from __future__ import annotations

import functools
import itertools
import os
from collections.abc import Callable

from river_amf import kernels
from river_amf.engine.known import Known
from river_amf.inputs.columns import NewCategory
from river_amf.state.arena import Arena, Block

_WORTH_THREADS = 32  # minimum samples: starting a thread takes as long as learning a few of them


class Segment:
    """Rows of a block between two that bring a new label or feature, or one of these.

    A chunk of it is opened, goes through all voters side by side, and is closed; the record of the
    block says how far it has come.
    """

    categories: list[NewCategory]  # that become known in these rows

    def __init__(
        self,
        known: Known,
        block: Block,
        rows: range,
        *,
        predicts: bool,
        learns: bool,
        has_late: bool = False,
    ) -> None:
        assert known.arena is not None
        self.block, self.rows, self.predicts, self.learns = block, rows, predicts, learns
        self.has_late = has_late
        if predicts:
            kernels.compile_for(known.arena, learns=False)
        what = {"predicts": predicts, "learns": learns, "has_late": has_late}
        block.prepare(known.arena, len(rows), **what)
        self.categories = []

    def open(self, arena: Arena, start: int, stop: int) -> None:
        """Do what comes before the trees and linear models run through a chunk."""
        kernels.open_chunk(arena.address, self.block.address, start, stop)

    def voters(self, arena: Arena) -> tuple[int, int]:
        """Return the range of the trees and linear models here; trends have been run by then."""
        return 0, arena.capacities["tree"] + arena.capacities["linear_model"]

    def calls(self, arena: Arena, start: int, stop: int, n_jobs: int) -> list[Callable[[], int]]:
        """Return what runs a chunk through all voters, a call for each thread."""
        first, end = self.voters(arena)
        n_threads = max(min(end - first, _n_cores() if n_jobs == -1 else n_jobs), 1)
        n_threads = n_threads if len(self.rows) >= _WORTH_THREADS else 1
        cuts = [first + (end - first) * k // n_threads for k in range(n_threads + 1)]
        return [
            functools.partial(_run_voters, arena, self.block, start, stop, *part)
            for part in itertools.pairwise(cuts)
        ]

    def close(self, arena: Arena, start: int, stop: int) -> int:
        """Combine what trees and linear models predict for a chunk; return the kernel's answer."""
        return kernels.close_chunk(arena.address, self.block.address, start, stop)


def _run_voters(arena: Arena, block: Block, start: int, stop: int, first: int, end: int) -> int:
    """Run a chunk through trees and linear models, keeping alive what kernels know by address."""
    return kernels.run_chunk(arena.address, block.address, start, stop, first, end)


def _n_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
