// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A distributed matrix in another order of rows and columns. Rows go to the ranks that get them by their parts; there
// they ascend in the caller's order, so that those of one former owner are consecutive. The entries of a row keep their
// order, so that sums keep their bits.
#include "tulle/repartition.hpp"

#include <algorithm>
#include <memory>

#include "mpi/halo.hpp"
#include "tulle/error.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::mpi {
namespace {

constexpr std::string_view repartition_phase = "repartition";

template <class V>
void check_square(const DistCsr<V>& a)
{
    require(a.rows() == a.cols() && a.row_cuts() == a.col_cuts(),
            "only a square matrix whose columns are distributed as its rows can be repartitioned");
}

template <class V>
void check_parts(const DistCsr<V>& a, std::span<const int> part)
{
    require(std::ssize(part) == a.local().rows,
            [&] { return concat("this rank has ", a.local().rows, " rows, not ", part.size()); });
    for (const int p : part)
        require<ValueError>(p >= 0 && p < a.cluster().ranks(), [&] { return concat("there is no rank ", p); });
}

// The parts of the rows of this rank, by METIS on rank 0. Collective.
template <class V>
std::vector<int> metis_parts(const DistCsr<V>& a)
{
    const Cluster& cluster = a.cluster();
    const Csr<V> whole = a.gather();
    ByRank<int> parts{std::vector<offset_t>(a.row_cuts().size(), 0), {}};
    cluster.run_collective(repartition_phase, [&] {
        if (cluster.rank() != 0) return;
        const RowOrder order = metis_order(whole.view(), cluster.ranks());
        parts = {a.row_cuts(), std::vector<int>(order.order.size())};
        for (std::size_t p = 0; p + 1 < order.cuts.size(); ++p)
            for (global_t k = order.cuts[p]; k < order.cuts[p + 1]; ++k)
                parts.entry[static_cast<std::size_t>(order.order[static_cast<std::size_t>(k)])] = static_cast<int>(p);
    });
    return exchange(cluster, repartition_phase, parts).entry;
}

// The rows of this rank, local numbers, by the ranks that get them.
ByRank<index_t> by_part(std::span<const int> part, int ranks)
{
    std::vector<offset_t> counts(static_cast<std::size_t>(ranks), 0);
    for (const int p : part) ++counts[static_cast<std::size_t>(p)];
    ByRank<index_t> rows{begins_of(counts), std::vector<index_t>(part.size())};
    std::vector<offset_t> next = rows.begin;
    for (std::size_t i = 0; i < part.size(); ++i)
        rows.entry[static_cast<std::size_t>(next[static_cast<std::size_t>(part[i])]++)] = static_cast<index_t>(i);
    return rows;
}

// New numbers of the local columns: own rows get theirs from the ranks that get the rows, ghosts from their owners.
// from: how many rows come from each rank to this one. Collective.
template <class V>
std::vector<global_t> new_numbers(const DistCsr<V>& a, const ByRank<index_t>& rows, const std::vector<offset_t>& from)
{
    const Cluster& cluster = a.cluster();
    const std::vector<global_t> cuts = begins_of(all_gather(cluster, repartition_phase, from.back()));
    std::vector<offset_t> first(from.begin(), from.end() - 1);
    for (offset_t& f : first) f += cuts[rank_of(cluster)];
    const std::vector<offset_t> begin = exchange_counts(cluster, repartition_phase, first);
    std::unique_ptr<HaloExchange<global_t>> halo;
    cluster.run_collective(repartition_phase, [&] {
        halo = std::make_unique<HaloExchange<global_t>>(cluster.state().host, cluster, a.state()->halo, 1);
        for (int r = 0; r < cluster.ranks(); ++r) {
            global_t number = begin[static_cast<std::size_t>(r)];
            for (const index_t i : rows.of(r)) halo->own()[static_cast<std::size_t>(i)] = number++;
        }
    });
    halo->start(halo->own());
    halo->finish();
    return {halo->extended().begin(), halo->extended().end()};
}

// What read(k) gives for the entries of all rows, in the order in which they are sent. Collective.
template <class T, class V, class Read>
std::vector<T> send_entries(const DistCsr<V>& a, const ByRank<index_t>& rows, const Read& read)
{
    const offset_t* const begin = a.local().row_begin;
    ByRank<T> send;
    a.cluster().run_collective(repartition_phase, [&] {
        for (int r = 0; r < a.cluster().ranks(); ++r) {
            send.begin.push_back(std::ssize(send.entry));
            for (const index_t i : rows.of(r))
                for (offset_t k = begin[i]; k < begin[i + 1]; ++k) send.entry.push_back(read(k));
        }
        send.begin.push_back(std::ssize(send.entry));
    });
    return exchange(a.cluster(), repartition_phase, send).entry;
}

template <class V>
std::vector<offset_t> send_lengths(const DistCsr<V>& a, const ByRank<index_t>& rows)
{
    ByRank<offset_t> send{rows.begin, {}};
    const offset_t* const begin = a.local().row_begin;
    for (const index_t i : rows.entry) send.entry.push_back(begin[i + 1] - begin[i]);
    return exchange(a.cluster(), repartition_phase, send).entry;
}

}  // namespace

