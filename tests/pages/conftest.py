# tulle: sparse linear algebra on CPUs and GPUs
# SPDX-License-Identifier: BSD-3-Clause
"""A real browser for the tests of pages: Debian's chromium, headless, without a network."""
import os
import pathlib
import shutil
import subprocess

import pytest
from playwright.sync_api import sync_playwright

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LOOK = (pathlib.Path(__file__).parent / "look.js").read_text(encoding="utf-8").split("\n", 1)[1]
WIDE, PHONE = {"width": 1200, "height": 900}, {"width": 360, "height": 740}


def pytest_addoption(parser):
    parser.addoption("--tulle", default="build/release/bin/tulle", help="the program")
    parser.addoption("--pages", default="build/pages", help="where reports are written")
    parser.addoption("--pictures", default="build/pages", help="where screenshots go")


def folder_of(request, option):
    folder = (ROOT / request.config.getoption(option)).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def pictures(request):
    return folder_of(request, "--pictures")


@pytest.fixture(scope="session")
def report(request):
    """report(name, *words) runs `tulle report` and gives the file."""
    program, folder = (ROOT / request.config.getoption("--tulle")).resolve(), folder_of(request, "--pages")

    def run(name, *words):
        file = folder / f"{name}.html"
        subprocess.run([program, "report", *map(str, words), "-o", file, "--quiet"], check=True, cwd=folder, timeout=300)
        return file

    run.folder = folder
    return run


@pytest.fixture(scope="session")
def chromium():
    program = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if not program:
        pytest.exit("chromium is not here: tools/setup pages installs it", 1)
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=program, args=["--no-sandbox", "--allow-file-access-from-files"])
        yield browser
        browser.close()


class Visit:
    """A page, what it complained of and what it asked for beyond its own folder."""

    def __init__(self, page, file):
        self.page, self.file, self.faults = page, pathlib.Path(file), []
        page.on("console", lambda m: self.faults.append(f"console: {m.text}") if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda e: self.faults.append(f"error: {e}"))
        page.on("request", lambda r: self.faults.append(f"network: {r.url}") if not r.url.startswith(("file:", "data:", "blob:")) else None)
        page.on("dialog", lambda d: (self.faults.append(f"dialog: {d.message}"), d.dismiss()))
        page.goto(self.file.as_uri())

    def look(self):
        """Everything that is wrong now."""
        return self.faults + self.page.evaluate(LOOK)

    def text(self, selector="#content"):
        return self.page.inner_text(selector)


@pytest.fixture
def visit(chromium):
    """visit(file, size, dark) opens it; at the end of the test nothing may have gone wrong."""
    opened = []

    def open_page(file, size=WIDE, dark=False):
        context = chromium.new_context(viewport=size, color_scheme="dark" if dark else "light", offline=True, device_scale_factor=1)
        opened.append(Visit(context.new_page(), file))
        return opened[-1]

    yield open_page
    faults = [fault for v in opened for fault in v.faults]
    for v in opened:
        v.page.context.close()
    assert not faults
