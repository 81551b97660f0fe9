"""Models as a comparison takes them: their names, functions that make them, and their code."""

from __future__ import annotations

import functools
import inspect
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, cast

from river import base, compose

from river_amf.baselines.river_models import make_baseline
from river_amf.evaluation.tasks import Maker, Task
from river_amf.inputs.kinds import shown

Model = base.Classifier | base.Regressor | Maker | str


def by_name(models: Any) -> dict[str, Any]:
    """Return the models by the names that they have in the table, or raise."""
    if isinstance(models, str | base.Base) or callable(models):
        models = [models]
    if not isinstance(models, Iterable):
        wanted = "a model, the name of one, or a dict or list of these, or None"
        raise TypeError(f"models must be {wanted}, got {shown(models)}")
    if not isinstance(models, Mapping):
        models, counts = list(models), Counter[str]()
        names = [*map(_name_of, models)]
        for place, name in enumerate(names):
            counts[name] += 1
            names[place] += f" {counts[name]}" * (counts[name] > 1)
        models = dict(zip(names, models, strict=True))
    if not models:
        raise ValueError("models is empty; pass None to run the usual baselines")
    named = {str(name): m.lower() if isinstance(m, str) else m for name, m in models.items()}
    if len(named) < len(models):
        raise ValueError(f"models must have different names, got {shown([*models])}")
    return named


def _name_of(model: Any) -> str:
    """Return the name of a model in a list: its class, function, or the steps of a pipeline."""
    if isinstance(model, str):
        return model.lower()
    if isinstance(model, compose.Pipeline):
        return str(model)
    if isinstance(model, functools.partial):
        is_baseline = model.func is make_baseline
        return str(model.args[1]) if is_baseline else _name_of(model.func)
    return str(getattr(model, "__name__", type(model).__name__))


def maker_of(model: Any, task: Task, seed: int | None, **options: Any) -> Maker:
    """Return a function that makes a model for a task, with a seed if that is not None."""
    if isinstance(model, str):
        make = task.maker(model, seed, **options)
    elif isinstance(model, base.Base):
        takes_seed = seed is not None and "seed" in inspect.signature(type(model)).parameters
        clone: Any = model.clone
        make = functools.partial(clone, {"seed": seed} if takes_seed else None)
    else:
        make = cast(Maker, model) if callable(model) else lambda: model
    return functools.partial(task.make, make)


def describe(model: Any) -> str:
    """Return a model as code, with the parameters that differ from their defaults."""
    if isinstance(model, compose.Pipeline):
        return " | ".join(map(describe, model.steps.values()))
    if isinstance(model, compose.TransformerUnion):
        return f"({' + '.join(map(describe, model.transformers.values()))})"
    if not isinstance(model, base.Base):
        return str(getattr(model, "__name__", shown(model)))
    kind, default = type(model), None
    with suppress(Exception):  # of a class that needs arguments
        default = kind()
    arguments = []
    for name in inspect.signature(kind).parameters:
        text = describe(getattr(model, name, None))
        if text != describe(getattr(default, name, None)):
            arguments.append(f"{name}={text}")
    return f"{kind.__name__}({', '.join(arguments)})"
