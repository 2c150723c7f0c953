// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The sparse triangular solve, from a matrix to x.
//
//   analysis   the triangle in the order it is solved, its levels and features: on the GPU (analysis/cuda/), or, with
//              Analysis::host and on CPUs, on the host (analysis/triangle.cpp, analysis/graph.cpp); nodes of merged
//              rows (analysis/analyze.cpp)
//   select     a policy: the caller's, a cached one, by a model or by prediction (select/select.cpp, select/cache.cpp),
//              or by timing candidates (select/search.cpp)
//              One thread of a CPU needs neither: its rows are written at once (schedule/serial.cpp)
//   schedule   what the policy's kernel works on: rows for the CPU and for many right-hand sides, tasks for the GPU
//              (schedule/arrange.cpp, schedule/cuda/); values in their places, divided by the diagonal
//   solve      one kernel (solve/)
//
// The stages are those of AG-SpTRSV (Hu et al., TACO 21(4):70, doi:10.1145/3674911); docs/design/sptrsv.md says where
// each lives.
#include "tulle/sptrsv.hpp"

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/enumerators.hpp"
#include "base/plural.hpp"
#include "device/placed.hpp"
#include "matrix/plan_checks.hpp"
#include "matrix/widened_once.hpp"
#include "prim/scale.hpp"
#include "sptrsv/steps.hpp"
#include "tulle/outline.hpp"
#include "tulle/text.hpp"
#include "tulle/trace.hpp"

