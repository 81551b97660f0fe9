"""A page of sections with text, tables and figures, as one HTML file that needs no other."""

import hashlib
import os
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Any

import pandas as pd

from river_amf.pages.charts import Look, escaped
from river_amf.persistence import files

_HEIGHT = 320  # of a figure, in pixels, by default
_AXIS = {"automargin": True, "gridcolor": "#88888844", "zerolinecolor": "#88888844"}
_TEMPLATE = {  # what figures have in common
    "paper_bgcolor": "rgba(0,0,0,0)",
    "plot_bgcolor": "rgba(0,0,0,0)",
    "font": {"family": "system-ui, sans-serif", "size": 13},
    "margin": {"l": 48, "r": 12, "t": 12, "b": 40},
    "showlegend": False,
    "dragmode": False,  # or figures would keep a finger from scrolling
    "hoverlabel": {"namelength": -1},
    "xaxis": {**_AXIS, "title": {"standoff": 8}},
    "yaxis": {**_AXIS, "title": {"standoff": 8}},
}
_CONFIG = {"displaylogo": False, "modeBarButtonsToRemove": ["lasso2d", "select2d"]}


@dataclass(frozen=True)
class Figure:
    """A figure of a section: traces of plotly, or a table."""

    id: str  # in the page: letters, digits and hyphens
    title: str
    traces: Sequence[Mapping[str, Any]] = ()
    x: str = ""  # titles of the axes
    y: str = ""
    layout: Mapping[str, Any] = field(default_factory=dict)  # as plotly has it, without titles
    text: str = ""  # a paragraph below
    body: str = ""  # HTML in the place of traces


@dataclass(frozen=True)
class Section:
    """A section of a page, with figures two abreast where there is room."""

    title: str
    text: str = ""
    figures: Sequence[Figure] = ()
    body: str = ""  # HTML below the text


@dataclass(frozen=True)
class Page:
    """A page of sections."""

    title: str
    sections: Sequence[Section]
    text: str = ""  # below the title
    facts: Mapping[str, str] = field(default_factory=dict)  # below the text
    key: Mapping[str, Look] = field(default_factory=dict)  # names, and what their lines look like

    def save(self, path: str | Path) -> None:
        text = self.html.encode()
        files.replace(os.fspath(path), lambda file: file.write(text))

    @cached_property
    def html(self) -> str:
        body = "\n".join(map(_section_html, self.sections))
        nonce = hashlib.sha256(body.encode()).hexdigest()  # which no text of the page can contain
        folder = resources.files(__package__)
        return string.Template(folder.joinpath("page.html").read_text("utf-8")).substitute(
            nonce=nonce,
            title=escaped(self.title),
            style=folder.joinpath("page.css").read_text("utf-8"),
            text=_tag("p", self.text),
            facts=facts_html(self.facts),
            key="".join(map(_key_html, self.key, self.key.values())),
            plotly=_plotly().offline.get_plotlyjs() if "plotly-graph-div" in body else "",
            body=body.replace("<script>", f'<script nonce="{nonce}">'),
        )


def _plotly() -> Any:
    try:
        import plotly.io
        import plotly.offline
    except ImportError as error:
        text = 'pages need plotly (the extra html): pip install "plotly>=6"'
        raise ImportError(text, name="plotly") from error
    return plotly


def facts_html(facts: Mapping[str, str]) -> str:
    return "<dl>" + "".join(_tag("dt", k) + _tag("dd", v) for k, v in facts.items()) + "</dl>"


def name_html(name: str) -> str:
    """Return a name as HTML that is cut where there is no room."""
    return f'<span class="name" title="{escaped(name)}">{escaped(name)}</span>'


def table_html(table: pd.DataFrame, kind: str = "") -> str:
    """Return a table, whose cells are HTML and whose titles and index are plain text."""
    shown = table.set_axis([name_html(str(name)) for name in table.index])
    shown.columns = pd.Index([name_html(str(name)) for name in table.columns])
    shown.columns.name = escaped(str(table.index.name or ""))
    with pd.option_context("display.max_colwidth", None):
        text = shown.to_html(escape=False, border=0, classes=kind or None, justify="right")
    return f'<div class="scroll" tabindex="0">{text}</div>'


def _tag(tag: str, text: str) -> str:
    """Return an element that holds text, or nothing if there is none."""
    return f"<{tag}>{escaped(text)}</{tag}>" if text else ""


def _key_html(name: str, look: Look) -> str:
    style = {"solid": "solid", "dash": "dashed", "dot": "dotted"}[look.dash]
    return f'<span><i style="border-top: 3px {style} {look.color}"></i>{name_html(name)}</span>'


def _section_html(section: Section) -> str:
    figures = "".join(map(_figure_html, section.figures))
    grid = f'<div class="figures">{figures}</div>' if figures else ""
    head = _tag("h2", section.title) + _tag("p", section.text)
    return f"<section>{head}{section.body}{grid}</section>"


def _figure_html(figure: Figure) -> str:
    body = figure.body
    if figure.traces:
        layout = {"height": _HEIGHT, "template": {"layout": _TEMPLATE}, **figure.layout}
        for axis, title in (("xaxis", figure.x), ("yaxis", figure.y)):
            layout[axis] = {"title": {"text": title}, **layout.get(axis, {})}
        options = {"full_html": False, "include_plotlyjs": False, "validate": False}
        drawn = {"data": [*figure.traces], "layout": layout}
        plot = _plotly().io.to_html(drawn, _CONFIG, div_id=figure.id, **options)
        body = f'<div class="plot">{plot}</div>'
    title, caption = f"<h3>{name_html(figure.title)}</h3>", _tag("figcaption", figure.text)
    return f'<figure class="figure">{title}{body}{caption}</figure>'
