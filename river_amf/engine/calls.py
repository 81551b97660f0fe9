"""What the call of a kernel for an ordinary sample takes, looked up once for schema and arena."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

from river_amf import kernels
from river_amf.engine.growth import Learned
from river_amf.inputs.encoding import Encoder
from river_amf.outputs.predictions import decoder
from river_amf.state.layout import Array


@dataclass(frozen=True, slots=True)
class PredictCall:
    """The call that predicts a sample in which nothing is new."""

    encode: Encoder
    predict_sample: Callable[[int, int, int], int]
    addresses: tuple[int, int, int]  # of the arena, the encoded sample, and the output
    decode: Callable[[Any], Any]
    answer: Array

    @classmethod
    def of(cls, learned: Learned) -> Self | None:
        """Return it, or None before the first sample, and for samples of words."""
        schema, arena = learned
        if arena is None or schema.words is not None:
            return None
        predict_sample = kernels.predict_sample.of(arena.kind)
        addresses = arena.address, schema.sample.address, arena.output.address
        return cls(
            schema.encode, predict_sample, addresses, decoder(schema.labels), arena.output.answer
        )


@dataclass(frozen=True, slots=True)
class LearnCall:
    """The call that learns such a sample."""

    encode: Encoder
    number_of: Callable[[Any], float | None]  # of a label
    learn_sample: Callable[[int, int, float, float, int], int]
    arena: int  # address
    sample: int  # address
    output: int  # address
    n_learned: Any
    is_bounded: bool  # whether its categories may be forgotten, as many others have been used since

    @classmethod
    def of(cls, learned: Learned) -> Self | None:
        schema, arena = learned
        if arena is None or schema.words is not None:
            return None
        return cls(
            schema.encode,
            schema.labels.get,
            kernels.learn_sample.of(arena.kind),
            arena.address,
            schema.sample.address,
            arena.output.address,
            arena.n_learned,
            bool(schema.bounded),
        )
