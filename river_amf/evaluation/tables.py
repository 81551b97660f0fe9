"""Tables of text: aligned for a terminal, in Markdown, in HTML.

A table is a list of rows of cells, the titles first. The first column and the last one are text,
the others are numbers. As text, each row is one line, whatever is in its cells.
"""

from __future__ import annotations

import html
from collections.abc import Sequence

Rows = Sequence[Sequence[str]]


def align(rows: Rows) -> str:
    """Return a table in columns as wide as their widest cell.

    Examples
    --------
    >>> from river_amf.evaluation.tables import align
    >>> print(align([["model", "accuracy", "status"], ["tree", "0.9", "ok"]]))
    model  accuracy  status
    tree        0.9  ok

    """
    rows = [[_on_one_line(cell) for cell in cells] for cells in rows]
    widths = _widths(rows)
    return "\n".join("  ".join(_pad(cells, widths)).rstrip() for cells in rows)


def to_markdown(rows: Rows) -> str:
    """Return a table in Markdown, which is aligned as text too.

    Examples
    --------
    >>> from river_amf.evaluation.tables import to_markdown
    >>> print(to_markdown([["model", "accuracy", "status"], ["tree", "0.9", "ok"]]))
    | model | accuracy | status |
    | :---- | -------: | :----- |
    | tree  |      0.9 | ok     |

    """
    rows = [[_escape(cell) for cell in cells] for cells in rows]
    widths = [max(width, 2) for width in _widths(rows)]
    is_text = [place in (0, len(widths) - 1) for place in range(len(widths))]
    rule = [
        f":{'-' * (width - 1)}" if left else f"{'-' * (width - 1)}:"
        for width, left in zip(widths, is_text, strict=True)
    ]
    lines = (" | ".join(_pad(cells, widths)) for cells in (rows[0], rule, *rows[1:]))
    return "\n".join(f"| {line} |" for line in lines)


def to_html(rows: Rows, caption: str) -> str:
    """Return a table in HTML.

    Examples
    --------
    >>> from river_amf.evaluation.tables import to_html
    >>> print(to_html([["model", "accuracy", "status"], ["tree", "0.9", "ok"]], "Bananas"))
    <table><caption>Bananas</caption>
    <thead><tr><th>model</th><th>accuracy</th><th>status</th></tr></thead>
    <tbody>
    <tr><th>tree</th><td>0.9</td><td>ok</td></tr>
    </tbody></table>

    """
    titles, *body = ([html.escape(cell) for cell in cells] for cells in rows)
    head = "".join(f"<th>{title}</th>" for title in titles)
    lines = (
        f"<tr><th>{first}</th>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"
        for first, *cells in body
    )
    return "\n".join(
        [
            f"<table><caption>{html.escape(caption)}</caption>",
            f"<thead><tr>{head}</tr></thead>",
            "<tbody>",
            *lines,
            "</tbody></table>",
        ]
    )


def _widths(rows: Rows) -> list[int]:
    return [max(map(len, column)) for column in zip(*rows, strict=True)]


def _pad(cells: Sequence[str], widths: Sequence[int]) -> list[str]:
    """Return the cells as wide as their columns: text to the left, numbers to the right."""
    last = len(widths) - 1
    return [
        cell.ljust(width) if place in (0, last) else cell.rjust(width)
        for place, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ]


def _escape(cell: str) -> str:
    return _on_one_line(cell).replace("\\", "\\\\").replace("|", "\\|")


def _on_one_line(cell: str) -> str:
    return " ".join(cell.splitlines())
