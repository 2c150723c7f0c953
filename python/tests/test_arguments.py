# tulle: sparse linear algebra on CPUs and GPUs
# SPDX-License-Identifier: BSD-3-Clause
"""Arguments of a wrong type or out of range: errors of tulle that name the argument, never the signatures of the extension."""
import numpy as np
import pytest
import scipy.sparse as sp
from conftest import random_matrix, triangle

import tulle
import tulle.graph as tg

A, x = random_matrix(8, 8, 0.4), np.ones(8)
G, T = abs(A), triangle(8)
B, C = np.ones((8, 2)), np.ones((8, 2))


def plan():
    return tulle.plan_spmv(A)


WRONG_TYPES = {
    "alpha": [lambda: tulle.spmv(A, x, alpha="2"), lambda: plan()(x, alpha="2"), lambda: tulle.plan_spmm(A)(B, alpha=[1]), lambda: tulle.spmm(A, B, alpha="2"),
              lambda: tulle.plan_solve_triangular(T)(x, alpha="2"), lambda: tulle.plan_sddmm(A)(B, C, alpha="2"), lambda: tulle.plan_sddmm(A).attend(B, C, C, alpha="2"),
              lambda: plan()(x, alpha=1j), lambda: tulle.sddmm(A, B, C, alpha=None), lambda: tulle.solve_triangular(T, x, alpha="2")],
    "beta": [lambda: tulle.spmv(A, x, np.zeros(8), beta="2"), lambda: plan()(x, np.zeros(8), beta="2")],
    "transpose": [lambda: tulle.spmv(A, x, transpose="N"), lambda: tulle.spmm(A, B, transpose="N"), lambda: tulle.plan_spmv(A, transpose="N"), lambda: tulle.plan_spmm(A, transpose=2)],
    "transpose_a": [lambda: tulle.spgemm(A, A, transpose_a="N"), lambda: tulle.plan_spgemm(A, A, transpose_a="N")],
    "sorted": [lambda: tulle.spgemm(A, A, sorted="yes")],
    "lower": [lambda: tulle.solve_triangular(T, x, lower="L")],
    "source": [lambda: tg.bfs(G, 1.0), lambda: tg.shortest_paths(G, "0")],
    "iterations": [lambda: tg.hits(G, iterations=2.5), lambda: tg.pagerank(G, iterations=None), lambda: tg.cluster(G, iterations="2")],
    "most_per_row": [lambda: tg.multiply(G, G, most_per_row=1.5)],
    "personalization": [lambda: tg.pagerank(G, personalization={0: 1.0}), lambda: tg.pagerank(G, personalization="abc")],
    "dangling": [lambda: tg.pagerank(G, dangling=[{}] * 8)],
    "near_null_space": [lambda: tulle.solve(G, x, near_null_space=[["a"]] * 8), lambda: tulle.plan_solve(G, near_null_space={1: 2})],
    "complement": [lambda: tg.multiply(G, G, mask=G, complement="no")],
    "semiring": [lambda: tg.multiply(G, G, None)],
    "policy": [lambda: tulle.plan_spmv(A, policy=None)],
    "sentence": [lambda: tulle.generate(5)],
    "comment": [lambda: tulle.write("/nowhere/a.mtx", A, comment=3)],
    "maxiter": [lambda: tulle.solve(A, x, maxiter=1.5)],
    "random_values": [lambda: tulle.read("a.mtx", random_values="3")],
    "a file": [lambda: tulle.read(5), lambda: tulle.write(None, A)],
    "context": [lambda: tulle.spmv(A, x, context="cpu"), lambda: tulle.plan_spmv(A, context="cpu"), lambda: tg.bfs(G, 0, context="cpu"), lambda: tulle.read("a.mtx", context=1)],
    "threads": [lambda: tulle.Context(threads=1.5)],
    "device": [lambda: tulle.Context(device=0)],
    "budget": [lambda: tulle.Context(budget=[1])],
    "update_values": [lambda: plan().update_values(), lambda: plan().update_values(A.data, A.data), lambda: tulle.plan_spgemm(A, A).update_values(A.data)],
    "options": [lambda: tulle.spy(A, options="--help")],
}


@pytest.mark.parametrize("name", WRONG_TYPES)
def test_wrong_types_are_named(name):
    for call in WRONG_TYPES[name]:
        with pytest.raises(tulle.UnsupportedType, match=rf"^{name} ") as caught:
            call()
        assert "incompatible function arguments" not in str(caught.value)


def test_times_are_no_numbers():
    for call in (lambda: tulle.spmv(A, np.zeros(8, "M8[s]")), lambda: tulle.spmm(A, np.zeros((8, 2), "M8[s]")), lambda: tulle.solve(G, np.zeros(8, "M8[s]"))):
        with pytest.raises(tulle.UnsupportedType, match="datetime64"):
            call()


