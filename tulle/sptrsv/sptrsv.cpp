// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The sparse triangular solve, from a matrix to x.
//
//   look        the triangle in the order it is solved, as a pattern on the host (triangle.cpp); its levels and features (graph.cpp)
//   transform   rows merged into nodes: clusters, or the paper's consecutive merges (graph.cpp)
//   select      a scheme (policy.cpp) by prediction, by trying, or the caller's
//   arrange     what the scheme's kernel works on: rows for the CPU and for many right-hand sides, tasks for the GPU (rows.cpp, tasks.cpp)
//   fill        values to their places, divided by the diagonal
//   solve       one kernel
//
// The four stages are those of AG-SpTRSV (Hu et al., TACO 21(4):70, doi:10.1145/3674911); docs/design/sptrsv.md says where each lives.
#include "tulle/sptrsv/sptrsv.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "tulle/base/text.hpp"
#include "tulle/base/trace.hpp"
#include "tulle/device/copy.hpp"
#include "tulle/device/info.hpp"
#include "tulle/device/placed.hpp"
#include "tulle/matrix/validate.hpp"
#include "tulle/sptrsv/steps.hpp"

namespace tulle::sptrsv {
namespace {

// What one scheme works on.
template <class V>
struct Prepared {
    Scheme scheme;
    index_t levels = 0;
    Rows rows;                           // serial, levels, groups
    RowValues<V> row_values;
    ThreadPlan threads;                  // levels
    Tasks tasks;                         // tasks
    TaskValues<V> task_values;
    Shared<V> shared;
    Groups groups;                       // groups
    Flags<V> flags;
    Rows many;                           // more than one right-hand side on a GPU
    RowValues<V> many_values;
    Shared<V> many_shared;

