// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Products of a distributed matrix with a vector and with a dense matrix.
//
//   make   the policy from statistics of the whole matrix, so that all ranks, and one process, sum rows alike; up to
//          three pieces of rows with a plan each (cut_rows)
//   run    start the halo exchange, compute the rows that need no halo, wait, compute the others
//
// A row is always summed by one core kernel over all its entries in their global order: bits do not depend on the cuts.
#include <algorithm>
#include <memory>
#include <utility>

#include "mpi/halo.hpp"
#include "tulle/error.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::mpi {
namespace {

// Statistics of all rows that the choice of lanes depends on.
struct Lengths {
    global_t rows = 0, nonzeros = 0, longest = 0, steady = 0;
};

// The length of the last row of the ranks before this one; -1 if they have no rows.
offset_t length_before(const Cluster& cluster, offset_t last)
{
    const std::vector<offset_t> all = all_gather(cluster, "spmv setup", last);
    for (int r = cluster.rank() - 1; r >= 0; --r)
        if (all[static_cast<std::size_t>(r)] >= 0) return all[static_cast<std::size_t>(r)];
    return -1;
}

template <class V>
Lengths lengths_of(const Cluster& cluster, const CsrView<V>& a)
{
    const auto length = [&](index_t i) { return a.row_begin[i + 1] - a.row_begin[i]; };
    offset_t before = length_before(cluster, a.rows > 0 ? length(a.rows - 1) : -1);
    Lengths mine{a.rows, a.nonzeros, 0, 0};
    for (index_t i = 0; i < a.rows; ++i) {
        mine.longest = std::max(mine.longest, length(i));
        mine.steady += length(i) == before;
        before = length(i);
    }
    return reduce(cluster, "spmv setup", mine, [](const Lengths& x, const Lengths& y) {
        return Lengths{x.rows + y.rows, x.nonzeros + y.nonzeros, std::max(x.longest, y.longest), x.steady + y.steady};
    });
}

// What a deterministic context of one thread chooses for the whole matrix. Only ratios count, so that numbers beyond 32
// bits are scaled down.
spmv::Policy policy_for(Lengths all, std::size_t value_bytes)
{
    const double mean = all.rows > 0 ? static_cast<double>(all.nonzeros) / static_cast<double>(all.rows) : 0;
    while (all.rows > max_index) {
        all.rows /= 2;
        all.steady /= 2;
    }
    spmv::Features features{.deterministic = true};
    features.row = {.rows = static_cast<index_t>(all.rows),
                    .cols = static_cast<index_t>(all.rows),
                    .nonzeros = all.nonzeros,
                    .longest = all.longest,
                    .mean = mean,
                    .steady = static_cast<index_t>(all.steady),
                    .value_bytes = value_bytes};
    return {spmv::Kernel::rows, spmv::choose(features, {.costs = spmv::typical_costs()}).policy.lanes};
}

spmv::Policy policy_of(const SpmvOptions& options, const Lengths& all, std::size_t value_bytes)
{
    if (!options.lanes) return policy_for(all, value_bytes);
    require<ValueError>(
        *options.lanes == 1 || *options.lanes == 2 || *options.lanes == 4 || *options.lanes == 8,
        [&] { return concat(*options.lanes, " lanes are not possible"); }, "give 1, 2, 4 or 8");
    return {spmv::Kernel::rows, *options.lanes};
}

void require_local(std::string_view what, std::size_t size, offset_t expected)
{
    require(static_cast<offset_t>(size) == expected,
            [&] { return concat("the local part of ", what, " has ", size, " entries, not ", expected); });
}

// New values of a plan: those of the caller's matrix, transposed again where the plan keeps a transposed copy.
template <class State>
void refresh(State& s, bool transposed)
{
    if (transposed) {
        auto fresh = s.given.transpose();
        std::copy(fresh.values().begin(), fresh.values().end(), s.a.values().begin());
    }
    for (std::size_t k = 0; k < s.plans.size(); ++k) s.plans[k].update_values(s.pieces[k].view);
}

}  // namespace

template <class V>
struct SpmvPlan<V>::State {
    DistCsr<V> given, a;  // the caller's, and op of it
    SpmvOptions options;
    spmv::Policy policy;
    std::vector<RowPiece<V>> pieces;
    std::vector<spmv::Plan<V>> plans;
    std::unique_ptr<HaloExchange<V>> halo;

    const Halo& pattern() const { return a.state()->halo; }
    CpuQueue queue() const { return a.cluster().context().host(); }
};

template <class V>
SpmvPlan<V> SpmvPlan<V>::make(const DistCsr<V>& a, const SpmvOptions& options)
{
    const Cluster& cluster = a.cluster();
    const DistCsr<V> op = options.op == Op::transpose ? a.transpose() : a;
    const Lengths all = lengths_of(cluster, op.local());
    std::unique_ptr<State> s;
    cluster.together("spmv setup", [&] {
        s.reset(new State{a, op, options, policy_of(options, all, sizeof(V)), {}, {}, {}});
        s->pieces = cut_rows(cluster.context(), op.local(), s->pattern());
        for (const RowPiece<V>& piece : s->pieces)
            s->plans.push_back(
                spmv::Plan<V>::make(cluster.context(), piece.view, {.force = s->policy, .checked = false}));
        s->halo = std::make_unique<HaloExchange<V>>(cluster, s->pattern(), 1);
    });
    return SpmvPlan(std::move(s));
}