def test_unknown_options_of_solve_are_named():
    with pytest.raises(TypeError, match=r"^solve\(\) .*'x0'"):
        tulle.solve(G, x, x0=x)


@pytest.mark.parametrize("name, call", [
    ("maxiter", lambda: tulle.solve(A, x, maxiter=2**70)), ("random_values", lambda: tulle.read("a.mtx", random_values=-3)), ("n", lambda: tulle.plan_spmm(A, -1)),
    ("n", lambda: tulle.plan_spmm(A, 2**40)), ("k", lambda: tulle.plan_sddmm(A, -1)), ("attended", lambda: tulle.plan_sddmm(A, attended=-1)),
    ("right_hand_sides", lambda: tulle.plan_solve_triangular(T, right_hand_sides=-1)), ("most_per_row", lambda: tg.multiply(G, G, most_per_row=-1)), ("source", lambda: tg.bfs(G, -1)),
    ("select", lambda: tg.cluster(G, select=-1)), ("check", lambda: tulle.spmv(A, x, check="never")), ("check", lambda: tulle.spmv(A, [1.0] * 8, check="never")),
    ("check", lambda: tulle.spmm(A, B, check=2)), ("check", lambda: tulle.spgemm(A, A, check="no")), ("a budget", lambda: tulle.Context(budget=float("nan"))),
    ("a budget", lambda: tulle.spgemm(A, A, budget=float("inf"))), ("the name of a file", lambda: tulle.read("a\0.mtx")),
], ids=lambda value: value if isinstance(value, str) else "")
def test_ranges_are_told(name, call):
    with pytest.raises(tulle.InvalidValue, match=rf"^{name} ") as caught:
        call()
    assert "more than tulle's matrices" not in str(caught.value)


def test_a_shape_is_that_of_the_matrix():
    for call in (lambda s: tulle.spmv(A, [1.0] * 8, shape=s), lambda s: tulle.plan_spmv(A, shape=s), lambda s: tulle.info(A, shape=s), lambda s: tulle.wrap(A, shape=s)):
        call((8, 8))
        with pytest.raises(tulle.ShapeError, match="shape= says 9 x 8, but A is 8 x 8"):
            call((9, 8))


def test_numbers_of_numpy_are_arguments():
    y = tulle.spmv(A, list(x), transpose=np.True_, alpha=np.float32(2), check=np.True_)
    np.testing.assert_array_equal(y, 2 * (A.T @ x))
    assert tulle.plan_spmm(A, np.int64(4), transpose=np.False_)(B, alpha=np.int32(1)).shape == (8, 2)
    assert tg.bfs(G, np.uint8(0)).level[0] == 0
    assert tulle.Context(threads=np.int32(2), deterministic=np.True_).name == "cpu:2"


def test_the_caller_s_order_of_bytes_is_told_and_types_asked_for_have_ours():
    with pytest.raises(tulle.UnsupportedType, match="out is float64 of foreign byte order, but the result is float64"):
        tulle.plan_spmv(A)(x, out=np.zeros(8, ">f8"))
    np.testing.assert_array_equal(tulle.plan_spmv(A, dtype=">f8")(x), A @ x)
    assert tulle.plan_spmv(A, dtype=">f8").dtype == np.float64


def test_vectors_of_a_near_null_space_are_columns():
    with pytest.raises(tulle.ShapeError, match=r"shape \(8,\), but must have 8 rows and a column for each vector"):
        tulle.plan_solve(A, preconditioner="amg", near_null_space=x)


def test_bfloat16_is_refused_where_no_operand_could_have_it():
    for make in tulle.plan_spmm, tulle.plan_sddmm:
        with pytest.raises(tulle.UnsupportedType, match="bfloat16"):
            make(A, dtype="bf16")


def test_graph_functions_take_sparse_matrices():
    arrays = A.indptr, A.indices, A.data
    for call in (lambda: tg.bfs(arrays, 0), lambda: tg.pagerank(arrays), lambda: tg.multiply(arrays, arrays)):
        with pytest.raises(tulle.UnsupportedType, match="take sparse matrices") as caught:
            call()
        assert "shape=(n, n)" in caught.value.hint


def test_values_of_a_converted_matrix_have_a_hint_that_helps():
    S = sp.csc_array(T + T.T)
    with pytest.raises(tulle.PlanMismatch) as caught:
        tulle.plan_solve(S).update_values(S.data)
    assert caught.value.hint == "make the plan of a CSR matrix with sorted rows and no repeats"
    tulle.plan_solve(S.tocsr()).update_values(S.tocsr().data)
