// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The sparse matrix-vector product, from a matrix in any format to y.
//
//   look       shape, format, row lengths and patterns of op(A), and whether the matrix is sound (survey)
//   choose     a kernel (policy.cpp), unless the caller forces one
//   arrange    op(A) as CSR of our own where the policy asks for it; otherwise the caller's arrays are used as they are
//   prepare    what the kernel needs beside the matrix
//   run        one kernel; the split kernel adds a short second pass for rows cut between pieces
//
// Row kernels with a slice of lanes: Bell, Garland, SC'09, doi:10.1145/1654059.1654078. Merge path: Merrill, Garland,
// SC'16, doi:10.1109/SC.2016.57. The other kernels name their sources. Several devices and partial formats (MSREP):
// tulle/spmv_team.hpp.
#include "tulle/spmv.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/enumerators.hpp"
#include "base/math.hpp"
#include "base/plural.hpp"
#include "device/calibrate.hpp"
#include "device/cuda_devices.hpp"
#include "device/placed.hpp"
#include "device/work_per_thread.hpp"
#include "matrix/convert_steps.hpp"
#include "matrix/plan_checks.hpp"
#include "prim/scale.hpp"
#include "spmv/at_once.hpp"
#include "spmv/cpu/multiply_alone.hpp"
#include "spmv/part_balance.hpp"
#include "spmv/prepare_split.hpp"
#include "spmv/steps.hpp"
#include "spmv/stored.hpp"
#include "spmv/thread_trial.hpp"
#include "tulle/convert.hpp"
#include "tulle/memory.hpp"
#include "tulle/outline.hpp"
#include "tulle/text.hpp"
#include "tulle/trace.hpp"
#include "tulle/validate.hpp"

namespace tulle::inline TULLE_ABI::spmv {

template <class V, class M>
struct Plan<V, M>::State {
    Context ctx, one;       // one: the same with one thread
    StoredView<M> a;        // the caller's
    Buffer<offset_t> wide;  // its offsets, where the caller's have 32 bits
    Options options;
    Features features;
    Limits limits;
    Choice choice;
    Csr<M> copy;              // op(A) by rows, where the policy asks for a copy
    Buffer<offset_t> source;  // for every value of the copy where it stands in the caller's array
    Workspace<V, M> work;
    CsrView<M> rows;  // op(A) by rows, where there is one
    // The threads of a CPU read it: written only where it differs from the run before, because what nobody writes stays
    // in the caches of all cores.
    Vectors<V> vectors;
    alignas(64) ThreadTrial trial{true};  // written in every run, and therefore apart
    PartBalance balance;                  // of the threads' parts in work.point
    std::vector<double> part_seconds;
    std::vector<prim::MergePoint> cuts_before;
    const void* known_x = nullptr;  // vectors already found to be in the right memory
    const void* known_y = nullptr;
    const void* known_dots = nullptr;
    bool settled = false;  // a kernel has run since the plan's own arrays were written
    bool can_be_early = false;
    // Where a CPU multiplies rows: nothing else need be looked at in a run by one thread.
    IntervalLoop<V, M> loop = nullptr;

