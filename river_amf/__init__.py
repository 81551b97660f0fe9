"""Aggregated Mondrian Forests (AMF) for river, with a compiled core.

`AMFClassifier` is the forest of the paper, `AMFRegressor` a forest like it for numbers, and
`AdaptiveAMFClassifier` and `AdaptiveAMFRegressor` the same with other defaults, for streams that
drift. `OnlineDummyClassifier` predicts label frequencies. `save` and `load` write models to files
and read them back, `warm_up` compiles all kernels, and `date_features` converts dates to numbers.
Submodules are loaded at their first use.
"""

import importlib as _importlib
import logging as _logging
from importlib.util import find_spec as _find_spec
from typing import TYPE_CHECKING
from typing import Any as _Any

from river_amf._version import __version__

if TYPE_CHECKING:
    from river_amf.classifier import AdaptiveAMFClassifier, AMFClassifier
    from river_amf.dummy import OnlineDummyClassifier
    from river_amf.inputs.cautions import MismatchWarning
    from river_amf.inputs.dates import date_features
    from river_amf.kernels import warm_up
    from river_amf.persistence import load, save
    from river_amf.regressor import AdaptiveAMFRegressor, AMFRegressor

__all__ = ["AMFClassifier", "AMFRegressor", "AdaptiveAMFClassifier", "AdaptiveAMFRegressor"]
__all__ += ["MismatchWarning", "OnlineDummyClassifier", "__version__"]
__all__ += ["date_features", "load", "save", "warm_up"]
_SUBMODULES = ("baselines", "evaluation", "inspection", "keyed", "plot", "ray", "sklearn")
_NEEDED = {"plot": "matplotlib", "ray": "ray", "sklearn": "sklearn"}  # packages of extras


def _is_available(submodule: str) -> bool:
    """Return whether the package that a submodule needs, if any, is installed."""
    spec = _find_spec(_NEEDED.get(submodule, "river"))
    return spec is not None and spec.origin is not None  # or it is any folder of this name


__all__ += filter(_is_available, _SUBMODULES)

# Silent unless the program sets logging up.
_logging.getLogger(__name__).addHandler(_logging.NullHandler())


_MODULES = {
    "AMFClassifier": "classifier",
    "AMFRegressor": "regressor",
    "AdaptiveAMFClassifier": "classifier",
    "AdaptiveAMFRegressor": "regressor",
    "MismatchWarning": "inputs.cautions",
    "OnlineDummyClassifier": "dummy",
    "date_features": "inputs.dates",
    "load": "persistence",
    "save": "persistence",
    "warm_up": "kernels",
}


def __getattr__(name: str) -> _Any:
    """Import a submodule, or what has a public name, at its first use."""
    if name in _MODULES:
        module = _importlib.import_module(f"{__name__}.{_MODULES[name]}")
        return globals().setdefault(name, getattr(module, name))
    if name in _SUBMODULES:
        try:
            return _importlib.import_module(f"{__name__}.{name}")
        except ImportError as error:  # of an extra; hasattr, help and inspect take AttributeError
            raise AttributeError(str(error)) from error
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
