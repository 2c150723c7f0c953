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
#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "device/placed.hpp"
#include "mpi/halo.hpp"
#include "mpi/transposed.hpp"
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

// What a deterministic context of one thread chooses for the whole matrix; on a GPU, what one product is done with.
// Only ratios count, so that numbers beyond 32 bits are scaled down.
spmv::Policy policy_for(Backend backend, Lengths all, std::size_t value_bytes)
{
    const double mean = all.rows > 0 ? static_cast<double>(all.nonzeros) / static_cast<double>(all.rows) : 0;
    while (all.rows > max_index) {
        all.rows /= 2;
        all.steady /= 2;
    }
    spmv::Features features{.deterministic = true, .reused = backend == Backend::cpu};
    features.row = {.rows = static_cast<index_t>(all.rows),
                    .cols = static_cast<index_t>(all.rows),
                    .nonzeros = all.nonzeros,
                    .longest = all.longest,
                    .mean = mean,
                    .steady = static_cast<index_t>(all.steady),
                    .value_bytes = value_bytes};
    const spmv::Limits limits{.backend = backend, .costs = spmv::typical_costs()};
    return {spmv::Kernel::rows, spmv::choose(features, limits).policy.lanes};
}

spmv::Policy policy_of(Backend backend, const SpmvOptions& options, const Lengths& all, std::size_t value_bytes)
{
    if (!options.lanes) return policy_for(backend, all, value_bytes);
    const int lanes = *options.lanes, most = backend == Backend::cpu ? 8 : 32;
    require<ValueError>(
        lanes > 0 && lanes <= most && (lanes & (lanes - 1)) == 0,
        [&] { return concat(lanes, " lanes are not possible"); },
        backend == Backend::cpu ? "give 1, 2, 4 or 8" : "give 1, 2, 4, 8, 16 or 32");
    return {spmv::Kernel::rows, lanes};
}

// A row is summed by one slice of lanes, whatever its length: pieces of rows would depend on the cuts.
spmm::Policy spmm_policy(Backend backend, const Lengths& all, index_t n, std::size_t value_bytes)
{
    spmm::Features features{.n = n, .value_bytes = value_bytes};
    features.rows = static_cast<index_t>(std::min(all.rows, global_t{max_index}));
    features.nonzeros = all.nonzeros;
    features.longest = all.longest;
    spmm::Policy rows = spmm::policy_of(spmm::Kernel::rows, features, {.backend = backend});
    rows.piece = 0;
    return rows;
}

void require_local(std::string_view what, std::size_t size, offset_t expected)
{
    require(static_cast<offset_t>(size) == expected,
            [&] { return concat("the local part of ", what, " has ", size, " entries, not ", expected); });
}

// New values of a plan: those of the caller's matrix, transposed again where the plan keeps a transposed copy.
template <class State>
void refresh(State& s)
{
    if (s.transposed) s.transposed->update_values();
    for (std::size_t k = 0; k < s.plans.size(); ++k) {
        upload_rows(s.context(), s.pieces[k].view, s.pieces[k].on_gpu);
        s.plans[k].update_values(s.pieces[k].operand());
    }
}

template <class State>
std::size_t bytes_of_plan(const State& s)
{
    std::size_t sum = s.halo->bytes() + (s.transposed ? s.transposed->bytes() : 0);
    for (const auto& piece : s.pieces) sum += piece.bytes();
    for (const auto& plan : s.plans) sum += plan.bytes();
    return sum;
}

// The rows of this rank in pieces, where the context works.
template <class V>
std::vector<RowPiece<V>> place_rows(const Context& ctx, const DistCsr<V>& a)
{
    std::vector<RowPiece<V>> pieces = cut_rows(ctx, a.local(), a.state()->halo);
    for (RowPiece<V>& piece : pieces) upload_rows(ctx, piece.view, piece.on_gpu);
    return pieces;
}

// Sends, multiplies what needs no ghosts, waits, multiplies the rest. multiply(k) computes the rows of a piece.
template <class State, class X, class Multiply>
void run_overlapped(State& s, bool reads_x, X x, const Multiply& multiply)
{
    if (reads_x) s.halo->start(x);
    bool waits = reads_x;
    for (std::size_t k = 0; k < s.plans.size(); ++k) {
        if (s.pieces[k].needs_halo && std::exchange(waits, false)) s.halo->finish();
        multiply(k);
    }
    if (waits) s.halo->finish();
}

