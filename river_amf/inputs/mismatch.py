"""Values of the wrong kind that count as missing, with a warning (DESIGN.md: kinds)."""

from __future__ import annotations

from collections.abc import Hashable

from river_amf.inputs.cautions import warn

# the markers of pandas, which does not export them, that of the repository of UC Irvine, and a dash
_MISSING = (
    *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN"),
    *("<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null", "?", "-"),
)
MISSING_TEXTS = frozenset(_MISSING)


class MismatchWarning(UserWarning):
    """A value of the wrong kind counts as missing (`on_mismatch`); once for each feature.

    >>> import warnings
    >>> from river_amf import MismatchWarning
    >>> warnings.simplefilter("ignore", MismatchWarning)
    """


Mismatches = dict[Hashable, str]  # the message about the first wrong value of each feature


def warn_of_mismatches(found: Mismatches, warned: set[Hashable]) -> None:
    """Warn of each feature that is not among those `warned` of, and add it to them."""
    for name, message in found.items():
        if name not in warned:
            warn(f"{message}; such values count as missing", MismatchWarning)
            warned.add(name)  # last, as a warning may be raised as an error
