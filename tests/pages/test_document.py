"""Pages as files: what is in them, and what must not get out of its place."""

import re
import sys
from html.parser import HTMLParser

import pandas as pd
import pytest

from river_amf.pages.charts import Look, rows_layout
from river_amf.pages.document import Figure, Page, Section, table_html

EVIL = '</script><script>alert("x")</script><!-- & \x1b[31m\x00\u202e\ud800 "quotes" \''
SEEN = EVIL.replace("\x1b", "\\x1b").replace("\x00", "\\x00")
SEEN = SEEN.replace("\u202e", "\\u202e").replace("\ud800", "\\ud800")


class Texts(HTMLParser):
    """The texts of a page by the tag in which they are, and all attributes, as a browser reads."""

    def __init__(self, text):
        super().__init__()
        self.texts, self.attributes, self._open = {}, [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.attributes += attrs
        if tag not in ("meta", "br"):
            self._open.append(tag)
            self.texts.setdefault(tag, []).append("")

    def handle_endtag(self, tag):
        self._open.pop()

    def handle_data(self, data):
        for tag in {*self._open}:
            self.texts[tag][-1] += data


def page(text="a"):
    traces = [{"type": "scatter", "x": [1, 2], "y": [3, None]}]
    layout = rows_layout([text])
    figures = [
        Figure("first", text, traces, "x", layout=layout, text=text),
        Figure("b", "", traces),
    ]
    names = pd.Index([text], dtype=object, name=text)
    table = pd.DataFrame([["1"]], names, names)
    sections = [Section(text, text, figures, table_html(table))]
    return Page(text, sections, text, {text: text}, {text: Look("red")})


def test_text_of_any_kind_is_shown_as_text():
    parsed = Texts(page(EVIL).html)
    assert len(parsed.texts["script"]) == 3  # plotly, and two figures
    assert not any(EVIL[:17] in script for script in parsed.texts["script"][1:])
    for tag in ("h1", "title", "h2", "h3", "th", "p", "dt", "dd", "nav", "figcaption"):
        assert parsed.texts[tag][0].strip() == SEEN, tag
    assert rows_layout(["<b>"])["yaxis"]["ticktext"] == ["&lt;b&gt;"]


def test_only_plotly_may_run_and_nothing_is_fetched():
    text = page().html
    parsed = Texts(text)
    (nonce,) = {value for name, value in parsed.attributes if name == "nonce"}
    assert text.count("<script") == text.count(f'<script nonce="{nonce}"')
    (policy,) = (v for n, v in parsed.attributes if n == "content" and "default-src" in v)
    assert policy.startswith("default-src 'none'; script-src 'nonce-")
    names = {name for name, _ in parsed.attributes}
    assert not names & {"src", "href", "srcset", "data", "action", "poster", "onclick"}
    assert not re.search(r"url\(|@import", parsed.texts["style"][0])
    assert text.count("plotly.js v") == 1
    assert re.findall('<div id="([^"]+)" class="plotly-graph-div"', text) == ["first", "b"]
    assert len(Page("none", [Section("a", "b")]).html) < 20_000  # without plotly


def test_pages_need_plotly(monkeypatch):
    monkeypatch.setitem(sys.modules, "plotly.io", None)
    page = Page("a", [Section("b", figures=[Figure("c", "d", [{"type": "scatter"}])])])
    with pytest.raises(ImportError, match=r'pages need plotly .* pip install "plotly>=6"'):
        page.html  # noqa: B018


def test_page_is_saved_as_text(tmp_path):
    Page("half a pair: \ud800 äß", []).save(tmp_path / "page.html")
    assert "<title>half a pair: \\ud800 äß</title>" in (tmp_path / "page.html").read_text("utf-8")
