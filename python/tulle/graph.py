# tulle: sparse linear algebra on CPUs and GPUs
# SPDX-License-Identifier: BSD-3-Clause
"""Graphs as sparse matrices: products over semirings and under masks, triangles, ranks, searches, components, cores, clusters.

A graph of n vertices is a square sparse matrix of SciPy; an entry (i, j) is an edge from i to j and its value the weight. Vertices are counted from 0. Everything runs on the CPU; vectors
come back as NumPy's arrays, matrices as `scipy.sparse.csr_array`.

>>> import scipy.sparse as sp, tulle.graph
>>> A = sp.csr_array([[0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]])
>>> tulle.graph.triangles(A)
1
>>> tulle.graph.bfs(A, 0).level
array([0, 1, 1], dtype=int32)
"""
from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from . import _core
from ._arguments import checked, flag
from ._arrays import Sparse, common_dtype, real_array, require_real, sparse
from ._context import Context, context_of
from ._errors import InvalidValue, ShapeError, UnsupportedType
from ._frameworks import F32, F64, NAMES

__all__ = ["Clusters", "Hits", "Levels", "Paths", "Ranking", "SEMIRINGS", "bfs", "cluster", "components", "core_numbers", "hits", "multiply", "pagerank", "shortest_paths", "triangles"]

SEMIRINGS = ("plus_times", "min_plus", "max_plus", "max_min", "or_and", "plus_pair", "min_first", "plus_second")


class Ranking(NamedTuple):
    """Result of `pagerank`."""
    value: np.ndarray
    iterations: int
    converged: bool


class Hits(NamedTuple):
    """Result of `hits`."""
    hub: np.ndarray
    authority: np.ndarray
    iterations: int
    converged: bool


class Levels(NamedTuple):
    """Result of `bfs`; -1 where a vertex was not reached or has no parent."""
    level: np.ndarray
    parent: np.ndarray


class Paths(NamedTuple):
    """Result of `shortest_paths`; infinity and -1 where a vertex was not reached."""
    distance: np.ndarray
    parent: np.ndarray


class Clusters(NamedTuple):
    """Result of `cluster`: the cluster of each vertex, numbered from the largest on."""
    label: np.ndarray
    count: int
    iterations: int
    converged: bool


def _matrix(A: Any) -> Any:
    if isinstance(A, (tuple, list)):
        raise UnsupportedType("graph functions take sparse matrices, not (indptr, indices, data)", "scipy.sparse.csr_array((data, indices, indptr), shape=(n, n)) makes one")
    return sparse(A)


def _by_rows(A: Any) -> Sparse:
    a = _matrix(A)
    if a.framework is not None:
        raise InvalidValue("the matrix is on a GPU, and graph functions take arrays of the CPU", "copy it to the CPU first")
    return a.by_rows()


def _rows(A: Any, dtype: np.dtype = F64) -> Sparse:
    a = _by_rows(A)
    require_real(a.dtype, "the graph")
    return a.in_library_form(dtype)


def _mask(A: Any, dtype: np.dtype, place: _core.Context) -> _core.Compressed:
    """Positions alone, in sorted rows; values are not read."""
    a = _by_rows(A)
    if a.dtype != dtype:
        a.data = np.empty(a.data.size, dtype)
    view = a.in_library_form(dtype).compressed(place)
    if view.sorted:
        return view
    csr = a.scipy().copy()
    csr.sort_indices()                           # what is stored twice stays so
    return Sparse(False, a.shape, csr.indptr, csr.indices, csr.data, a.back, a.source).in_library_form(dtype).compressed(place)


def _run(function: Any, A: Any, context: Context | None, **arguments: Any) -> Any:
    given = checked(**arguments)
    a, ctx = _rows(A), context_of(context)
    place = a.place(ctx)
    return function(place, a.compressed(place), **given)


def _vector(x: Any, n: int, name: str) -> np.ndarray:
    if x is None:
        return np.empty(0)
    v = real_array(x, name)
    if v.shape != (n,):
        raise ShapeError(f"{name} has the shape {v.shape}, not ({n},)")
    return v


def triangles(A: Any, *, context: Context | None = None) -> int:
    """Number of triangles of an undirected graph. Self loops do not count, weights are not read.

    Parameters
    ----------
    A : sparse matrix
        The graph; its pattern must be symmetric.
    context : Context, optional
        Where and how.

    Examples
    --------
    >>> import scipy.sparse as sp, tulle.graph
    >>> tulle.graph.triangles(sp.csr_array([[0, 1, 1], [1, 0, 1], [1, 1, 0]]))
    1
    """
    return _run(_core.graph_triangles, A, context)