    bool transposed() const { return options.op == Op::transpose; }
};

namespace {

bool stored_by_rows(const Features& t)
{
    return (t.format == Format::csr && !t.transposed) || (t.format == Format::csc && t.transposed);
}

template <class State>
void refuse(const State& s)
{
    std::visit([&](const auto& m) { check(s.ctx, m); }, s.a);
}

// What can be told of op(A) as it is stored; a matrix that is not sound is refused here, with the sentence of check().
// Columns are left to the product where it checks them itself.
template <class State>
void look(State& s, bool reused, bool with_columns)
{
    const trace::Phase phase{"look"};
    const auto [rows, cols] = shape_of(s.a);
    const bool transpose = s.transposed();
    s.features = {.format = format_of(s.a),
                  .transposed = transpose,
                  .deterministic = s.ctx.is_deterministic(),
                  .reused = reused};
    s.features.row = {.rows = transpose ? cols : rows, .cols = transpose ? rows : cols, .nonzeros = nonzeros_of(s.a)};
    if (s.features.format == Format::coo)
        s.features.sorted_by_row = as_entries(s.a, transpose).order == CooOrder::by_row;
    bool sound = false;
    if (stored_by_rows(s.features)) {
        const auto m = as_rows(s.a);
        const Survey found = s.ctx.run([&](const auto& q) {
            if (reused) return survey(q, m, with_columns);
            return with_columns || s.options.force ? glance(q, m, with_columns) : sample(q, m);
        });
        s.features.row = found.row;
        sound = found.sound && (m.sorted || !m.unique);  // repeats in unsorted rows are beyond a survey
    }
    if (s.options.checked && !sound) refuse(s);
}

// op(A) by rows: the caller's arrays, or ours, or our row_begin over the caller's coordinates.
template <class State>
auto rows_of(const State& s)
{
    if (!s.choice.policy.copy) return as_rows(s.a);
    auto rows = s.copy.view();
    if (s.features.sorted_by_row) {
        const auto entries = as_entries(s.a, s.transposed());
        rows.nonzeros = entries.nonzeros;
        rows.col = entries.col;
        rows.value = entries.value;
    }
    return rows;
}

// Keeps what rows_of() gives, for the threads of every run.
template <class State>
void keep_rows(State& s)
{
    if (s.choice.policy.copy || stored_by_rows(s.features)) s.rows = rows_of(s);
}

bool scatters(const Policy& p, bool transposed)
{
    return p.kernel == Kernel::scatter || p.kernel == Kernel::entries || (p.kernel == Kernel::blocks && transposed);
}

// The kernel that only a GPU has.
template <class V, class M>
Stream<V> stream_of(const CudaQueue& q, const CsrView<M>& a, offset_t longest)
{
    return make_stream<V>(q, a, longest);
}
template <class V, class M>
Stream<V> stream_of(const CpuQueue&, const CsrView<M>&, offset_t)
{
    return {};
}
template <class V, class M>
void run_stream(const CudaQueue& q, const CsrView<M>& a, const Stream<V>& stream, const Vectors<V>& v)
{
    multiply_stream(q, a, stream, v);
}
template <class V, class M>
void run_stream(const CpuQueue&, const CsrView<M>&, const Stream<V>&, const Vectors<V>&)
{}

// Offsets of 32 bits for the row kernel of a CPU, where those of 64 are much of what a product reads and would fill a
// cache of a core.
template <class M>
Narrow short_offsets_of(const CpuQueue& q, const CsrView<M>& a)
{
    constexpr index_t many_rows = 65536;
    constexpr offset_t short_mean = 16;
    const bool pays = a.rows >= many_rows && a.nonzeros <= short_mean * a.rows && a.nonzeros <= max_index;
    return pays ? make_short_offsets(q, a) : Narrow{};
}
template <class M>
Narrow short_offsets_of(const CudaQueue&, const CsrView<M>&)
{
    return {};
}

// … and the one in which only a CPU has a choice.
template <class V, class M>
void run_split(const CudaQueue& q, const CsrView<M>& a, int, const Workspace<V, M>& work, const Vectors<V>& v)
{
    multiply_split(q, a, work, v);
}
template <class V, class M>
void run_split(const CpuQueue& q, const CsrView<M>& a, int lanes, const Workspace<V, M>& work, const Vectors<V>& v)
{
    multiply_split(q, a, lanes, work, v);
}

template <class Queue, class V>
void prepare_dots(const Queue& q, index_t rows, offset_t stream_blocks, Buffer<V>& partial, Buffer<int>& arrived)
{
    partial = Buffer<V>(q, 2 * std::max(dot_pairs(rows), stream_blocks));
    arrived = Buffer<int>(q, 1);
    fill_zero(q, arrived.data(), 1);
}

template <class State>
void prepare(State& s)
{
    const trace::Phase phase{"prepare"};
    using Sum = std::remove_cvref_t<decltype(*s.work.carry.data())>;
    s.ctx.run([&](const auto& q) {
        const Policy& p = s.choice.policy;
        if (p.kernel == Kernel::split) prepare_split(q, rows_of(s), s.work);
        if (p.kernel == Kernel::rows && s.features.reused) s.work.point = make_parts(q, rows_of(s));
        if (p.kernel == Kernel::groups) s.work.groups = make_groups(q, rows_of(s));
        if (p.kernel == Kernel::rows && p.sort) s.work.window = make_windows(q, rows_of(s));
        if (p.narrow) s.work.narrow = make_narrow(q, rows_of(s));
        else if (p.kernel == Kernel::rows && s.features.reused) s.work.narrow = short_offsets_of(q, rows_of(s));
        if (p.kernel == Kernel::sell) s.work.sell = make_sell(q, rows_of(s), p.sort, s.features.row.padded);
        if (p.kernel == Kernel::stream) s.work.stream = stream_of<Sum>(q, rows_of(s), s.features.row.longest);
        if (scatters(p, s.transposed())) s.work.private_sums = make_private_sums<Sum>(q, s.features.row.rows);
        if (s.options.dots)
            prepare_dots(q, s.features.row.rows, s.work.stream.block.size(), s.work.dot_partial, s.work.dot_arrived);
    });
    keep_rows(s);
}

template <class State, class V>
void require_vectors(State& s, std::span<const V> x, std::span<V> y)
{
    const RowFeatures& op = s.features.row;
    require(std::ssize(x) == op.cols,
            [&] { return concat("x has ", x.size(), " entries, but op(A) has ", op.cols, " columns"); });
    require(std::ssize(y) == op.rows,
            [&] { return concat("y has ", y.size(), " entries, but op(A) has ", op.rows, " rows"); });
    require<ValueError>(
        are_apart(x, y), [] { return std::string("x and y overlap"); }, "give y memory of its own");
    require_placed(s.ctx, x.data(), x.size(), s.known_x, "x");
    require_placed(s.ctx, y.data(), y.size(), s.known_y, "y");
}

// What require_vectors() asks on a CPU, without its messages: a product of some nanoseconds notices them.
template <class V>
bool are_usable(const RowFeatures& op, std::span<const V> x, std::span<V> y)
{
    return std::ssize(x) == op.cols && std::ssize(y) == op.rows && x.data() != nullptr && y.data() != nullptr &&
           are_apart(x, y);
}

template <class Queue, class State, class V>
void run_on(const Queue& q, const State& s, const Vectors<V>& v)
{
    const Policy& p = s.choice.policy;
    switch (p.kernel) {
    case Kernel::rows: return multiply_rows(q, s.rows, p.lanes, s.work, v);
    case Kernel::groups: return multiply_groups(q, s.rows, p.lanes, s.work.groups, v);
    case Kernel::stream: return run_stream(q, s.rows, s.work.stream, v);
    case Kernel::sell: return multiply_sell(q, s.rows, p.lanes, s.work.sell, v);
    case Kernel::split: return run_split(q, s.rows, p.lanes, s.work, v);
    case Kernel::scatter: return multiply_scatter(q, as_rows(s.a), s.work, v);
    case Kernel::entries: return multiply_entries(q, as_entries(s.a, s.transposed()), s.work, v);
    case Kernel::blocks: break;
    }
    std::visit(Overloaded{[&]<class M>(const BlockedEllView<M>& a) {
                              if (s.transposed()) multiply_blocks_transposed(q, a, s.work, v);
                              else multiply_blocks(q, a, v);
                          },
                          [](const auto&) {}},
               s.a);
}

// Whether the kernel makes dots while it writes y; otherwise they take a pass of their own.
bool makes_dots(const Policy& p, Backend backend, bool mixed)
{
    return backend == Backend::cuda && !mixed &&
           (p.kernel == Kernel::rows || p.kernel == Kernel::groups || p.kernel == Kernel::stream ||
            p.kernel == Kernel::sell);
}

// Parts of threads are sorted where that is so much faster.
constexpr double gain_of_sorted_parts = 1.1;

// On a CPU whose costs may be measured, kernels are tried on parts of the matrix before one is kept. Slices have to be
// better than rows there, whatever the costs of other matrices say.
template <class State>
void choose_by_trial(State& s)
{
    using Sum = std::remove_cvref_t<decltype(*s.work.carry.data())>;
    Policy without = s.choice.policy;
    if (without.kernel == Kernel::sell && has_avx2())
        without = {Kernel::rows, lanes_on_cpu(s.features.row, s.limits.costs), without.copy};
    if (!s.features.reused || s.limits.backend != Backend::cpu || s.ctx.is_deterministic() ||
        (without.kernel != Kernel::rows && without.kernel != Kernel::split))
        return;
    const trace::Phase phase{"try"};
    s.ctx.run([&](const auto& q) {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(q)>, CpuQueue>) {
            try {
                const Slices slices = without.kernel == Kernel::rows ? slices_to_try(s.features.row) : Slices::none;
                const KernelTrial tried = try_kernels<Sum>(q, rows_of(s), slices, has_gathers());
                const bool none = tried.rows[0] >= RowCosts::never;  // it was too small, or forbidden
                const Policy policy = none ? s.choice.policy : policy_after_trial(tried, without, slices);
                if (policy.kernel == Kernel::rows && policy.sort && q.threads > 1)
                    s.work.parts_in_order = gain_of_sorted_part<Sum>(q, rows_of(s)) < gain_of_sorted_parts;
                if (policy == s.choice.policy) return;
                s.choice.policy = policy;
                s.choice.why += "; faster than others when tried on parts of the matrix";
            } catch (const OutOfMemory&) {  // no memory for a trial: then without
            }
        }
    });
}

// Above this many rows and nonzeros all threads are used untried: not even two that share a core lose there.
constexpr offset_t most_to_try_alone = 16 * usual_work_per_thread;

// Which runs of a plan are by one thread: kernels that give the same bits on any number of threads are tried.
template <class State>
ThreadTrial trial_for(const State& s, offset_t work)
{
    if (s.limits.backend != Backend::cpu) return ThreadTrial(true);
    if (s.limits.threads == 1) return ThreadTrial(false);
    const Kernel kernel = s.choice.policy.kernel;
    const bool both = s.features.reused && work < most_to_try_alone && may_calibrate() &&
                      (kernel == Kernel::rows || kernel == Kernel::sell);
    return both ? ThreadTrial::of_both() : ThreadTrial(true);
}

// Whole rows of several threads of a CPU, whose times may be measured.
template <class State>
void prepare_balance(State& s)
{
    if (s.limits.backend != Backend::cpu || s.choice.policy.kernel != Kernel::rows || s.work.point.empty() ||
        !may_calibrate())
        return;
    const auto parts = static_cast<std::size_t>(s.work.point.size()) - 1;
    s.balance = PartBalance(parts);
    s.part_seconds.resize(parts);
}

std::string threads_text(const ThreadTrial& trial, int threads)
{
    if (!trial.is_held()) return {};
    return concat("\n  threads: ", trial.by_all() ? threads : 1, " of ", threads,
                  trial.is_open() ? ", while one and all are compared" : ", as measured in its runs");
}

template <class State, class M>
std::unique_ptr<State> make_state(const Context& all, const AnyView<M>& a, const Options& options, bool reused,
                                  bool with_columns)
{
    Buffer<offset_t> wide;
    const auto m = matrix::widened<StoredView<M>>(all, a, wide);
    using Sum = std::remove_cvref_t<decltype(*std::declval<State>().work.carry.data())>;
    const offset_t work = nonzeros_of(m) + std::max(shape_of(m).first, shape_of(m).second);
    const Context ctx = all.for_work(reused ? times_sooner * work : work);
    auto s = std::make_unique<State>(State{.ctx = ctx,
                                           .one = ctx.for_work(0),
                                           .a = m,
                                           .wide = std::move(wide),
                                           .options = options,
                                           .features = {},
                                           .limits = {},
                                           .choice = {},
                                           .copy = {},
                                           .source = {},
                                           .work = {},
                                           .rows = {},
                                           .vectors = {},
                                           .balance = {},
                                           .part_seconds = {},
                                           .cuts_before = {}});
    s->limits = limits_for<Sum>(ctx, work, options, reused);
    look(*s, reused, with_columns);
    require(!options.dots || s->features.row.rows == s->features.row.cols, [&] {
        return concat("dot(y, x) wants a square matrix, not ", s->features.row.rows, " x ", s->features.row.cols);
    });
    if (options.force) check_policy(*options.force, s->features, s->limits);
    if (options.force ? options.force->copy : wants_copy(s->features, s->limits)) {
        const trace::Phase phase{"arrange"};
        s->copy = copy_by_rows(ctx, m, s->transposed(), s->source);
        s->choice.policy.copy = true;
        s->features.row = ctx.run([&](const auto& q) { return survey(q, rows_of(*s), false).row; });
        if (options.force)
            check_policy(*options.force, s->features,
                         s->limits);  // once more: only now it is known how wide and long the rows are
    }
    if (reused && (s->choice.policy.copy || stored_by_rows(s->features)))
        s->features.row.largest_part = ctx.run([&](const auto& q) { return largest_part(q, rows_of(*s)); });
    s->choice = options.force ? Choice{*options.force, "asked for by the caller"} : choose(s->features, s->limits);
    if (!options.force) choose_by_trial(*s);
    prepare(*s);
    s->can_be_early = reused && cuda::has_dependent_launch(ctx);
    if (s->limits.backend == Backend::cpu && s->choice.policy.kernel == Kernel::rows && s->features.row.rows > 0)
        s->loop = interval_loop<Sum>(s->rows, s->work.narrow, s->choice.policy.lanes);
    s->trial = trial_for(*s, work);
    prepare_balance(*s);
    return s;
}

// New numbers of the caller's to where the kernel reads them.
template <class State>
void carry_values(State& s)
{
    s.ctx.run([&](const auto& q) {
        if (s.choice.policy.copy && !s.features.sorted_by_row && s.features.format != Format::blocked_ell) {
            const auto* value = s.features.format == Format::coo ? as_entries(s.a, false).value : as_rows(s.a).value;
            matrix::gather(q, value, s.source.data(), s.copy.nonzeros(), s.copy.value.data());
        }
        if (s.choice.policy.kernel == Kernel::sell) fill_sell(q, rows_of(s), s.work.sell);
    });
    keep_rows(s);
}

template <class State, class V>
void run_state(State& s, const Vectors<V>& v)
{
    if (s.features.row.rows == 0 && v.dots.result == nullptr) return;
    const Context& ctx = s.trial.by_all() ? s.ctx : s.one;
    ctx.run([&](const auto& q) {
        const bool on_the_way =
            v.alpha != V(0) && makes_dots(s.choice.policy, s.limits.backend, sizeof(V) != s.features.row.value_bytes) &&
            s.features.row.rows > 0;
        Vectors<V> product = v;
        if (!on_the_way) product.dots = {};
        product.early = s.settled && s.can_be_early;
        if (!s.settled) s.settled = true;
        if (s.vectors != product) s.vectors = product;
        if (v.alpha == V(0)) prim::scale(q, v.y, s.features.row.rows, v.beta);
        else run_on(q, s, s.vectors);
        if (v.dots.result == nullptr || on_the_way) return;
        if (s.features.row.rows > 0) add_up_dots(q, s.features.row.rows, v);
        else fill_zero(q, v.dots.result, 2);
    });
}

template <class State, class V>
void run_once_more(State& s, const Vectors<V>& v)
{
    if (s.loop != nullptr && !s.trial.by_all() && v.alpha != V(0) && v.dots.result == nullptr)
        multiply_alone(s.rows, s.loop, s.work, v);
    else run_state(s, v);
}

// A run in which every thread's time is measured, so that their parts take equally long.
template <class State, class V>
void run_and_balance(State& s, const Vectors<V>& v)
{
    s.work.part_seconds = s.part_seconds.data();
    run_state(s, v);
    s.work.part_seconds = nullptr;
    const PartBalance::Step step = s.balance.note(s.part_seconds);
    const std::span cuts(s.work.point.data(), static_cast<std::size_t>(s.work.point.size()));
    if (step == PartBalance::Step::cut) {
        s.cuts_before.assign(cuts.begin(), cuts.end());
        const auto fresh =
            cut_by_times(s.rows.row_begin, s.rows.rows, s.rows.nonzeros, cuts, s.balance.least_seconds());
        std::copy(fresh.begin(), fresh.end(), cuts.begin());
    }
    if (step == PartBalance::Step::restore) std::copy(s.cuts_before.begin(), s.cuts_before.end(), cuts.begin());
}

// A run of a plan, with its time where one thread and all are still compared, or parts of threads.
template <class State, class V>
void run_in_trial(State& s, const Vectors<V>& v)
{
    if (v.alpha == V(0)) return run_once_more(s, v);
    if (!s.trial.wants_time())
        return s.trial.by_all() && s.balance.wants_times() ? run_and_balance(s, v) : run_once_more(s, v);
    const double before = trace::now();
    run_once_more(s, v);
    s.trial.note(trace::now() - before);
}

template <class State, class V>
void run_checked(State& s, const Vectors<V>& v)
{
    const int lanes = s.choice.policy.lanes;
    const bool sound = s.ctx.run([&](const auto& q) {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(q)>, CpuQueue>)
            return multiply_rows_checked(q, rows_of(s), lanes, v);
        else return true;
    });
    if (sound) return;
    std::fill_n(v.y, s.features.row.rows, std::numeric_limits<V>::quiet_NaN());  // nobody takes a part for the result
    try {
        refuse(s);
    } catch (const ValueError& fault) {
        throw ValueError(fault.what(), "y is filled with NaN; correct the matrix and multiply again");
    }
}

}  // namespace

