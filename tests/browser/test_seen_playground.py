"""The playground in a browser: what slider, switches and Play draw, and what numbers they tell."""

import re

import numpy as np
import pytest
from playwright.sync_api import expect

from river_amf import plot

PAUSE = 220  # milliseconds between steps


@pytest.fixture(scope="module")
def moons():
    """Return a playground of ten steps."""
    return plot.playground("moons", n_samples=200, n_steps=10, resolution=20, seed=1)


@pytest.fixture(scope="module")
def file(moons, tmp_path_factory):
    """Return the file of its page."""
    path = tmp_path_factory.mktemp("playground") / "moons.html"
    moons.save(path)
    return path


@pytest.fixture
def visit(open_page, file):
    """Open the page, and wait until it is drawn."""
    return drawn(open_page(file))


def drawn(visit):
    """Wait until a page is drawn."""
    visit.page.wait_for_selector("#told:not(:empty)")
    return visit


def slide(visit, step):
    """Move the slider to a step, in one go."""
    visit.page.locator("#step").fill(str(step))


def switch(visit, *values):
    """Set the first switches."""
    for number, value in enumerate(values):
        option = f'input[name="switch-{number}"][value="{value}"]'
        visit.page.locator(f"label:has({option})").click()


def reported(visit):
    """Return the numbers in the line that tells what is seen."""
    text = visit.page.inner_text("#told")
    return [float(number) for number in re.findall(r"\d+(?:\.\d+)?", text)]


def expected(moons, variant, step):
    """Return the numbers that the line should have."""
    n, run = moons.steps[step], moons.runs[variant]
    snapshot = run.snapshots[step]
    since = [n - run.start] if run.start and n > run.start else []
    last = min(n, 100)
    depth = snapshot.mass @ np.minimum(np.arange(len(snapshot.mass)), 20)
    right = round(snapshot.accuracy * last)
    return [n, *since, right, last, snapshot.n_nodes, pytest.approx(depth, abs=0.051)]


def data_of(visit, figure):
    """Return the traces of a figure."""
    return visit.page.evaluate(
        "id => document.getElementById(id).data.map((trace) => ({...trace}))", figure
    )


def test_the_switches_choose_what_is_reported(visit, moons):
    slide(visit, 7)
    for variant in moons.runs:
        switch(visit, *map(str, variant))
        assert reported(visit) == expected(moons, variant, 7)
        lines = visit.page.locator("#explained li").all_inner_texts()
        kind, n_trees, how, drift = variant
        starts = [kind.title(), "Ten" if n_trees == 10 else "One", how.title()]
        starts.append("No" if drift == "none" else "Drift")
        assert [line.split()[0].strip(":") for line in lines] == starts


def test_what_is_drawn_is_the_snapshot(visit, moons):
    switch(visit, "adaptive", "1", "with", "turn")
    for step in (0, 4, 7):
        slide(visit, step)
        check_drawing(visit, moons, step)


def check_drawing(visit, moons, step):
    """Compare all that is drawn of a run with its snapshot."""
    run, n = moons.runs["adaptive", 1, "with", "turn"], moons.steps[step]
    snapshot = run.snapshots[step]
    heatmap, *labels = data_of(visit, "surface")
    np.testing.assert_array_equal(
        np.array(heatmap["z"]) >= 128, snapshot.surface.argmax(axis=-1) == 1
    )
    since = run.start if n > run.start else 0
    for code, trace in enumerate(labels):
        points = run.points[since:n][run.codes[since:n] == code]
        np.testing.assert_allclose(np.transpose([trace["x"], trace["y"]]), points, atol=1e-4)
    cells = data_of(visit, "cells")
    assert sum(len(trace["x"]) // 6 for trace in cells) == len(snapshot.boxes)
    (bars,) = data_of(visit, "mass")
    assert bars["y"][:2] == pytest.approx([*snapshot.mass, 0.0][:2], abs=1e-4)
    drift, faint, strong, mark = data_of(visit, "accuracy")
    assert (faint["name"], strong["name"]) == ("plain", "adaptive")
    others = moons.runs["plain", 1, "with", "turn"].snapshots
    for trace, snapshots in ((faint, others), (strong, run.snapshots)):
        assert trace["x"] == moons.steps[: step + 1]
        accuracy = [each.accuracy for each in snapshots[: step + 1]]
        assert trace["y"] == pytest.approx(accuracy, abs=1e-4)
    assert (mark["x"], mark["y"]) == (strong["x"][-1:], strong["y"][-1:])
    assert drift["x"] == ([run.start] * 2 if n > run.start else [])


def test_play_goes_on_to_the_end_and_begins_again(visit):
    button, slider, clock = *map(visit.page.locator, ("#play", "#step")), visit.page.clock
    clock.install()
    slide(visit, 7)
    expect(button).to_have_text("Play")
    button.click()
    expect(button).to_have_text("Pause")
    assert slider.input_value() == "8"
    clock.run_for(PAUSE)
    assert (slider.input_value(), button.inner_text()) == ("9", "Pause")
    clock.run_for(PAUSE)
    assert (slider.input_value(), button.inner_text()) == ("9", "Play")
    assert reported(visit)[0] == 200
    button.click()
    assert (slider.input_value(), button.inner_text()) == ("0", "Pause")


@pytest.mark.parametrize("width", [400, 1600])
def test_it_can_be_read_at_both_widths_in_light_and_dark(open_page, file, width):
    visit = drawn(open_page(file, width=width))
    switch(visit, "plain", "10", "with", "swap")
    slide(visit, 7)
    assert visit.overflow() == 0
    boxes = [visit.page.locator(f"#{name}").bounding_box() for name in ("surface", "cells")]
    assert (boxes[0]["y"] == boxes[1]["y"]) == (width == 1600)  # two abreast where there is room
    assert all(box["width"] > 0.4 * width for box in boxes)
    visit.picture(f"playground-{width}-light")
    line, light = reported(visit), visit.pixels("#mass")
    visit.set_dark()
    ink = visit.page.evaluate("getComputedStyle(document.body).color")
    expect(visit.page.locator("#mass .xtitle")).to_have_css("fill", ink)  # drawn anew
    assert reported(visit) == line
    assert visit.pixels("#mass").mean() < 0.5 < light.mean()
    assert visit.overflow() == 0
    visit.picture(f"playground-{width}-dark")


def test_labels_that_look_like_code_are_shown_as_they_are(open_page, tmp_path):
    rng = np.random.default_rng(1)
    labels = ["<b>yes</b>", "</script>"]
    pairs = [({"<i>a": a, "b&b": b}, labels[int(a > b)]) for a, b in rng.random((60, 2)).tolist()]
    path = tmp_path / "code.html"
    plot.playground(pairs, n_steps=4, resolution=8, seed=1).save(path)
    visit = drawn(open_page(path))
    names = visit.page.locator("#surface .legendtext").all_text_contents()
    assert names == sorted(labels)
    for figure in ("surface", "cells"):
        assert visit.page.locator(f"#{figure} .xtitle").text_content() == "<i>a"
        assert visit.page.locator(f"#{figure} .ytitle").text_content() == "b&b"
