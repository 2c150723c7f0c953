// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A distributed matrix in the order of METIS. Rank 0 gathers the matrix, orders rows and columns, and scatters it; the
// entries of a row keep their order, so that sums keep their bits. Rows of a rank ascend in the caller's order, so that
// those of one former owner are consecutive when vectors move.
#include <algorithm>

#include "mpi/halo.hpp"
#include "tulle/error.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::mpi {
namespace {

// Rows and columns in another order; entries of rows are not sorted.
template <class V>
Csr<V> in_order(const CpuQueue& q, const CsrView<V>& a, const std::vector<index_t>& order)
{
    std::vector<index_t> place(order.size());
    for (std::size_t k = 0; k < order.size(); ++k) place[static_cast<std::size_t>(order[k])] = static_cast<index_t>(k);
    Csr<V> b = Csr<V>::make(q, a.rows, a.cols, a.nonzeros);
    b.sorted = b.unique = false;
    offset_t next = 0;
    b.row_begin.data()[0] = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
        for (offset_t k = a.row_begin[order[i]]; k < a.row_begin[order[i] + 1]; ++k, ++next) {
            b.col.data()[next] = place[static_cast<std::size_t>(a.col[k])];
            b.value.data()[next] = a.value[k];
        }
        b.row_begin.data()[i + 1] = next;
    }
    return b;
}

}  // namespace

template <class V>
struct Repartition<V>::State {
    DistCsr<V> given, matrix;
    std::vector<global_t> rows;  // of this rank, numbers in the caller's order
    std::vector<offset_t> from;  // which of them were on each rank
    ByRank<global_t> asked;      // rows of the caller's distribution that each rank has now

    global_t first() const { return given.row_cuts()[static_cast<std::size_t>(given.cluster().rank())]; }
};

template <class V>
Repartition<V> Repartition<V>::make(const DistCsr<V>& a)
{
    const Cluster& cluster = a.cluster();
    require(a.rows() == a.cols() && a.row_cuts() == a.col_cuts(),
            "only a square matrix whose columns are distributed as its rows can be repartitioned");
    const Csr<V> whole = a.gather();
    RowOrder order;
    Csr<V> ordered;
    cluster.together("repartition", [&] {
        order.cuts.assign(static_cast<std::size_t>(cluster.ranks()) + 1, 0);
        if (cluster.rank() != 0) return;
        order = metis_order(whole.view(), cluster.ranks());
        ordered = in_order(cluster.context().host(), whole.view(), order.order);
    });
    std::vector<index_t> all = std::move(order.order);
    cluster.together("repartition", [&] { all.resize(static_cast<std::size_t>(a.rows())); });
    broadcast_bytes(cluster, "repartition", all.data(), all.size() * sizeof(index_t), 0);
    DistCsr<V> matrix = DistCsr<V>::scatter(cluster, ordered.view(), 0, order.cuts);
    const Cuts& cuts = matrix.row_cuts();
    const auto me = static_cast<std::size_t>(cluster.rank());
    auto state =
        std::make_unique<State>(State{a, matrix, {all.begin() + cuts[me], all.begin() + cuts[me + 1]}, {}, {}});
    for (const global_t cut : a.row_cuts())
        state->from.push_back(std::lower_bound(state->rows.begin(), state->rows.end(), cut) - state->rows.begin());
    state->asked = exchange(cluster, "repartition", ByRank<global_t>{state->from, state->rows});
    return Repartition(std::move(state));
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
    for (const global_t i : s.asked.entry) send.entry.push_back(host[static_cast<std::size_t>(i - s.first())]);
    moved.upload(exchange(x.cluster(), "repartition", send, s.from).entry);
}

template <class V>
void Repartition<V>::move_back(const DistVector<V>& y, DistVector<V>& original) const
{
    const State& s = *state_;
    require(y.cuts() == s.matrix.row_cuts() && original.cuts() == s.given.row_cuts(), "y or its target has other cuts");
    const ByRank<V> got = exchange(y.cluster(), "repartition", ByRank<V>{s.from, y.download()}, s.asked.begin);
    std::vector<V> host(got.entry.size());
    for (std::size_t k = 0; k < host.size(); ++k)
        host[static_cast<std::size_t>(s.asked.entry[k] - s.first())] = got.entry[k];
    original.upload(host);
}

template class Repartition<float>;
template class Repartition<double>;

}  // namespace tulle::inline TULLE_ABI::mpi