    std::size_t bytes() const
    {
        return rows.bytes() + row_values.bytes() + groups.bytes() + flags.bytes() + tasks.bytes() + task_values.bytes() + shared.bytes() + many.bytes() + many_values.bytes() + many_shared.bytes();
    }
};

// What is known of a pattern, whatever the scheme.
struct Known {
    Triangle triangle;
    Graph levels;
    Features features;
    std::vector<Graph> merged;           // those of the outlooks but the first, which is `levels`
    std::vector<Outlook> outlooks;
};

template <class V>
CsrView<V> as_rows(const AnyView<V>& a)
{
    if (const auto* csc = std::get_if<CscView<V>>(&a)) return transposed(*csc);
    return std::get<CsrView<V>>(a);
}

template <class T>
Buffer<T> take_up(const CpuQueue&, Buffer<T>& host) { return std::move(host); }
template <class T>
Buffer<T> take_up(const CudaQueue& q, Buffer<T>& host) { return to_queue(q, host.data(), host.size()); }

template <class Queue>
Rows take_up(const Queue& q, Rows host)
{
    return {host.rows, take_up(q, host.row), take_up(q, host.begin), take_up(q, host.col), take_up(q, host.source), take_up(q, host.diagonal)};
}

template <class Queue>
Tasks take_up(const Queue& q, Tasks host)
{
    return {host.rows, host.levels, host.team, host.reversed, host.reordered, host.dense_size, take_up(q, host.task), take_up(q, host.row), take_up(q, host.diagonal), take_up(q, host.col),
            take_up(q, host.source), take_up(q, host.late_col), take_up(q, host.dense_at), take_up(q, host.dense_source), take_up(q, host.dense_row)};
}

template <class Queue>
Groups take_up(const Queue& q, Groups host)
{
    return {host.subwarps, host.share_above, host.warps_per_block, host.blocks, host.by_ticket, take_up(q, host.node_begin), take_up(q, host.node), take_up(q, host.list),
            take_up(q, host.list_begin), std::move(host.segments)};
}

template <class V, class Queue>
RowValues<V> room_for(const Queue& q, const Rows& rows)
{
    return {Buffer<V>(q, rows.nonzeros()), Buffer<V>(q, rows.rows)};
}

template <class V, class Queue>
TaskValues<V> room_for(const Queue& q, const Tasks& tasks)
{
    return {Buffer<V>(q, tasks.col.size()), Buffer<V>(q, tasks.rows), Buffer<V>(q, tasks.dense_size), Buffer<index_t>(q, tasks.dense_size > 0 ? tasks.task.size() : 0)};
}

template <class V>
Triangle look(const Context& ctx, const AnyView<V>& a, const Options& options)
{
    const trace::Phase phase{"look"};
    const CsrView<V> stored = as_rows(a);
    const bool transpose = std::holds_alternative<CscView<V>>(a) != (options.op == Op::transpose);
    Stored s{.rows = stored.rows, .row_begin = stored.row_begin, .col = stored.col, .transpose = transpose, .upper = (options.uplo == Uplo::upper) != (options.op == Op::transpose),
             .unit_diagonal = options.unit_diagonal, .ignore_other_side = options.other_side == OtherSide::ignore};
    if (ctx.backend() == Backend::cpu) return make_triangle(ctx.host(), s);
    Buffer<offset_t> row_begin(ctx.host(), offset_t{stored.rows} + 1);
    Buffer<index_t> col(ctx.host(), stored.nonzeros);
    ctx.run([&](const auto& q) {
        download(q, stored.row_begin, row_begin.data(), row_begin.size());
        download(q, stored.col, col.data(), col.size());
    });
    s.row_begin = row_begin.data();
    s.col = col.data();
    return make_triangle(ctx.host(), s);
}

template <class V>
Known look_around(const Context& ctx, const AnyView<V>& a, const Options& options)
{
    Known known{look(ctx, a, options), {}, {}, {}, {}};
    const trace::Phase phase{"levels"};
    known.levels = merge(ctx.host(), known.triangle, Merge::none);
    known.features = features_of(known.triangle, known.levels);
    return known;
}

Limits limits_of(const Context& ctx)
{
    Limits limits{.backend = ctx.backend(), .threads = ctx.host().threads};
    ctx.run([&](const auto& q) {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(q)>, CudaQueue>) limits.multiprocessors = multiprocessors(q);
    });
    return limits;
}

// How many tasks a graph becomes, about: a node each, unless a level has more than the GPU takes at once; then 32 rows each.
offset_t count_tasks(const Graph& graph, index_t rows, int multiprocessors)
{
    const offset_t at_once = offset_t{8} * multiprocessors;
    std::vector<offset_t> nodes(static_cast<std::size_t>(graph.levels) + 1, 0), level_rows(nodes);
    for (index_t node = 0; node < graph.nodes; ++node) ++nodes[static_cast<std::size_t>(graph.level.data()[node])];
    for (index_t i = 0; i < rows; ++i) ++level_rows[static_cast<std::size_t>(graph.level_of(i))];
    offset_t tasks = 0;
    for (std::size_t level = 1; level < nodes.size(); ++level) tasks += std::min(nodes[level], std::max(at_once, level_rows[level] / most_rows));
    return tasks;
}

// The graphs a GPU scheme could work on.
void look_ahead(const Context& ctx, const Limits& limits, double expected_calls, Known& known)
{
    const trace::Phase phase{"transform"};
    if (ctx.backend() == Backend::cpu) return;
    const auto outlook = [&](Merge how, int rows, const Graph& graph) { return Outlook{how, rows, graph.levels, count_tasks(graph, known.triangle.rows, limits.multiprocessors)}; };
    known.outlooks = {outlook(Merge::none, 1, known.levels)};
    if (!worth_clusters(known.features, expected_calls)) return;
    for (const Merge how : {Merge::critical, Merge::fixed}) {
        if (how == Merge::fixed && !favours_neighbours(known.features)) continue;
        known.merged.push_back(merge(ctx.host(), known.triangle, how, most_rows));
        known.outlooks.push_back(outlook(how, most_rows, known.merged.back()));
    }
}

// The graph of a scheme, if it is one of those looked at. (A build without CUDA uses neither this nor the next.)
[[maybe_unused]] const Graph* find_graph(const Known& known, const Scheme& s)
{
    for (std::size_t k = 0; k < known.outlooks.size(); ++k)
        if (known.outlooks[k].merge == s.merge && (known.outlooks[k].rows == s.rows || s.merge == Merge::none)) return k == 0 ? &known.levels : &known.merged[k - 1];
    return nullptr;
}

[[maybe_unused]] Buffer<index_t> rows_by_level(const CpuQueue& host, const Known& known)
{
    Buffer<index_t> level(host, known.triangle.rows);
    for (index_t i = 0; i < known.triangle.rows; ++i) level.data()[i] = known.levels.level_of(i);
    return sort_into(host, level.data(), known.triangle.rows, known.levels.levels + 1).item;
}

template <class V>
void arrange(const CpuQueue& q, const Known& known, const Options&, Prepared<V>& p)
{
    const bool shared = p.scheme.kernel == Kernel::levels;
    p.levels = known.levels.levels;
    if (shared) p.threads = plan_threads(q, known.triangle, known.levels, q.threads, p.scheme.limit > 0 ? p.scheme.limit : entries_worth_sharing);
    p.rows = make_rows(q, known.triangle, shared ? p.threads.order.data() : nullptr, Unknowns::by_row);
    p.row_values = room_for<V>(q, p.rows);
}

template <class V>
void arrange_tasks(const CudaQueue& q, const CpuQueue& host, const Known& known, Prepared<V>& p)
{
    const Scheme& s = p.scheme;
    const Graph* found = find_graph(known, s);
    const Graph made = found ? Graph{} : merge(host, known.triangle, s.merge, s.rows, s.limit);
    const Graph& merged = found ? *found : made;
    p.levels = merged.levels;
    p.tasks = take_up(q, make_tasks(host, known.triangle, merged, {s.reorder, s.team, std::max<offset_t>(1, offset_t{s.warps} * multiprocessors(q) / s.team)}));
    p.task_values = room_for<V>(q, p.tasks);
    p.shared = make_shared<V>(q, p.tasks.rows, p.tasks.task.size(), s.warps, s.team);
}

// The paper's four stages: rows in another order where asked for, merged in that order, grouped and dealt to warps.
template <class V>
void arrange_groups(const CudaQueue& q, const CpuQueue& host, const Known& known, Prepared<V>& p)
{
    const Scheme& s = p.scheme;
    const Buffer<index_t> order = s.reorder ? rows_by_level(host, known) : Buffer<index_t>();
    Rows rows = make_rows(host, known.triangle, s.reorder ? order.data() : nullptr, Unknowns::by_place);
    const Triangle reordered{.rows = rows.rows, .reversed = false, .row_begin = to_queue(host, rows.begin.data(), rows.begin.size()),
                             .col = to_queue(host, rows.col.data(), rows.col.size()), .source = {}, .diagonal = {}};
    const Graph merged = merge(host, reordered, s.merge, s.rows, s.limit);
    p.levels = merged.levels;
    p.groups = take_up(q, make_groups(host, rows, merged, s, multiprocessors(q)));
    p.rows = take_up(q, std::move(rows));
    p.row_values = room_for<V>(q, p.rows);
    p.flags = make_flags<V>(q, p.rows.rows, p.groups);
}

template <class V>
void arrange(const CudaQueue& q, const Known& known, const Options& options, Prepared<V>& p)
{
    const CpuQueue host(0, q.memory);
    if (p.scheme.kernel == Kernel::groups) arrange_groups(q, host, known, p);
    else arrange_tasks(q, host, known, p);
    if (options.right_hand_sides <= 1) return;
    p.many = take_up(q, make_rows(host, known.triangle, rows_by_level(host, known).data(), Unknowns::by_place));
    p.many_values = room_for<V>(q, p.many);
    p.many_shared = make_shared<V>(q, offset_t{p.many.rows} * sides_at_once, p.many.rows, many_warps, 1);
}

template <class V>
index_t fill(const CpuQueue& q, const V* value, Prepared<V>& p) { return fill_rows(q, p.rows, value, p.row_values); }

template <class V>
index_t fill(const CudaQueue& q, const V* value, Prepared<V>& p)
{
    const index_t zero = p.scheme.kernel == Kernel::groups ? fill_rows(q, p.rows, value, p.row_values) : fill_tasks(q, p.tasks, value, p.task_values);
    if (p.many.rows > 0) fill_rows(q, p.many, value, p.many_values);
    return zero;
}

template <class V>
void solve_on(const CpuQueue& q, const Prepared<V>& p, const Sides<V>& sides)
{
    if (p.scheme.kernel == Kernel::levels) solve_levels(q, p.rows, p.row_values, p.threads, sides);
    else solve_serial(q, p.rows, p.row_values, sides);
}

template <class V>
void solve_on(const CudaQueue& q, const Prepared<V>& p, const Sides<V>& sides)
{
    if (sides.columns > 1 && p.many.rows > 0) solve_many(q, p.many, p.many_values, p.many_shared, sides);
    else if (p.scheme.kernel == Kernel::groups) solve_groups(q, p.rows, p.row_values, p.groups, p.flags, sides);
    else solve_tasks(q, p.tasks, p.task_values, p.shared, sides);
}

template <class V>
void fill_or_refuse(const Context& ctx, const V* value, Prepared<V>& p)
{
    const trace::Phase phase{"fill"};
    const index_t zero = ctx.run([&](const auto& q) { return fill(q, value, p); });
    require<ValueError>(zero < 0, [&] { return concat("row ", zero, ": the diagonal is zero, the triangle is singular"); }, "set Options::unit_diagonal if it is meant to be one");
}

template <class V>
Prepared<V> prepare(const Context& ctx, const AnyView<V>& a, const Options& options, const Known& known, const Scheme& scheme)
{
    Prepared<V> p;
    p.scheme = scheme;
    {
        const trace::Phase phase{"arrange"};
        ctx.run([&](const auto& q) { arrange(q, known, options, p); });
    }
    fill_or_refuse(ctx, as_rows(a).value, p);
    return p;
}

template <class V>
void run(const Context& ctx, const Prepared<V>& p, const Sides<V>& sides)
{
    ctx.run([&](const auto& q) { solve_on(q, p, sides); });
}

// Seconds of a solve: the fastest of a few, after one to warm up.
template <class V>
double time_solve(const Context& ctx, const Prepared<V>& p, const V* b, V* x)
{
    constexpr int repeats = 5;
    double best = 0;
    for (int k = 0; k <= repeats; ++k) {
        ctx.synchronize();
        const double begin = trace::now();
        run(ctx, p, Sides<V>{V(1), b, 1, 0, x, 1, 0, 1});
        ctx.synchronize();
        const double seconds = trace::now() - begin;
        if (k == 1 || (k > 1 && seconds < best)) best = seconds;
    }
    return best;
}

// Tries schemes until the time is over; f sees each with its times, and may take it.
template <class V, class F>
void try_each(const Context& ctx, const AnyView<V>& a, const Options& options, const Known& known, const std::vector<Scheme>& schemes, const Progress& progress, F&& f)
{
    Buffer<V> b = ctx.run([&](const auto& q) {
        Buffer<V> zeros(q, known.triangle.rows);
        fill_zero(q, zeros.data(), zeros.size());
        return zeros;
    });
    Buffer<V> x = ctx.run([&](const auto& q) { return Buffer<V>(q, known.triangle.rows); });
    const double begin = trace::now();
    for (std::size_t k = 0; k < schemes.size() && (k == 0 || trace::now() - begin < options.seconds); ++k) {
        const double start = trace::now();
        Prepared<V> p = prepare(ctx, a, options, known, schemes[k]);
        ctx.synchronize();
        const double prepared = trace::now() - start;
        const double seconds = time_solve(ctx, p, std::as_const(b).data(), x.data());
        f(p, prepared, seconds);
        if (progress) progress(std::max(static_cast<double>(k + 1) / static_cast<double>(schemes.size()), (trace::now() - begin) / options.seconds));
    }
}

template <class V>
void require_square(const AnyView<V>& a)
{
    const CsrView<V> m = as_rows(a);
    require(m.rows == m.cols, [&] { return concat("a triangle is square, the matrix is ", m.rows, " x ", m.cols); });
}

}  // namespace

