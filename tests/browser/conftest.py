"""Pages in Debian's Chromium, without a window and without a network.

Pictures are kept in the folder `pictures` of the run, `/tmp/pytest-of-USER/pytest-N/pictures0`, or
below what `--basetemp` names.
"""

import pytest


@pytest.fixture(scope="session")
def browser(chromium):
    """Start the browser, for the whole run, and stop it."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--force-color-profile=srgb"]
        )
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def pictures(tmp_path_factory):
    """Return the folder for pictures."""
    return tmp_path_factory.mktemp("pictures")


@pytest.fixture
def open_page(browser, pictures):
    """Return a function that opens an HTML file; a test fails if something goes wrong on one."""
    from visits import Visit

    visits, contexts = [], []

    def open_one(path, *, width=1600, height=1000, is_dark=False):
        """Open a file in a window of so many pixels, and return the `Visit`."""
        context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if is_dark else "light",
            offline=True,
            reduced_motion="reduce",
        )
        contexts.append(context)
        visit = Visit(context.new_page(), pictures)
        visits.append(visit)
        visit.page.goto(path.resolve().as_uri())
        return visit

    yield open_one
    for context in contexts:
        context.close()
    for visit in visits:
        visit.check()