template <class V>
void SpmvPlan<V>::run(V alpha, std::span<const V> x, V beta, std::span<V> y)
{
    State& s = *state_;
    require_local("x", x.size(), s.pattern().own);
    require_local("y", y.size(), s.a.local().rows);
    if (alpha != V(0)) s.halo->start(s.queue(), x);
    bool waits = alpha != V(0);
    for (std::size_t k = 0; k < s.plans.size(); ++k) {
        if (s.pieces[k].needs_halo && std::exchange(waits, false)) s.halo->finish();
        const auto first = static_cast<std::size_t>(s.pieces[k].first);
        s.plans[k].run(alpha, s.halo->extended(), beta, y.subspan(first, static_cast<std::size_t>(s.plans[k].rows())));
    }
    if (waits) s.halo->finish();
}

template <class V>
std::span<V> SpmvPlan<V>::x()
{
    return state_->halo->own();
}

template <class V>
void SpmvPlan<V>::update_values()
{
    refresh(*state_, state_->options.op == Op::transpose);
}

template <class V>
const spmv::Policy& SpmvPlan<V>::policy() const
{
    return state_->policy;
}
template <class V>
Traffic SpmvPlan<V>::sent_per_run() const
{
    return state_->pattern().traffic(sizeof(V));
}
template <class V>
index_t SpmvPlan<V>::overlapped_rows() const
{
    const auto& pieces = state_->pieces;
    return pieces.empty() || pieces[0].needs_halo ? 0 : pieces[0].view.rows;
}

template <class V>
std::string SpmvPlan<V>::describe() const
{
    const State& s = *state_;
    const Traffic sent = sent_per_run();
    return concat(s.a.cluster().describe(), "\n", to_text(s.policy), " on all ranks\nrank ", s.a.cluster().rank(), ": ",
                  s.a.local().rows, " rows, ", overlapped_rows(), " of them computed while messages travel; receives ",
                  s.pattern().below + s.pattern().above, " entries of x from ", s.pattern().receive.size(),
                  " ranks, sends ", sent.bytes, " bytes to ", sent.messages);
}

template <class V>
struct SpmmPlan<V>::State {
    DistCsr<V> given, a;
    index_t n;
    Op op;
    std::vector<RowPiece<V>> pieces;
    std::vector<spmm::Plan<V>> plans;
    std::unique_ptr<HaloExchange<V>> halo;

    const Halo& pattern() const { return a.state()->halo; }
    CpuQueue queue() const { return a.cluster().context().host(); }
};

template <class V>
SpmmPlan<V> SpmmPlan<V>::make(const DistCsr<V>& a, index_t n, Op op)
{
    const Cluster& cluster = a.cluster();
    const DistCsr<V> operand = op == Op::transpose ? a.transpose() : a;
    std::unique_ptr<State> s;
    cluster.together("spmm setup", [&] {
        require<ValueError>(n > 0, [&] { return concat("B cannot have ", n, " columns"); });
        s.reset(new State{a, operand, n, op, {}, {}, {}});
        s->pieces = cut_rows(cluster.context(), operand.local(), s->pattern());
        const spmm::Policy rows = spmm::policy_of(spmm::Kernel::rows, {.n = n, .value_bytes = sizeof(V)}, {});
        for (const RowPiece<V>& piece : s->pieces)
            s->plans.push_back(
                spmm::Plan<V>::make(cluster.context(), piece.view, {.n = n, .force = rows, .checked = false}));
        s->halo = std::make_unique<HaloExchange<V>>(cluster, s->pattern(), n);
    });
    return SpmmPlan(std::move(s));
}

template <class V>
void SpmmPlan<V>::run(V alpha, std::span<const V> b, V beta, std::span<V> c)
{
    State& s = *state_;
    require_local("B", b.size(), offset_t{s.pattern().own} * s.n);
    require_local("C", c.size(), offset_t{s.a.local().rows} * s.n);
    if (alpha != V(0)) s.halo->start(s.queue(), b);
    bool waits = alpha != V(0);
    const DenseView<const V> all{s.pattern().extended(), s.n, s.n, Layout::row_major, s.halo->extended().data()};
    for (std::size_t k = 0; k < s.plans.size(); ++k) {
        if (s.pieces[k].needs_halo && std::exchange(waits, false)) s.halo->finish();
        V* const first = c.data() + offset_t{s.pieces[k].first} * s.n;
        s.plans[k].run(alpha, all, beta, DenseView<V>{s.plans[k].rows(), s.n, s.n, Layout::row_major, first});
    }
    if (waits) s.halo->finish();
}

template <class V>
std::span<V> SpmmPlan<V>::b()
{
    return state_->halo->own();
}

template <class V>
void SpmmPlan<V>::update_values()
{
    refresh(*state_, state_->op == Op::transpose);
}

template <class V>
Traffic SpmmPlan<V>::sent_per_run() const
{
    return state_->pattern().traffic(sizeof(V) * static_cast<std::size_t>(state_->n));
}

template class SpmvPlan<float>;
template class SpmvPlan<double>;
template class SpmmPlan<float>;
template class SpmmPlan<double>;

}  // namespace tulle::inline TULLE_ABI::mpi
