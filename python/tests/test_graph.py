# tulle: sparse linear algebra on CPUs and GPUs
# SPDX-License-Identifier: BSD-3-Clause
"""Graph functions against SciPy's graph routines and plain NumPy; ranks against NetworkX where it is installed."""
import signal

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.csgraph as csgraph
from conftest import random_matrix

import tulle
import tulle.graph as graph


def directed(n=60, density=0.05, seed=1):
    A = abs(random_matrix(n, n, density, seed=seed))
    A.eliminate_zeros()
    return A


def undirected(n=60, density=0.05, seed=1):
    A = directed(n, density, seed)
    return (A + A.T).tocsr()


@pytest.mark.parametrize("format", ["csr", "csc", "coo"])
def test_triangles(format):
    A = undirected(density=0.1)
    D = (A.toarray() != 0) & ~np.eye(60, dtype=bool)
    assert graph.triangles(A.asformat(format)) == np.trace(np.linalg.matrix_power(D.astype(np.int64), 3)) // 6
    with pytest.raises(tulle.InvalidValue, match="directed"):
        graph.triangles(sp.csr_array([[0, 1], [0, 0]]))


def test_pagerank_is_the_fixed_point_and_networkx_s():
    A = directed(density=0.03)
    r = graph.pagerank(A, tolerance=1e-14, iterations=1000)
    assert r.converged and abs(r.value.sum() - 1) < 1e-12
    D = A.toarray()
    out = D.sum(axis=1, keepdims=True)
    P = np.where(out > 0, D / np.where(out > 0, out, 1), 1 / 60)
    np.testing.assert_allclose(0.85 * r.value @ P + 0.15 / 60, r.value, atol=1e-12)
    nx = pytest.importorskip("networkx")
    want = nx.pagerank(nx.from_scipy_sparse_array(A, create_using=nx.DiGraph), tol=1e-14, max_iter=1000)
    np.testing.assert_allclose(r.value, [want[v] for v in range(60)], atol=1e-10)


def test_pagerank_of_one_place_and_its_errors():
    A = directed(density=0.03)
    there = np.zeros(60)
    there[7] = 1
    assert graph.pagerank(A, personalization=there, tolerance=1e-12, iterations=1000).value[7] >= 0.15
    with pytest.raises(tulle.ShapeError, match="personalization"):
        graph.pagerank(A, personalization=np.ones(59))
    with pytest.raises(tulle.InvalidValue, match="weight"):
        graph.pagerank(-A)


def test_hits():
    A = undirected()
    r = graph.hits(A, tolerance=1e-12, iterations=10000)
    D = A.toarray()
    h = D @ (D.T @ r.hub)
    np.testing.assert_allclose(h / h.sum(), r.hub, atol=1e-9)


def test_bfs_and_shortest_paths():
    A = directed(density=0.04)
    levels = graph.bfs(A, 3)
    want = csgraph.shortest_path(A, unweighted=True, indices=3)
    np.testing.assert_array_equal(np.where(levels.level < 0, np.inf, levels.level), want)
    reached = levels.level > 0
    np.testing.assert_array_equal(levels.level[levels.parent[reached]] + 1, levels.level[reached])
    paths = graph.shortest_paths(A, 3)
    np.testing.assert_array_equal(paths.distance, csgraph.dijkstra(A, indices=3))
    with pytest.raises(tulle.InvalidValue, match="no vertex 60"):
        graph.bfs(A, 60)
    with pytest.raises(tulle.InvalidValue, match="negative"):
        graph.shortest_paths(-A, 0)


def test_components():
    A = directed(density=0.01)
    count, label = csgraph.connected_components(A, directed=False)
    got = graph.components(A)
    assert len(set(got)) == count
    np.testing.assert_array_equal(got, [np.flatnonzero(label == label[v])[0] for v in range(60)])


def test_core_numbers():
    A = directed(density=0.05)
    A = sp.csr_array(((A + A.T) != 0).astype(float))
    left, want = A.toarray() != 0, np.zeros(60)
    np.fill_diagonal(left, False)
    for k in range(1, 60):
        while (few := (left.any(1)) & (left.sum(1) < k)).any():
            left[few] = left[:, few] = False
        want[left.any(1)] = k
    np.testing.assert_array_equal(graph.core_numbers(A), want)
    with pytest.raises(tulle.InvalidValue, match="directed"):
        graph.core_numbers(sp.csr_array(np.triu(np.ones((3, 3)))))


def test_cluster():
    blocks = sp.block_diag([np.ones((5, 5)), np.ones((3, 3)), np.zeros((1, 1))], format="csr")
    r = graph.cluster(blocks)
    assert r.converged and r.count == 3
    np.testing.assert_array_equal(r.label, [0] * 5 + [1] * 3 + [2])
    with pytest.raises(tulle.InvalidValue, match="inflation"):
        graph.cluster(blocks, inflation=0.5)


def test_signals_are_seen_between_iterations_of_a_clustering():
    A, seen = tulle.generate("rmat:11,8"), []

    def see(number, frame):
        seen.append(number)
        if len(seen) == 4:
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, see)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)
        with pytest.raises(KeyboardInterrupt):
            graph.cluster(A, inflation=1.3)        # without a look between iterations there would be one signal, at the end
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert len(seen) >= 4
    assert graph.cluster(A[:50, :50]).converged