namespace tulle::inline TULLE_ABI::sptrsv {

template <class V>
struct Plan<V>::State {
    Context ctx;
    Options options;
    bool narrow;         // the caller's offsets had 32 bits
    std::size_t format;  // of the caller's matrix, as in WideView
    offset_t nonzeros;
    Features features;
    Limits limits;
    Choice choice;
    std::string note;  // about the cache
    Prepared<V> prepared;
    bool usable = true;
    const void* known_b = nullptr;  // arrays already found to be in the right memory
    const void* known_x = nullptr;
};

namespace {

template <class V>
void require_shape(const DenseView<V>& m, index_t rows, index_t cols, std::string_view name)
{
    require(m.rows == rows && m.cols == cols,
            [&] { return concat(name, " is ", m.rows, " x ", m.cols, ", not ", rows, " x ", cols); });
    check_dense(m, name);
}

template <class V>
offset_t row_step(const DenseView<V>& m)
{
    return m.layout == Layout::row_major ? m.leading : 1;
}
template <class V>
offset_t col_step(const DenseView<V>& m)
{
    return m.layout == Layout::row_major ? 1 : m.leading;
}

template <class V>
offset_t extent(const DenseView<V>& m)
{
    return matrix::count_reach(m.rows, m.cols, m.leading, m.layout, sizeof(V));
}

template <class V>
void require_apart_or_same(const DenseView<const V>& b, const DenseView<V>& x)
{
    const bool same = b.data == x.data && (b.layout == x.layout || b.cols <= 1 || b.rows <= 1) &&
                      (b.leading == x.leading || b.cols <= 1);
    const bool apart = b.data + extent(b) <= x.data || x.data + extent(x) <= b.data;
    require<ValueError>(same || apart, "b and x overlap without being the same",
                        "give x memory of its own, or that of b");
}

// alpha = 0: nothing of the triangle and b is read.
template <class V>
void clear(const Context& ctx, const DenseView<V>& x)
{
    const bool by_rows = x.layout == Layout::row_major;
    ctx.run([&](const auto& q) {
        prim::scale(q, prim::Lines<V>{x.data, by_rows ? x.rows : x.cols, by_rows ? x.cols : x.rows, x.leading}, V(0));
    });
}

// Values are all that is read of a matrix whose pattern is known.
template <class V>
WideView<V> without_offsets(const AnyView<V>& any)
{
    return std::visit(
        []<class View>(const View& a) -> WideView<V> {
            if constexpr (matrix::is_narrow<View>) return matrix::with_offsets(a, nullptr);
            else return a;
        },
        any);
}

// What the kernels wrote down, for each that was prepared: a row plus one, or zero.
template <class V>
std::vector<int> faults(const CudaQueue& q, const Prepared<V>& p)
{
    std::vector<int> found;
    for (const SolveScratch<V>* shared : {&p.shared, &p.many_shared})
        if (!shared->turns.empty()) found.push_back(read_value(q, &shared->turns.data()->fault));
    if (!p.flags.flag.empty()) found.push_back(read_value(q, p.flags.flag.data() + p.flags.flag.size() - 1));
    return found;
}

template <class V>
void solve_on(const CpuQueue& q, const Prepared<V>& p, const RhsView<V>& sides)
{
    if (p.policy.kernel == Kernel::levels) solve_levels(q, p.rows, p.row_values, p.threads, sides);
    else solve_serial(q, p.rows, p.row_values, sides);
}

template <class V>
void solve_on(const CudaQueue& q, const Prepared<V>& p, const RhsView<V>& sides)
{
    const bool many = sides.columns > 1 && p.many_shared.takers > 0;
    if (many && p.many.rows > 0) solve_many(q, p.many, p.many_values, p.many_shared, sides);
    else if (many) solve_sides(q, p.tasks, p.task_values, p.many_shared, sides);
    else if (p.policy.kernel == Kernel::groups) solve_groups(q, p.rows, p.row_values, p.groups, p.flags, sides);
    else solve_tasks(q, p.tasks, p.task_values, p.shared, sides);
}

// Whether rows one after the other are the only choice.
bool is_alone(const Limits& limits, const Options& options)
{
    return limits.backend == Backend::cpu && limits.threads == 1 && !options.force && options.cache.empty() &&
           options.model.empty() && options.effort == Effort::model;
}

// What one thread solves with. Levels are not known.
template <class State, class V>
void prepare_alone(const WideView<V>& a, Rows rows, State& s)
{
    const CpuQueue q = s.ctx.host();
    s.features = {.rows = rows.rows, .nonzeros = rows.nonzeros() + rows.rows};
    s.choice = choose(s.features, {}, s.limits);
    s.prepared.policy = s.choice.policy;
    s.prepared.accuracy = s.options.accuracy;
    s.prepared.row_values = {Buffer<V>(q, rows.nonzeros()), Buffer<V>(q, rows.rows)};
    s.prepared.rows = std::move(rows);
    set_values(s.ctx, as_rows(a).value, s.prepared);
}

// Finds the levels that prepare_alone() has left out.
template <class State>
void find_levels(State& s)
{
    if (s.features.levels > 0 || s.features.rows == 0) return;
    s.features = features_of(s.ctx.host(), s.prepared.rows);
    s.prepared.levels = s.features.levels;
}

void check_options(const Options& o)
{
    require_enumerator(o.uplo, Uplo::upper, "uplo");
    require_enumerator(o.op, Op::transpose, "op");
    require_enumerator(o.other_side, OtherSide::ignore, "other_side");
    require_enumerator(o.accuracy, Accuracy::substitution, "accuracy");
    require_enumerator(o.effort, Effort::search, "effort");
    require_enumerator(o.analysis, Analysis::device, "analysis");
    require_not_negative(o.right_hand_sides, "right_hand_sides");
    require_not_negative(o.expected_calls, "expected_calls");
    require_not_negative(o.seconds, "seconds");
}

}  // namespace

template <class V>
void run(const Context& ctx, const Prepared<V>& p, const RhsView<V>& sides)
{
    ctx.run([&](const auto& q) { solve_on(q, p, sides); });
}

template <class V>
Plan<V> Plan<V>::make(const Context& all, const AnyView<V>& given, const Options& options)
{
    check_options(options);
    Buffer<offset_t> wide;
    const auto a = matrix::widened<WideView<V>>(all, given, wide);
    require_square(a);
    const Context ctx = all.for_work(as_rows(a).nonzeros + as_rows(a).rows);
    const Limits limits = limits_of(ctx);
    if (options.force) check_policy(*options.force, limits);
    auto state = std::make_unique<State>(State{.ctx = ctx,
                                               .options = options,
                                               .narrow = !wide.empty(),
                                               .format = a.index(),
                                               .nonzeros = as_rows(a).nonzeros,
                                               .features = {},
                                               .limits = limits,
                                               .choice = {},
                                               .note = {},
                                               .prepared = {}});
    if (is_alone(limits, options))
        if (std::optional<Rows> rows = extract_rows(ctx, a, options)) {
            prepare_alone(a, std::move(*rows), *state);
            return Plan(std::move(state));
        }
    AnalysisState known = analyze_pattern(ctx, a, options);
    const Selection selected = select(ctx, options, limits, type_name<V>, known);
    state->features = known.features;
    state->choice = selected.choice;
    state->note = selected.note;
    if (selected.settled || options.effort == Effort::model) {
        state->prepared = prepare(ctx, a, options, known, selected.choice.policy);
        return Plan(std::move(state));
    }
    std::vector<Policy> schemes{selected.choice.policy};
    for (const Policy& s : candidates(limits))
        if (s != selected.choice.policy) schemes.push_back(s);
    double best = 0;
    try_each(ctx, a, options, known, schemes, {}, [&](Prepared<V>& p, double, double seconds) {
        if (best != 0 && seconds >= best) return;
        best = seconds;
        state->choice = {p.policy, seconds, "the fastest of those tried"};
        state->prepared = std::move(p);
    });
    if (!options.cache.empty()) {
        const std::string why_not = remember(options.cache, selected.key, state->choice.policy, best);
        state->note = why_not.empty() ? "remembered from now on" : why_not;
    }
    return Plan(std::move(state));
}

template <class V>
void Plan<V>::solve(V alpha, const DenseView<const V>& b, const DenseView<V>& x) const
{
    State& s = *state_;
    require<ValueError>(s.usable, "the plan has no values it could solve with: the last update_values was refused",
                        "call update_values with a diagonal without zeros");
    require_shape(b, rows(), x.cols, "b");
    require_shape(x, rows(), x.cols, "x");
    require_apart_or_same(b, x);
    require_placed(s.ctx, b.data, static_cast<std::size_t>(extent(b)), s.known_b, "b");
    require_placed(s.ctx, x.data, static_cast<std::size_t>(extent(x)), s.known_x, "x");
    if (x.rows == 0 || x.cols == 0) return;
    if (alpha == V(0)) return clear(s.ctx, x);
    run(s.ctx, s.prepared,
        RhsView<V>{alpha, b.data, row_step(b), col_step(b), x.data, row_step(x), col_step(x), x.cols});
}

template <class V>
void Plan<V>::solve(V alpha, std::span<const V> b, std::span<V> x) const
{
    require(std::ssize(b) == rows(),
            [&] { return concat("b has ", b.size(), " entries, but the triangle has ", rows(), " rows"); });
    require(std::ssize(x) == rows(),
            [&] { return concat("x has ", x.size(), " entries, but the triangle has ", rows(), " rows"); });
    solve(alpha, DenseView<const V>{rows(), 1, rows(), Layout::col_major, b.data()},
          DenseView<V>{rows(), 1, rows(), Layout::col_major, x.data()});
}

template <class V>
void Plan<V>::update_values(const AnyView<V>& given)
{
    State& s = *state_;
    check_arrays(s.ctx, given);
    const auto a = without_offsets(given);
    matrix::require_same_format(s.format, a.index());
    const CsrView<V> m = as_rows(a);
    matrix::require_same_size({rows(), rows(), s.nonzeros}, matrix::size_of(m));
    s.usable = false;
    set_values(s.ctx, m.value, s.prepared);
    s.usable = true;
}

template <class V>
void Plan<V>::wait() const
{
    const State& s = *state_;
    s.ctx.synchronize();
    s.ctx.run([&](const auto& q) {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(q)>, CudaQueue>)
            for (const int row : faults(q, s.prepared))
                require<DeviceError>(
                    row == 0, [&] { return concat("row ", row - 1, ": gave up waiting for the rows it needs"); },
                    "was memory of the plan overwritten?");
        (void)q;
    });
}