// The same phase by phase.
template <class State, class X, class Multiply>
PhaseTimes run_in_phases(State& s, X x, const Multiply& multiply)
{
    using Clock = std::chrono::steady_clock;
    Clock::time_point begin = Clock::now();
    const auto end_phase = [&] {
        s.context().synchronize();
        const Clock::time_point now = Clock::now();
        return std::chrono::duration<double>(now - std::exchange(begin, now)).count();
    };
    PhaseTimes times;
    s.halo->pack_entries(x);
    times.pack = end_phase();
    s.halo->send();
    s.halo->finish();
    times.exchange = end_phase();
    for (std::size_t k = 0; k < s.plans.size(); ++k) multiply(k);
    times.product = end_phase();
    return times;
}

}  // namespace

template <class V>
struct SpmvPlan<V>::State {
    std::optional<Transposed<V>> transposed;
    DistCsr<V> a;  // op of the caller's
    SpmvOptions options;
    spmv::Policy policy;
    std::vector<RowPiece<V>> pieces;
    std::vector<spmv::Plan<V>> plans;
    std::unique_ptr<HaloExchange<V>> halo;

    const void *known_x = nullptr, *known_y = nullptr;

    const Halo& pattern() const { return a.state()->halo; }
    const Context& context() const { return a.cluster().context(); }
    void check(std::span<const V> x, std::span<const V> y)
    {
        require_local("x", x.size(), pattern().own);
        require_local("y", y.size(), a.local().rows);
        require_placed(context(), x.data(), x.size(), known_x, "x");
        require_placed(context(), y.data(), y.size(), known_y, "y");
    }
    void multiply(std::size_t k, V alpha, V beta, std::span<V> y) const
    {
        const auto first = static_cast<std::size_t>(pieces[k].first), rows = static_cast<std::size_t>(plans[k].rows());
        plans[k].run(alpha, halo->extended(), beta, y.subspan(first, rows));
    }
};

template <class V>
SpmvPlan<V> SpmvPlan<V>::make(const DistCsr<V>& a, const SpmvOptions& options)
{
    const Cluster& cluster = a.cluster();
    std::optional<Transposed<V>> transposed;
    if (options.op == Op::transpose) transposed.emplace(a);
    const DistCsr<V> op = transposed ? transposed->matrix() : a;
    const Lengths all = lengths_of(cluster, op.local());
    std::unique_ptr<State> s;
    cluster.run_collective("spmv setup", [&] {
        const Context& ctx = cluster.context();
        s.reset(new State{
            std::move(transposed), op, options, policy_of(ctx.backend(), options, all, sizeof(V)), {}, {}, {}});
        s->pieces = place_rows(ctx, op);
        for (const RowPiece<V>& piece : s->pieces)
            s->plans.push_back(spmv::Plan<V>::make(ctx, piece.operand(), {.force = s->policy, .checked = false}));
        s->halo = std::make_unique<HaloExchange<V>>(ctx, cluster, s->pattern(), 1);
    });
    return SpmvPlan(std::move(s));
}

template <class V>
void SpmvPlan<V>::run(V alpha, std::span<const V> x, V beta, std::span<V> y)
{
    State& s = *state_;
    s.check(x, y);
    run_overlapped(s, alpha != V(0), x, [&](std::size_t k) { s.multiply(k, alpha, beta, y); });
}

template <class V>
PhaseTimes SpmvPlan<V>::run_timed(std::span<const V> x, std::span<V> y)
{
    State& s = *state_;
    s.check(x, y);
    return run_in_phases(s, x, [&](std::size_t k) { s.multiply(k, V(1), V(0), y); });
}

template <class V>
std::span<V> SpmvPlan<V>::x()
{
    return state_->halo->own();
}

template <class V>
void SpmvPlan<V>::update_values()
{
    refresh(*state_);
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
std::size_t SpmvPlan<V>::bytes() const
{
    return bytes_of_plan(*state_);
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
                  " ranks, sends ", sent.bytes, " bytes to ", sent.messages, ", ", to_text(s.halo->way()));
}

