"""A page of sections with text and figures, as one HTML file that needs nothing else.

Plotly draws the figures, which are its dicts of data and layout; its script is in the file once. A
color in a figure may be a variable of `page.css`, such as `"var(--ink)"`. `page.js` fills in its
value, for light or dark, and draws anew when that changes. It also draws the legend of the page,
which switches models in all figures, and sorts tables by the titles that are clicked.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
import string
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Any

from river_amf.inputs.kinds import printable
from river_amf.persistence import places


@dataclass(frozen=True)
class Entry:
    """An entry of the page's legend: it shows and hides traces and figures of this group."""

    name: str  # the `legendgroup` of the traces, the `group` of the figures
    color: str  # of its line, in CSS
    dash: str = "solid"  # or "dash" or "dot"


@dataclass(frozen=True)
class Figure:
    """A figure of a section."""

    drawing: dict[str, Any]  # of plotly: `data` and `layout`
    title: str = ""
    text: str = ""  # what is to be seen, in plain words; a paragraph below it
    group: str | None = None  # the legend's entry that shows and hides the whole figure
    id: str | None = None  # by which scripts and tests find it; by default a number
    is_wide: bool = False  # whether it takes the whole width even where there is room for two


@dataclass(frozen=True)
class Section:
    """A section of a page: a title, text, HTML, and figures, two abreast where there is room."""

    title: str
    text: str = ""  # plain, below the title; an empty line begins another paragraph
    figures: Sequence[Figure] = ()  # below all else
    body: str = ""  # HTML below the text: a table, or the controls of a script
    n_open: int | None = None  # the figures that are seen at once, by default all


@dataclass(frozen=True)
class Page:
    """A page of sections.

    Examples
    --------
    >>> from river_amf.pages.document import Page, Section
    >>> page = Page("Bananas & more", [Section("How it went", "Well.")])
    >>> "<h1>Bananas &amp; more</h1>" in page.html
    True
    """

    title: str
    parts: Sequence[Section]  # from top to bottom
    text: str = ""  # plain, below the title; an empty line begins another paragraph
    legend: Sequence[Entry] = ()
    scripts: Sequence[str] = ()  # run when all figures have been drawn

    def save(self, path: str | Path) -> None:
        """Write the page to an HTML file, which replaces one that exists once it is complete."""
        text = self.html.encode()
        places.replace(os.fspath(path), lambda file: file.write(text))

    @cached_property
    def html(self) -> str:
        """The page as text."""
        numbers = iter(range(1_000_000))
        body = "\n".join(_section_html(section, numbers) for section in self.parts)
        legend = [{**vars(entry), "name": printable(entry.name)} for entry in self.legend]
        scripts = [text_of_file("page.js"), *self.scripts]
        if 'class="plot"' in body:
            scripts.insert(0, _plotly())
        return string.Template(text_of_file("page.html")).substitute(
            policy=_policy(scripts),
            title=escaped(self.title),
            style=text_of_file("page.css"),
            text=_paragraphs(self.text),
            body=body,
            legend=data_script(legend, "legend-entries"),
            scripts="\n".join(f"<script>{script}</script>" for script in scripts),
        )


def escaped(text: str) -> str:
    r"""Return text as HTML that shows it as it is, with codes for what would not be seen.

    >>> escaped("<b>" + chr(27))
    '&lt;b&gt;\\x1b'
    """
    return html.escape(printable(text))


def data_script(data: Any, name: str = "") -> str:
    """Return JSON as an element that scripts read, which it cannot end itself."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    place = f' id="{name}"' if name else ""
    return f'<script type="application/json"{place}>{text}</script>'


def _section_html(section: Section, numbers: Iterator[int]) -> str:
    drawn = [_figure_html(figure, next(numbers)) for figure in section.figures]
    n_open = len(drawn) if section.n_open is None else section.n_open
    parts = [_grid(drawn[:n_open])]
    if drawn[n_open:]:
        folded = _grid(drawn[n_open:])
        parts.append(f"<details><summary>{len(drawn) - n_open} more</summary>{folded}</details>")
    text = f"<h2>{escaped(section.title)}</h2>{_paragraphs(section.text)}"
    return "\n".join([f"<section>{text}", section.body, *parts, "</section>"])


def _grid(figures: Sequence[str]) -> str:
    return f'<div class="figures">{"".join(figures)}</div>' if figures else ""


def _figure_html(figure: Figure, number: int) -> str:
    name, wide = escaped(figure.id or f"figure-{number}"), " wide" if figure.is_wide else ""
    group = "" if figure.group is None else f' data-group="{escaped(figure.group)}"'
    title = f"<h3>{escaped(figure.title)}</h3>" if figure.title else ""
    caption = f"<figcaption>{_paragraphs(figure.text)}</figcaption>" if figure.text else ""
    plot = f'<div class="plot" id="{name}"></div>{data_script(figure.drawing)}'
    return f'<figure class="figure{wide}"{group}>{title}\n{plot}\n{caption}</figure>'


def _paragraphs(text: str) -> str:
    """Return plain text as paragraphs, which empty lines divide."""
    return "".join(f"<p>{escaped(each.strip())}</p>" for each in text.split("\n\n") if each)


def _policy(scripts: Sequence[str]) -> str:
    """Return what browsers are told to allow: these scripts, and no request to any network."""
    digests = (hashlib.sha256(script.encode()).digest() for script in scripts)
    allowed = " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline';"
        " img-src data: blob:; font-src data:"
    )


def text_of_file(name: str) -> str:
    """Return the text of a file beside this one."""
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def _plotly() -> str:
    """Return the script of plotly."""
    try:
        from plotly.offline import get_plotlyjs
    except ImportError as error:
        raise ImportError(
            'pages need plotly (the extra html): pip install "plotly>=6"', name="plotly"
        ) from error
    script: str = get_plotlyjs()
    return script.replace("</script", "<\\/script")
