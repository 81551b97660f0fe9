"""The parameters of the forests, each declared once, and checks of parameters."""

import math
import numbers
from collections.abc import Callable, Hashable, Iterator
from typing import Any, ClassVar, NamedTuple

import numpy as np

from river_amf.inputs.kinds import shown
from river_amf.state.layout import CLASSIFICATION, REGRESSION, Task

LARGEST_PARAMETER = 1e300  # the default bound, within which products with counts stay finite
LARGEST_INTEGER = 10**300  # the default bound; ints of thousands of digits have no repr
MOST_CLASSES = 10**12  # far more than memory holds; sizes in bytes stay within 64 bits
MOST_TREES = 10_000  # 60 to 80 MB at the first sample
LEAST_DIRICHLET = 1e-300  # with smaller ones, shares and products would lose digits or become 0

Check = Callable[[str, Any], None]


def _check(wanted: str, is_good: Callable[[Any], bool], *, optional: bool = False) -> Check:
    """Return a check that raises ValueError unless a value is good (or None, if optional)."""

    def check(name: str, value: Any) -> None:
        if not (is_good(value) or (optional and value is None)):
            raise ValueError(f"{name} must be {wanted}, got {shown(value)}")

    return check


def _is_integer(value: Any, low: int, high: float) -> bool:
    # numpy counts durations as integers, and Python booleans
    is_other = isinstance(value, bool | np.timedelta64)
    return isinstance(value, numbers.Integral) and not is_other and low <= int(value) <= high


def integer(low: int, high: float = LARGEST_INTEGER, *, optional: bool = False) -> Check:
    """Return a check for an integer from low to high (or None, if optional)."""
    most = high if high < LARGEST_INTEGER else f"{LARGEST_PARAMETER:g}"
    wanted = f"an integer >= {low}{' or None' * optional}"
    is_enough = _check(wanted, lambda v: _is_integer(v, low, math.inf), optional=optional)
    is_possible = _check(f"an integer, at most {most}", lambda v: v is None or v <= high)

    def check(name: str, value: Any) -> None:
        is_enough(name, value)
        is_possible(name, value)

    return check


def positive(
    *, least: float | None = None, below: float | None = None, optional: bool = False
) -> Check:
    """Return a check for a positive number within the given bound (or None, if optional)."""
    bounds = f"> 0 and at most {LARGEST_PARAMETER:g}"
    if least is not None:
        bounds = f"from {least:g} to {LARGEST_PARAMETER:g}"
    elif below is not None:
        bounds = f"strictly between 0 and {below:g}"

    def is_good(value: Any) -> bool:
        if not isinstance(value, numbers.Real) or isinstance(value, bool | np.timedelta64):
            return False
        try:
            number = float(value)
        except OverflowError:
            return False
        is_below = number <= LARGEST_PARAMETER if below is None else number < below
        return number > 0 and is_below and (least is None or number >= least)

    return _check(f"a number {bounds}{', or None' * optional}", is_good, optional=optional)


flag = _check("True or False", lambda value: isinstance(value, bool | np.bool_))
cores = _check(
    f"an integer >= 1, or -1 for one thread per core, at most {LARGEST_PARAMETER:g}",
    lambda value: _is_integer(value, -1, LARGEST_INTEGER) and value != 0,
)


def one_of(*choices: Hashable) -> Check:
    listed = " or ".join(map(repr, choices))
    return _check(listed, lambda v: (v is None or type(v) is str) and v in choices)


def automatic_dirichlet(n_classes: int) -> float:
    return 0.5 if n_classes <= 2 else 0.01


class CheckedParameters:
    """Mixin that checks every assignment to a parameter and rejects it after the first sample."""

    _checks: ClassVar[dict[str, Check]]  # by parameter
    _always_writable: ClassVar[frozenset[str]] = frozenset()  # do not affect what is learned

    @property
    def _parameters(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._checks}

    @property
    def _has_learned(self) -> bool:
        raise AttributeError("a class with checked parameters must define _has_learned")

    def __setattr__(self, name: str, value: Any) -> None:
        check = self._checks.get(name)
        if check is not None:
            if self._has_learned and name not in self._always_writable:
                raise AttributeError(
                    f"{name} is read-only after the first sample; to change it, make a new model, "
                    f"for example with clone({{{name!r}: {shown(value)}}})"
                )
            check(name, value)
        super().__setattr__(name, value)