def test_what_selections_keep():
    """The diagonal goes with both triangles, and entries as large as the last that stays, stay."""
    ones = sp.csr_array(np.ones((3, 3)))
    for name, part in ("lower", np.tril), ("upper", np.triu):
        np.testing.assert_array_equal(graph.multiply(ones, ones, triangle=name).toarray(), part(np.full((3, 3), 3.0), -1 if name == "lower" else 1))
    assert graph.multiply(ones, ones, most_per_row=2).nnz == 9


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_multiply_under_masks_and_with_selections(dtype):
    A, B = random_matrix(30, 20, 0.2, dtype=dtype), random_matrix(20, 25, 0.2, dtype=dtype, seed=5, format="csc")
    M = random_matrix(30, 25, 0.3, dtype=dtype, seed=6)
    M.eliminate_zeros()
    whole = (A @ B).toarray()
    C = graph.multiply(A, B)
    assert C.format == "csr" and C.dtype == dtype
    np.testing.assert_array_equal(C.toarray(), whole)
    inside = M.toarray() != 0
    np.testing.assert_array_equal(graph.multiply(A, B, mask=M).toarray(), np.where(inside, whole, 0))
    np.testing.assert_array_equal(graph.multiply(A, B, mask=M, complement=True).toarray(), np.where(inside, 0, whole))
    np.testing.assert_array_equal(graph.multiply(A, B, threshold=5).toarray(), np.where(abs(whole) >= 5, whole, 0))
    np.testing.assert_array_equal(graph.multiply(A, B, triangle="lower").toarray(), np.tril(whole, -1))
    most = graph.multiply(A, B, threshold=1, most_per_row=2)
    for i in range(30):
        row = np.sort(abs(whole[i]))[::-1]
        bar = max(row[1], 1)
        np.testing.assert_array_equal(most[[i]].toarray()[0], np.where(abs(whole[i]) >= bar, whole[i], 0))


def test_masks_may_be_unsorted_and_of_any_type():
    G = sp.csr_array(np.array([[0, 1, 1, 0], [1, 0, 1, 0], [1, 1, 0, 1], [0, 0, 1, 0.0]]))
    U = sp.csr_array((np.arange(1.0, 9), np.array([2, 1, 2, 0, 3, 1, 0, 2]), np.array([0, 2, 4, 7, 8])), shape=(4, 4))
    kept, want = U.indices.copy(), graph.multiply(G, G, mask=G).toarray()
    for mask in U, U * 1j, U.astype(np.float32), U.astype(int):
        np.testing.assert_array_equal(graph.multiply(G, G, mask=mask).toarray(), want)
    np.testing.assert_array_equal(U.indices, kept)
    twice = sp.csr_array((np.ones(3), np.array([2, 1, 2]), np.array([0, 3, 3, 3, 3])), shape=(4, 4))
    with pytest.raises(tulle.InvalidValue, match="twice"):
        graph.multiply(G, G, mask=twice)


def test_imaginary_parts_are_not_dropped():
    G = sp.csr_array(np.array([[0, 1.0], [1, 0]])) * (1 + 1j)
    calls = [graph.triangles, graph.pagerank, graph.hits, graph.components, graph.core_numbers, graph.cluster]
    calls += [lambda A: graph.bfs(A, 0), lambda A: graph.shortest_paths(A, 0), lambda A: graph.multiply(A, A), lambda A: graph.multiply(A.real, A)]
    calls += [lambda A: graph.pagerank(A.real, personalization=np.ones(2) * 1j)]
    for call in calls:
        with pytest.raises(tulle.UnsupportedType, match="complex"):
            call(G)


def test_multiply_over_semirings():
    A = directed(20, 0.2)
    D = np.where(A.toarray() != 0, A.toarray(), np.inf)
    shortest = (D[:, :, None] + D[None, :, :]).min(axis=1)
    C = graph.multiply(A, A, "min_plus")
    np.testing.assert_array_equal(np.where(np.isinf(shortest), 0, shortest), C.toarray())
    pairs = ((A != 0).astype(float) @ (A != 0).astype(float)).toarray()
    np.testing.assert_array_equal(graph.multiply(A, A, "plus_pair").toarray(), pairs)
    for semiring in graph.SEMIRINGS:
        assert graph.multiply(A, A, semiring).nnz == np.count_nonzero(pairs)


def test_multiply_refuses_what_does_not_fit():
    A = directed(20, 0.2)
    with pytest.raises(tulle.InvalidValue, match="semiring 'plus_plus'"):
        graph.multiply(A, A, "plus_plus")
    with pytest.raises(tulle.ShapeError):
        graph.multiply(A, A, mask=directed(19))
    with pytest.raises(tulle.InvalidValue, match="complement"):
        graph.multiply(A, A, complement=True)
    with pytest.raises(tulle.InvalidValue, match="mask and a selection"):
        graph.multiply(A, A, mask=A, threshold=1)
    with pytest.raises(tulle.InvalidValue, match="triangle"):
        graph.multiply(A, A, triangle="left")
    with pytest.raises(tulle.ShapeError, match="square"):
        graph.components(random_matrix(3, 4))