def pagerank(A: Any, *, damping: float = 0.85, tolerance: float = 1e-6, iterations: int = 100, personalization: Any = None, dangling: Any = None, context: Context | None = None) -> Ranking:
    """PageRank by NetworkX's definition.

    Parameters
    ----------
    A : sparse matrix
        The graph; weights must not be negative.
    damping : float
        Probability of following an edge.
    tolerance : float
        Converged when the 1-norm of the change is below n times this.
    iterations : int
        At most.
    personalization, dangling : array_like, optional
        Where a jump goes, and a vertex without edges, in proportion; by default anywhere, and as a jump.
    context : Context, optional
        Where and how.

    Examples
    --------
    >>> import scipy.sparse as sp, tulle.graph
    >>> tulle.graph.pagerank(sp.csr_array([[0, 1], [1, 0]])).value
    array([0.5, 0.5])
    """
    n = _matrix(A).shape[0]
    return Ranking(*_run(_core.graph_pagerank, A, context, damping=damping, tolerance=tolerance, iterations=iterations, personalization=_vector(personalization, n, "personalization"),
                         dangling=_vector(dangling, n, "dangling")))


def hits(A: Any, *, tolerance: float = 1e-8, iterations: int = 1000, context: Context | None = None) -> Hits:
    """Hubs and authorities; each add up to 1.

    Parameters
    ----------
    A : sparse matrix
        The graph; weights must not be negative.
    tolerance : float
        Converged when the 1-norm of the change of the hubs is below it.
    iterations : int
        At most.
    context : Context, optional
        Where and how.

    Examples
    --------
    >>> import scipy.sparse as sp, tulle.graph
    >>> tulle.graph.hits(sp.csr_array([[0, 1], [0, 0]])).authority
    array([0., 1.])
    """
    return Hits(*_run(_core.graph_hits, A, context, tolerance=tolerance, iterations=iterations))


def bfs(A: Any, source: int, *, context: Context | None = None) -> Levels:
    """Breadth-first search along the edges from `source`; the parent is the smallest vertex one level up.

    Parameters
    ----------
    A : sparse matrix
        The graph; weights are not read.
    source : int
        The vertex to start from.
    context : Context, optional
        Where and how.

    Examples
    --------
    >>> import scipy.sparse as sp, tulle.graph
    >>> tulle.graph.bfs(sp.csr_array([[0, 1, 0], [0, 0, 1], [0, 0, 0]]), 0).level
    array([0, 1, 2], dtype=int32)
    """
    return Levels(*_run(_core.graph_breadth_first, A, context, source=source))


def shortest_paths(A: Any, source: int, *, context: Context | None = None) -> Paths:
    """Shortest paths from `source`; weights are lengths and must not be negative.

    Parameters
    ----------
    A : sparse matrix
        The graph; of an edge that is stored twice the smaller weight counts.
    source : int
        The vertex to start from.
    context : Context, optional
        Where and how.

    Examples
    --------
    >>> import scipy.sparse as sp, tulle.graph
    >>> tulle.graph.shortest_paths(sp.csr_array([[0.0, 2.5], [0.0, 0.0]]), 0).distance
    array([0. , 2.5])
    """
    return Paths(*_run(_core.graph_shortest_paths, A, context, source=source))


def components(A: Any, *, context: Context | None = None) -> np.ndarray:
    """The connected component of each vertex, named by its smallest vertex; directions are ignored.

    Parameters
    ----------
    A : sparse matrix
        The graph; weights are not read.
    context : Context, optional
        Where and how.

    Examples
    --------
    >>> import scipy.sparse as sp, tulle.graph
    >>> tulle.graph.components(sp.csr_array([[0, 0, 1], [0, 0, 0], [0, 0, 0]]))
    array([0, 1, 0], dtype=int32)
    """
    return _run(_core.graph_components, A, context)


