# tulle: sparse linear algebra on CPUs and GPUs
# SPDX-License-Identifier: BSD-3-Clause
"""The documentation site (`make docs`) as a person meets it, and the commands that documents show."""
import pathlib
import re
import shlex
import subprocess
import urllib.parse

import pytest
from conftest import PHONE, ROOT, WIDE

SITE = ROOT / "build/docs/html"
START = SITE / "site/index.html"
PAGES = ["site/index", "site/start", "site/tutorial", "site/howto", "site/concepts", "site/papers", "site/performance", "site/pictures", "site/reference/index", "site/reference/python", "site/reference/headers/spmv",
         "solve", "benchmarks", "glossary", "python", "cli"]
# What the theme itself brings: syntax colours, its search button and hidden elements are not ours.
OURS = ("scrolls sideways", "no alt text", "no description", "no language", "no title", "network", "console", "error")


@pytest.mark.parametrize("size", [WIDE, PHONE], ids=["wide", "phone"])
def test_pages_are_readable(visit, size):
    for name in PAGES:
        v = visit(SITE / f"{name}.html", size)
        assert [fault for fault in v.look() if fault.startswith(OURS)] == [], name
        v.page.context.close()


def test_dark_and_tabs(visit):
    v = visit(SITE / "site/start.html", dark=True)
    assert v.page.evaluate("getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"
    for word, shown in (("C++", "CsrView"), ("Python", "plan_spmv"), ("Command line", "tulle run spmv")):
        tab = v.page.locator(".sd-tab-set").nth(1).locator("label", has_text=word)
        tab.click()
        assert v.page.get_by_text(shown).first.is_visible(), word


@pytest.mark.parametrize("language, shown", [("C++", "tulle::solve::Plan"), ("Python", "tulle.solve(A, b)"), ("Command line", "tulle solve A.mtx")])
def test_a_solved_system_is_two_clicks_away(visit, language, shown):
    """From the start page: one click on the card, one on the tab of the language (none for C++, the first)."""
    v = visit(START)
    v.page.locator(".sd-card", has_text="Install, first product").click()
    tabs = v.page.locator(".sd-tab-set").nth(2)
    if language != "C++":
        tabs.locator("label", has_text=language).click()
    tabs.scroll_into_view_if_needed()
    assert shown in tabs.inner_text()


def test_search_finds(visit):
    v = visit(SITE / "search.html")
    v.page.goto((SITE / "search.html").as_uri() + "?q=preconditioner")
    v.page.wait_for_selector("#search-results ul.search li")


def links_of(page):
    return re.findall(r'(?:href|src)="([^"]+)"', page.read_text(encoding="utf-8"))


def test_links_lead_somewhere():
    anchors, dead = {}, []
    for page in SITE.rglob("*.html"):
        for link in links_of(page):
            address, _, anchor = urllib.parse.unquote(link.replace("&amp;", "&")).partition("#")
            if re.match(r"[a-z]+:", address) or "?" in address and not address.split("?")[0]:
                continue
            target = (page.parent / address.split("?")[0]).resolve() if address else page
            if not target.exists():
                dead.append(f"{page.relative_to(SITE)}: {link}")
            elif anchor and target.suffix == ".html":
                if target not in anchors:
                    anchors[target] = set(re.findall(r'(?:id|name)="([^"]+)"', target.read_text(encoding="utf-8")))
                if anchor not in anchors[target]:
                    dead.append(f"{page.relative_to(SITE)}: {link}")
    assert sorted(set(dead)) == []


def commands():
    """Command lines of `tulle` in blocks of sh, of README and the site."""
    for page in [ROOT / "README.md", ROOT / "docs/cli.md", *sorted((ROOT / "docs/site").glob("*.md"))]:
        for kind, block in re.findall(r"^```([^\n]*)\n(.*?)^```$", page.read_text(encoding="utf-8"), flags=re.S | re.M):
            for line in block.splitlines() if kind in ("", "sh") else ():
                if re.match(r"tulle [a-z]", line):
                    yield f"{page.name}: {line.split(' #')[0].strip()}", line.split(" #")[0].strip()


def test_commands_exist(request):
    """Every command and option that is shown is one of the program's."""
    program, wrong, helps = (ROOT / request.config.getoption("--tulle")).resolve(), [], {}
    for where, line in commands():
        words = shlex.split(line.split("|")[0].split(">")[0])
        verb = words[1:3] if words[1] in ("run", "plan", "tune", "explain") else words[1:2]
        if tuple(verb) not in helps:
            done = subprocess.run([program, *verb, "--help"], capture_output=True, text=True)
            helps[tuple(verb)] = done.stdout if done.returncode == 0 else None
        text = helps[tuple(verb)]
        if text is None:
            wrong.append(f"{where}: no such command")
            continue
        if verb != ["bench"]:                                     # passes its options on
            wrong += [f"{where}: no option {w}" for w in words if re.match(r"--?[a-z]", w) and not re.search(rf"(?<![\w-]){re.escape(w.split('=')[0])}(?![\w-])", text)]
    assert wrong == []


def test_commands_run(request, tmp_path):
    """What README and the site show on the command line ends well, with A.mtx and B.mtx there. `bench` needs another program."""
    program, failed = (ROOT / request.config.getoption("--tulle")).resolve(), []
    for name in "A.mtx", "B.mtx":
        subprocess.run([program, "gen", "stencil5:20", "-o", name, "--quiet"], cwd=tmp_path, check=True)
    lines = [line for where, line in commands() if not where.startswith("cli.md") and not line.startswith("tulle bench")]
    for line in lines:
        done = subprocess.run([program, *shlex.split(line)[1:]], cwd=tmp_path, capture_output=True, text=True, timeout=120)
        if done.returncode:
            failed.append(f"{line}: {done.returncode}\n{done.stderr}")
    assert len(lines) > 10 and failed == []


def test_every_public_name_has_a_page():
    headers = [line.split()[0] for line in (ROOT / "include/tulle/headers.txt").read_text().splitlines() if line and not line.startswith("#")]
    pages = {p.stem for p in (SITE / "site/reference/headers").glob("*.html")}
    assert {pathlib.Path(h).stem for h in headers} - pages <= {"tulle", "version"}
    reference = (SITE / "site/reference/python.html").read_text(encoding="utf-8")
    for module, file in (("tulle", "__init__.py"), ("tulle.torch", "torch.py"), ("tulle.graph", "graph.py")):
        names = re.search(r"__all__ = \[(.*?)\]", (ROOT / "python/tulle" / file).read_text(), flags=re.S)[1]
        assert [n for n in re.findall(r'"(\w+)"', names) if f'id="{module}.{n}"' not in reference] == [], module


def test_pictures(visit, pictures):
    visit(START, {"width": 1200, "height": 800}).page.screenshot(path=pictures / "site.png")
