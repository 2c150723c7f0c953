// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Rows that ranks have by some cuts move to the ranks that balanced_cuts() of the whole matrix gives them.
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

#include "mpi/exchange.hpp"
#include "tulle/distributed.hpp"

namespace tulle::inline TULLE_ABI::mpi {

// balanced_cuts() of the whole matrix: each rank finds those that fall into its rows.
template <class V>
Cuts balance(const Cluster& cluster, std::string_view phase, const Csr<V>& rows, const Cuts& have)
{
    const auto me = static_cast<std::size_t>(cluster.rank());
    const std::vector<global_t> counts = all_gather(cluster, phase, global_t{rows.nonzeros()});
    const std::vector<global_t> before = begins_of(counts);
    const global_t work = before.back() + have.back();
    const auto weight = [&](global_t i) { return before[me] + rows.row_begin.data()[i] + have[me] + i; };
    Cuts cuts(have.size(), 0);
    for (std::size_t r = 1; r + 1 < cuts.size(); ++r) {
        const auto n = static_cast<global_t>(cuts.size()) - 1, part = static_cast<global_t>(r);
        const global_t share = work / n * part + work % n * part / n;
        global_t low = 0, high = rows.rows;
        while (low < high) {
            const global_t middle = low + (high - low) / 2;
            if (weight(middle) < share) low = middle + 1;
            else high = middle;
        }
        // Rows of this rank that are below the cut; all ranks together have as many as it counts.
        cuts[r] = low;
    }
    for (std::size_t r = 1; r + 1 < cuts.size(); ++r) cuts[r] = cluster.sum(cuts[r]);
    cuts.back() = have.back();
    return cuts;
}

// Numbers of an array of `have` rows for the ranks that get the rows; begin(i) is where row i of this rank begins.
template <class T, class From, class Begin>
std::vector<T> move_rows(const Cluster& cluster, std::string_view phase, const From* from, const Cuts& have,
                         const Cuts& want, const Begin& begin)
{
    const auto me = static_cast<std::size_t>(cluster.rank());
    ByRank<T> send;
    cluster.run_collective(phase, [&] {
        for (const global_t cut : want) send.begin.push_back(begin(std::clamp(cut, have[me], have[me + 1]) - have[me]));
        send.entry.assign(from, from + send.begin.back());
    });
    return exchange(cluster, phase, send).entry;
}

// A distributed matrix of rows with global columns, which ranks have by the cuts `have`. Collective.
template <class V>
DistCsr<V> distribute_balanced(const Cluster& cluster, std::string_view phase, const Csr<V>& rows, const Cuts& have)
{
    const Cuts want = balance(cluster, phase, rows, have);
    std::vector<offset_t> length;
    for (index_t i = 0; i < rows.rows; ++i) length.push_back(rows.row_begin.data()[i + 1] - rows.row_begin.data()[i]);
    const auto row_at = [](global_t i) { return i; };
    const auto entry_at = [&](global_t i) { return rows.row_begin.data()[i]; };
    const auto lengths = move_rows<offset_t>(cluster, phase, length.data(), have, want, row_at);
    const auto col = move_rows<global_t>(cluster, phase, rows.col.data(), have, want, entry_at);
    const auto value = move_rows<V>(cluster, phase, rows.value.data(), have, want, entry_at);
    return DistCsr<V>::from_rows(cluster, rows.cols, begins_of(lengths), col, value);
}

}  // namespace tulle::inline TULLE_ABI::mpi
