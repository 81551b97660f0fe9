"""Labels that come late: which prediction each of them is for (DESIGN.md: late labels)."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from river_amf.engine.known import Known
from river_amf.engine.lock import Guarded
from river_amf.engine.pending_predictions import LEARNED_AT, Predictions
from river_amf.engine.settings import Parameters, has_words, most_pending
from river_amf.inputs.encoding import EncodedSample, Features, key_of, keys_of, raw_key
from river_amf.state.arena import Arena, Block
from river_amf.state.layout import N_LEARNED


class LateLabels(Guarded):
    """What a forest knows, and its predictions that wait for their labels.

    The last prediction is in the buffer of its sample, the others are in `predictions`.
    """

    def __init__(self, known: Known) -> None:
        super().__init__()
        self.known = known
        self.predictions = Predictions()

    def _hold(self) -> None:
        """Keep the last prediction, if its label has not come yet, before the buffer is reused."""
        features, _, arena = self.known
        buffer = features.sample.prediction
        if buffer is not None and buffer.kept[LEARNED_AT] >= 0.0 and arena is not None:
            self.predictions.add(key_of(buffer.seen), buffer.kept, arena)
            buffer.kept[LEARNED_AT] = -1.0

    def _keep(self, features: Features, sample: EncodedSample, arena: Arena) -> None:
        """Keep a prediction that its buffer cannot identify: of words, or an unknown category."""
        kept = sample.prediction.kept
        is_masked = kept[LEARNED_AT] >= 0.0 and self._mask_unknown(features, sample)
        if kept[LEARNED_AT] >= 0.0 and (is_masked or features.vocabulary is not None):
            self.predictions.add(features.key(sample), kept, arena)
            kept[LEARNED_AT] = -1.0

    def _keep_early(self, samples: Iterable[Any], parameters: Parameters) -> None:
        """Keep that samples were predicted before anything was learned."""
        most = most_pending(parameters)
        for x in samples if most else ():
            self.predictions.add_early(raw_key(x, skips_zeros=has_words(parameters)), most)

    def _early_key(self, x: Any, features: Features) -> list[bytes]:
        """Return a list with the key of an early prediction of a sample, if there are any."""
        has_early = self.predictions.have_early
        return [raw_key(x, skips_zeros=features.vocabulary is not None)] if has_early else []

    def _take_back(self, row: dict[Hashable, float]) -> bool:
        """Remove the prediction of a sample if nothing was learned since; return whether it was."""
        features, _, arena = self.known
        if arena is None or not arena.settings["max_pending"][0]:
            return False
        known = {name: number for name, number in row.items() if features.is_known(name)}
        sample = features.place(known)
        self._mask_unknown(features, sample)
        self._limit_predictions(arena)
        key, n_learned = features.key(sample), int(arena.counters["n_learned"][0])
        is_held = self._is_held(features, key, n_learned)
        if is_held:
            sample.prediction.made_by[N_LEARNED] = -1.0
        return self.predictions.drop([key], n_learned) or is_held

    def _limit_predictions(self, arena: Arena) -> None:
        """Remove the oldest predictions if there are too many with the one in the buffer."""
        # Early ones would cost each sample time; after so many their labels do not come any more.
        predictions, buffer = self.predictions, self.known.features.sample.prediction
        if predictions.have_early and arena.counters["n_learned"][0] > arena.most_pending:
            predictions.drop_early()
        if len(predictions.keys) < arena.most_pending:
            return
        learned_at = -1.0 if buffer is None else buffer.kept[LEARNED_AT]
        is_held = learned_at >= 0.0 and not predictions.has([key_of(buffer.seen)], learned_at)
        predictions.limit(arena.most_pending - is_held)

    @staticmethod
    def _mask_unknown(features: Features, sample: EncodedSample) -> bool:
        """Mask unknown categories in a sample that has been predicted; whether there are any."""
        masked = features.mask_unknown(sample.values[:1])
        is_masked = masked.tobytes() != sample.values[:1].tobytes()
        if is_masked:
            sample.source = None
            sample.values[:1] = masked
        return is_masked

    @staticmethod
    def _is_held(features: Features, key: bytes, n_learned: int) -> bool:
        """Whether the buffer has a prediction of a sample made after so many samples."""
        buffer = features.sample.prediction
        return (
            buffer is not None
            and bool(buffer.made_by[N_LEARNED] == n_learned)
            and key_of(buffer.seen) == key
        )

    def _find_late(
        self,
        x: Any,
        features: Features,
        arena: Arena,
        sample: EncodedSample,
        is_at_once: bool = False,
    ) -> bool:
        """Put what was predicted for a sample, if its label is late, where kernels find it."""
        predictions, key = self.predictions, features.key(sample)
        n_learned = int(arena.counters["n_learned"][0])
        self._limit_predictions(arena)
        keys = [*self._early_key(x, features), key]
        if is_at_once or self._is_held(features, key, n_learned):
            predictions.drop(keys)
            return False
        found = predictions.take(keys, n_learned)
        if found is None:
            return False
        if self._is_held(features, key, found.made_by[N_LEARNED]):  # the same one
            sample.prediction.kept[LEARNED_AT] = -1.0
        found.note(n_learned, arena, arena.context, arena.late_votes[:, 0])
        return True

    # Blocks

    def _keep_rows(
        self, rows: NDArray[np.float64], votes: NDArray[np.float64], answers: NDArray[np.float64]
    ) -> None:
        """Keep the answers for some rows, and votes of shape (voters, rows, ...) on them."""
        features, _, arena = self.known
        assert arena is not None
        keys = keys_of(features.mask_unknown(rows[:, : len(features)]))
        self.predictions.add_all(keys, np.moveaxis(votes, 0, 1), arena.made_by(answers), arena)

    def _note_late_rows(self, arena: Arena, block: Block, start: int, stop: int) -> None:
        """Put what was predicted for rows about to be learned where kernels find it."""
        predictions = self.predictions
        n_learned, most = int(arena.counters["n_learned"][0]), arena.most_pending
        predictions.limit(most)
        for row, key in enumerate(keys_of(block.values[start:stop]), start=start):
            if n_learned > most:
                predictions.drop_early()
            keys = [key] if not predictions.have_early else [raw_key(block.sample(row)), key]
            if block.is_at_once and not (n_learned and predictions.has(keys, n_learned)):
                predictions.limit(most - 1)  # in favor of this one
            if block.weights[row] == 0.0:
                predictions.drop(keys, n_learned)
                continue
            if block.is_at_once:
                predictions.drop(keys)
            elif found := predictions.take(keys, n_learned):
                where = row - start
                context, votes = block.contexts[where], block.late_votes[:, where]
                found.note(n_learned, arena, context, votes)
            n_learned += 1
