# tulle: sparse linear algebra on CPUs and GPUs
# SPDX-License-Identifier: BSD-3-Clause
"""`tulle report` as a person meets it."""
import os
import pathlib
import re
import resource

import pytest
from conftest import PHONE, ROOT, WIDE

HEADER = "%%MatrixMarket matrix coordinate real general\n"
HOSTILE = "<script>alert(1)<script><img src=x onerror=alert(2)>"


@pytest.fixture(scope="module")
def plain(report):
    return report("stencil", "twin:mac_econ", "--run")


@pytest.fixture(scope="module")
def both(report):
    return report("both", "stencil5:40", "--compare", "uniform:300,2000,5")


@pytest.mark.parametrize("size", [WIDE, PHONE], ids=["wide", "phone"])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_is_readable(visit, plain, both, size, dark):
    for file in plain, both:
        v = visit(file, size, dark)
        assert v.look() == []
        for summary in v.page.query_selector_all("summary"):
            summary.click()
        assert v.look() == []


def test_shows_every_section(visit, plain):
    text = visit(plain).text()
    for heading in ("Density map", "Overview", "Operations", "Roofline of cpu", "Row lengths", "Column lengths", "Values", "Levels of the lower triangle", "Levels of the upper triangle",
                    "Parts for several devices"):
        assert heading in text
    for word in ("bandwidth", "symmetry", "components", "SpMV", "SpMM", "SpGEMM", "SpTRSV", "predicted", "measured"):
        assert word in text


def zoom(v):
    return float(v.page.get_attribute("canvas.map", "data-zoom"))


def test_zooms_with_buttons_wheel_and_keys(visit, plain):
    v = visit(plain)
    assert zoom(v) == 1
    v.page.click("button[aria-label='zoom in']")
    assert zoom(v) == 1.5
    v.page.hover("canvas.map", position={"x": 50, "y": 50})
    assert re.search(r"row [^\n]*, column [^\n]*: (about|empty)", v.text())
    v.page.mouse.wheel(0, -100)
    v.page.wait_for_function("document.querySelector('canvas.map').dataset.zoom > 1.6")
    v.page.focus("canvas.map")
    before = v.text()
    v.page.keyboard.press("ArrowRight")
    assert v.text() != before
    v.page.keyboard.press("0")
    assert zoom(v) == 1
    v.page.keyboard.press("+")
    assert zoom(v) == 1.5
    v.page.keyboard.press("-")
    assert zoom(v) == 1


def test_moves_by_dragging(visit, plain):
    v = visit(plain)
    v.page.click("button[aria-label='zoom in']")
    before = v.text()
    v.page.hover("canvas.map", position={"x": 200, "y": 200})
    v.page.mouse.down()
    v.page.hover("canvas.map", position={"x": 100, "y": 150})
    v.page.mouse.up()
    assert v.text() != before


def drawing(v):
    return v.page.evaluate("document.querySelector('canvas.map').toDataURL()")


def test_parts_are_coloured(visit, plain):
    v = visit(plain)
    before = drawing(v)
    v.page.select_option("section:has(canvas) select", label="parts for 8 devices")
    assert drawing(v) != before
    parts = "section:has(h2:text('Parts for several devices'))"
    assert v.page.locator(f"{parts} tbody tr").count() == 2
    v.page.select_option(f"{parts} select", label="8 devices")
    assert v.page.locator(f"{parts} tbody tr").count() == 8


def test_labels_of_charts_are_whole_and_apart(visit, plain):
    """Labels lie inside of their drawing, and no two names of the roofline on each other."""
    v = visit(plain)
    assert v.page.evaluate("""() => [...document.querySelectorAll('svg[role=img]')].flatMap(s => { const box = s.getBoundingClientRect();
        return [...s.querySelectorAll('text')].filter(t => { const b = t.getBoundingClientRect(); return b.left < box.left - 1 || b.right > box.right + 1; }).map(t => t.textContent); })""") == []
    assert v.page.evaluate("""() => { const all = [...document.querySelectorAll('text.name')].map(t => t.getBoundingClientRect());
        return all.filter((a, i) => all.some((b, k) => k < i && a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom)).length; }""") == 0


