# tulle: sparse linear algebra on CPUs and GPUs
# SPDX-License-Identifier: BSD-3-Clause
"""The same bits as the C++ library gives with plans of its own (tests/reference.cpp). Both are deterministic: two
processes that measure kernels may choose differently (docs/determinism.md)."""
import subprocess

import numpy as np
import pytest
import scipy.sparse as sp

import tulle

CONTEXT = tulle.Context(deterministic=True)
MATRICES = ["stencil5:40", "rmat:9,8", "fem:5,3", "chain:200", "uniform:300,200,5"]


def run(program, operation, name, matrix, given, out, *more):
    subprocess.run([program, operation, name, str(matrix), str(given), str(out), *more], check=True)


@pytest.mark.parametrize("name", ["f64", "f32"])
@pytest.mark.parametrize("sentence", MATRICES)
def test_bits(reference, tmp_path, sentence, name):
    A = tulle.generate(sentence, dtype=name)
    rng = np.random.default_rng(11)
    matrix, given, out = tmp_path / "a.tulle", tmp_path / "in", tmp_path / "out"
    tulle.write(matrix, A)
    for operation, columns, plan in [("spmv", 1, tulle.plan_spmv(A, context=CONTEXT)), ("spmm", 24, tulle.plan_spmm(A, 24, context=CONTEXT))]:
        x = rng.standard_normal((A.shape[1], columns)).astype(A.dtype)
        x.tofile(given)
        run(reference, operation, name, matrix, given, out, str(columns))
        got = plan(x[:, 0].copy() if columns == 1 else x)
        assert got.tobytes() == out.read_bytes(), operation
    C = tulle.plan_spgemm(A, A, context=CONTEXT)() if A.shape[0] == A.shape[1] else None
    if C is not None:
        run(reference, "spgemm", name, matrix, given, tmp_path / "c.tulle")
        want = tulle.read(tmp_path / "c.tulle", dtype=name)
        for a, b in zip((C.indptr, C.indices, C.data), (want.indptr, want.indices, want.data)):
            assert a.tobytes() == b.tobytes()


@pytest.mark.parametrize("name", ["f64", "f32"])
def test_bits_of_solves(reference, tmp_path, name):
    A = tulle.generate("levels:300,12,4", dtype=name)
    L = sp.tril(A).tocsr()
    b = np.random.default_rng(12).standard_normal(L.shape[0]).astype(L.dtype)
    b.tofile(tmp_path / "b")
    tulle.write(tmp_path / "l.tulle", L)
    run(reference, "solve", name, tmp_path / "l.tulle", tmp_path / "b", tmp_path / "x")
    assert tulle.plan_solve_triangular(L, context=CONTEXT)(b).tobytes() == (tmp_path / "x").read_bytes()


def test_the_same_bits_every_time():
    A = tulle.generate("rmat:10,8")
    x = np.random.default_rng(13).standard_normal(A.shape[1])
    first, again = tulle.plan_spmv(A, context=CONTEXT), tulle.plan_spmv(A, context=CONTEXT)
    assert first(x).tobytes() == first(x).tobytes() == again(x).tobytes()
    assert tulle.spgemm(A, A).data.tobytes() == tulle.spgemm(A, A, context=tulle.Context(threads=1)).data.tobytes()
