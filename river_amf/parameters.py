"""The parameters of the forests, each declared once, and checks of parameters.

Parameters are checked when they are set, and read-only once a model has learned.
"""

from __future__ import annotations

import inspect
import math
import numbers
import re
import textwrap
from collections.abc import Callable, Hashable, Iterable, Mapping
from contextlib import suppress
from typing import Any, ClassVar, NamedTuple, NoReturn, TypeVar

import numpy as np

from river_amf.inputs.kinds import shown
from river_amf.state.layout import CLASSIFICATION, REGRESSION

LARGEST_PARAMETER = 1e300  # the default bound, within which products with counts stay finite
LARGEST_INTEGER = 10**300  # the default bound; ints of thousands of digits have no repr
MOST_CLASSES = 10**12  # far more than memory holds; sizes in bytes stay within 64 bits
MOST_TREES = 10_000  # 60 to 80 MB at the first sample
LEAST_DIRICHLET = 1e-300  # with smaller ones, shares and products would lose digits or become 0

Check = Callable[[str, Any], None]
_Forest = TypeVar("_Forest", bound="Parameters")

_INDENT = "    "  # of docstrings


def _is_integer(value: Any) -> bool:
    """Whether a value is an integer; numpy counts durations as such, and Python booleans."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool | np.timedelta64)


def integer(low: int, high: float = LARGEST_INTEGER, *, optional: bool = False) -> Check:
    """Return a check for an integer from low to high (or None, if optional)."""

    def check(name: str, value: Any) -> None:
        if optional and value is None:
            return
        if not _is_integer(value) or value < low:
            raise ValueError(
                f"{name} must be an integer >= {low}{' or None' * optional}, got {shown(value)}"
            )
        if value > high:
            bound = high if high < LARGEST_INTEGER else f"{LARGEST_PARAMETER:g}"
            raise ValueError(f"{name} must be an integer of at most {bound}, got {shown(value)}")

    return check


def positive(
    *, least: float | None = None, below: float | None = None, optional: bool = False
) -> Check:
    """Return a check for a positive number within the given bound (or None, if optional)."""

    def check(name: str, value: Any) -> None:
        if optional and value is None:
            return
        number = math.nan
        if isinstance(value, numbers.Real) and not isinstance(value, bool | np.timedelta64):
            with suppress(OverflowError):
                number = float(value)
        if least is not None:
            bounds = f"from {least:g} to {LARGEST_PARAMETER:g}"
            is_good = least <= number <= LARGEST_PARAMETER
        elif below is None:
            bounds = f"> 0 and at most {LARGEST_PARAMETER:g}"
            is_good = 0 < number <= LARGEST_PARAMETER
        else:
            bounds = f"strictly between 0 and {below:g}"
            is_good = 0 < number < below
        if not is_good:
            raise ValueError(
                f"{name} must be a number {bounds}{', or None' * optional}, got {shown(value)}"
            )

    return check


def flag(name: str, value: Any) -> None:
    """Check for True or False."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False, got {shown(value)}")


def cores(name: str, value: Any) -> None:
    """Check for a number of threads: an integer >= 1, or -1 for one per core."""
    if not _is_integer(value) or not (value >= 1 or value == -1):
        raise ValueError(
            f"{name} must be an integer >= 1, or -1 for one thread per core, got {shown(value)}"
        )
    integer(-1)(name, value)


def one_of(*choices: Hashable) -> Check:
    """Return a check for one of a few values."""

    def check(name: str, value: Any) -> None:
        if not any(
            value is choice or (type(value) is str and value == choice) for choice in choices
        ):
            listed = " or ".join(map(repr, choices))
            raise ValueError(f"{name} must be {listed}, got {shown(value)}")

    return check


def automatic_dirichlet(n_classes: int) -> float:
    """Return the value that `dirichlet=None` stands for.

    >>> automatic_dirichlet(2), automatic_dirichlet(3)
    (0.5, 0.01)
    """
    return 0.5 if n_classes <= 2 else 0.01