template <class V>
const Policy& Plan<V>::policy() const
{
    return state_->prepared.policy;
}
template <class V>
const Features& Plan<V>::features() const
{
    find_levels(*state_);
    return state_->features;
}
template <class V>
index_t Plan<V>::levels() const
{
    find_levels(*state_);
    return state_->prepared.levels;
}
template <class V>
std::size_t Plan<V>::bytes() const
{
    return state_->prepared.bytes();
}
template <class V>
index_t Plan<V>::rows() const
{
    return state_->features.rows;
}

template <class V>
std::string Plan<V>::describe() const
{
    const State& s = *state_;
    const Features& f = features();
    std::string text =
        concat("sptrsv on ", s.ctx.name(), ": ", f.rows, plural(f.rows, " row, ", " rows, "), f.nonzeros,
               plural(f.nonzeros, " entry, ", " entries, "), s.options.uplo == Uplo::lower ? "lower" : "upper",
               s.options.op == Op::transpose ? " transposed" : "", s.options.unit_diagonal ? ", unit diagonal" : "",
               sizeof(V) == 4 ? ", float" : ", double", "\n  graph:  ", f.levels,
               plural(f.levels, " level, ", " levels, "), fixed(f.level_mean, 1), " entries each; ", levels(),
               " one after the other with this policy", "\n  chosen: ", to_text(policy()),
               "\n  why:    ", s.choice.why);
    if (!s.note.empty()) text += concat("\n  cache:  ", s.note);
    if (s.choice.seconds > 0)
        text += concat(s.options.effort == Effort::search ? "\n  took:   " : "\n  should take: ",
                       fixed(s.choice.seconds * 1e6, 1), " us");
    if (s.prepared.tasks.dense_size > 0)
        text +=
            concat("\n  blocks: ",
                   s.options.accuracy == Accuracy::substitution ? "substitution" : "inverses where they are accurate",
                   s.options.accuracy == Accuracy::tested ? ", by trials" : "");
    if (s.narrow) text += matrix::widened_once;
    return text + concat("\n  order:  the same bits every time\n  keeps:  ", human_bytes(bytes()));
}

template void run(const Context&, const Prepared<float>&, const RhsView<float>&);
template void run(const Context&, const Prepared<double>&, const RhsView<double>&);
template class Plan<float>;
template class Plan<double>;

}  // namespace tulle::inline TULLE_ABI::sptrsv