def core_numbers(A: Any, *, context: Context | None = None) -> np.ndarray:
    """The core number of each vertex of an undirected graph: the largest k such that it is in a part of the graph where all have k neighbours.

    Self loops do not count.

    Parameters
    ----------
    A : sparse matrix
        The graph; its pattern must be symmetric, weights are not read.
    context : Context, optional
        Where and how.

    Examples
    --------
    >>> import scipy.sparse as sp, tulle.graph
    >>> tulle.graph.core_numbers(sp.csr_array([[0, 1, 1, 0], [1, 0, 1, 0], [1, 1, 0, 1], [0, 0, 1, 0]]))
    array([2, 2, 2, 1], dtype=int32)
    """
    return _run(_core.graph_core_numbers, A, context)


def cluster(A: Any, *, inflation: float = 2, prune: float = 1e-4, select: int = 1100, recover: int = 1400, recover_share: float = 0.9, iterations: int = 10000,
            context: Context | None = None) -> Clusters:
    """Markov clustering, as the program mcl does it; defaults are mcl's. Ctrl-C works between iterations.

    Parameters
    ----------
    A : sparse matrix
        The graph; weights must not be negative.
    inflation : float
        mcl's -I, above 1 and at most 30: larger ones give smaller clusters.
    prune : float
        mcl's -p: smaller entries go.
    select : int
        mcl's -S: so many largest entries stay of a row; 0: all.
    recover : int
        mcl's -R: rows that lost too much get so many back; 0: none.
    recover_share : float
        mcl's -pct: too much: less than this share is left.
    iterations : int
        mcl's -L: at most.
    context : Context, optional
        Where and how.

    Examples
    --------
    >>> import scipy.sparse as sp, tulle.graph
    >>> tulle.graph.cluster(sp.csr_array([[0, 1, 0], [1, 0, 0], [0, 0, 0]])).label
    array([0, 0, 1], dtype=int32)
    """
    return Clusters(*_run(_core.graph_cluster, A, context, inflation=inflation, prune=prune, select=select, recover=recover, recover_share=recover_share,
                          iterations=iterations))


def multiply(A: Any, B: Any, semiring: str = "plus_times", *, mask: Any = None, complement: bool = False, threshold: float = 0.0, most_per_row: int = 0, triangle: str = "whole",
             context: Context | None = None) -> Any:
    """A B over a semiring, under a mask or with a selection, which never holds more than is kept.

    Parameters
    ----------
    A, B : sparse matrix
        The factors. What is computed in is float32 if both have it, else float64.
    semiring : str
        One of `SEMIRINGS`; the entry of A is the first operand of a product.
    mask : sparse matrix, optional
        Only its positions are computed, whatever its values; it must not store a position twice.
    complement : bool
        Only the other positions are computed.
    threshold : float
        Without a mask: entries of a smaller magnitude go.
    most_per_row : int
        Without a mask: so many largest stay of every row; 0: all. Entries as large as the last of them stay too, so that a row of equal entries stays whole: memory has
        no bound by it.
    triangle : {"whole", "lower", "upper"}
        Without a mask: "lower" keeps what is below the diagonal, "upper" what is above; the diagonal goes with both, unlike `scipy.sparse.tril` and `triu`.
    context : Context, optional
        Where and how.

    Returns
    -------
    scipy.sparse.csr_array

    Examples
    --------
    >>> import scipy.sparse as sp, tulle.graph
    >>> A = sp.csr_array([[0.0, 3.0], [4.0, 0.0]])
    >>> tulle.graph.multiply(A, A, "min_plus").toarray()
    array([[7., 0.],
           [0., 7.]])
    """
    from scipy.sparse import csr_array

    complement = flag(complement, "complement")
    checked(semiring=semiring, threshold=threshold, most_per_row=most_per_row, triangle=triangle)
    a, b = _matrix(A), _matrix(B)
    t = F32 if common_dtype(a.dtype, b.dtype) == F32 else F64
    left, right, ctx = _rows(A, t), _rows(B, t), context_of(context)
    place, name = left.place(ctx), NAMES[t]
    if mask is None:
        if complement:
            raise InvalidValue("complement is given without a mask")
        found = getattr(_core, f"graph_multiply_select_{name}")(place, left.compressed(place), right.compressed(place), semiring, threshold, most_per_row, triangle)
    else:
        if threshold != 0 or most_per_row != 0 or triangle != "whole":
            raise InvalidValue("a mask and a selection are given", "select from the product under the mask")
        where = _mask(mask, t, place)
        found = getattr(_core, f"graph_multiply_masked_{name}")(place, left.compressed(place), right.compressed(place), where, semiring, complement)
    indptr, indices, data = found
    return csr_array((data, indices, indptr), shape=(left.shape[0], right.shape[1]))
