// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// PageRank on a CPU where all edges of a vertex weigh the same: each passes on an equal share, so that values need not
// be read, and an iteration is one pass that sums the shares of every row and does the rest at once.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "graph/cpu/rows.hpp"
#include "graph/steps.hpp"
#include "graph/trees.hpp"
#include "prim/cpu/pieces.hpp"
#include "prim/scan.hpp"
#include "tulle/convert.hpp"

namespace tulle::inline TULLE_ABI::graph {
namespace {

constexpr offset_t rows_of_piece = 1024;  // fixed, so that sums do not depend on the number of threads

// The shares that arrive along the edges first … end-1, in two sums, so that an addition need not wait for the one
// before.
double add_shares(const index_t* from, offset_t first, offset_t end, const double* share)
{
    double even = 0, odd = 0;
    offset_t p = first;
    for (; p + 2 <= end; p += 2) {
        even += share[from[p]];
        odd += share[from[p + 1]];
    }
    if (p < end) even += share[from[p]];
    return even + odd;
}

struct Sums {
    double change = 0, dangles = 0;  // dangles: rank of vertices without edges
};

// An iteration: what every vertex gets, and what it passes on along each of its edges.
struct RankRows {
    Edges back;
    double damping, lost;  // lost: the rank of vertices without edges
    const double* share;
    const double* edge_share;  // 1 / edges; 0: none
    const double* jump;
    const double* from_dangling;
    double* rank;
    double* next_share;

    // Change of the rows begin … end-1, and what they lose. All that the loop needs is in local variables: what is
    // written could change anything behind a reference, as far as the compiler knows.
    Sums run(offset_t begin, offset_t end) const
    {
        const RankRows here = *this;
        Sums sum;
        offset_t p = here.back.begin[begin];
        for (offset_t i = begin; i < end; ++i) {
            const offset_t next = here.back.begin[i + 1];
            const double received = add_shares(here.back.col, std::exchange(p, next), next, here.share);
            const double v =
                here.damping * (received + here.lost * here.from_dangling[i]) + (1 - here.damping) * here.jump[i];
            sum.change += std::abs(v - here.rank[i]);
            sum.dangles += here.edge_share[i] == 0 ? v : 0;
            here.rank[i] = v;
            here.next_share[i] = v * here.edge_share[i];
        }
        return sum;
    }
};

using Values = std::vector<double>;

// The edges to every vertex, vertices in descending order of their number: rows of equal length follow each other, and
// what many vertices read is close together.
class SortedEdges {
public:
    SortedEdges(const Context& ctx, const CpuQueue& q, const CsrView<double>& a)
        : order_(static_cast<std::size_t>(a.rows)),
          begin_(q, offset_t{a.rows} + 1),
          col_(q, a.nonzeros)
    {
        const Csr<double> back = transpose(ctx, a);
        const Edges from{back.row_begin.data(), back.col.data()};
        std::iota(order_.begin(), order_.end(), 0);
        const prim::Pieces pieces = prim::pieces_of(a.rows, rows_of_piece);
        prim::each_piece(q, pieces, [&](offset_t, offset_t first, offset_t end) {
            std::stable_sort(order_.begin() + first, order_.begin() + end,
                             [&](index_t u, index_t v) { return from.degree(u) > from.degree(v); });
        });
        Vertices place(order_.size());
        for (std::size_t k = 0; k < order_.size(); ++k) {
            place[static_cast<std::size_t>(order_[k])] = static_cast<index_t>(k);
            begin_.data()[k] = from.degree(order_[k]);
        }
        prim::exclusive_scan(q, begin_.data(), begin_.data(), a.rows);
        for_each_row(q, begin_.data(), a.rows, [&](int, index_t k) {
            const index_t* const row = from.col + from.begin[order_[static_cast<std::size_t>(k)]];
            const offset_t first = begin_.data()[k], count = begin_.data()[k + 1] - first;
            for (offset_t p = 0; p < count; ++p) col_.data()[first + p] = place[static_cast<std::size_t>(row[p])];
        });
    }
    Edges edges() const { return {begin_.data(), col_.data()}; }
    const Vertices& order() const { return order_; }

    Values sorted(const Values& x) const
    {
        Values y(x.size());
        for (std::size_t k = 0; k < x.size(); ++k) y[k] = x[static_cast<std::size_t>(order_[k])];
        return y;
    }
    Values unsorted(const Values& x) const
    {
        Values y(x.size());
        for (std::size_t k = 0; k < x.size(); ++k) y[static_cast<std::size_t>(order_[k])] = x[k];
        return y;
    }

private:
    Vertices order_;
    Buffer<offset_t> begin_;
    Buffer<index_t> col_;
};

// Change of all rows, and what they lose. Pieces are given out as threads come, because rows are of uneven length.
Sums run_rows(const CpuQueue& q, offset_t n, const RankRows& rows)
{
    const prim::Pieces pieces = prim::pieces_of(n, rows_of_piece);
    std::vector<Sums> part(static_cast<std::size_t>(pieces.count));
#pragma omp parallel for num_threads(q.threads) schedule(dynamic)
    for (offset_t p = 0; p < pieces.count; ++p)
        part[static_cast<std::size_t>(p)] = rows.run(pieces.begin(p), pieces.end(p));
    Sums sum;
    for (const Sums& one : part) sum = {sum.change + one.change, sum.dangles + one.dangles};
    return sum;
}

}  // namespace

bool has_equal_weights(const CpuQueue& q, const CsrView<double>& a)
{
    std::vector<unsigned char> uneven(static_cast<std::size_t>(q.threads), 0);
    for_each_row(q, a.row_begin, a.rows, [&](int t, index_t i) {
        const double* const first = a.value + a.row_begin[i];
        const double* const end = a.value + a.row_begin[i + 1];
        const bool equal =
            first == end || (*first > 0 && std::all_of(first, end, [&](double v) { return v == *first; }));
        if (!equal) uneven[static_cast<std::size_t>(t)] = 1;
    });
    return std::count(uneven.begin(), uneven.end(), 1) == 0;
}

Ranking rank_by_pattern(const Context& ctx, const CpuQueue& q, const CsrView<double>& a, const RankOptions& options,
                        const std::vector<double>& jump, const std::vector<double>& from_dangling)
{
    const auto n = static_cast<std::size_t>(a.rows);
    const SortedEdges back(ctx, q, a);
    const Values jumps = back.sorted(jump), dangling = back.sorted(from_dangling);
    Values edge_share(n), share(n), next_share(n), rank(n, 1.0 / a.rows);
    Sums sum;
    for (std::size_t k = 0; k < n; ++k) {
        const index_t v = back.order()[k];
        const offset_t edges = a.row_begin[v + 1] - a.row_begin[v];
        edge_share[k] = edges > 0 ? 1 / static_cast<double>(edges) : 0;
        share[k] = rank[k] * edge_share[k];
        sum.dangles += edges > 0 ? 0 : rank[k];
    }
    Ranking r;
    while (!r.converged && r.iterations < options.iterations) {
        sum = run_rows(q, a.rows,
                       {back.edges(), options.damping, sum.dangles, share.data(), edge_share.data(), jumps.data(),
                        dangling.data(), rank.data(), next_share.data()});
        r.converged = sum.change < static_cast<double>(n) * options.tolerance;
        ++r.iterations;
        std::swap(share, next_share);
    }
    r.value = back.unsorted(rank);
    return r;
}

}  // namespace tulle::inline TULLE_ABI::graph