template <class V, class M>
Plan<V, M> Plan<V, M>::make(const Context& ctx, const AnyView<M>& a, const Options& options)
{
    require_enumerator(options.op, Op::transpose, "op");
    return Plan(make_state<State>(ctx, a, options, true, options.checked));
}

template <class V, class M>
void Plan<V, M>::run(V alpha, std::span<const V> x, V beta, std::span<V> y) const
{
    State& s = *state_;
    const Vectors<V> v{alpha, x.data(), beta, y.data()};
    if (s.loop != nullptr && alpha != V(0) && are_usable(s.features.row, x, y) && s.trial.passes_by_one())
        return multiply_alone(s.rows, s.loop, s.work, v);
    require_vectors(s, x, y);
    run_in_trial(s, v);
}

template <class V, class M>
void Plan<V, M>::run(V alpha, std::span<const V> x, V beta, std::span<V> y, std::span<V> dots) const
{
    require_vectors(*state_, x, y);
    require<ValueError>(state_->options.dots, "this plan has no room for dot products",
                        "make it with Options{.dots = true}");
    require(dots.size() == 2, [&] { return concat("dots has ", dots.size(), " entries instead of 2"); });
    require<ValueError>(are_apart(dots, x) && are_apart(dots, y), "dots overlaps x or y",
                        "give dots memory of its own");
    require_placed(state_->ctx, dots.data(), dots.size(), state_->known_dots, "dots");
    auto& work = state_->work;
    run_in_trial(
        *state_,
        Vectors<V>{alpha, x.data(), beta, y.data(), {work.dot_partial.data(), work.dot_arrived.data(), dots.data()}});
}