def test_theme_by_keyboard(visit, plain):
    v = visit(plain)
    v.page.keyboard.press("Tab")
    assert v.page.evaluate("document.activeElement.id") == "theme"
    assert v.page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    back = "getComputedStyle(document.body).backgroundColor"
    corner = "[...document.querySelector('canvas.map').getContext('2d').getImageData(767, 0, 1, 1).data].slice(0, 3)"   # upper right: empty
    assert v.page.evaluate(back) == "rgb(255, 255, 255)"
    v.page.keyboard.press("Enter")
    assert v.page.evaluate(back) == "rgb(18, 23, 29)" and v.page.evaluate(corner) == [18, 23, 29]
    assert v.look() == []


def test_compares(visit, both):
    v = visit(both)
    assert v.page.locator("canvas.map").count() == 2
    assert "differs" in v.text()
    v.page.focus("[role=tab][aria-selected=true]")
    v.page.keyboard.press("ArrowRight")
    assert v.text("h1") == "stencil5:40"
    v.page.keyboard.press("End")
    assert v.text("h1").startswith("uniform")
    assert "not square" in v.text()
    v.page.click("[role=tab] >> nth=0")
    assert v.text("h1").startswith("stencil5:40 and")


def test_hostile_names_are_text(visit, report):
    (report.folder / f"{HOSTILE.replace('/', '')}.mtx").write_text(HEADER + f"% </script>{HOSTILE}\n1 1 1\n1 1 1\n")
    for words in ([f"{HOSTILE}.mtx"], ["stencil5:3", "--compare", f"{HOSTILE}.mtx"]):
        v = visit(report("hostile", *words))
        assert v.page.locator("img").count() == 0 and v.page.locator("script").count() == 2
        assert "<script>alert(1)" in v.text()
        assert v.look() == []


@pytest.mark.parametrize("name, body", [("no-rows", "0 5 0\n"), ("nothing", "0 0 0\n"), ("no-entries", "3 3 0\n"), ("one", "1 1 1\n1 1 5\n"), ("special", "2 2 3\n1 1 nan\n2 2 inf\n1 2 0\n")])
@pytest.mark.parametrize("size", [WIDE, PHONE], ids=["wide", "phone"])
def test_small_ones(visit, report, name, body, size):
    (report.folder / f"{name}.mtx").write_text(HEADER + body)
    v = visit(report(name, f"{name}.mtx"), size)
    assert v.look() == []
    assert v.text("h1") == name


def seconds_of_programs():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@pytest.mark.slow
@pytest.mark.parametrize("words", ["stencil5:3163", "stencil27:155"], ids=["10^7 rows", "10^8 nonzeros"])
def test_large_ones(visit, report, words):
    start = seconds_of_programs()
    file = report("large", words)
    assert seconds_of_programs() - start < 40                     # of all processors; 11 on an ARM Neoverse V1
    assert file.stat().st_size < 2_000_000
    v = visit(file)
    assert v.look() == []


def test_pictures(visit, plain, pictures):
    phone = visit(plain, PHONE, dark=True)
    phone.page.screenshot(path=pictures / "report-phone.png")


@pytest.mark.slow
def test_picture_of_webbase(visit, report, pictures):
    """All of a page, for the twin of webbase-1M."""
    v = visit(report("webbase-1M", "twin:webbase-1M"), {"width": 1200, "height": 900})
    assert v.look() == []
    v.page.screenshot(path=pictures / "report-webbase.jpg", full_page=True, quality=70)


@pytest.mark.slow
def test_picture_of_a_real_matrix(visit, report, pictures):
    """What a person sees first, for a real circuit."""
    file = pathlib.Path(os.environ.get("TULLE_MATRICES", ROOT / "matrices")) / "memplus.mtx.xz"
    if not file.exists():
        pytest.skip(f"there is no {file}: put it there, or set TULLE_MATRICES to its folder")
    v = visit(report("memplus", file, "--run"), {"width": 1200, "height": 1000})
    assert v.look() == []
    v.page.screenshot(path=pictures / "report.png")
