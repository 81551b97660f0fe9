"""Reports in Debian's Chromium, without a window and without a network.

Pictures of the pages are kept in `pictures0` of pytest's folder: look at them.
"""

import pytest
from playwright.sync_api import sync_playwright

from river_amf import evaluation

EVIL = """<img src=x onerror="document.title='no'"></script><script>document.title='no'</script>"""
OTHER = "%{x} $a$ &lt;b&gt; "
LONG = "a_very_long_name_of_a_feature_from_the_data_warehouse"
LABELS = [({EVIL: n % 7, LONG: n % 5}, EVIL if n % 7 > 3 else OTHER) for n in range(400)]
TARGETS = [({"size": n % 7, "price": n % 11}, n % 7 * (1.0 + n // 200)) for n in range(400)]
RUNS = {
    "labels": (LABELS, {EVIL: "adaptive", OTHER: "gaussian-nb"}),
    "targets": (TARGETS, None),
    "constant": ([({"a": 1, "b": 2}, "x")] * 100, ["adaptive"]),
}


@pytest.fixture(scope="module")
def visit(chromium, tmp_path_factory):
    """Return a function that opens a page; an error or request of any page fails in the end."""
    folder, problems = tmp_path_factory.mktemp("pictures"), []
    for name, (samples, models) in RUNS.items():
        evaluation.report(samples, models, seed=1).save(folder / f"{name}.html")

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])

        def open_page(name, width, scheme="light"):
            window = {"width": width, "height": 1000}
            page = browser.new_page(viewport=window, color_scheme=scheme, offline=True)
            page.on("console", lambda m: problems.append(m.text) if m.type != "log" else None)
            page.on("pageerror", lambda error: problems.append(str(error)))
            file = (folder / f"{name}.html").as_uri()
            page.on("request", lambda r: problems.append(r.url) if r.url != file else None)
            page.goto(file)
            page.wait_for_function("!document.querySelector('.plot:not(:has(.main-svg))')")
            page.screenshot(path=folder / f"{name}-{width}-{scheme}.png", full_page=True)
            return page

        yield open_page
        browser.close()
    assert problems == []


def boxes(page, selector):
    return [element.bounding_box() for element in page.locator(selector).all()]


def color(page, selector, name):
    """Return the red part of a color of the first element."""
    script = "([s, n]) => getComputedStyle(document.querySelector(s))[n].match(/[0-9]+/)[0]"
    return int(page.evaluate(script, [selector, name]))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1600])
@pytest.mark.parametrize("name", RUNS)
def test_page_fits_and_can_be_read(visit, name, width, scheme):
    page = visit(name, width, scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert all(box["height"] >= 200 for box in boxes(page, ".nsewdrag"))
    plots = boxes(page, ".plot")
    for plot in plots:  # a figure alone in its row is wide
        beside = [box for box in plots if box["y"] == plot["y"]]
        assert plot["x"] >= 0 and plot["x"] + plot["width"] <= width
        assert (plot["width"] > 0.9 * (width - 80)) == (width == 390 or len(beside) == 1)
    drawn = boxes(page, ".plot .main-svg:first-of-type")
    assert [box["width"] for box in drawn] == [box["width"] for box in plots]
    paper, sign = color(page, "body", "backgroundColor"), 1 if scheme == "light" else -1
    inks = color(page, "body", "color"), color(page, ".plot svg text", "fill")
    assert all(sign * (paper - ink) > 150 for ink in inks)


def test_names_with_markup_do_nothing(visit):
    page = visit("labels", 1600)
    assert page.locator("img, main script:not([nonce])").count() == 0
    for selector in ("nav .name", "tbody th .name", "h3 .name"):
        assert EVIL in page.locator(selector).all_text_contents(), selector
    assert OTHER in page.locator("tbody th .name").all_text_contents()
    page.locator("#accuracy .nsewdrag").hover()
    labels = page.locator("#accuracy .hoverlayer .legendtext")
    labels.first.wait_for(state="attached")
    texts = labels.all_text_contents()
    assert [text.rpartition(" : ")[0] for text in texts][:2] == [EVIL, OTHER]
    assert page.title() == "list"


@pytest.mark.parametrize("width", [390, 1600])
def test_wide_tables_scroll(visit, width):
    page = visit("labels", width)
    table = page.locator(".scroll").first
    assert table.evaluate("e => e.scrollWidth > e.clientWidth") == (width == 390)