class CheckedParameters:
    """Mixin that checks every assignment to a parameter and rejects it after the first sample."""

    _checks: ClassVar[dict[str, Check]]  # by parameter
    _always_writable: ClassVar[frozenset[str]] = frozenset()  # do not affect what is learned

    @property
    def _parameters(self) -> dict[str, Any]:
        """The values of the parameters, by name."""
        return {name: getattr(self, name) for name in self._checks}

    @property
    def _has_learnt(self) -> bool:
        raise AttributeError("a class with checked parameters must define _has_learnt")

    def __setattr__(self, name: str, value: Any) -> None:
        check = self._checks.get(name)
        if check is not None:
            if self._has_learnt and name not in self._always_writable:
                self._refuse(name, value)
            check(name, value)
        super().__setattr__(name, value)

    @staticmethod
    def _refuse(name: str, value: Any) -> NoReturn:
        """Raise the error of a parameter that is set too late."""
        raise AttributeError(
            f"{name} is read-only after the first sample; to change it, make a new model, "
            f"for example with clone({{{name!r}: {shown(value)}}})"
        )


class Parameter(NamedTuple):
    """What is declared of a parameter of the forests beside its name and type."""

    default: Any
    check: Check
    text: str  # a sentence for docstrings
    adaptive: tuple[Any, ...] = ()  # other defaults of the adaptive classifier and regressor
    task: int | None = None  # the only one with this parameter
    constant: Any = None  # what takes its place in forests of the other task
    of_regressors: Any = None  # their default, if it is another

    def default_of(self, task: int) -> Any:
        """Return the default of `AMFClassifier` or `AMFRegressor`."""
        is_own = task == REGRESSION and self.of_regressors is not None
        return self.of_regressors if is_own else self.default


def _of_all(
    default: Any,
    check: Check,
    text: str,
    adaptive: tuple[Any, ...] = (),
    of_regressors: Any = None,
) -> Any:
    return Parameter(default, check, text, adaptive, of_regressors=of_regressors)


def _of_classifiers(
    default: Any, check: Check, text: str, adaptive: tuple[Any, ...] = (), constant: Any = None
) -> Any:
    return Parameter(default, check, text, adaptive, CLASSIFICATION, constant)


def _of_regressors(default: Any, check: Check, text: str, adaptive: tuple[Any, ...] = ()) -> Any:
    return Parameter(default, check, text, adaptive, REGRESSION)


class Parameters(CheckedParameters):
    """The parameters of all forests; in a class, constants take the place of the other task's.

    `AMFClassifier` and `AMFRegressor` write their signatures out, with the meaning in full.
    """

    task: ClassVar[int]  # CLASSIFICATION or REGRESSION
    _always_writable = frozenset({"n_jobs"})

    n_estimators: int = _of_all(10, integer(1, MOST_TREES), "Number of trees.")
    step: float = _of_all(1.0, positive(), "Learning rate of the aggregation weights.")
    use_aggregation: bool = _of_all(
        True, flag, "Whether a tree predicts with all its prunings, or with its leaf alone."
    )
    max_nodes: int | None = _of_all(
        None, integer(1, optional=True), "Maximum number of nodes per tree.", (5000,)
    )
    split_prior: float = _of_all(
        0.5, positive(below=1), "Prior probability that a node is split.", (0.7,)
    )
    max_categories: int | None = _of_all(
        None, integer(1, optional=True), "Maximum number of categories of a feature.", (5000,)
    )
    split_intensity: str = _of_all(
        "range",
        one_of("range", "relevance", "unit"),
        "How readily a feature is split: by its range, its relevance too, or as it is.",
        ("relevance",),
    )
    fading_factor: float | None = _of_all(
        None, positive(below=1, optional=True), "Factor by which the past fades.", (0.45, 0.5)
    )
    restart_threshold: float | None = _of_all(
        None, positive(optional=True), "Rise of the loss at which a tree restarts.", (4.0, 3.0)
    )
    vote: str = _of_all(
        "mean", one_of("mean", "learned"), "How trees are combined.", ("learned",), "learned"
    )
    max_pending: int = _of_all(
        10_000, integer(0), "Maximum number of predictions that wait for their labels."
    )
    on_mismatch: str = _of_all(
        "raise", one_of("raise", "missing"), "What to do with a value of the wrong kind."
    )
    n_jobs: int = _of_all(1, cores, "Number of threads for blocks; -1 means one per core.")
    seed: int | None = _of_all(
        None, integer(0, math.inf, optional=True), "Seed of the random numbers."
    )

    n_classes: int | None = _of_classifiers(
        None, integer(1, MOST_CLASSES, optional=True), "Number of classes that the prior counts."
    )
    dirichlet: float | None = _of_classifiers(
        None, positive(least=LEAST_DIRICHLET, optional=True), "Pseudo-count of a class in a node."
    )
    split_pure: bool = _of_classifiers(
        False,
        flag,
        "Whether to split cells even if all their samples have one label.",
        constant=True,  # targets are numbers, so no cell is pure
    )
    absent: str = _of_classifiers(
        "missing", one_of("missing", "zero"), "What an absent feature means.", constant="missing"
    )
    max_columns: int = _of_classifiers(
        30, integer(1), 'Number of features that the trees see with absent="zero".', constant=0
    )
    max_vocabulary: int | None = _of_classifiers(
        None,
        integer(2, optional=True),
        'Maximum number of words that are remembered with absent="zero".',
        (100_000,),
    )
    linear: str | None = _of_classifiers(
        None,
        one_of(None, "logistic", "cosines", "auto"),
        "Linear models that a learned vote combines with the trees.",
        ("auto",),
    )

    trend: str | None = _of_regressors(
        None, one_of(None, "ridge"), "Ridge regressions beside the trees.", ("ridge",)
    )
    recent: str | None = _of_regressors(
        None,
        one_of(None, "errors", "target"),
        "What a learned vote takes of the last few samples: its errors, or the last target too.",
        ("errors",),
    )

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "task" in cls.__dict__:
            own = {name: p.check for name, p in TABLE.items() if p.task in (None, cls.task)}
            cls._checks = own
            for name in TABLE.keys() - own.keys():
                setattr(cls, name, TABLE[name].constant)