template <class V>
struct Plan<V>::State {
    Context ctx;
    Options options;
    std::size_t format;                  // of the caller's matrix, as in AnyView
    offset_t nonzeros;
    Features features;
    Limits limits;
    Choice choice;
    Prepared<V> prepared;
    bool usable = true;
    const void* known_b = nullptr;       // arrays already found to be in the right memory
    const void* known_x = nullptr;
};

template <class V> Plan<V>::Plan(std::unique_ptr<State> state) : state_(std::move(state)) {}
template <class V> Plan<V>::Plan(Plan&&) noexcept = default;
template <class V> Plan<V>& Plan<V>::operator=(Plan&&) noexcept = default;
template <class V> Plan<V>::~Plan() = default;

template <class V>
Plan<V> Plan<V>::make(const Context& ctx, const AnyView<V>& a, const Options& options)
{
    require_square(a);
    if (options.checked) {
        const trace::Phase phase{"validate"};
        std::visit([&](const auto& m) { check(ctx, m); }, a);
    }
    const Limits limits = limits_of(ctx);
    if (options.force) check_scheme(*options.force, limits);
    Known known = look_around(ctx, a, options);
    Choice choice;
    if (options.force) {
        choice = {*options.force, 0, "asked for by the caller"};
    } else {
        look_ahead(ctx, limits, options.expected_calls, known);
        choice = choose(known.features, known.outlooks, limits);
    }
    auto state = std::make_unique<State>(State{.ctx = ctx, .options = options, .format = a.index(), .nonzeros = as_rows(a).nonzeros, .features = known.features, .limits = limits,
                                               .choice = choice, .prepared = {}});
    if (options.force || options.effort == Effort::model) {
        state->prepared = prepare(ctx, a, options, known, choice.scheme);
        return Plan(std::move(state));
    }
    std::vector<Scheme> schemes{choice.scheme};
    for (const Scheme& s : candidates(limits))
        if (s != choice.scheme) schemes.push_back(s);
    double best = 0;
    try_each(ctx, a, options, known, schemes, {}, [&](Prepared<V>& p, double, double seconds) {
        if (best != 0 && seconds >= best) return;
        best = seconds;
        state->choice = {p.scheme, seconds, "the fastest of those tried"};
        state->prepared = std::move(p);
    });
    return Plan(std::move(state));
}

