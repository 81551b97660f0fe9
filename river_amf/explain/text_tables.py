"""Tables as text: aligned for a terminal, in Markdown or in HTML.

A table is a list of rows of cells, the titles first. Columns are right-aligned, as numbers should
be, except those whose indices are in `left`. Each row takes one line, whatever its cells contain.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

from river_amf.inputs.kinds import printable

Rows = Sequence[Sequence[str]]

ENDS = (0, -1)  # the columns of text in a table of figures: a name first, a remark last


def align(rows: Rows, left: Iterable[int] = ENDS, least: int = 0) -> str:
    """Return a table with columns as wide as their widest cell, and at least `least` characters.

    >>> print(align([["model", "accuracy", "status"], ["tree", "0.9", "ok"]]))
    model  accuracy  status
    tree        0.9  ok
    """
    rows = [[_on_one_line(cell) for cell in cells] for cells in rows]
    widths = [max(width, least) for width in _widths(rows)]
    return "\n".join(line(cells, widths, left) for cells in rows)


def line(cells: Sequence[str], widths: Sequence[int], left: Iterable[int] = ENDS) -> str:
    """Return one row of a table with columns of the given widths.

    >>> line(["100", "0.9"], [7, 8], left=())
    '    100       0.9'
    """
    return "  ".join(_pad(cells, widths, left)).rstrip()


def to_markdown(rows: Rows) -> str:
    """Return a table in Markdown, also aligned as plain text.

    >>> print(to_markdown([["model", "accuracy", "status"], ["tree", "0.9", "ok"]]))
    | model | accuracy | status |
    | :---- | -------: | :----- |
    | tree  |      0.9 | ok     |
    """
    rows = [[_escape(cell) for cell in cells] for cells in rows]
    widths = [max(width, 2) for width in _widths(rows)]
    rule = [f"{'-' * (width - 1)}:" for width in widths]
    for place in ENDS:
        rule[place] = rule[place][::-1]
    lines = (" | ".join(_pad(cells, widths, ENDS)) for cells in (rows[0], rule, *rows[1:]))
    return "\n".join(f"| {text} |" for text in lines)


def to_html(rows: Rows, caption: str) -> str:
    """Return a table in HTML.

    >>> print(to_html([["model", "accuracy", "status"], ["tree", "0.9", "ok"]], "Bananas"))
    <table><caption>Bananas</caption>
    <thead><tr><th>model</th><th>accuracy</th><th>status</th></tr></thead>
    <tbody>
    <tr><th>tree</th><td>0.9</td><td>ok</td></tr>
    </tbody></table>
    """
    titles, *body = ([html.escape(_on_one_line(cell)) for cell in cells] for cells in rows)
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


def _pad(cells: Sequence[str], widths: Sequence[int], left: Iterable[int]) -> list[str]:
    """Return the cells padded to the widths of their columns."""
    padded = [cell.rjust(width) for cell, width in zip(cells, widths, strict=True)]
    for place in left:
        padded[place] = cells[place].ljust(widths[place])
    return padded


def _escape(cell: str) -> str:
    return _on_one_line(cell).replace("\\", "\\\\").replace("|", "\\|")


def _on_one_line(cell: str) -> str:
    return printable(" ".join(cell.splitlines()))
