// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The parts of a hierarchy, and how they are made.
#pragma once

#include <cmath>
#include <memory>
#include <optional>
#include <vector>

#include "amg/krylov.hpp"
#include "amg/level_smoother.hpp"
#include "amg/product.hpp"
#include "tulle/amg.hpp"
#include "tulle/dense.hpp"
#include "tulle/spgemm.hpp"
#include "tulle/spmv.hpp"
#include "tulle/sptrsv.hpp"
#include "vector/vector.hpp"

namespace tulle::inline TULLE_ABI::amg {

// Classical interpolation: P = D X B, its largest entries (classical.hpp).
template <class V>
struct Interpolation {
    Buffer<offset_t> number;                         // of the coarse points before each point
    Csr<V> direct, through, product;                 // B, X, X B
    Buffer<offset_t> direct_source, through_source;  // positions in A; -1: the value is 1
    Buffer<V> sum, factor;                           // of the rows of B; D
    Buffer<offset_t> kept;                           // positions in X B of the entries of P

    std::size_t bytes() const;
};

// The way from a level to the next coarser one: R = P^T, coarse matrix R (A P), and P = (I - w D^-1 A) T or classical
// interpolation.
template <class V>
struct Transfer {
    std::optional<Interpolation<V>> interpolation;  // classical; then T and A T are empty
    Csr<V> tentative;                               // T
    Csr<V> product;                                 // A T; released without prolongator damping
    Csr<V> prolongation, restriction, image;        // P, R, A P
    Buffer<offset_t> source;                        // position in P of each entry of R
    std::optional<spgemm::Plan<V>> smooth, right, left;
    std::optional<Product<V>> down, up;

    std::size_t bytes() const;
};

// Vectors of the K-cycle.
template <class V>
struct Krylov {
    template <class Queue>
    Krylov(const Queue& q, index_t n) : c(q, n),
                                        v(q, n),
                                        w(q, n),
                                        dots(q, KrylovDots::size),
                                        sums(q, n)
    {}
    Buffer<V> c, v, w;
    Buffer<double> dots;
    vector::PassBuffer sums;

    std::size_t bytes() const { return c.bytes() + v.bytes() + w.bytes() + dots.bytes() + sums.bytes(); }
};

// The rows of a level that a process has: what its smoother needs, and vectors of a cycle. On several ranks, `a` is the
// diagonal block of the rank.
template <class V>
struct LevelRows {
    CsrView<V> a;
    Buffer<V> diagonal, inverse, bound;
    double spectral_radius = 0, largest = 0;      // of D^-1 A, estimated; upper end of the smoother's interval
    bool positive = true;                         // all diagonal entries are
    std::optional<sptrsv::Plan<V>> lower, upper;  // triangles of a, for Gauss-Seidel
    std::unique_ptr<LevelSmoother<V>> given;      // a smoother from a module above, in place of all others
    double damping = 1;                           // of that
    Buffer<V> r, z, residual, direction;
    std::optional<Krylov<V>> krylov;

    index_t rows() const { return a.rows; }
    std::size_t bytes() const;
};

// A level of one process.
template <class V>
struct LevelData : LevelRows<V> {
    Csr<V> own;  // empty on the finest level, whose matrix is the caller's
    std::optional<Product<V>> multiply;
    std::optional<spmv::Plan<V>> full;  // for a given smoother that keeps it, where `multiply` may have 16 bits
    Csr<V> solution;  // inverse of the coarsest matrix with all its entries; empty where that would be too large
    std::optional<spmv::Plan<V>> direct;  // multiplies with it
    std::optional<Transfer<V>> next;

    // x . y as number `to` of the dot products of the K-cycle.
    void store_dot(const Context& ctx, const Buffer<V>& x, const Buffer<V>& y, int to);
    std::size_t bytes() const;
};

template <class V>
using Levels = std::vector<std::unique_ptr<LevelData<V>>>;

// ValueError where an option is out of range.
void check_options(const Options& options);

// Level n, the finest is 0, is the last: it is small, or there may be no more.
constexpr bool is_coarsest(offset_t rows, int n, const Options& o)
{
    return rows <= o.coarse_rows || n + 1 >= o.most_levels;
}

// Whether the next level would have no rows, or hardly fewer.
constexpr bool is_stalled(offset_t coarse_rows, offset_t rows)
{
    return coarse_rows == 0 || static_cast<double>(coarse_rows) > 0.9 * static_cast<double>(rows);
}

// Of the connections of level n.
inline double strength_of(const Options& options, int n) { return std::ldexp(options.strength, -n); }

// The near null space of the finest level: the given one, scaled, or a constant for each unknown of a node.
template <class V>
Buffer<V> first_near_null(const Context& ctx, index_t rows, index_t unknowns, const DenseView<const V>& given);

template <class V>
void make_vectors(const Context& ctx, LevelRows<V>& level, const Options& options, bool finest);

// All levels of a matrix that is itself level `first` of a hierarchy, with the near null space of that level.
template <class V>
Levels<V> make_levels(const Context& ctx, const CsrView<V>& a, const Options& options, int first, index_t vectors,
                      Buffer<V> near_null, const MakeSmoother<V>& smoother = {});
// New values of that matrix in all levels; aggregates and patterns are kept.
template <class V>
void update_levels(const Context& ctx, const CsrView<V>& a, const Options& options, int first, Levels<V>& level,
                   const MakeSmoother<V>& smoother = {});

// Diagonal and bounds of a level; on the finest level every diagonal entry must be positive and every entry finite.
template <class V>
void inspect(const Context& ctx, LevelData<V>& level, const Options& options, bool finest);

// What InspectRow found in a row, as the end of a sentence.
const char* problem_text(index_t problem);

// Of a spectral radius, whose estimate is from below: upper end of the smoother's interval.
inline constexpr double radius_safety = 1.1;
inline constexpr int lanczos_steps = 10;
// The largest eigenvalue of a symmetric tridiagonal matrix, by bisection.
double largest_eigenvalue(const double* diagonal, const double* beside, int n);

// Triangular solves for Gauss-Seidel, where the diagonal allows them; new values where there are some already.
template <class V>
void prepare_triangles(const Context& ctx, LevelRows<V>& level);

// Aggregates of nodes with so many `unknowns` each, and the tentative prolongator with the near null space of the next
// level (`near_null` is replaced); no entries where nothing can be aggregated.
template <class V>
Csr<V> aggregate(const Context& ctx, const LevelRows<V>& level, double strength, index_t unknowns, index_t vectors,
                 Buffer<V>& near_null);

// C = A B with a plan that is kept, or new values of C with the plan of before.
template <class V>
void multiply(const Context& ctx, std::optional<spgemm::Plan<V>>& plan, const CsrView<V>& a, const CsrView<V>& b,
              bool fresh, Csr<V>& c);

// classical.cpp: coarse points and the patterns of B and X; B has no columns where nothing can be coarsened.
template <class V>
Interpolation<V> choose_interpolation(const Context& ctx, const LevelData<V>& level, double strength);

// classical.cpp: P, with at most so many entries in a row.
template <class V>
void interpolate(const Context& ctx, LevelData<V>& level, int most, bool fresh);

// P, R and the matrix of the next level, whose patterns are new or, if `fresh` is not set, kept.
template <class V>
void coarsen(const Context& ctx, LevelData<V>& level, const Options& options, bool fresh, Csr<V>& coarse);

// The inverse of a small matrix, all entries stored; computed on the host. Directions in which the matrix is singular
// are left out.
template <class V>
Csr<V> invert_dense(const Context& ctx, const CsrView<V>& a);

}  // namespace tulle::inline TULLE_ABI::amg