template <class V>
std::vector<Trial> try_schemes(const Context& ctx, const AnyView<V>& a, const Options& options, const std::vector<Scheme>& schemes, const Progress& progress)
{
    require_square(a);
    if (options.checked) std::visit([&](const auto& m) { check(ctx, m); }, a);
    const Limits limits = limits_of(ctx);
    for (const Scheme& s : schemes) check_scheme(s, limits);
    const Known known = look_around(ctx, a, options);
    std::vector<Trial> trials;
    try_each(ctx, a, options, known, schemes, progress,
             [&](const Prepared<V>& p, double prepared, double seconds) { trials.push_back({p.scheme, p.levels, prepared, seconds}); });
    std::stable_sort(trials.begin(), trials.end(), [](const Trial& x, const Trial& y) { return x.solve_seconds < y.solve_seconds; });
    return trials;
}

namespace {

template <class V>
void require_shape(const DenseView<V>& m, index_t rows, index_t cols, std::string_view name)
{
    require(m.rows == rows && m.cols == cols, [&] { return concat(name, " is ", m.rows, " x ", m.cols, ", not ", rows, " x ", cols); });
    require(m.leading >= (m.layout == Layout::row_major ? m.cols : m.rows), [&] { return concat(name, " has a leading dimension of ", m.leading); });
}

template <class V> offset_t row_step(const DenseView<V>& m) { return m.layout == Layout::row_major ? m.leading : 1; }
template <class V> offset_t col_step(const DenseView<V>& m) { return m.layout == Layout::row_major ? 1 : m.leading; }

// Entries from the first to one behind the last.
template <class V>
offset_t extent(const DenseView<V>& m)
{
    return m.rows == 0 || m.cols == 0 ? 0 : (m.rows - 1) * row_step(m) + (m.cols - 1) * col_step(m) + 1;
}

template <class V>
void require_apart_or_same(const DenseView<const V>& b, const DenseView<V>& x)
{
    const bool same = b.data == x.data && (b.layout == x.layout || b.cols <= 1 || b.rows <= 1) && (b.leading == x.leading || b.cols <= 1);
    const bool apart = b.data + extent(b) <= x.data || x.data + extent(x) <= b.data;
    require<ValueError>(same || apart, "b and x overlap without being the same", "give x memory of its own, or that of b");
}

}  // namespace

