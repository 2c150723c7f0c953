// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Graphs: products over semirings, under masks and with selections, and what is built of them: triangles, PageRank,
/// HITS, breadth-first search, shortest paths, connected components, core numbers, Markov clustering.
/// @code
/// auto C = tulle::graph::multiply_masked(ctx, Semiring::plus_pair, L.view(), L.view(), L.view());   // C<L> = L L
/// offset_t n = tulle::graph::count_triangles(ctx, A.view());
/// auto r = tulle::graph::pagerank(ctx, A.view());               // r.value, r.iterations
/// auto p = tulle::graph::shortest_paths(ctx, A.view(), 0);      // p.distance, p.parent
/// auto k = tulle::graph::cluster(ctx, A.view());                // k.cluster, k.count
/// @endcode
/// A graph of n vertices is a square CSR matrix: an entry (i, j) is an edge from i to j, its value the weight. Vertices
/// are counted from 0. A vertex without entries is isolated and an ordinary vertex. All matrices, those that functions
/// return too, and the vectors of `multiply` are in the memory of the context, CPU or GPU; vectors in options and
/// results are on the host. Functions that return host values wait. Row offsets of 32 bits (Csr32View) are accepted
/// everywhere and widened first. Results do not depend on the number of threads.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tulle/api.hpp"
#include "tulle/context.hpp"
#include "tulle/csr.hpp"
#include "tulle/dense.hpp"
#include "tulle/memory.hpp"
#include "tulle/outline.hpp"
#include "tulle/types.hpp"

