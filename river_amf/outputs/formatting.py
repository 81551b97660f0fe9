"""Names, counts, categories and models as text, for explanations and drawings."""

import inspect
import re
from collections.abc import Callable, Hashable, Iterable
from contextlib import suppress
from typing import Any

from river import base, compose

from river_amf.inputs.kinds import shown

MISSING = "(missing)"  # in place of a category

_MOST_COUNTS = 4  # labels in a text of counts
_MOST_CATEGORIES = 3  # categories in a condition
_WIDEST = 24  # maximum number of characters of a name, a label or a category


def cut(text: str, widest: int = _WIDEST) -> str:
    return text if len(text) <= widest else f"{text[: widest - 1]}…"


def short(value: object) -> str:
    """Return the repr of a value, truncated if it is long, and `MISSING` as it is."""
    return cut(MISSING if value is MISSING else shown(value))


def name(value: Hashable, widest: int = _WIDEST) -> str:
    """Return the name of a feature or a label, without quotes if possible, truncated if long.

    >>> name("length"), name(("length", 2)), name("two" + chr(10))[0]
    ('length', "('length', 2)", "'")
    """
    return cut(value if isinstance(value, str) and value.isprintable() else shown(value), widest)


def count_text(value: float) -> str:
    return f"{value:.15g}" if float(value).is_integer() else f"{value:.4g}"


def counts_text(counts: dict[Hashable, float], written: Callable[[Hashable], str] = short) -> str:
    """Return the counts of the most frequent labels, in the order of the dict.

    >>> counts_text({"spam": 3.0, "ham": 12.0, "other": 0.0})
    "'spam' 3, 'ham' 12"
    """
    present = [label for label, n in counts.items() if n > 0]
    kept = sorted(present, key=lambda label: -counts[label])[:_MOST_COUNTS]
    texts = [f"{written(label)} {count_text(counts[label])}" for label in present if label in kept]
    n_others = len(present) - len(kept)
    return ", ".join(texts + [f"+{n_others}"] * (n_others > 0))


def categories_text(categories: Iterable[Hashable], first: Hashable = None) -> str:
    """Return a set of categories, truncated if there are many, with `first` first.

    >>> categories_text({"a"}), categories_text(set("dabce"), first="e")
    ("{'a'}", "{'e', 'a', 'b', +2}")
    """
    ordered = sorted(categories, key=lambda category: (category != first, repr(category)))
    texts = [short(category) for category in ordered[:_MOST_CATEGORIES]]
    n_others = len(ordered) - len(texts)
    return f"{{{', '.join(texts + [f'+{n_others}'] * (n_others > 0))}}}"


def describe(model: Any) -> str:
    """Return a model as code, with the parameters that differ from their defaults."""
    if isinstance(model, compose.Pipeline):
        return " | ".join(map(describe, model.steps.values()))
    if isinstance(model, compose.TransformerUnion):
        return f"({' + '.join(map(describe, model.transformers.values()))})"
    if not isinstance(model, base.Base):
        text = str(getattr(model, "__name__", shown(model)))
        return re.sub("( object)? at 0x[0-9a-fA-F]+", "", text)
    kind, default = type(model), None
    with suppress(Exception):  # of a class that needs arguments
        default = kind()
    arguments = []
    for name in inspect.signature(kind).parameters:
        text = describe(getattr(model, name, None))
        if text != describe(getattr(default, name, None)):
            arguments.append(f"{name}={text}")
    return f"{kind.__name__}({', '.join(arguments)})"
