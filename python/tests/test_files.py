# tulle: sparse linear algebra on CPUs and GPUs
# SPDX-License-Identifier: BSD-3-Clause
"""Reading, writing, generating, looking."""
import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from conftest import random_matrix

import tulle


@pytest.mark.parametrize("name", ["a.mtx", "a.mtx.gz", "a.npz", "a.tulle"])
@pytest.mark.parametrize("format", ["csr", "csc", "coo"])
def test_there_and_back(tmp_path, name, format):
    A = random_matrix(20, 30, format=format)
    tulle.write(tmp_path / name, A)
    B = tulle.read(tmp_path / name)
    assert isinstance(B, sp.csr_array) and B.indices.dtype == B.indptr.dtype == np.int32
    np.testing.assert_array_equal(B.toarray(), A.toarray())
    if name.endswith(".npz"):
        np.testing.assert_array_equal(sp.load_npz(tmp_path / name).toarray(), A.toarray())
    if name == "a.mtx":
        np.testing.assert_array_equal(scipy.io.mmread(tmp_path / name).toarray(), A.toarray())


def test_options_of_files(tmp_path):
    A = random_matrix(20, 20)
    S = (A + A.T).tocsr()
    tulle.write(tmp_path / "s.mtx", S, symmetric=True, comment="half of it")
    B, said = tulle.read(tmp_path / "s.mtx", dtype="f32", return_info=True)
    assert B.dtype == np.float32 and said["symmetry"] == "symmetric" and "half of it" in said["comment"]
    np.testing.assert_array_equal(B.toarray(), S.toarray())
    with pytest.raises(OSError):
        tulle.read(tmp_path / "nothing.mtx")
    (tmp_path / "bad.mtx").write_text("%%MatrixMarket matrix coordinate real general\n2 2 1\n3 1 5.0\n")
    with pytest.raises(tulle.FormatError, match="bad.mtx:3"):
        tulle.read(tmp_path / "bad.mtx")
    with pytest.raises(tulle.UnsupportedType):
        tulle.read(tmp_path / "s.mtx", dtype="f16")


def test_names_of_files_may_be_bytes_and_no_text(tmp_path):
    A = random_matrix(5, 5)
    for name in os.fsencode(tmp_path / "a.mtx"), tmp_path / "\udcff.mtx", os.fspath(tmp_path / "\udcff.npz"):
        tulle.write(name, A)
        assert os.path.exists(name)
        np.testing.assert_array_equal(tulle.read(name, progress=True).toarray(), A.toarray())
    with pytest.raises(tulle.MissingFile, match="cannot be opened"):
        tulle.read(tmp_path / "\udcfe.mtx")


def test_comments_may_be_no_text(tmp_path):
    (tmp_path / "a.mtx").write_bytes(b"%%MatrixMarket matrix coordinate real general\n% M\xfcller\n2 2 1\n1 1 5.0\n")
    assert os.fsencode(tulle.read(tmp_path / "a.mtx", return_info=True)[1]["comment"]).strip() == b"M\xfcller"


def test_values_that_do_not_fit(tmp_path):
    """As the documentation of `read` says."""
    for value, strict, error in ("1e-300", False, None), ("1e-300", True, tulle.FormatError), ("1e300", False, tulle.FormatError), ("1e300", True, tulle.FormatError):
        (tmp_path / "a.mtx").write_text(f"%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 {value}\n")
        with pytest.raises(error) if error else pytest.warns(UserWarning, match="became zero"):
            tulle.read(tmp_path / "a.mtx", dtype="f32", strict=strict)


def test_generate_and_info():
    for name, form, what, example in tulle.generators():
        if not name.startswith("twin:"):
            assert tulle.generate(example).nnz > 0, name
    with pytest.raises(tulle.InvalidValue):
        tulle.generate("nothing:3")
    known = tulle.info(tulle.generate("stencil5:10"))
    assert (known["rows"], known["nnz"], known["longest_row"], known["value_symmetry"]) == (100, 460, 5, 1.0)
    assert tulle.info(random_matrix(20, 30, format="csc"))["cols"] == 30
    assert tulle.generate("stencil5:10", dtype="f32").dtype == np.float32


def test_build_info_and_doctor():
    assert tulle.build_info()["version"] == tulle.__version__
    assert "threads" in tulle.doctor()


def has_program():
    from tulle._files import cli_program

    try:
        return cli_program()
    except tulle.NotBuilt:
        return None


@pytest.mark.skipif(not has_program(), reason="the command line tool is not part of this installation")
def test_the_command_line_tool(tmp_path):
    done = subprocess.run([sys.executable, "-m", "tulle", "info", "stencil5:10", "--json"], capture_output=True, text=True, check=True)
    assert '"rows": 100' in done.stdout
    assert subprocess.run([sys.executable, "-m", "tulle", "info", str(tmp_path / "nothing.mtx")], capture_output=True).returncode == 3


@pytest.mark.skipif(not has_program(), reason="the command line tool is not part of this installation")
def test_spy(tmp_path):
    A = tulle.generate("stencil5:10")
    try:
        assert tulle.spy(A)[:4] == b"\x89PNG" and tulle.spy(A)._repr_png_()[:4] == b"\x89PNG"
    except tulle.Error as e:
        assert "Cairo" in str(e) or "pictures" in str(e)      # built without Cairo
        return
    tulle.spy(A, tmp_path / "a.svg")
    with pytest.raises(tulle.FileError, match="a.svg: cannot be written") as caught:
        tulle.spy(A, tmp_path / "no/a.svg")
    assert "hint" not in caught.value.message
    with pytest.raises(tulle.InvalidValue):
        tulle.spy(A, options=("--no-such-option",))
    assert "<svg" in (tmp_path / "a.svg").read_text()


@pytest.mark.skipif(not has_program(), reason="the command line tool is not part of this installation")
def test_report(tmp_path):
    A = tulle.generate("stencil5:10")
    page = tulle.report(A, tmp_path / "a.html", B=A.T, name="<b>")
    assert (tmp_path / "a.html").read_text(encoding="utf-8") == page
    assert page.startswith("<!doctype html>") and '"name":"\\u003cb>"' in page and '"name":"B"' in page
    assert page._repr_html_().startswith("<iframe srcdoc=") and "<script" not in page._repr_html_() and "<!doctype" not in repr(page)
    with pytest.raises(tulle.InvalidValue, match="without /"):
        tulle.report(A, name="a/b")