template <class V>
void Plan<V>::solve(V alpha, const DenseView<const V>& b, const DenseView<V>& x) const
{
    State& s = *state_;
    require<ValueError>(s.usable, "the plan has no values it could solve with: the last update_values was refused", "call update_values with a diagonal without zeros");
    require_shape(b, rows(), x.cols, "b");
    require_shape(x, rows(), x.cols, "x");
    require_apart_or_same(b, x);
    require_placed(s.ctx, b.data, s.known_b, "b");
    require_placed(s.ctx, static_cast<const V*>(x.data), s.known_x, "x");
    if (x.rows == 0 || x.cols == 0) return;
    run(s.ctx, s.prepared, Sides<V>{alpha, b.data, row_step(b), col_step(b), x.data, row_step(x), col_step(x), x.cols});
}

template <class V>
void Plan<V>::solve(V alpha, std::span<const V> b, std::span<V> x) const
{
    require(std::ssize(b) == rows(), [&] { return concat("b has ", b.size(), " entries, but the triangle has ", rows(), " rows"); });
    require(std::ssize(x) == rows(), [&] { return concat("x has ", x.size(), " entries, but the triangle has ", rows(), " rows"); });
    solve(alpha, DenseView<const V>{rows(), 1, rows(), Layout::col_major, b.data()}, DenseView<V>{rows(), 1, rows(), Layout::col_major, x.data()});
}

