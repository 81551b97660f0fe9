"""Reports in a browser: what is drawn, the legend, hovering, light and dark, both widths."""

import re

import numpy as np
import pytest

from river_amf import evaluation

MARKUP = '<b>&"</script>'


@pytest.fixture(scope="module")
def labels(tmp_path_factory):
    """Return the page of two forests on a stream that drifts."""
    path = tmp_path_factory.mktemp("pages") / "labels.html"
    report = evaluation.report("stagger_abrupt", limit=6000, seed=1)
    report.save(path)
    return path, report


@pytest.fixture(scope="module")
def numbers(tmp_path_factory):
    """Return the page of regressors."""
    path = tmp_path_factory.mktemp("pages") / "numbers.html"
    report = evaluation.report("TrumpApproval", ["adaptive", "linear"], seed=1)
    report.save(path)
    return path, report


def lines(visit, figure):
    """Return how many curves of a figure are seen."""
    return visit.page.locator(f"#{figure} .scatterlayer .trace").count()


def hover(visit, figure, x=0.5, y=0.5):
    """Point into a figure, and return the text of the labels that appear."""
    visit.page.locator(f"#{figure}").scroll_into_view_if_needed()
    box = visit.page.locator(f"#{figure} .nsewdrag").first.bounding_box()
    visit.page.mouse.move(box["x"] + x * box["width"], box["y"] + y * box["height"], steps=3)
    label = visit.page.locator(f"#{figure} .hoverlayer text").first
    label.wait_for(state="attached")
    reported, before = "", None
    while reported != before:  # at first, labels of places on the way
        before = reported
        visit.page.wait_for_timeout(200)
        reported = " ".join(visit.page.locator(f"#{figure} .hoverlayer text").all_text_contents())
    return reported


@pytest.mark.parametrize(("width", "is_dark"), [(400, True), (1600, False)])
@pytest.mark.parametrize("name", ["labels", "numbers"])
def test_a_page_is_drawn_at_any_width(open_page, request, name, width, is_dark):
    path, report = request.getfixturevalue(name)
    visit = open_page(path, width=width, is_dark=is_dark)
    visit.picture(f"report-{name}-{width}-{'dark' if is_dark else 'light'}")
    assert visit.overflow() == 0
    plots = visit.page.locator(".plot")
    assert plots.count() == sum(len(part.figures) for part in report.page.parts)
    assert visit.page.locator(".plot .main-svg").count() >= plots.count()
    for box in (plots.nth(k).bounding_box() for k in range(plots.count())):
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
        assert box["height"] >= 120
    figure = visit.pixels(".plot")[..., :3]
    darkest, lightest = figure.min(), figure.max()
    assert np.median(figure) == pytest.approx(0.08 if is_dark else 1.0, abs=0.03)
    assert lightest - darkest > 0.6  # ink can be told from paper


def test_the_legend_hides_curves_in_all_figures(open_page, labels):
    visit = open_page(labels[0])
    button = visit.page.locator("#legend button", has_text="adaptive")
    figures = ["accuracy", "cumulative-accuracy", "log-loss", "reliability", "memory"]
    before = {figure: lines(visit, figure) for figure in figures}
    assert before["accuracy"] == 4
    pixels = visit.pixels("#accuracy")
    assert button.get_attribute("aria-pressed") == "true"
    assert visit.page.locator("#relevance-adaptive").is_visible()
    button.click()
    visit.page.mouse.move(0, 0)
    assert button.get_attribute("aria-pressed") == "false"
    assert {figure: lines(visit, figure) for figure in figures} == {
        figure: n - 1 for figure, n in before.items()
    }
    assert not visit.page.locator("#relevance-adaptive").is_visible()
    assert visit.page.locator("#confusion-amf").is_visible()
    assert (visit.pixels("#accuracy") != pixels).any()
    button.click()
    visit.page.mouse.move(0, 0)
    assert lines(visit, "accuracy") == 4
    assert visit.page.locator("#relevance-adaptive .heatmaplayer image").count() == 1
    np.testing.assert_array_equal(visit.pixels("#accuracy"), pixels)


def test_hovering_shows_the_numbers(open_page, labels, numbers):
    path, report = labels
    visit = open_page(path)
    reported = hover(visit, "cumulative-accuracy")
    values = {name: report.curve(name, "cumulative accuracy") for name in report.models}
    found = re.findall(r"(?<![\d.])0\.\d{4}|(?<![\d.])1\.0000", reported)
    assert len(found) == 4
    for name, curve in values.items():
        middle = {f"{value:.4f}" for value in curve.loc[2800:3200]}
        assert middle & {*found}, name
    ranked = report.relevance["adaptive"].mean().sort_values(ascending=False)
    for name, y in zip(ranked.index, (0.15, 0.5, 0.85), strict=True):  # the highest on top
        reported = hover(visit, "relevance-adaptive", x=0.3, y=y)
        curve = report.relevance["adaptive"].loc[1500:2100, name]
        number = re.fullmatch(rf"{name}after \d+: (0(?:\.\d+)?)", reported)[1]
        assert number in {f"{value:.3f}" for value in curve}
    visit = open_page(numbers[0], width=400)
    assert re.search(r"linear : \d\.\d+|\d\.\d+", hover(visit, "MAE"))


def test_a_click_on_a_title_sorts_the_table_and_another_turns_it_over(open_page, labels):
    path, report = labels
    visit = open_page(path)
    names = visit.page.locator("tbody th")
    for column, title in (
        ("accuracy", "accuracy"),
        ("memory", "MB"),
        ("us_per_sample", "us/sample"),
    ):
        expected = report.table[column].sort_values().index.tolist()
        button = visit.page.locator("thead button", has_text=title)
        for up, order in (("ascending", expected), ("descending", expected[::-1])):
            button.click()
            if column == "accuracy":  # others may look the same
                assert names.all_text_contents() == order
            assert visit.page.locator(f'th[aria-sort="{up}"]').text_content() == title
    visit.page.locator("thead button", has_text="model").click()
    assert names.all_text_contents() == sorted(report.table.index)


def test_names_with_markup_are_shown_as_they_are(open_page, tmp_path):
    samples = [({MARKUP: n % 7}, MARKUP if n % 7 > 3 else "%{x} $a$") for n in range(300)]
    path = tmp_path / "page.html"
    evaluation.report(samples, {MARKUP: "adaptive"}, seed=1).save(path)
    visit = open_page(path)
    assert visit.page.locator("#legend button").first.text_content() == MARKUP
    ticks = visit.page.locator("[id^=confusion] .ytick text")
    assert sorted(ticks.all_text_contents()) == sorted([MARKUP, "%{x} $a$"])
    feature = visit.page.locator("[id^=relevance] .ytick text")
    assert feature.all_text_contents() == [MARKUP]
    visit.page.locator("#legend button").first.click()
    assert lines(visit, "accuracy") == 2
