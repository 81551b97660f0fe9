"""What the tests of pages stand on: a page of a few lines, and one where all goes wrong."""

import numpy as np
import pytest

PLAIN = """<!DOCTYPE html><html><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<style>
:root { color-scheme: light dark }
body { margin: 0; background: white }
p { width: 500px; max-width: 100%; height: 50px; margin: 0; background: rgb(255, 0, 0) }
@media (prefers-color-scheme: dark) { body { background: black } }
</style></head>
<body><p id="box">12 samples</p>
<button onclick="document.getElementById('box').style.background = 'rgb(0, 0, 255)'">blue</button>
</body></html>"""

WRONG = """<!DOCTYPE html><html><head><meta charset="utf-8"></head><body>
<img src="http://example.com/picture.png"><img src="data:image/gif;base64,R0lGODlhAQABAAAAACw=">
<script>console.error("first"); console.warn("second"); console.log("fine"); throw Error("third");
</script></body></html>"""


@pytest.fixture
def plain(tmp_path):
    """Return the file of the plain page."""
    path = tmp_path / "plain.html"
    path.write_text(PLAIN, encoding="utf-8")
    return path


def test_what_is_drawn_is_seen(open_page, plain):
    visit = open_page(plain)
    assert visit.page.inner_text("#box") == "12 samples"
    before = visit.pixels("#box")
    assert before.shape[:2] == (50, 500)
    np.testing.assert_array_equal(before[-1, -1, :3], [1.0, 0.0, 0.0])
    visit.page.click("text=blue")
    np.testing.assert_array_equal(visit.pixels("#box")[-1, -1, :3], [0.0, 0.0, 1.0])


def test_width_and_darkness_are_those_asked_for(open_page, plain):
    for width in (400, 1600):
        visit = open_page(plain, width=width, height=300, is_dark=width == 400)
        picture = visit.pixels("html")
        assert picture.shape[1] == width
        assert visit.overflow() == 0
        np.testing.assert_array_equal(picture[-1, -1, :3], [0.0 if width == 400 else 1.0] * 3)
    visit.set_dark()
    np.testing.assert_array_equal(visit.pixels("html")[-1, -1, :3], [0.0] * 3)
    visit.resize(400)
    assert visit.pixels("html").shape[1] == 400
    assert visit.picture("plain").stat().st_size > 0


def test_errors_and_requests_are_noticed(open_page, tmp_path):
    path = tmp_path / "wrong.html"
    path.write_text(WRONG, encoding="utf-8")
    visit = open_page(path)
    assert visit.requests == ["http://example.com/picture.png"]
    assert {"first", "second", "third"} <= {*visit.errors}
    assert "fine" not in visit.errors
    with pytest.raises(AssertionError, match="third"):
        visit.check()
    visit.errors.clear()
    visit.requests.clear()
