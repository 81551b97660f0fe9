"""A page in a real browser, and what went wrong on it."""

import io
from dataclasses import dataclass, field
from pathlib import Path

from matplotlib.image import imread
from playwright.sync_api import Page

AT_HOME = ("file:", "data:", "blob:", "about:")  # addresses that need no network


@dataclass
class Visit:
    """An open page; `page` is Playwright's, with its mouse, its keyboard and its locators."""

    page: Page
    pictures: Path  # the folder for them
    errors: list = field(default_factory=list)  # of the console, and uncaught ones
    requests: list = field(default_factory=list)  # the addresses that need a network

    def __post_init__(self):
        """Listen."""
        self.page.on("console", self._note_message)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", self._note_request)

    def _note_message(self, message):
        """Keep errors and warnings of the console."""
        if message.type in ("error", "warning"):
            self.errors.append(message.text)

    def _note_request(self, request):
        """Keep the address unless it is in the file."""
        if not request.url.startswith(AT_HOME):
            self.requests.append(request.url)

    def resize(self, width):
        """Make the window so many pixels wide."""
        self.page.set_viewport_size({"width": width, "height": self.page.viewport_size["height"]})

    def set_dark(self, is_dark=True):
        """Ask for a dark page, or for a light one."""
        self.page.emulate_media(color_scheme="dark" if is_dark else "light")

    def overflow(self):
        """Return by how many pixels the page is wider than the window: 0 if nobody has to pan.

        Figures are drawn one by one after a change, so this waits five seconds until they fit.
        """
        width = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        for _ in range(100):
            if self.page.evaluate(width) <= 0:
                break
            self.page.wait_for_timeout(50)
        return self.page.evaluate(width)

    def picture(self, name):
        """Take a picture of the whole page, and return the path of the PNG file."""
        path = self.pictures / f"{name}.png"
        self.page.screenshot(path=path, full_page=True)
        return path

    def pixels(self, selector="body"):
        """Return what the first element of a CSS selector looks like: rows, columns, RGB(A)."""
        return imread(io.BytesIO(self.page.locator(selector).first.screenshot()))

    def check(self):
        """Fail if anything went wrong, or was to be fetched from a network."""
        problems = self.errors + self.requests
        assert not problems, problems  # this module is not one whose assertions explain themselves
