// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/transposed.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace tulle::inline TULLE_ABI::mpi {
namespace {

// Row and column of the transposed matrix.
struct Position {
    global_t row, col;
};

// The nonzeros of A, grouped by the rank that has their row of the transposed matrix.
template <class V>
ByRank<offset_t> by_new_owner(const DistCsr<V>& a)
{
    const auto& cuts = a.col_cuts();
    const CsrView<V> local = a.local();
    std::vector<offset_t> counts(cuts.size() - 1, 0);
    const auto owner = [&](index_t j) {
        return static_cast<std::size_t>(std::upper_bound(cuts.begin(), cuts.end(), a.global_col(j)) - cuts.begin() - 1);
    };
    for (offset_t k = 0; k < local.nonzeros; ++k) ++counts[owner(local.col[k])];
    ByRank<offset_t> all{begins_of(counts), std::vector<offset_t>(static_cast<std::size_t>(local.nonzeros))};
    std::vector<offset_t> next = all.begin;
    for (offset_t k = 0; k < local.nonzeros; ++k) all.entry[static_cast<std::size_t>(next[owner(local.col[k])]++)] = k;
    return all;
}

template <class V>
ByRank<Position> positions_of(const DistCsr<V>& a, const ByRank<offset_t>& nonzeros)
{
    const CsrView<V> local = a.local();
    const global_t first = a.row_cuts()[rank_of(a.cluster())];
    std::vector<index_t> row(static_cast<std::size_t>(local.nonzeros));
    for (index_t i = 0; i < local.rows; ++i)
        std::fill(row.begin() + local.row_begin[i], row.begin() + local.row_begin[i + 1], i);
    ByRank<Position> all{nonzeros.begin, {}};
    all.entry.reserve(nonzeros.entry.size());
    for (const offset_t k : nonzeros.entry)
        all.entry.push_back({a.global_col(local.col[k]), first + row[static_cast<std::size_t>(k)]});
    return all;
}

template <class V>
ByRank<V> values_of(const DistCsr<V>& a, const ByRank<offset_t>& nonzeros)
{
    const V* const value = a.local().value;
    ByRank<V> all{nonzeros.begin, {}};
    all.entry.reserve(nonzeros.entry.size());
    for (const offset_t k : nonzeros.entry) all.entry.push_back(value[k]);
    return all;
}

// Values with their new positions, sent to the ranks that have these.
template <class V>
ByRank<V> exchange_values(const DistCsr<V>& a, const ByRank<offset_t>& nonzeros, const std::vector<offset_t>& begin)
{
    ByRank<V> values;
    a.cluster().run_collective("transpose", [&] { values = values_of(a, nonzeros); });
    return exchange(a.cluster(), "transpose", values, begin);
}

}  // namespace

template <class V>
Transposed<V>::Transposed(const DistCsr<V>& a) : given_(a),
                                                 matrix_(make())
{}

template <class V>
DistCsr<V> Transposed<V>::make()
{
    const Cluster& cluster = given_.cluster();
    const Cuts& cuts = given_.col_cuts();
    const global_t first = cuts[rank_of(cluster)], last = cuts[rank_of(cluster) + 1];
    ByRank<Position> positions;
    cluster.run_collective("transpose", [&] {
        sent_ = by_new_owner(given_);
        positions = positions_of(given_, sent_);
    });
    const ByRank<Position> got = exchange(cluster, "transpose", positions);
    begin_ = got.begin;
    const ByRank<V> values = exchange_values(given_, sent_, begin_);
    std::vector<offset_t> row_begin;
    std::vector<global_t> col;
    std::vector<V> value;
    cluster.run_collective("transpose", [&] {
        // Entries come by rank and row, so a stable order by the new row leaves the new columns ascending.
        row_begin.assign(static_cast<std::size_t>(last - first) + 1, 0);
        for (const Position& p : got.entry) ++row_begin[static_cast<std::size_t>(p.row - first) + 1];
        std::partial_sum(row_begin.begin(), row_begin.end(), row_begin.begin());
        std::vector<offset_t> next = row_begin;
        for (const Position& p : got.entry) place_.push_back(next[static_cast<std::size_t>(p.row - first)]++);
        col.resize(got.entry.size());
        value.resize(got.entry.size());
        for (std::size_t k = 0; k < place_.size(); ++k) {
            col[static_cast<std::size_t>(place_[k])] = got.entry[k].col;
            value[static_cast<std::size_t>(place_[k])] = values.entry[k];
        }
    });
    return DistCsr<V>::from_rows(cluster, given_.rows(), row_begin, col, value, given_.row_cuts());
}

template <class V>
void Transposed<V>::update_values()
{
    const ByRank<V> values = exchange_values(given_, sent_, begin_);
    V* const to = matrix_.values().data();
    for (std::size_t k = 0; k < place_.size(); ++k) to[place_[k]] = values.entry[k];
}

template class Transposed<float>;
template class Transposed<double>;

}  // namespace tulle::inline TULLE_ABI::mpi
