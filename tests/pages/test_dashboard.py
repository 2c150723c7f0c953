# tulle: sparse linear algebra on CPUs and GPUs
# SPDX-License-Identifier: BSD-3-Clause
"""The dashboard of speed (`make dashboard`) as a person meets it."""
import json
import re
import subprocess
import sys

import pytest
from conftest import PHONE, ROOT, WIDE

sys.path.insert(0, str(ROOT / "tools"))
import bench_table  # noqa: E402

TABS = ["Overview", "Speedups", "Roofline", "History"]


@pytest.fixture(scope="module")
def dashboard():
    return ROOT / "build/dashboard/index.html"


def made_of(folder, lines):
    (folder / "x.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    subprocess.run([ROOT / "tools/dashboard.py", "--results", folder, "-o", folder / "index.html"], check=True)
    return folder / "index.html"


def line(contender, role, us, matrix="A", commit="abc"):
    return {"operation": "spmv", "matrix": matrix, "rows": 10, "cols": 10, "nonzeros": 100, "type": "f64", "backend": "cuda", "device": "NVIDIA H200", "contender": contender, "role": role,
            "policy": "rows", "status": "ok", "bytes": 1000, "memory_gbps": 10, "warm": {"us_median": us, "us_min": us}, "commit": commit, "date": "2026-01-01T00:00:00Z"}


@pytest.mark.parametrize("size", [WIDE, PHONE], ids=["wide", "phone"])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_is_readable(visit, dashboard, size, dark):
    assert dashboard.stat().st_size < 2_000_000
    v = visit(dashboard, size, dark)
    for tab in TABS:
        v.page.click(f"[role=tab]:text('{tab}')")
        assert v.look() == [], tab


def test_filters(visit, dashboard):
    v = visit(dashboard)
    v.page.click("[role=tab]:text('Speedups')")
    rows = v.page.locator("#content tbody tr")
    everything = rows.count()
    v.page.fill("[data-filter=search]", "webbase")
    assert 0 < rows.count() < everything and all("webbase" in t for t in rows.all_inner_texts())
    v.page.fill("[data-filter=search]", "")
    v.page.select_option("[data-filter=operation]", "sptrsv")
    assert "cusparse" in v.text()
    v.page.select_option("[data-filter=device]", "ARM Neoverse V1, 1 thread")
    assert "eigen" in v.text() and "cusparse" not in v.page.inner_text("#content tbody")
    v.page.select_option("[data-filter=sort]", "matrix")
    names = [t.split("\t")[0].lower() for t in rows.all_inner_texts()]
    assert names == sorted(names)
    v.page.click("[role=tab]:text('Roofline')")                     # what is chosen stays
    assert v.page.input_value("[data-filter=operation]") == "sptrsv"


def test_what_is_slower(visit, tmp_path):
    faster = [line("tulle", "ours", 2, "A"), line("other", "baseline", 5, "A")]
    slower = [line("tulle", "ours", 5, "B"), line("other", "baseline", 2, "B")]
    v = visit(made_of(tmp_path, faster + slower))
    v.page.click("[role=tab]:text('Speedups')")
    rows = v.page.locator("#content tbody tr")
    assert rows.count() == 2
    v.page.check("[data-filter=slower]")
    assert [t.split("\t")[0] for t in rows.all_inner_texts()] == ["B"]


def test_keyboard(visit, dashboard):
    v = visit(dashboard)
    v.page.keyboard.press("Tab")
    for tab in TABS[1:]:
        v.page.keyboard.press("ArrowRight")
        assert v.page.inner_text("[role=tab][aria-selected=true]") == tab
    v.page.keyboard.press("Tab")
    assert v.page.evaluate("document.activeElement.id") == "theme"


def test_figures_are_those_of_the_tables(visit, dashboard):
    """The mean that the page computes is that of the document."""
    v = visit(dashboard)
    v.page.click("[role=tab]:text('Speedups')")
    for operation, way, file in (("sptrsv", "warm", "sptrsv-h200.jsonl"), ("spgemm", "warm", "spgemm-h200.jsonl"), ("spmv", "cold", "spmv-h200.jsonl")):
        for key, value in (("operation", operation), ("type", "f64"), ("device", "NVIDIA H200"), ("suite", file), ("way", way)):
            v.page.select_option(f"[data-filter={key}]", value)
        groups = bench_table.grouped(bench_table.read_lines([ROOT / "bench/results" / file]))
        ratios = bench_table.best_ratios(next(m for key, m in groups.items() if key[0] == operation), way).values()
        mean = float(re.search(r"([\d.]+) times as fast", v.text("#summary"))[1])
        assert abs(mean - bench_table.geometric_mean(ratios)) < 0.006 * mean
        assert f"slower on {sum(r < 1 for r in ratios)}." in v.text("#summary")


def test_readme_has_the_same_figures(visit, dashboard):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for row in json.loads((ROOT / "bench/headline.json").read_text(encoding="utf-8")):
        mean = bench_table.geometric_mean(bench_table.headline_ratios(row))
        assert re.search(rf"\| {re.escape(row['what'])} \|.*\*\*{mean:.2f}\*\*", readme), row["what"]
    v = visit(dashboard)
    assert len(v.page.locator("#content tbody tr").all()) == len(json.loads((ROOT / "bench/headline.json").read_text()))


def test_small_and_hostile_results(visit, tmp_path):
    name = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"
    v = visit(made_of(tmp_path, [line("tulle", "ours", 2, name), line(f"b{name}", "baseline", 5, name)]))
    for tab in TABS:
        v.page.click(f"[role=tab]:text('{tab}')")
        assert v.look() == [], tab
    v.page.click("[role=tab]:text('Speedups')")
    assert "2.50 times as fast" in v.text("#summary") and "<script>alert(1)" in v.text()
    assert v.page.locator("img").count() == 0


def test_without_baselines_and_without_times(visit, tmp_path):
    failed = {**line("tulle", "ours", 1, "B"), "status": "out of memory"}
    v = visit(made_of(tmp_path, [line("tulle", "ours", 2), failed]))
    v.page.click("[role=tab]:text('Speedups')")
    assert "1 matrix, without a baseline" in v.text("#summary")


def test_pictures(visit, dashboard, pictures):
    v = visit(dashboard, {"width": 1200, "height": 860})
    v.page.click("[role=tab]:text('Speedups')")
    v.page.screenshot(path=pictures / "dashboard.png")