template <class V>
struct Repartition<V>::State {
    DistCsr<V> given, matrix;
    std::vector<global_t> rows;  // of this rank, numbers in the caller's order
    std::vector<offset_t> from;  // which of them were on each rank
    ByRank<index_t> asked;       // rows of the caller's distribution, local numbers, that each rank has now
};

template <class V>
Repartition<V> Repartition<V>::make(const DistCsr<V>& a)
{
    check_square(a);
    return make(a, metis_parts(a));
}

template <class V>
Repartition<V> Repartition<V>::make(const DistCsr<V>& a, std::span<const int> part)
{
    check_square(a);
    const Cluster& cluster = a.cluster();
    ByRank<index_t> asked;
    cluster.run_collective(repartition_phase, [&] {
        check_parts(a, part);
        asked = by_part(part, cluster.ranks());
    });
    ByRank<global_t> numbers{asked.begin, {asked.entry.begin(), asked.entry.end()}};
    for (global_t& i : numbers.entry) i += a.row_cuts()[rank_of(cluster)];
    ByRank<global_t> rows = exchange(cluster, repartition_phase, numbers);
    const std::vector<global_t> number = new_numbers(a, asked, rows.begin);
    const CsrView<V> local = a.local();
    const auto lengths = send_lengths(a, asked);
    const auto col =
        send_entries<global_t>(a, asked, [&](offset_t k) { return number[static_cast<std::size_t>(local.col[k])]; });
    const auto value = send_entries<V>(a, asked, [&](offset_t k) { return local.value[k]; });
    const auto matrix = DistCsr<V>::from_rows(cluster, a.cols(), begins_of(lengths), col, value);
    return Repartition(
        std::make_unique<State>(State{a, matrix, std::move(rows.entry), std::move(rows.begin), std::move(asked)}));
}

template <class V>
const DistCsr<V>& Repartition<V>::matrix() const
{
    return state_->matrix;
}

template <class V>
std::span<const global_t> Repartition<V>::rows() const
{
    return state_->rows;
}

template <class V>
void Repartition<V>::move(const DistVector<V>& x, DistVector<V>& moved) const
{
    const State& s = *state_;
    require(x.cuts() == s.given.row_cuts() && moved.cuts() == s.matrix.row_cuts(), "x or its target has other cuts");
    const std::vector<V> host = x.download();
    ByRank<V> send{s.asked.begin, {}};
    for (const index_t i : s.asked.entry) send.entry.push_back(host[static_cast<std::size_t>(i)]);
    moved.upload(exchange(x.cluster(), repartition_phase, send, s.from).entry);
}

template <class V>
void Repartition<V>::move_back(const DistVector<V>& y, DistVector<V>& original) const
{
    const State& s = *state_;
    require(y.cuts() == s.matrix.row_cuts() && original.cuts() == s.given.row_cuts(), "y or its target has other cuts");
    const ByRank<V> got = exchange(y.cluster(), repartition_phase, ByRank<V>{s.from, y.download()}, s.asked.begin);
    std::vector<V> host(got.entry.size());
    for (std::size_t k = 0; k < host.size(); ++k) host[static_cast<std::size_t>(s.asked.entry[k])] = got.entry[k];
    original.upload(host);
}

template class Repartition<float>;
template class Repartition<double>;

}  // namespace tulle::inline TULLE_ABI::mpi