template <class V, class M>
void Plan<V, M>::update_values(const AnyView<M>& given)
{
    State& s = *state_;
    Buffer<offset_t> fresh;
    const auto a = matrix::renewed<StoredView<M>>(s.ctx, given, s.wide, fresh);
    require<PlanMismatch>(a.index() == s.a.index(), [&] {
        return concat("the plan is for ", to_text(s.features.format), ", the new matrix is ", to_text(format_of(a)));
    });
    matrix::require_same_size(size_of(s.a), size_of(a));
    if (s.choice.policy.copy && s.features.format == Format::blocked_ell) {
        s.copy = copy_by_rows(s.ctx, a, s.transposed(), s.source);
        prepare(s);
    }
    s.a = a;
    if (!fresh.empty()) s.wide = std::move(fresh);
    s.settled = false;
    carry_values(s);
}

template <class V, class M>
const Policy& Plan<V, M>::policy() const
{
    return state_->choice.policy;
}

template <class V, class M>
const Features& Plan<V, M>::features() const
{
    return state_->features;
}

template <class V, class M>
std::size_t Plan<V, M>::bytes() const
{
    return state_->wide.bytes() + state_->copy.bytes() + state_->source.bytes() + state_->work.bytes();
}

template <class V, class M>
index_t Plan<V, M>::rows() const
{
    return state_->features.row.rows;
}
template <class V, class M>
index_t Plan<V, M>::cols() const
{
    return state_->features.row.cols;
}

