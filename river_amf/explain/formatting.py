"""How explanations and drawings write names, numbers, counts, categories and splits."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Hashable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from river_amf.explain import paths, text_tables
from river_amf.inputs.encoding import Features
from river_amf.inputs.kinds import shown
from river_amf.state.arena import Arena

_MOST_COUNTS = 4  # maximum numbers of labels in a text of counts,
_MOST_CATEGORIES = 3  # and of categories in a rule
_WIDEST = 24  # maximum number of characters of a name, a label or a category
_MOST_DECIMALS, _LARGE = 8, 1e12  # beyond which a number is written with an exponent
_INDENT = "  "


def short(value: object, widest: int = _WIDEST) -> str:
    """Return the repr of a value, truncated if it is long.

    >>> short("red"), short("a" * 40, 8)
    ("'red'", "'aaaaaa…")
    """
    text = shown(value)
    return text if len(text) <= widest else f"{text[: widest - 1]}…"


def name(value: Hashable, widest: int = _WIDEST) -> str:
    """Return the name of a feature or a label, without quotes if possible, truncated if long.

    >>> name("length"), name(("length", 2)), name("two" + chr(10))[0]
    ('length', "('length', 2)", "'")
    """
    text = value if isinstance(value, str) and value.isprintable() else shown(value)
    return text if len(text) <= widest else f"{text[: widest - 1]}…"


def number_text(value: float, tolerance: float, apart_from: float = math.nan) -> str:
    """Return the shortest text of a number within `tolerance`, on its side of `apart_from`.

    >>> number_text(2.30517, 0.1), number_text(2.9996, 0.1, apart_from=3.0)
    ('2.31', '2.9996')
    >>> number_text(-0.817, 0.1), number_text(1.5e-9, 1e-12), number_text(2.5e20, 1e18)
    ('-0.817', '1.5e-09', '2.5e+20')
    """
    for digits in range(3, 17):
        text = f"{value:.{digits}g}"
        rounded = float(text)
        is_apart = (apart_from <= value) == (apart_from <= rounded)
        if abs(rounded - value) <= tolerance and is_apart:
            is_short = abs(rounded) >= 1e16 or "e-" in text
            return text if is_short else np.format_float_positional(rounded, trim="-")
    return repr(value)


def count_text(value: float) -> str:
    """Return the text of a count, which is a whole number unless there are weights.

    >>> count_text(12.0), count_text(0.25), count_text(1234567.0)
    ('12', '0.25', '1234567')
    """
    return f"{value:.0f}" if value == round(value) and value < 1e15 else f"{value:.4g}"


def counts_text(
    counts: dict[Hashable, float],
    most: int = _MOST_COUNTS,
    written: Callable[[Hashable], str] = short,
) -> str:
    """Return the counts of the most frequent labels, in the order of the dict.

    >>> counts_text({"spam": 3.0, "ham": 12.0, "other": 0.0})
    "'spam' 3, 'ham' 12"
    >>> counts_text({label: 1.0 for label in range(9)}, most=2)
    '0 1, 1 1, +7'
    """
    present = [label for label, n in counts.items() if n > 0]
    kept = sorted(present, key=lambda label: -counts[label])[:most]
    texts = [f"{written(label)} {count_text(counts[label])}" for label in present if label in kept]
    return ", ".join(texts + [f"+{len(present) - most}"] * (len(present) > most))


def category_text(category: Hashable, widest: int = _WIDEST) -> str:
    """Return the text of a category, or of a missing value.

    >>> category_text("red"), category_text(paths.MISSING)
    ("'red'", '(missing)')
    """
    return paths.MISSING if category is paths.MISSING else short(category, widest)


def categories_text(
    categories: Iterable[Hashable],
    first: Sequence[Hashable] = (),
    most: int = _MOST_CATEGORIES,
    widest: int = _WIDEST,
) -> str:
    """Return a set of categories, starting with those in `first`, truncated if there are many.

    >>> categories_text({"a"}), categories_text(set("dabce"), first=["e"])
    ("{'a'}", "{'e', 'a', 'b', +2}")
    """
    ordered = sorted(categories, key=lambda category: (category not in first, repr(category)))
    texts = [category_text(category, widest) for category in ordered[:most]]
    texts += [f"+{len(ordered) - most}"] * (len(ordered) > most)
    return f"{{{', '.join(texts)}}}"


def scaled_text(value: float, scale: float) -> str:
    """Return a number with so many decimals that the scale of its errors has three digits.

    >>> scaled_text(12.3456, 0.5), scaled_text(12.3456, 0.0), scaled_text(1.2345e-12, 1e-13)
    ('12.346', '12.3456', '1.235e-12')
    """
    if not 0.0 < scale < math.inf:
        return f"{value + 0.0:.6g}"  # not -0.0
    decimals = 2 - math.floor(math.log10(scale))
    if decimals > _MOST_DECIMALS or max(abs(value), scale) >= _LARGE:
        more = math.floor(math.log10(abs(value) / scale)) if value else 0
        return f"{value + 0.0:.{min(max(3 + more, 3), 17)}g}"
    return f"{round(value, max(decimals, 0)) + 0.0:.{max(decimals, 0)}f}"


def table(rows: text_tables.Rows, left: Sequence[int] = ()) -> str:
    """Return rows aligned in columns, indented below their title."""
    return textwrap.indent(text_tables.align(rows, left), _INDENT)


def rule_text(
    arena: Arena,
    features: Features,
    values: NDArray[np.float64],
    tree: int,
    step: paths.Step,
) -> str:
    """Return the condition at a split that the sample meets."""
    if step.goes is None:
        return "leaf"
    feature = list(features)[step.feature]
    if math.isnan(step.value):
        return f"{name(feature)} missing: {step.goes}, the heavier side"
    value = float(values[step.feature])
    is_missing = math.isnan(value)
    left = paths.categories_left(arena, features, tree, step.feature, step.threshold)
    if left is None:
        box = arena.boxes[tree, arena.nodes[tree, step.node]["slot"], :, step.feature]
        tolerance = 0.01 * float(box[1] - box[0])
        text = number_text(step.threshold, tolerance, step.value)
        text = f"{name(feature)} {'<=' if step.goes == 'left' else '>'} {text}"
        taken = number_text(step.value, tolerance)
        if is_missing:
            return f"{text} (missing counts as {taken})"
        is_outlier = value != step.value
        return text + f" ({number_text(value, tolerance)} is clipped to {taken})" * is_outlier
    own = [known for known, its in (features.categories(feature) or {}).items() if its == value]
    if is_missing:
        own = [paths.MISSING]
        left |= {paths.MISSING} if step.goes == "left" else set()
    if not own:
        return f"{name(feature)} has a new category: {step.goes}, by chance"
    relation = "in" if step.goes == "left" else "not in"
    return f"{name(feature)} {relation} {categories_text(left, first=own)}"
