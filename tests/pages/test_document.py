"""Pages as files: what is in them, and what must not get out of its place."""

import base64
import hashlib
import json
import re
import resource
import sys
from html.parser import HTMLParser

import pytest

from river_amf.explain.text_tables import to_html
from river_amf.pages import document
from river_amf.pages.document import Entry, Figure, Page, Section

EVIL = '</script><script>alert("x")</script><!-- & \x1b[31m\x00\u202e\ud800 "quotes" \''
SEEN = EVIL.replace("\x1b", "\\x1b").replace("\x00", "\\x00")
SEEN = SEEN.replace("\u202e", "\\u202e").replace("\ud800", "\\ud800")


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
    return {"data": [{"type": "scatter", "x": [1, 2], "y": [3, None], "name": text}], "layout": {}}


def page(text="a"):
    figure = Figure(drawing(text), text, text, group=text)
    parts = [
        Section(text, f"{text}\n\nsecond", [figure], to_html([[text], [text]], text)),
        Section("controls", body="<b id='controls'>here</b>"),
    ]
    return Page(text, parts, text, [Entry(text, "red")], ["window.done = 1;"])


def test_text_of_any_kind_is_shown_as_text():
    elements = Elements(page(EVIL).html)
    data = elements.all("script", type="application/json")
    assert len(elements.all("script")) == 3 + len(data)  # plotly, page.js and our own
    assert "alert(" not in "".join(text for attrs, text in elements.all("script") if not attrs)
    figure, legend = (json.loads(text) for _, text in data)
    assert figure == drawing(EVIL)
    assert legend[0]["name"] == SEEN == elements.all("figure")[0][0]["data-group"]
    for tag in ("h1", "title", "h2", "h3", "th", "p"):
        assert elements.all(tag)[0][1] == SEEN, tag


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
    assert len(scripts) == 3 and scripts[-1] == "window.done = 1;"
    hashes = [base64.b64encode(hashlib.sha256(each.encode()).digest()).decode() for each in scripts]
    assert re.findall(r"'sha256-([^']+)'", policy) == hashes
    names = {name for _, attrs, _ in elements.found for name in attrs}
    assert not names & {"src", "href", "srcset", "data", "action", "poster"}
    assert not re.search(r"url\(|@import", document.text_of_file("page.css"))
    assert "<b id='controls'>here</b>" in text


def test_plotly_is_there_once_and_only_where_it_is_needed(monkeypatch):
    figures = [Figure(drawing(), id="first"), Figure(drawing())]
    text = Page("two", [Section("a", figures=figures), Section("b", figures=figures[1:])]).html
    assert text.count("plotly.js v") == 1
    ids = [attrs["id"] for attrs, _ in Elements(text).all("div", **{"class": "plot"})]
    assert ids == ["first", "figure-1", "figure-2"]
    monkeypatch.setitem(sys.modules, "plotly.offline", None)
    assert len(Page("none", [Section("a", "b")]).html) < 20_000
    with pytest.raises(ImportError, match=r'pages need plotly .* pip install "plotly>=6"'):
        _ = page().html


def test_figures_beyond_those_to_be_seen_at_once_are_folded():
    figures = [Figure(drawing(), id=str(k)) for k in range(3)]
    text = Page("folded", [Section("a", figures=figures, n_open=2)]).html
    seen, _, folded = text.partition("<details>")
    assert 'id="1"' in seen and 'id="2"' not in seen
    assert "<summary>1 more</summary>" in folded and 'id="2"' in folded
    assert "<details>" not in Page("open", [Section("a", figures=figures)]).html


def test_a_page_is_saved_whole_or_not_at_all(tmp_path):
    path = tmp_path / "page.html"
    Page("half a pair: \ud800 äß", []).save(str(path))
    assert "<title>half a pair: \\ud800 äß</title>" in path.read_text(encoding="utf-8")
    before = path.read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))  # as on a full disk
    try:
        with pytest.raises(OSError, match="large"):
            Page("again", []).save(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_bytes() == before
    assert [*tmp_path.iterdir()] == [path]
    Page("again", []).save(path)
    assert "<title>again</title>" in path.read_text(encoding="utf-8")
