# tulle: sparse linear algebra on CPUs and GPUs
# SPDX-License-Identifier: BSD-3-Clause
"""The documentation site (`make docs`): Sphinx with MyST; the C++ reference comes from Doxygen through Breathe, the Python one from docstrings."""
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
XML = ROOT / "build/reference/xml"

project = "tulle"
copyright = "the authors of tulle"
version = release = re.search(r"project\(tulle VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
root_doc = "site/index"
exclude_patterns = ["index.md", "requirements.txt", "notebooks"]
extensions = ["myst_parser", "breathe", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton", "sphinx_design"]
# The Python reference is read from the docstrings; what is compiled or large stays away.
sys.path.insert(0, str(ROOT / "python"))
autodoc_mock_imports = ["numpy", "scipy", "torch", "nanobind_backend", "tulle._core"]
autodoc_typehints = "none"
autodoc_member_order = "bysource"
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
# Breathe names a namespace again on the page of every header that adds to it.
suppress_warnings = ["duplicate_declaration.cpp"]
html_theme = "furo"
html_title = f"tulle {release}"
html_static_path = []
breathe_projects = {"tulle": str(XML)}
breathe_default_project = "tulle"
breathe_default_members = ("members",)
highlight_language = "none"


def write_reference(app):
    """Runs Doxygen, and writes a page for every public header."""
    settings = (ROOT / "docs/Doxyfile").read_text() + "\nGENERATE_XML = YES\nGENERATE_HTML = NO\n"
    (ROOT / "build/reference").mkdir(parents=True, exist_ok=True)
    subprocess.run(["doxygen", "-"], input=settings, text=True, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    folder = ROOT / "docs/site/reference/headers"
    folder.mkdir(exist_ok=True)
    names = [line.split()[0] for line in (ROOT / "include/tulle/headers.txt").read_text().splitlines() if line and not line.startswith("#")]
    for name in names:
        if name in ("tulle.hpp", "version.hpp"):
            continue
        text = f"# tulle/{name}\n\n```{{doxygenfile}} {name}\n```\n"
        page = folder / name.replace(".hpp", ".md")
        if not page.exists() or page.read_text() != text:
            page.write_text(text)


def write_notebooks(app):
    """Writes a page for every notebook, with the outputs that `make notebooks` left, where it ran."""
    folder = ROOT / "docs/site/notebooks"
    folder.mkdir(exist_ok=True)
    for notebook in sorted((ROOT / "docs/notebooks").glob("*.ipynb")):
        executed = ROOT / "build/notebooks" / notebook.name
        cells = json.loads(notebook.read_text())["cells"]
        if executed.exists():
            again = json.loads(executed.read_text())["cells"]
            cells = again if [c["source"] for c in again] == [c["source"] for c in cells] else cells      # else from before a change
        text = "\n\n".join(filter(None, map(page_of_cell, cells))) + "\n"
        page = folder / f"{notebook.stem}.md"
        if not page.exists() or page.read_text() != text:
            page.write_text(text)


def page_of_cell(cell):
    """A cell as MyST: text as it is, code with what it printed and showed."""
    source = "".join(cell["source"])
    if cell["cell_type"] != "code":
        return source
    parts = [fenced("python", source)]
    for output in cell["outputs"]:
        data = output.get("data", {})
        if "text" in output:
            parts.append(fenced("text", "".join(output["text"])))
        elif "image/png" in data:
            parts.append(fenced("{raw} html", f'<img alt="what the cell draws" src="data:image/png;base64,{"".join(data["image/png"]).strip()}">'))
        elif "text/plain" in data:
            parts.append(fenced("text", "".join(data["text/plain"])))
    return "\n\n".join(parts)


def fenced(kind, text):
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence}{kind}\n{text.rstrip()}\n{fence}"


def link_sources(app, docname, source):
    """Links to files outside of docs/ are for readers of the repository: here only their words stay."""
    def replaced(match):
        here = (ROOT / "docs" / docname).parent
        target = (here / match[2].split("#")[0]).resolve()
        if not target.is_relative_to(ROOT) or target.is_relative_to(ROOT / "docs") and target.name != "index.md":
            return match[0]
        return match[1][1:-1]
    source[0] = re.sub(r"(\[[^\]]*\])\((?!https?:|#)([^)\s]+)\)", replaced, source[0])


def setup(app):
    app.connect("builder-inited", write_reference)
    app.connect("builder-inited", write_notebooks)
    app.connect("source-read", link_sources)
