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