template <class V, class M>
std::string Plan<V, M>::describe() const
{
    const State& s = *state_;
    std::string others;
    for (const Policy& p : candidates(s.features, s.limits))
        if (p != s.choice.policy) others += (others.empty() ? "" : "; ") + to_text(p);
    const bool unordered =
        scatters(s.choice.policy, s.transposed()) && (s.limits.backend == Backend::cuda || s.limits.threads > 1);
    return concat("spmv on ", s.ctx.name(), ": ", rows(), " x ", cols(), ", ", s.features.row.nonzeros,
                  plural(s.features.row.nonzeros, " stored value, ", " stored values, "), to_text(s.features.format),
                  s.transposed() ? " transposed" : "",
                  sizeof(V) == 4   ? ", float"
                  : sizeof(M) == 4 ? ", float in double"
                                   : ", double",
                  "\n  chosen: ", to_text(s.choice.policy), "\n  why:    ", s.choice.why,
                  s.limits.backend == Backend::cpu ? concat("\n  costs:  ", to_text(s.limits.costs)) : "",
                  "\n  order:  ", unordered ? "adds in no fixed order" : "the same bits every time",
                  threads_text(s.trial, s.limits.threads), "\n  keeps:  ", human_bytes(bytes()), " beside the matrix",
                  matrix::widened_text(s.wide.bytes()),
                  s.work.sell.exact.empty() ? "" : "; values in float, which all of them are",
                  s.work.sell.lanes.empty() ? "" : "; slices by diagonals",
                  "\n  also possible: ", others.empty() ? "nothing else" : others);
}

template <class V, class M>
void Plan<V, M>::once(const Context& ctx, const AnyView<M>& a, V alpha, std::span<const V> x, V beta, std::span<V> y,
                      const Options& options)
{
    require_enumerator(options.op, Op::transpose, "op");
    const Vectors<V> v{alpha, x.data(), beta, y.data()};
    const bool checks = checks_with_product(ctx, a, v, options);
    if (checks && is_done_at_once(ctx, a, x, y, options, v)) return;
    const auto state = make_state<State>(ctx, a, options, false, options.checked && !checks);
    require_vectors(*state, x, y);
    if (!checks) return run_state(*state, v);
    if (state->choice.policy.kernel == Kernel::rows) return run_checked(*state, v);
    refuse(*state);
    run_state(*state, v);
}

template class Plan<float>;
template class Plan<double>;
template class Plan<double, float>;

}  // namespace tulle::inline TULLE_ABI::spmv
