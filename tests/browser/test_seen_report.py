"""Reports in Debian's Chromium, without a window and without a network.

Pictures of the pages are kept in `pictures0` of pytest's folder: look at them.
"""

import pytest
from playwright.sync_api import sync_playwright

from river_amf import evaluation

EVIL = """<img src=x onerror="document.title='no'"></script><script>document.title='no'</script>"""
OTHER = "%{x} $a$ &lt;b&gt; "
LONG = "a_very_long_name_of_a_feature_from_the_data_warehouse_with_an_end_that_differs_"


def labels():
    for n in range(400):
        yield {EVIL: n % 7, LONG + "1": n % 5, LONG + "2": n % 3}, EVIL if n % 7 > 3 else OTHER


def numbers():
    for n in range(400):
        yield {"size": n % 7, "price": n % 11}, float(n % 7 * (1 + n // 200))


@pytest.fixture(scope="module")
def visit(chromium, tmp_path_factory):
    """Return a function that opens a page; an error or request of any page fails in the end."""
    folder, problems = tmp_path_factory.mktemp("pictures"), []
    runs = {
        "labels": ([*labels()], {EVIL: "adaptive", OTHER: "gaussian-nb"}),
        "numbers": ([*numbers()], None),
        "constant": ([({"a": 1, "b": 2}, "x")] * 100, ["adaptive"]),
    }
    for name, (samples, models) in runs.items():
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
    """Return the boxes of elements: left, top, width and height."""
    return page.evaluate(
        "s => [...document.querySelectorAll(s)].map(e => e.getBoundingClientRect())"
        ".map(b => [b.x, b.y, b.width, b.height])",
        selector,
    )


def color(page, selector, name):
    """Return the red part of a color of the first element."""
    script = "([s, n]) => getComputedStyle(document.querySelector(s))[n]"
    return int(page.evaluate(script, [selector, name]).partition("(")[2].partition(",")[0])


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1600])
@pytest.mark.parametrize("name", ["labels", "numbers", "constant"])
def test_page_fits_and_can_be_read(visit, name, width, scheme):
    page = visit(name, width, scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for left, _, across, _ in boxes(page, ".figure"):
        assert left >= 0 and left + across <= width
    assert all(height >= 200 for *_, height in boxes(page, ".nsewdrag"))
    plots = boxes(page, ".plot")
    assert [box[2] for box in boxes(page, ".plot .main-svg:first-of-type")] == [b[2] for b in plots]
    for _, top, across, _ in plots:
        beside = [box for box in plots if box[1] == top]
        assert (across > 0.9 * (width - 80)) == (width == 390 or len(beside) == 1)
    paper = color(page, "body", "backgroundColor")
    inks = [color(page, "body", "color"), color(page, ".plot svg text", "fill")]
    assert all((ink > paper + 150) == (scheme == "dark") for ink in inks)
    assert all((paper > ink + 150) == (scheme == "light") for ink in inks)


def test_names_with_markup_do_nothing(visit):
    page = visit("labels", 1600)
    assert page.title() == "list"
    assert page.locator("img, main script:not([nonce])").count() == 0
    for selector in ("nav span .name", "tbody th .name", "h3 .name"):
        assert EVIL in page.locator(selector).all_text_contents(), selector
    assert OTHER in page.locator("tbody th .name").all_text_contents()
    assert EVIL in page.locator(".rows .name").all_text_contents()
    page.locator("#accuracy").scroll_into_view_if_needed()
    (left, top, width, height), *_ = boxes(page, "#accuracy .nsewdrag")
    page.mouse.move(left + width / 2, top + height / 2, steps=3)
    labels = page.locator("#accuracy .hoverlayer .legendtext")
    labels.first.wait_for(state="attached")
    texts = labels.all_text_contents()
    assert [t.rpartition(" : ")[0] for t in texts][:2] == [EVIL, OTHER]
    assert page.title() == "list"


@pytest.mark.parametrize("width", [390, 1600])
def test_long_names_are_cut_in_their_middle(visit, width):
    page = visit("labels", width)
    head, tail = page.locator(".rows .name", has_text=f"{LONG}1").locator("span").all()
    assert head.evaluate("e => e.scrollWidth > e.clientWidth") == (width == 390)
    assert tail.text_content().endswith("1")
    assert tail.evaluate("e => e.getBoundingClientRect().right") <= width
    table = page.locator(".scroll").first
    assert table.evaluate("e => e.scrollWidth > e.clientWidth") == (width == 390)