template <class V>
struct SpmmPlan<V>::State {
    std::optional<Transposed<V>> transposed;
    DistCsr<V> a;
    index_t n;
    spmm::Policy policy;
    std::vector<RowPiece<V>> pieces;
    std::vector<spmm::Plan<V>> plans;
    std::unique_ptr<HaloExchange<V>> halo;

    const void *known_b = nullptr, *known_c = nullptr;

    const Halo& pattern() const { return a.state()->halo; }
    const Context& context() const { return a.cluster().context(); }
    void check(std::span<const V> b, std::span<const V> c)
    {
        require_local("B", b.size(), offset_t{pattern().own} * n);
        require_local("C", c.size(), offset_t{a.local().rows} * n);
        require_placed(context(), b.data(), b.size(), known_b, "B");
        require_placed(context(), c.data(), c.size(), known_c, "C");
    }
    void multiply(std::size_t k, V alpha, V beta, std::span<V> c) const
    {
        const DenseView<const V> all{pattern().extended(), n, n, Layout::row_major, halo->extended().data()};
        V* const first = c.data() + offset_t{pieces[k].first} * n;
        plans[k].run(alpha, all, beta, DenseView<V>{plans[k].rows(), n, n, Layout::row_major, first});
    }
};

template <class V>
SpmmPlan<V> SpmmPlan<V>::make(const DistCsr<V>& a, index_t n, Op op)
{
    const Cluster& cluster = a.cluster();
    std::optional<Transposed<V>> transposed;
    if (op == Op::transpose) transposed.emplace(a);
    const DistCsr<V> operand = transposed ? transposed->matrix() : a;
    const Lengths all = lengths_of(cluster, operand.local());
    std::unique_ptr<State> s;
    cluster.run_collective("spmm setup", [&] {
        require<ValueError>(n > 0, [&] { return concat("B cannot have ", n, " columns"); });
        const Context& ctx = cluster.context();
        s.reset(
            new State{std::move(transposed), operand, n, spmm_policy(ctx.backend(), all, n, sizeof(V)), {}, {}, {}});
        s->pieces = place_rows(ctx, operand);
        for (const RowPiece<V>& piece : s->pieces)
            s->plans.push_back(
                spmm::Plan<V>::make(ctx, piece.operand(), {.n = n, .force = s->policy, .checked = false}));
        s->halo = std::make_unique<HaloExchange<V>>(ctx, cluster, s->pattern(), n);
    });
    return SpmmPlan(std::move(s));
}

template <class V>
void SpmmPlan<V>::run(V alpha, std::span<const V> b, V beta, std::span<V> c)
{
    State& s = *state_;
    s.check(b, c);
    run_overlapped(s, alpha != V(0), b, [&](std::size_t k) { s.multiply(k, alpha, beta, c); });
}

template <class V>
PhaseTimes SpmmPlan<V>::run_timed(std::span<const V> b, std::span<V> c)
{
    State& s = *state_;
    s.check(b, c);
    return run_in_phases(s, b, [&](std::size_t k) { s.multiply(k, V(1), V(0), c); });
}

template <class V>
const spmm::Policy& SpmmPlan<V>::policy() const
{
    return state_->policy;
}

template <class V>
std::span<V> SpmmPlan<V>::b()
{
    return state_->halo->own();
}

template <class V>
void SpmmPlan<V>::update_values()
{
    refresh(*state_);
}

template <class V>
Traffic SpmmPlan<V>::sent_per_run() const
{
    return state_->pattern().traffic(sizeof(V) * static_cast<std::size_t>(state_->n));
}

template <class V>
std::size_t SpmmPlan<V>::bytes() const
{
    return bytes_of_plan(*state_);
}

template <class V>
std::string SpmmPlan<V>::describe() const
{
    const State& s = *state_;
    const Traffic sent = sent_per_run();
    return concat(s.a.cluster().describe(), "\n", to_text(s.policy), " on all ranks, ", s.n, " columns\nrank ",
                  s.a.cluster().rank(), ": ", s.a.local().rows, " rows; receives ",
                  s.pattern().below + s.pattern().above, " rows of B from ", s.pattern().receive.size(),
                  " ranks, sends ", sent.bytes, " bytes to ", sent.messages, ", ", to_text(s.halo->way()));
}

template class SpmvPlan<float>;
template class SpmvPlan<double>;
template class SpmmPlan<float>;
template class SpmmPlan<double>;

}  // namespace tulle::inline TULLE_ABI::mpi
