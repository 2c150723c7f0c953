# tulle: sparse linear algebra on CPUs and GPUs
# SPDX-License-Identifier: BSD-3-Clause
"""Pictures that the program draws: every kind, as PNG, SVG and PDF, opened by a browser; those in docs/images are made here."""
import subprocess

import pytest
from conftest import ROOT

# What the site shows, and how it is made.
KINDS = {
    "spy": ["spy", "twin:scircuit", "--size", "420"],
    "not-square": ["spy", "uniform:2000,300000,12", "--size", "420"],
    "tall": ["spy", "uniform:300000,200,3", "--size", "420"],
    "million": ["spy", "twin:webbase-1M", "--size", "420"],
    "before-after": ["spy", "twin:scircuit", "--permute", "degree", "--size", "420"],
    "tiles": ["spy", "fem:12,3", "--reorder", "bsa", "--size", "420"],
    "parts": ["spy", "twin:scircuit", "--devices", "4", "--size", "420"],
    "levels": ["spy", "twin:cant", "--levels", "--size", "600"],
    "convergence": ["solve", "stencil7:40", "--preconditioner", "jacobi", "--quiet", "--plot"],
}


@pytest.fixture(scope="session")
def draw(request):
    program = (ROOT / request.config.getoption("--tulle")).resolve()

    def run(kind, file):
        words = KINDS[kind]
        subprocess.run([program, *words, *([] if words[-1] == "--plot" else ["-o"]), file], check=True, capture_output=True, timeout=120)
        return file

    return run


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_browser_shows(visit, draw, pictures, tmp_path, kind):
    sizes = []
    for file in draw(kind, pictures / f"{kind}.png"), draw(kind, tmp_path / f"{kind}.svg"):
        page = tmp_path / "page.html"
        page.write_text(f'<!doctype html><html lang="en"><title>{kind}</title><link rel="icon" href="data:,"><img alt="{kind}" src="{file.resolve().as_uri()}">')
        sizes.append(visit(page).page.evaluate("(async i => { await i.decode(); return [i.naturalWidth, i.naturalHeight]; })(document.images[0])"))
    assert sizes[0] == sizes[1] and min(sizes[0]) > 200
    assert (pictures / f"{kind}.png").stat().st_size < 400_000
    assert draw(kind, tmp_path / f"{kind}.pdf").read_bytes().startswith(b"%PDF-")