TABLE: dict[str, Parameter] = {
    name: value for name, value in vars(Parameters).items() if isinstance(value, Parameter)
}
TEXTS = {name: parameter.text for name, parameter in TABLE.items()}
for _name in TABLE:
    delattr(Parameters, _name)  # its values belong to objects


def adaptive(cls: type[_Forest]) -> type[_Forest]:
    """Give a subclass of a forest the defaults of adaptive forests (a decorator)."""
    base: Any = cls.__base__
    parameters = []
    for p in inspect.signature(base).parameters.values():
        others = TABLE[p.name].adaptive
        default = others[0 if cls.task == CLASSIFICATION else -1] if others else p.default
        parameters.append(p.replace(default=default))
    take_parameters(cls, parameters, base.__init__, TEXTS)
    return cls


def take_parameters(
    cls: type,
    parameters: Iterable[inspect.Parameter],
    begin: Callable[..., None],
    texts: Mapping[str, str],
) -> None:
    """Give a class an `__init__` with these parameters, and list them in its docstring.

    `__init__` passes all of them to `begin` by name; the docstring has a text for each.
    """
    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    signature = inspect.Signature([own, *parameters])

    def __init__(self: Any, *arguments: Any, **named: Any) -> None:
        try:
            bound = signature.bind(self, *arguments, **named)
        except TypeError as error:
            raise TypeError(f"{type(self).__name__}() {error}") from None
        bound.apply_defaults()
        begin(**bound.arguments)

    __init__.__qualname__, __init__.__module__ = f"{cls.__qualname__}.__init__", cls.__module__
    taken: Any = __init__
    taken.__signature__ = signature
    cls.__init__ = taken  # type: ignore[misc]
    if cls.__doc__ is None:  # python -OO
        return
    lines = ["Parameters", "----------"]
    for name, p in inspect.signature(cls).parameters.items():
        lines.append(f"{name} : {p.annotation}, default {p.default!r}")
        lines += textwrap.wrap(texts[name], 96, initial_indent=_INDENT, subsequent_indent=_INDENT)
    document = inspect.cleandoc(cls.__doc__)
    sections = re.search(r"^\w+\n-+$", document, re.MULTILINE)
    place = len(document) if sections is None else sections.start()
    cls.__doc__ = "\n".join([document[:place].rstrip(), "", *lines, "", document[place:]])
