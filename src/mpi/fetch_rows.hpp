// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Rows of B that a distributed product fetches from their owners: in which batches, from whom, and on their way
// (spgemm.cpp tells the story).
#pragma once

#include <algorithm>
#include <memory>
#include <utility>

#include "mpi/halo.hpp"

namespace tulle::inline TULLE_ABI::mpi {

// Of an entry of B on its way: column and value.
template <class V>
inline constexpr std::size_t entry_bytes = sizeof(global_t) + sizeof(V);

// A range of rows of A, and the columns it uses, in ascending local numbers.
struct Range {
    index_t first = 0, last = 0;
    std::vector<index_t> used;
    std::size_t fetched_bytes = 0;
};

// Rows of B that travel: wanted by this rank, and asked of it by the others (numbers of own rows).
struct Fetch {
    ByRank<global_t> wanted;
    ByRank<index_t> asked;
    std::vector<offset_t> get_begin, give_begin;  // entries from and to each rank

    std::size_t bytes() const
    {
        return bytes_of(wanted.begin) + bytes_of(wanted.entry) + bytes_of(asked.begin) + bytes_of(asked.entry) +
               bytes_of(get_begin) + bytes_of(give_begin);
    }
};

inline bool is_ghost(const Halo& halo, index_t j) { return j < halo.below || j >= halo.below + halo.own; }

// The lengths of the rows of B at all local columns of A.
template <class V>
std::vector<offset_t> row_lengths(const DistCsr<V>& a, const DistCsr<V>& b)
{
    std::unique_ptr<HaloExchange<offset_t>> halo;
    a.cluster().run_collective("spgemm setup", [&] {
        halo = std::make_unique<HaloExchange<offset_t>>(a.cluster().state().host, a.cluster(), a.state()->halo, 1);
        const offset_t* const begin = b.local().row_begin;
        const std::span<offset_t> own = halo->own();
        for (std::size_t i = 0; i < own.size(); ++i) own[i] = begin[i + 1] - begin[i];
    });
    halo->start(halo->own());
    halo->finish();
    return {halo->extended().begin(), halo->extended().end()};
}

// Ranges of rows whose fetched rows of B fit the budget. A rank without ghosts of A and B has one, whatever it uses.
template <class V>
std::vector<Range> make_ranges(const DistCsr<V>& a, const std::vector<offset_t>& length, std::size_t budget,
                               bool needs_used)
{
    const CsrView<V> local = a.local();
    const Halo& halo = a.state()->halo;
    std::vector<Range> ranges(1);
    if (!needs_used) {
        ranges[0].last = local.rows;
        return ranges;
    }
    std::vector<index_t> seen(static_cast<std::size_t>(local.cols), -1);
    const auto bytes_of = [&](index_t j) {
        return static_cast<std::size_t>(length[static_cast<std::size_t>(j)]) * entry_bytes<V>;
    };
    const auto take = [&](index_t i) {
        const auto number = static_cast<index_t>(ranges.size() - 1);
        for (offset_t k = local.row_begin[i]; k < local.row_begin[i + 1]; ++k) {
            const index_t j = local.col[k];
            if (std::exchange(seen[static_cast<std::size_t>(j)], number) == number) continue;
            ranges.back().used.push_back(j);
            if (is_ghost(halo, j)) ranges.back().fetched_bytes += bytes_of(j);
        }
    };
    for (index_t i = 0; i < local.rows; ++i) {
        const std::size_t used = ranges.back().used.size(), bytes = ranges.back().fetched_bytes;
        take(i);
        if (ranges.back().fetched_bytes > budget && ranges.back().first < i) {
            ranges.back().used.resize(used);
            ranges.back().fetched_bytes = bytes;
            ranges.push_back({i, i, {}, 0});
            take(i);
        }
        ranges.back().last = i + 1;
    }
    if (ranges.size() > 1) {
        for (Range& r : ranges) std::sort(r.used.begin(), r.used.end());
        return ranges;
    }
    ranges[0].used.clear();  // in order without a sort
    for (index_t j = 0; j < local.cols; ++j)
        if (seen[static_cast<std::size_t>(j)] == 0) ranges[0].used.push_back(j);
    return ranges;
}

// Who needs which rows in this round. Collective.
template <class V>
Fetch make_fetch(const DistCsr<V>& a, const DistCsr<V>& b, const Range& range, const std::vector<offset_t>& length)
{
    const Cluster& cluster = a.cluster();
    const auto ranks = static_cast<std::size_t>(cluster.ranks());
    const Cuts& cuts = b.row_cuts();
    Fetch f;
    std::vector<offset_t> rows(ranks, 0), entries(ranks, 0);
    cluster.run_collective("spgemm setup", [&] {
        for (const index_t j : range.used) {
            if (!is_ghost(a.state()->halo, j)) continue;
            f.wanted.entry.push_back(a.global_col(j));
            const auto owner = static_cast<std::size_t>(
                std::upper_bound(cuts.begin(), cuts.end(), f.wanted.entry.back()) - cuts.begin() - 1);
            ++rows[owner];
            entries[owner] += length[static_cast<std::size_t>(j)];
        }
    });
    f.wanted.begin = begins_of(rows);
    f.get_begin = begins_of(entries);
    const ByRank<global_t> asked = exchange(cluster, "spgemm setup", f.wanted);
    f.asked.begin = asked.begin;
    std::vector<offset_t> given(ranks, 0);
    for (std::size_t r = 0; r < ranks; ++r)
        for (const global_t i : asked.of(static_cast<int>(r))) {
            const auto row = static_cast<index_t>(i - cuts[static_cast<std::size_t>(cluster.rank())]);
            f.asked.entry.push_back(row);
            given[r] += b.local().row_begin[row + 1] - b.local().row_begin[row];
        }
    f.give_begin = begins_of(given);
    return f;
}

// The entries of the asked rows, each as read(k) gives it for the k-th local nonzero of B.
template <class T, class V, class Read>
std::vector<T> pack_rows(const DistCsr<V>& b, const Fetch& f, const Read& read)
{
    std::vector<T> give;
    give.reserve(static_cast<std::size_t>(f.give_begin.back()));
    const offset_t* const begin = b.local().row_begin;
    for (const index_t i : f.asked.entry)
        for (offset_t k = begin[i]; k < begin[i + 1]; ++k) give.push_back(read(k));
    return give;
}

// Rows of B on their way from their owners, and those that this rank gives.
template <class V>
class Arriving {
public:
    // Collective. columns: with their patterns.
    Arriving(const DistCsr<V>& b, const Fetch& f, bool columns) : messages_(b.cluster())
    {
        b.cluster().run_collective(phase, [&] {
            if (columns) {
                const index_t* const local = b.local().col;
                give_col_ = pack_rows<global_t>(b, f, [&](offset_t k) { return b.global_col(local[k]); });
                col.resize(static_cast<std::size_t>(f.get_begin.back()));
            }
            const V* const values = b.local().value;
            give_value_ = pack_rows<V>(b, f, [&](offset_t k) { return values[k]; });
            value.resize(static_cast<std::size_t>(f.get_begin.back()));
        });
        if (columns) add(b, f, give_col_, col, tag_columns);
        add(b, f, give_value_, value, tag_values);
        messages_.start(phase);
    }
    Arriving(const Arriving&) = delete;
    Arriving& operator=(const Arriving&) = delete;
    // The library underneath may still write to the arrays.
    ~Arriving()
    {
        try {
            finish();
        } catch (...) {  // the job has ended
        }
    }
    void progress() { messages_.progress(phase); }
    void finish()
    {
        messages_.finish(phase);
        give_col_ = {};
        give_value_ = {};
    }

    std::vector<global_t> col;
    std::vector<V> value;

private:
    static constexpr std::string_view phase = "rows of B";

    template <class T>
    void add(const DistCsr<V>& b, const Fetch& f, const std::vector<T>& give, std::vector<T>& get, int tag)
    {
        add_exchange(messages_, b.cluster(), reinterpret_cast<const char*>(give.data()), f.give_begin,
                     reinterpret_cast<char*>(get.data()), f.get_begin, sizeof(T), tag);
    }

    Messages messages_;
    std::vector<global_t> give_col_;
    std::vector<V> give_value_;
};

}  // namespace tulle::inline TULLE_ABI::mpi
