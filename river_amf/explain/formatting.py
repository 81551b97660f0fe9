"""Names, numbers, counts and categories as text, for explanations and drawings."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence

from river_amf.inputs.kinds import shown

MISSING = "(missing)"  # in place of a category

_MOST_COUNTS = 4  # maximum numbers of labels in a text of counts,
_MOST_CATEGORIES = 3  # and of categories in a condition
_WIDEST = 24  # maximum number of characters of a name, a label or a category


def short(value: object, widest: int = _WIDEST) -> str:
    """Return the repr of a value, truncated if it is long, and `MISSING` as it is.

    >>> short("red"), short("a" * 40, 8), short(MISSING)
    ("'red'", "'aaaaaa…", '(missing)')
    """
    text = MISSING if value is MISSING else shown(value)
    return text if len(text) <= widest else f"{text[: widest - 1]}…"


def name(value: Hashable, widest: int = _WIDEST) -> str:
    """Return the name of a feature or a label, without quotes if possible, truncated if long.

    >>> name("length"), name(("length", 2)), name("two" + chr(10))[0]
    ('length', "('length', 2)", "'")
    """
    text = value if isinstance(value, str) and value.isprintable() else shown(value)
    return text if len(text) <= widest else f"{text[: widest - 1]}…"


def number_text(value: float, tolerance: float) -> str:
    """Return the shortest text of a number within `tolerance`.

    >>> number_text(2.30517, 0.1), number_text(1.5e-9, 1e-12), number_text(123456.7, 1.0)
    ('2.31', '1.5e-09', '123457')
    """
    texts = (f"{float(f'{value:.{digits}g}'):.15g}" for digits in range(3, 16))
    return next((text for text in texts if abs(float(text) - value) <= tolerance), repr(value))


def count_text(value: float) -> str:
    """Return the text of a count, which is a whole number unless there are weights.

    >>> count_text(12.0), count_text(0.25), count_text(1234567.0)
    ('12', '0.25', '1234567')
    """
    return f"{value:.0f}" if abs(value) < 1e15 and value == round(value) else f"{value:.4g}"


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
    texts = [short(category, widest) for category in ordered[:most]]
    texts += [f"+{len(ordered) - most}"] * (len(ordered) > most)
    return f"{{{', '.join(texts)}}}"
