"""Pages as files: what is in them, and what must not get out of its place."""

import base64
import hashlib
import json
import re
import sys
from html.parser import HTMLParser

import plotly.graph_objects as go
import pytest

from river_amf.pages import document
from river_amf.pages.document import Entry, Figure, Page, Section

EVIL = '</script><script>alert("x")</script><!-- & \u2028 "quotes" \''


class Elements(HTMLParser):
    """The elements of a page, with their attributes and text, as a browser finds them."""

    def __init__(self, text):
        super().__init__()
        self.found, self._open = [], None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self._open = [tag, dict(attrs), ""]
        self.found.append(self._open)

    def handle_data(self, data):
        if self._open is not None:
            self._open[2] += data

    def all(self, tag, **attributes):
        return [
            (attrs, text.strip())
            for name, attrs, text in self.found
            if name == tag and attributes.items() <= attrs.items()
        ]


def drawing(text="a"):
    return go.Figure(go.Scatter(x=[1, 2], y=[3, float("nan")], name=text), {"template": "none"})


def page(text="a"):
    parts = [
        Section(text, f"{text}\n\nsecond", [Figure(drawing(text), text, text, group=text)]),
        Section("controls", body="<b id='controls'>here</b>"),
    ]
    return Page(text, parts, text, [Entry(text, "red")], ["window.done = 1;"])


def test_text_of_any_kind_stays_text():
    elements = Elements(page(EVIL).html)
    data = elements.all("script", type="application/json")
    assert len(elements.all("script")) == 3 + len(data)  # plotly, page.js and our own
    assert "alert(" not in "".join(text for attrs, text in elements.all("script") if not attrs)
    figure, rest = (json.loads(text) for _, text in data)
    assert figure["data"][0]["name"] == EVIL
    assert figure["data"][0]["y"] == [3, None]
    assert rest["legend"][0]["name"] == EVIL
    assert elements.all("h1")[0][1] == elements.all("title")[0][1] == EVIL
    assert elements.all("h2")[0][1] == elements.all("h3")[0][1] == EVIL
    assert elements.all("figure")[0][0]["data-group"] == EVIL
    assert [text for _, text in elements.all("p")][:2] == [EVIL, EVIL]


def test_no_script_but_ours_may_run_and_nothing_may_be_fetched():
    text = page().html
    elements = Elements(text)
    (policy,) = [
        attrs["content"]
        for attrs, _ in elements.all("meta")
        if attrs.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "http" not in re.sub(r"'sha256-[^']+'", "", policy)
    scripts = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    assert len(scripts) == 3
    hashes = [base64.b64encode(hashlib.sha256(each.encode()).digest()).decode() for each in scripts]
    assert re.findall(r"'sha256-([^']+)'", policy) == hashes
    names = {name for _, attrs, _ in elements.found for name in attrs}
    assert not names & {"src", "href", "srcset", "data", "action", "poster"}
    assert not re.search(r"url\(|@import", document.text_of_file("page.css"))


def test_plotly_is_there_once_and_only_where_it_is_needed():
    figures = [Figure(drawing(), id="first"), Figure(drawing())]
    text = Page("two", [Section("a", figures=figures), Section("b", figures=figures[1:])]).html
    assert text.count("plotly.js v") == 1
    assert [attrs["id"] for attrs, _ in Elements(text).all("div", **{"class": "plot"})] == [
        "first",
        "figure-1",
        "figure-2",
    ]
    assert len(Page("none", [Section("a", "b")]).html) < 20_000


def test_controls_and_scripts_are_taken_as_they_are():
    text = page().html
    assert "<b id='controls'>here</b>" in text
    assert text.index("window.done = 1;") > text.index('document.getElementById("page")')


def test_a_page_is_saved_whatever_its_text(tmp_path):
    path = tmp_path / "page.html"
    Page("half a pair: \ud800 äß", [Section("a")]).save(path)
    assert "<title>half a pair: ? äß</title>" in path.read_text(encoding="utf-8")
    Page("again", []).save(str(path))
    assert "<title>again</title>" in path.read_text(encoding="utf-8")


def test_without_plotly_the_error_reports_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "plotly.offline", None)
    with pytest.raises(ImportError, match=r'pages need plotly .* pip install "plotly>=6"'):
        _ = page().html
