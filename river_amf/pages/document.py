"""A page of parts, each with text and figures, as one HTML file that needs nothing else.

Plotly draws the figures; its script is in the file once. A color in a figure may be a variable of
`page.css`, such as `"var(--ink)"`. `page.js` fills in its value, for light or dark, and draws anew
when that changes. It also draws the legend of the page, which switches models in all figures.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Any, Protocol


class Drawing(Protocol):
    """A figure of plotly, as far as a page needs it."""

    def to_json(self) -> str:
        """Return data and layout as JSON."""


@dataclass(frozen=True)
class Entry:
    """An entry of the page's legend, which shows and hides curves.

    Parameters
    ----------
    name
        What it shows and hides: traces whose `legendgroup` this is, and figures of this `group`.
    color
        Color of its line, in CSS.
    dash
        `"solid"`, `"dash"` or `"dot"`.
    """

    name: str
    color: str
    dash: str = "solid"


@dataclass(frozen=True)
class Figure:
    """A figure of a section."""

    drawing: Drawing
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
        """Write the page to an HTML file, which is overwritten if it exists."""
        Path(path).write_bytes(self.html.encode("utf-8", "replace"))

    @cached_property
    def html(self) -> str:
        """The page as text."""
        numbers = iter(range(1_000_000))
        body = "\n".join(_section_html(section, numbers) for section in self.parts)
        data = {"template": TEMPLATE, "legend": [vars(entry) for entry in self.legend]}
        scripts = [text_of_file("page.js"), *self.scripts]
        if any(section.figures for section in self.parts):
            scripts.insert(0, _plotly())
        return "\n".join(
            [
                "<!DOCTYPE html>",
                '<html lang="en">',
                "<head>",
                '<meta charset="utf-8">',
                f'<meta http-equiv="Content-Security-Policy" content="{_policy(scripts)}">',
                '<meta name="viewport" content="width=device-width, initial-scale=1">',
                '<meta name="color-scheme" content="light dark">',
                f"<title>{html.escape(self.title)}</title>",
                f"<style>{text_of_file('page.css')}</style>",
                "</head>",
                "<body>",
                f"<header><h1>{html.escape(self.title)}</h1>{_paragraphs(self.text)}</header>",
                '<nav id="legend" hidden></nav>',
                f"<main>\n{body}\n</main>",
                f'<script type="application/json" id="page">{inert(json.dumps(data))}</script>',
                *(f"<script>{script}</script>" for script in scripts),
                "</body>",
                "</html>",
                "",
            ]
        )


_AXIS = {
    "automargin": True,
    "gridcolor": "var(--grid)",
    "linecolor": "var(--faint)",
    "zerolinecolor": "var(--grid)",
    "tickcolor": "var(--faint)",
    "title": {"standoff": 8},
}

# What figures have in common, as a template of plotly.
TEMPLATE: dict[str, Any] = {
    "layout": {
        "autosize": True,
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": "system-ui, sans-serif", "size": 13, "color": "var(--ink)"},
        "margin": {"l": 48, "r": 12, "t": 12, "b": 40},
        "showlegend": False,
        "hoverlabel": {
            "bgcolor": "var(--paper)",
            "bordercolor": "var(--faint)",
            "font": {"color": "var(--ink)"},
            "namelength": -1,
        },
        "xaxis": _AXIS,
        "yaxis": _AXIS,
        "coloraxis": {"colorbar": {"outlinewidth": 0, "thickness": 12}},
    },
}


def _section_html(section: Section, numbers: Iterator[int]) -> str:
    figures = "\n".join(_figure_html(figure, next(numbers)) for figure in section.figures)
    return "\n".join(
        [
            f"<section><h2>{html.escape(section.title)}</h2>{_paragraphs(section.text)}",
            section.body,
            f'<div class="figures">{figures}</div></section>' if figures else "</section>",
        ]
    )


def _figure_html(figure: Figure, number: int) -> str:
    name = html.escape(figure.id or f"figure-{number}")
    group = "" if figure.group is None else f' data-group="{html.escape(figure.group)}"'
    wide = " wide" if figure.is_wide else ""
    title = f"<h3>{html.escape(figure.title)}</h3>" if figure.title else ""
    caption = f"<figcaption>{_paragraphs(figure.text)}</figcaption>" if figure.text else ""
    return "\n".join(
        [
            f'<figure class="figure{wide}"{group}>{title}',
            f'<div class="plot" id="{name}"></div>',
            f'<script type="application/json">{inert(figure.drawing.to_json())}</script>',
            f"{caption}</figure>",
        ]
    )


def _paragraphs(text: str) -> str:
    """Return plain text as paragraphs, which empty lines divide."""
    return "".join(f"<p>{html.escape(each.strip())}</p>" for each in text.split("\n\n") if each)


def inert(text: str) -> str:
    """Return JSON that cannot end the script element which it is in."""
    return text.replace("<", "\\u003c")


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
