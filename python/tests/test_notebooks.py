# tulle: sparse linear algebra on CPUs and GPUs
# SPDX-License-Identifier: BSD-3-Clause
"""The cells of every notebook in docs/notebooks run, one after the other; `make notebooks` runs them in Jupyter's kernel and keeps what they print."""
import json

import pytest
from conftest import ROOT

NOTEBOOKS = sorted((ROOT / "docs/notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_notebook(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict = {"__name__": "__main__"}
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            assert not cell["outputs"], "notebooks are kept without their outputs"
            exec(compile("".join(cell["source"]), path.name, "exec"), names)


def test_there_are_notebooks():
    assert {p.stem for p in NOTEBOOKS} == {"first_steps", "scipy_to_gpu", "gcn", "amg", "choices"}


def test_pages_of_notebooks():
    """The site (docs/conf.py) shows text, code, and what a cell printed and drew."""
    import runpy

    page = runpy.run_path(str(ROOT / "docs/conf.py"))["page_of_cell"]
    assert page({"cell_type": "markdown", "source": ["# Title\n", "text"]}) == "# Title\ntext"
    outputs = [{"output_type": "stream", "text": ["a ``` b\n"]}, {"output_type": "execute_result", "data": {"text/plain": ["42"]}},
               {"output_type": "display_data", "data": {"text/plain": ["<Figure>"], "image/png": "iVBO"}}]
    text = page({"cell_type": "code", "source": ["print(1)\n", "42"], "outputs": outputs})
    assert text.startswith("```python\nprint(1)\n42\n```") and "````text\na ``` b\n````" in text and "```text\n42\n```" in text
    assert "data:image/png;base64,iVBO" in text and "<Figure>" not in text