class Parameter(NamedTuple):
    """The declaration of a parameter of the forests, beside its name and type."""

    check: Check
    task: Task | None = None  # the only one with this parameter
    constant: Any = None  # its value in forests of the other task
    idle: dict[str, tuple[Any, ...]] | None = None  # where these have such values, it has no effect


_declare: Any = Parameter  # in the place of a value of any type
_WITHOUT_WORDS = {"absent": ("missing",)}
_OF_LEAVES: dict[str, tuple[Any, ...]] = {  # which predict alone, and nothing weighs their tree
    "use_aggregation": (False,),
    "fading_factor": (None,),
    "max_nodes": (None,),
    "split_intensity": ("range", "unit"),
}
_UNSCORED = {"_task": (CLASSIFICATION,), "vote": ("mean",), "drift_threshold": (None,)}


class Parameters(CheckedParameters):
    """The parameters of all forests; in a class, constants take the place of the other task's.

    Each forest writes its signature out; `AMFClassifier` and `AMFRegressor` describe it in full.
    """

    _task: ClassVar[Task]
    _always_writable = frozenset({"n_jobs"})

    n_estimators: int = _declare(integer(1, MOST_TREES))
    max_nodes: int | None = _declare(integer(1, optional=True))
    max_categories: int | None = _declare(integer(1, optional=True))
    max_features: int | None = _declare(integer(1, optional=True))
    absent: str = _declare(one_of("missing", "zero"), CLASSIFICATION, "missing")
    on_mismatch: str = _declare(one_of("raise", "missing"))
    max_delayed_labels: int = _declare(integer(0), idle=_UNSCORED)
    vote: str = _declare(one_of("mean", "learned"))
    linear: bool = _declare(flag, idle={"vote": ("mean",)})
    recent: str | None = _declare(
        one_of(None, "errors", "target"), REGRESSION, idle={"vote": ("mean",)}
    )
    fading_factor: float | None = _declare(positive(below=1, optional=True))
    drift_threshold: float | None = _declare(positive(optional=True), idle={"n_estimators": (1,)})
    split_intensity: str = _declare(one_of("range", "relevance", "unit"))
    n_jobs: int = _declare(cores, idle={"absent": ("zero",)})
    seed: int | None = _declare(integer(0, math.inf, optional=True))

    step: float = _declare(positive(), idle=_OF_LEAVES)
    use_aggregation: bool = _declare(flag)
    dirichlet: float | None = _declare(
        positive(least=LEAST_DIRICHLET, optional=True), CLASSIFICATION
    )
    split_pure: bool = _declare(flag, CLASSIFICATION, True)  # as no cell of targets is pure
    split_prior: float = _declare(positive(below=1), idle=_OF_LEAVES)
    n_classes: int | None = _declare(integer(1, MOST_CLASSES, optional=True), CLASSIFICATION)
    max_split_words: int = _declare(integer(1), CLASSIFICATION, 0, _WITHOUT_WORDS)
    max_words: int | None = _declare(
        integer(2, optional=True), CLASSIFICATION, None, _WITHOUT_WORDS
    )

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "_task" in cls.__dict__:
            cls._checks = {n: p.check for n, p in TABLE.items() if p.task in (None, cls._task)}
            for name in TABLE.keys() - cls._checks.keys():
                setattr(cls, name, TABLE[name].constant)

    def _idle(self) -> Iterator[str]:
        """Yield sentences on parameters without effect, unless they are the default or off."""
        defaults = dict[str, Any]()
        for kind in reversed(type(self).__mro__):  # a class derived from a forest may have others
            defaults |= getattr(vars(kind).get("__init__"), "__kwdefaults__", None) or {}
        for name in self._checks:
            others = TABLE[name].idle or {}
            is_idle = all(getattr(self, n) in values for n, values in others.items())
            value = getattr(self, name)
            is_off = value is None or value is False
            if others and is_idle and not is_off and value != defaults[name]:
                names = [n for n in others if not n.startswith("_")]
                listed = " and ".join(f"{n}={getattr(self, n)!r}" for n in names)
                yield f"{name} has no effect with {listed}"

    def __dir__(self) -> list[str]:
        """List the attributes, without the constants of the other task."""
        return [name for name in super().__dir__() if name in self._checks or name not in TABLE]


TABLE: dict[str, Parameter] = {
    name: value for name, value in vars(Parameters).items() if isinstance(value, Parameter)
}
for _name in TABLE:
    delattr(Parameters, _name)  # its values belong to objects