template <class V>
void Plan<V>::update_values(const AnyView<V>& a)
{
    State& s = *state_;
    require<PlanMismatch>(a.index() == s.format, "the plan is for a matrix in another format");
    const CsrView<V> m = as_rows(a);
    require<PlanMismatch>(m.rows == rows() && m.cols == rows() && m.nonzeros == s.nonzeros, [&] {
        return concat("the plan is for ", rows(), " x ", rows(), " with ", s.nonzeros, " stored values, the new matrix is ", m.rows, " x ", m.cols, " with ", m.nonzeros);
    });
    s.usable = false;
    fill_or_refuse(s.ctx, m.value, s.prepared);
    s.usable = true;
}

namespace {

// What the kernels wrote down, for each that was prepared: a row plus one, or zero.
template <class V>
std::vector<int> faults(const CudaQueue& q, const Prepared<V>& p)
{
    std::vector<int> found;
    for (const Shared<V>* shared : {&p.shared, &p.many_shared})
        if (!shared->fault.empty()) found.push_back(read_value(q, shared->fault.data()));
    if (!p.flags.flag.empty()) found.push_back(read_value(q, p.flags.flag.data() + p.flags.flag.size() - 1));
    return found;
}

}  // namespace

template <class V>
void Plan<V>::wait() const
{
    const State& s = *state_;
    s.ctx.synchronize();
    s.ctx.run([&](const auto& q) {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(q)>, CudaQueue>)
            for (const int row : faults(q, s.prepared))
                require<DeviceError>(row == 0, [&] { return concat("row ", row - 1, ": gave up waiting for the rows it needs"); }, "was memory of the plan overwritten?");
        (void)q;
    });
}

template <class V> const Scheme& Plan<V>::scheme() const { return state_->prepared.scheme; }
template <class V> const Features& Plan<V>::features() const { return state_->features; }
template <class V> index_t Plan<V>::levels() const { return state_->prepared.levels; }
template <class V> std::size_t Plan<V>::bytes() const { return state_->prepared.bytes(); }
template <class V> index_t Plan<V>::rows() const { return state_->features.rows; }

template <class V>
std::string Plan<V>::describe() const
{
    const State& s = *state_;
    const Features& f = s.features;
    std::string text = concat("sptrsv on ", s.ctx.name(), ": ", f.rows, " rows, ", f.nonzeros, " entries, ", s.options.uplo == Uplo::lower ? "lower" : "upper",
                              s.options.op == Op::transpose ? " transposed" : "", s.options.unit_diagonal ? ", unit diagonal" : "", sizeof(V) == 4 ? ", float" : ", double",
                              "\n  graph:  ", f.levels, " levels, ", fixed(f.level_mean, 1), " entries each; ", levels(), " one after the other with this scheme",
                              "\n  chosen: ", to_text(scheme()), "\n  why:    ", s.choice.why);
    if (s.choice.seconds > 0) text += concat(s.options.effort == Effort::search ? "\n  took:   " : "\n  should take: ", fixed(s.choice.seconds * 1e6, 1), " us");
    return text + concat("\n  order:  the same bits every time\n  keeps:  ", human_bytes(bytes()));
}

template class Plan<float>;
template class Plan<double>;
template std::vector<Trial> try_schemes(const Context&, const AnyView<float>&, const Options&, const std::vector<Scheme>&, const Progress&);
template std::vector<Trial> try_schemes(const Context&, const AnyView<double>&, const Options&, const std::vector<Scheme>&, const Progress&);

}  // namespace tulle::sptrsv