/// Products over semirings and under masks, and graph algorithms.
namespace tulle::inline TULLE_ABI::graph {

/// An addition with its identity, and a multiplication. The first operand of a product is the entry of A.
enum class Semiring {
    plus_times,   ///< +, 0; a * b
    min_plus,     ///< min, +infinity; a + b: shortest paths
    max_plus,     ///< max, -infinity; a + b: longest paths
    max_min,      ///< max, -infinity; min(a, b): widest paths
    or_and,       ///< or, 0; 1 where a and b are both not zero: reachability
    plus_pair,    ///< +, 0; 1 for every pair: counts products
    min_first,    ///< min, +infinity; a
    plus_second,  ///< +, 0; b
};

/// Name of a semiring.
TULLE_API std::string to_text(Semiring semiring);
/// The semiring of that name.
/// @throws ValueError (with the names) if there is none.
TULLE_API Semiring parse_semiring(std::string_view name);

/// y = A x over a semiring: y[i] is the semiring's sum of a(i, j) times x[j] over the stored entries of row i; the
/// identity of the addition where there are none.
/// @param ctx where the arrays are and the work is done.
/// @param semiring of the product.
/// @param a the matrix A, in the memory of the context.
/// @param x vector of A.cols entries in the memory of the context.
/// @param y vector of A.rows entries in the memory of the context; overwritten; must not overlap x.
/// @throws ShapeError if x or y has the wrong size.
/// @throws ValueError if the matrix is not valid, or x and y overlap or are null.
/// @throws DeviceError if x or y is in other memory.
/// @throws OutOfMemory if the budget or the device does not allow the work space.
template <class V>
TULLE_API void multiply(const Context& ctx, Semiring semiring, const CsrView<V>& a,
                        std::type_identity_t<std::span<const V>> x, std::type_identity_t<std::span<V>> y);
/// The same with row offsets of 32 bits.
template <class V>
void multiply(const Context& ctx, Semiring semiring, const Csr32View<V>& a, std::type_identity_t<std::span<const V>> x,
              std::type_identity_t<std::span<V>> y)
{
    Buffer<offset_t> wide;
    multiply(ctx, semiring, matrix::widened<CsrView<V>>(ctx, a, wide), x, y);
}

/// C = A B over a semiring with dense B and C: c(i, j) is the semiring's sum of a(i, k) times b(k, j) over the stored
/// entries of row i, the identity where there are none; with `accumulate`, the sum of that and what C has.
/// @param ctx where the arrays are and the work is done.
/// @param semiring of the product.
/// @param a the matrix A, in the memory of the context.
/// @param b the dense matrix B with as many rows as A has columns, in the memory of the context, in either layout.
/// @param c the dense matrix C, in the memory of the context, in either layout; must not overlap B.
/// @param accumulate add to what C has; else C is not read.
/// @throws ShapeError if sizes do not fit or a leading dimension is too small.
/// @throws ValueError if the matrix is not valid, or B and C overlap or are null.
/// @throws DeviceError if B or C is in other memory.
/// @throws OutOfMemory if the budget or the device does not allow the work space.
template <class V>
TULLE_API void multiply(const Context& ctx, Semiring semiring, const CsrView<V>& a,
                        const std::type_identity_t<DenseView<const V>>& b, const std::type_identity_t<DenseView<V>>& c,
                        bool accumulate = false);
/// The same with row offsets of 32 bits.
template <class V>
void multiply(const Context& ctx, Semiring semiring, const Csr32View<V>& a,
              const std::type_identity_t<DenseView<const V>>& b, const std::type_identity_t<DenseView<V>>& c,
              bool accumulate = false)
{
    Buffer<offset_t> wide;
    multiply(ctx, semiring, matrix::widened<CsrView<V>>(ctx, a, wide), b, c, accumulate);
}

/// C<M> = A B over a semiring: the entries of A B at the positions of M, or with `complement` at all others. Only those
/// are computed and stored: the memory is O(nonzeros of M) without, and that of C with complement; a GPU then computes
/// the pattern of A B by ranges of rows, in half of what is free. C has an entry where the mask allows it and there is
/// a product. Rows of C are in the order of those of M, with complement sorted. Values of M are not read. To
/// accumulate, add() (graph_ops.hpp) what was there before. The result is in the memory of the context.
/// @param ctx where the arrays are and the work is done.
/// @param semiring of the product.
/// @param a the matrix A, in the memory of the context.
/// @param b the matrix B, in the memory of the context.
/// @param mask the matrix M, of the shape of A B, in the memory of the context.
/// @param complement compute what the mask has not.
/// @throws ShapeError if sizes do not fit.
/// @throws ValueError if a matrix is not valid, or M stores a position twice.
/// @throws OutOfMemory if the budget or the device does not allow the result and the work space.
template <class V>
TULLE_API Csr<V> multiply_masked(const Context& ctx, Semiring semiring, const CsrView<V>& a, const CsrView<V>& b,
                                 const CsrView<V>& mask, bool complement = false);
/// The same with row offsets of 32 bits in one of the matrices or several.
template <class A, class B, class M, class V = typename ValueOf<A>::type>
requires(matrix::is_narrow<A> || matrix::is_narrow<B> ||
         matrix::is_narrow<M>) Csr<V> multiply_masked(const Context& ctx, Semiring semiring, const A& a, const B& b,
                                                      const M& mask, bool complement = false)
{
    Buffer<offset_t> wide_a, wide_b, wide_mask;
    return multiply_masked<V>(ctx, semiring, matrix::widened<CsrView<V>>(ctx, a, wide_a),
                              matrix::widened<CsrView<V>>(ctx, b, wide_b),
                              matrix::widened<CsrView<V>>(ctx, mask, wide_mask), complement);
}

/// Part of a matrix.
enum class Triangle {
    whole,  ///< all entries
    lower,  ///< below the diagonal
    upper,  ///< above the diagonal
};

/// What stays of the rows of a matrix. Magnitudes decide; NaN is larger than all others. Entries that equal the last
/// one of the largest stay too, so that the result does not depend on an order. With a threshold above zero, entries
/// that are zero never stay.
struct Select {
    double threshold = 0;                 ///< entries of smaller magnitude go
    index_t most_per_row = 0;             ///< so many largest stay of every row; 0: all
    index_t recover = 0;                  ///< rows that lost too much get their largest back, up to so many; 0: none
    double recover_share = 0;             ///< too much: less than this share of the sum of magnitudes is left
    Triangle triangle = Triangle::whole;  ///< entries elsewhere go first of all
    double negligible = 0;                ///< multiply_select(): a product may differ by so much, see there
};

/// The entries of A that a selection keeps, in the order of A. The result is in the memory of the context.
/// @param ctx where the arrays are and the work is done.
/// @param a the matrix A, in the memory of the context.
/// @param selection what stays.
/// @throws ValueError if A is not valid or the selection is out of range.
/// @throws OutOfMemory if the budget or the device does not allow the result and the work space.
template <class V>
TULLE_API Csr<V> select(const Context& ctx, const CsrView<V>& a, const Select& selection);
/// The same with row offsets of 32 bits.
template <class V>
Csr<V> select(const Context& ctx, const Csr32View<V>& a, const Select& selection)
{
    Buffer<offset_t> wide;
    return select(ctx, matrix::widened<CsrView<V>>(ctx, a, wide), selection);
}

/// select(A B), without ever holding A B: the CPU selects in every row as it is computed, with arrays of B.cols entries
/// for each thread and, where rows of B are used often, a copy of B of at most twice its size; a GPU computes A B by
/// ranges of rows that fit `budget`. Beside those, the memory is that of the result twice. Rows are sorted; sums are in
/// the order of A's nonzeros. The result is in the memory of the context.
///
/// Where `negligible` is above zero, the CPU adds in fixed point, over plus_times, with floats that are not negative, a
/// threshold and a rule beside it: a sum of n products differs from the exact one by n x negligible at most, apart from
/// the roundings of the products, and does not depend on the order of the nonzeros.
/// @param ctx where the arrays are and the work is done.
/// @param semiring of the product.
/// @param a the matrix A, in the memory of the context.
/// @param b the matrix B, in the memory of the context.
/// @param selection what stays.
/// @param budget GPU: bytes that may be held at once beside A and B; 0: half of what is free.
/// @throws ShapeError if sizes do not fit.
/// @throws ValueError if a matrix is not valid or the selection is out of range.
/// @throws OutOfMemory if the budget or the device does not allow the result and the work space.
template <class V>
TULLE_API Csr<V> multiply_select(const Context& ctx, Semiring semiring, const CsrView<V>& a, const CsrView<V>& b,
                                 const Select& selection, std::size_t budget = 0);
/// The same with row offsets of 32 bits in one of the matrices or both.
template <class A, class B, class V = typename ValueOf<A>::type>
requires(matrix::is_narrow<A> ||
         matrix::is_narrow<B>) Csr<V> multiply_select(const Context& ctx, Semiring semiring, const A& a, const B& b,
                                                      const Select& selection, std::size_t budget = 0)
{
    Buffer<offset_t> wide_a, wide_b;
    return multiply_select<V>(ctx, semiring, matrix::widened<CsrView<V>>(ctx, a, wide_a),
                              matrix::widened<CsrView<V>>(ctx, b, wide_b), selection, budget);
}

/// Number of triangles of an undirected graph: sets of three vertices with all three edges. Self loops do not count, an
/// edge that is stored twice counts once, weights are not read.
/// @param ctx where the arrays are and the work is done.
/// @param a the graph, in the memory of the context.
/// @throws ShapeError if A is not square.
/// @throws ValueError if A is not valid or its pattern is not symmetric, that is, the graph is directed.
/// @throws OutOfMemory if the budget or the device does not allow the work space.
TULLE_API offset_t count_triangles(const Context& ctx, const AnyCsr<double>& a);

/// Options of pagerank(); the defaults are NetworkX's.
struct RankOptions {
    double damping = 0.85;                         ///< probability of following an edge
    double tolerance = 1e-6;                       ///< converged when the 1-norm of the change is below n * tolerance
    int iterations = 100;                          ///< at most
    std::span<const double> personalization = {};  ///< where a jump goes, in proportion; empty: anywhere
    std::span<const double> dangling = {};         ///< where a vertex without edges goes; empty: as a jump
};

/// Result of an iteration.
struct Ranking {
    std::vector<double> value;  ///< one for each vertex; they add up to 1
    int iterations = 0;         ///< done
    bool converged = false;     ///< the tolerance was met
};

/// PageRank by NetworkX's definition. Edges lead away from their row; weights count in proportion; an edge that is
/// stored twice has the sum of its weights.
/// @param ctx where the arrays are and the work is done.
/// @param a the graph, in the memory of the context.
/// @param options see RankOptions; its vectors are on the host and have an entry for each vertex.
/// @throws ShapeError if A is not square or a vector has another size.
/// @throws ValueError if A is not valid, a weight is negative or not finite, an option is out of range, or a vector has
/// an entry that is negative or not finite, or none above zero.
/// @throws OutOfMemory if the budget or the device does not allow the work space.
TULLE_API Ranking pagerank(const Context& ctx, const AnyCsr<double>& a, const RankOptions& options = {});

/// Hubs and authorities.
struct HubsAndAuthorities {
    std::vector<double> hub;        ///< h is proportional to A a; adds up to 1
    std::vector<double> authority;  ///< a is proportional to A^T h; adds up to 1
    int iterations = 0;             ///< done
    bool converged = false;         ///< the tolerance was met
};

/// HITS by power iteration, from equal hubs.
/// @param ctx where the arrays are and the work is done.
/// @param a the graph, in the memory of the context.
/// @param tolerance converged when the 1-norm of the change of h is below it.
/// @param iterations at most.
/// @throws ShapeError if A is not square.
/// @throws ValueError if A is not valid, a weight is negative or not finite, or `tolerance` or `iterations` is
/// negative.
/// @throws OutOfMemory if the budget or the device does not allow the work space.
TULLE_API HubsAndAuthorities hits(const Context& ctx, const AnyCsr<double>& a, double tolerance = 1e-8,
                                  int iterations = 1000);

/// Breadth-first search.
struct Levels {
    std::vector<index_t> level;   ///< edges from the source; -1: not reached
    std::vector<index_t> parent;  ///< the smallest vertex one level up with an edge here; -1: none
};

/// Breadth-first search along the edges from `source`; weights are not read.
/// @param ctx where the arrays are and the work is done.
/// @param a the graph, in the memory of the context.
/// @param source the vertex to start from; counted from 0.
/// @throws ShapeError if A is not square.
/// @throws ValueError if A is not valid or there is no such vertex.
/// @throws OutOfMemory if the budget or the device does not allow the work space.
TULLE_API Levels breadth_first(const Context& ctx, const AnyCsr<double>& a, index_t source);

/// Shortest paths.
struct Paths {
    std::vector<double> distance;  ///< from the source; +infinity: not reached
    std::vector<index_t> parent;   ///< the vertex before on a shortest path; -1: none
};

/// Shortest paths from `source` by min-plus products with the vertices that changed. Weights of zero are allowed; an
/// edge that is stored twice has the smaller weight.
/// @param ctx where the arrays are and the work is done.
/// @param a the graph, in the memory of the context.
/// @param source the vertex to start from; counted from 0.
/// @throws ShapeError if A is not square.
/// @throws ValueError if A is not valid, a weight is negative or NaN, or there is no such vertex.
/// @throws OutOfMemory if the budget or the device does not allow the work space.
TULLE_API Paths shortest_paths(const Context& ctx, const AnyCsr<double>& a, index_t source);

/// The connected component of each vertex, named by its smallest vertex. Directions of edges are ignored.
/// @param ctx where the arrays are and the work is done.
/// @param a the graph, in the memory of the context.
/// @throws ShapeError if A is not square.
/// @throws ValueError if A is not valid.
/// @throws OutOfMemory if the budget or the device does not allow the work space.
TULLE_API std::vector<index_t> components(const Context& ctx, const AnyCsr<double>& a);

/// The core number of each vertex of an undirected graph: the largest k such that the vertex is in a part of the graph
/// in which all vertices have k neighbours or more. Self loops do not count, an edge that is stored twice counts once,
/// weights are not read. Computed on the host, also for a graph on a GPU.
/// @param ctx where the graph is; the work is done on the host.
/// @param a the graph, in the memory of the context.
/// @throws ShapeError if A is not square.
/// @throws ValueError if A is not valid or its pattern is not symmetric, that is, the graph is directed.
/// @throws OutOfMemory if the budget or the device does not allow the work space.
TULLE_API std::vector<index_t> core_numbers(const Context& ctx, const AnyCsr<double>& a);

/// Where cluster() is after an iteration.
struct ClusterStep {
    int iteration = 0;      ///< from 1
    double chaos = 0;       ///< largest over all rows of (largest - sum of squares) x entries; converged near zero
    offset_t nonzeros = 0;  ///< entries after pruning
};

/// Options of cluster(); defaults and meaning are those of the program mcl, whose options are named.
struct ClusterOptions {
    double inflation = 2;        ///< -I: exponent; larger ones give smaller clusters
    double prune = 1e-4;         ///< -p: entries below it go
    index_t select = 1100;       ///< -S: so many largest entries stay of a row; 0: all
    index_t recover = 1400;      ///< -R: rows that lost too much get so many back; 0: none
    double recover_share = 0.9;  ///< -pct: too much: less than this share is left
    int iterations = 10000;      ///< -L: at most
    double negligible = 4e-4;    ///< CPU: a product may differ by so much, as a share of `prune`; 0: sums of floats
    std::size_t budget = 0;      ///< GPU: bytes that an expansion may hold beside its matrix; 0: half of what is free
    std::function<void(const ClusterStep&)> progress = {};  ///< called after every iteration; may be empty
};

/// A clustering.
struct Clusters {
    std::vector<index_t> cluster;  ///< of each vertex; numbered from the largest on, equal ones by smallest vertex
    index_t count = 0;             ///< number of clusters
    int iterations = 0;            ///< done
    bool converged = false;        ///< chaos is below 1e-4
    offset_t most_nonzeros = 0;    ///< of all matrices between iterations
};

/// Markov clustering (van Dongen 2008, doi:10.1137/040608635) as the program mcl does it: expand (the square of the
/// matrix), prune, inflate (powers of the entries, rows scaled to add up to 1), until nothing changes. Values are
/// float, as mcl's. On a CPU sums are in fixed point (see multiply_select()), so that weights that are equal because
/// the graph is symmetric stay equal, as mcl's sums in double do; a GPU adds in float. Self loops are replaced by the
/// largest weight of their vertex; an edge that is stored twice has the sum of its weights. A vertex between clusters
/// goes to the one with the smallest attractor.
///
/// The square is never held: see multiply_select(). The memory is that of two pruned matrices, each at most about
/// 8 bytes x vertices x max(select, recover), of a copy of one on the CPU, and the arrays of the threads.
/// @param ctx where the arrays are and the work is done.
/// @param a the graph, in the memory of the context.
/// @param options see ClusterOptions.
/// @throws ShapeError if A is not square.
/// @throws ValueError if A is not valid, a weight is negative or not finite, or an option is out of range.
/// @throws OutOfMemory if the budget or the device does not allow the work space.
TULLE_API Clusters cluster(const Context& ctx, const AnyCsr<double>& a, const ClusterOptions& options = {});

}  // namespace tulle::inline TULLE_ABI::graph
