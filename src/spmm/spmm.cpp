// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A sparse matrix times a dense one, from CSR to C.
//
//   look       is the matrix sound, how long are its rows
//   arrange    op(A) by rows: the caller's arrays, or a transposed copy
//   order      for tensor cores: what panels of 64 rows would fetch of B, in the order given and in better ones
//              (order/)
//   choose     a kernel (policy.cpp), unless the caller forces one
//   prepare    panels, tiles and rest, lines of rows, room for sums of pieces and for a slice of B whose columns are
//              contiguous
//   run        one slice of columns after the other where something of the plan holds only so many; usually one
//
// Tensor cores after the two-level idea that docs/design/spmm.md explains; the order of rows after BSA (Lee et al.,
// Euro-Par 2024, doi:10.1007/978-3-031-69583-4_1) and others. C comes out in the caller's order of rows.
#include "tulle/spmm.hpp"

#include <algorithm>
#include <utility>

#include "base/math.hpp"
#include "base/plural.hpp"
#include "matrix/plan_checks.hpp"
#include "prim/scale.hpp"
#include "spmm/arguments.hpp"
#include "spmm/order/choose.hpp"
#include "spmm/prepare_panels.hpp"
#include "spmm/row_scale.hpp"
#include "spmm/steps.hpp"
#include "spmm/tile_choice.hpp"
#include "spmm/tiles_and_rest.hpp"
#include "tulle/features.hpp"
#include "tulle/memory.hpp"
#include "tulle/outline.hpp"
#include "tulle/text.hpp"
#include "tulle/trace.hpp"

namespace tulle::inline TULLE_ABI::spmm {
template <class V, class C>
struct Plan<V, C>::State {
    Context ctx;
    CsrView<V> a;           // the caller's
    Buffer<offset_t> wide;  // its offsets, where the caller's have 32 bits
    Options options;
    Limits limits;
    Features features;
    RowStatistics lengths;  // of op(A)
    Choice choice;
    Csr<V> copy;              // A transposed by rows
    Buffer<offset_t> source;  // for every value of the copy where it stands in the caller's array
    RowOrder order;           // of panels or tiles, while they are made
    Workspace<V> work;
    bool settled = false;           // a kernel has run since the plan's own arrays were written
    TileRule rule;                  // tiles: which are dense
    RowScaleFacts scale;            // of Options::row_scale
    const void* known_b = nullptr;  // arrays already found to be in the right memory
    const void* known_c = nullptr;

    static constexpr bool narrow = !std::is_same_v<C, Sum<V>>;  // C, beside its sums
    bool transposed() const { return options.op == Op::transpose; }
    CsrView<V> rows() const { return transposed() ? copy.view() : a; }  // of op(A)
};

namespace {

// Reasoned: a multiprocessor has this many units of panels to hide their latencies.
constexpr offset_t units_per_multiprocessor = 4;

template <class State>
void look(State& s)
{
    const trace::Phase phase{"look"};
    if (s.options.checked) check_matrix(s.ctx, s.a);
    if (s.transposed()) s.copy = transpose_rows(s.ctx, s.a, s.source);
    const auto rows = s.rows();
    require_row_scale<std::remove_cvref_t<decltype(*rows.value)>>(s.options.row_scale, rows.rows);
    s.scale = inspect_row_scale(s.ctx, s.options.row_scale);
    s.lengths = row_statistics(s.ctx, rows.rows, rows.cols, rows.row_begin);
    s.features.rows = rows.rows;
    s.features.cols = rows.cols;
    s.features.nonzeros = rows.nonzeros;
    s.features.longest = s.lengths.longest;
    s.features.unique = rows.unique;
    s.features.n = s.options.n;
    s.features.expected_calls = s.options.expected_calls;
}

// The order of the rows of panels: the caller's wish, or the one that is cheapest over all calls, and what it costs.
template <class State>
void consider_orders(State& s)
{
    const trace::Phase phase{"order"};
    const Pattern pattern = pattern_of(s.rows());
    if (s.options.order || !s.features.tensor) {  // in full precision there are no panels but dense ones
        const OrderKind kind = s.features.tensor ? *s.options.order : OrderKind::natural;
        s.order = order_rows(s.ctx, pattern, {.kind = kind, .lengths = s.lengths});
        s.features.cost = panel_cost(s.ctx, pattern, s.order);
    } else {
        OrderChoice found = choose_order(s.ctx, pattern,
                                         {.n = s.options.n,
                                          .value_bytes = s.features.value_bytes,
                                          .expected_calls = s.options.expected_calls,
                                          .sample = s.options.effort == Effort::search ? 0 : OrderQuestion{}.sample,
                                          .options = {.checked = false, .lengths = s.lengths}});
        for (const OrderCandidate& c : found.candidates)
            if (c.kind == found.order.kind) s.features.cost = c.cost;
        s.order = std::move(found.order);
    }
    s.features.order = s.order.kind;
}

// The order that the policy asks for, unless it is there already.
template <class State>
void take_order(State& s)
{
    if (s.order.kind != s.choice.policy.order || s.order.row.empty())
        s.order = order_rows(s.ctx, pattern_of(s.rows()),
                             {.kind = s.choice.policy.order, .tau = tile_side, .lengths = s.lengths});
}

// The caller's lines, where rows are multiplied on a GPU.
template <class State>
void take_piece(State& s, int piece)
{
    Policy& policy = s.choice.policy;
    if (s.limits.backend != Backend::cuda || policy.kernel != Kernel::rows) return;
    policy.piece = piece;
    policy.lanes = s.options.lanes.value_or(lanes_of_columns(s.features.n));
    check_policy(policy, s.features, s.limits);
}

// Sums, of each column, that blocks of panels leave for each other, and counters of those that have.
struct PanelRoom {
    offset_t sums = 0, counters = 0;

    static PanelRoom of(const Policy& policy, offset_t panels, offset_t slots, index_t columns)
    {
        if (policy.kernel == Kernel::panels) return {slots * panel_rows, slots * (columns / narrowest_panel)};
        if (policy.clusters == 1) return {};
        return {panels * policy.clusters * panel_rows, panels * policy.parts * (columns / policy.width)};
    }
};

// What only a GPU needs: panels, lines of rows, and room for the sums of pieces.
template <class State, class V>
void prepare_on_gpu(const CudaQueue& q, State& s, Workspace<V>& work)
{
    const CsrView<V> a = s.rows();
    offset_t sums = 0;
    index_t columns = work.columns;
    const bool tiles = s.choice.policy.kernel == Kernel::tiles;
    if (s.choice.policy.kernel != Kernel::rows && !tiles) {
        if (s.choice.policy.kernel == Kernel::panels) take_order(s);
        else s.order = {};
        const offset_t tiles_across = std::max<offset_t>(1, ceil_div(s.options.n, index_t{s.choice.policy.width}));
        work.panels = prepare_panels(q, s.ctx.host(), a, std::move(s.order.row),
                                     ceil_div(units_per_multiprocessor * s.limits.multiprocessors, tiles_across));
        columns = round_up(columns, index_t{widest_panel});
        const PanelRoom room = PanelRoom::of(s.choice.policy, ceil_div(offset_t{a.rows}, offset_t{panel_rows}),
                                             work.panels.slots, columns);
        sums = room.sums;
        work.arrived = Buffer<int>(q, room.counters);
        fill_zero(q, work.arrived.data(), work.arrived.size());
    } else if (s.choice.policy.piece > 0) {
        work.lines =
            cut_rows(q, a.rows, tiles ? work.tiles.rest_begin.data() : a.row_begin, a.nonzeros, s.choice.policy.piece);
        sums = work.lines.slots;
        columns = round_up(columns, index_t{columns_per_lane});
        work.arrived = Buffer<int>(q, sums * ceil_div(columns, index_t{columns_per_lane * s.choice.policy.lanes}));
        fill_zero(q, work.arrived.data(), work.arrived.size());
    }
    work.partial = Buffer<Sum<V>>(q, checked_product(sums, columns, "sums of pieces"));
}
template <class State, class V>
void prepare_on_gpu(const CpuQueue&, State&, Workspace<V>&)
{}

// Tiles as a GPU would have them, on a CPU too: all backends hold the same.
template <class State>
TileRule rule_of(const State& s)
{
    if (s.options.delta) return fixed_density(*s.options.delta);
    return cheapest_density(cost_model(Backend::cuda, 1, s.features.value_bytes), s.features.n, s.features.value_bytes);
}

template <class State>
void prepare(State& s)
{
    const trace::Phase phase{"prepare"};
    s.work = {};
    s.work.columns = std::clamp(s.options.n, index_t{1}, most_columns);
    s.ctx.run([&](const auto& q) {
        using Value = std::remove_cvref_t<decltype(*s.work.b_by_rows.data())>;
        if (s.choice.policy.kernel == Kernel::tiles) {
            take_order(s);
            s.work.tiles = prepare_tiles(q, s.ctx.host(), s.rows(), s.order.row, s.rule);
            if (s.narrow)
                s.work.merged = Buffer<Sum<Value>>(q, checked_product(s.features.rows, s.work.columns, "sums of C"));
        }
        prepare_on_gpu(q, s, s.work);
        if (s.options.b_layout == Layout::col_major)
            s.work.b_by_rows = Buffer<Value>(q, checked_product(s.features.cols, s.work.columns, "a slice of B"));
    });
}

template <class State, class V>
std::unique_ptr<State> make_state(const Context& all, const AnyCsr<V>& given, const Options& options)
{
    check_options(options, sizeof(V));
    Buffer<offset_t> wide;
    const auto a = matrix::widened<CsrView<V>>(all, given, wide);
    const Context ctx =
        all.for_work(std::min(a.nonzeros + a.rows, offset_t{max_index}) * std::max(index_t{1}, options.n));
    auto s = std::make_unique<State>(State{.ctx = ctx,
                                           .a = a,
                                           .wide = std::move(wide),
                                           .options = options,
                                           .limits = limits_of(ctx),
                                           .features = {},
                                           .lengths = {},
                                           .choice = {},
                                           .copy = {},
                                           .source = {},
                                           .order = {},
                                           .work = {},
                                           .rule = {},
                                           .scale = {}});
    s->features.value_bytes = sizeof(V);
    s->features.tensor = is_half<V> || (sizeof(V) == 4 && options.math == Math::tf32);
    look(*s);
    if (options.force) check_policy(*options.force, s->features, s->limits);
    else if (wants_cost(s->features, s->limits) && (s->features.tensor || !options.piece)) consider_orders(*s);
    s->choice = options.force ? Choice{*options.force, "asked for by the caller"} : choose(s->features, s->limits);
    if (options.piece && !options.force) take_piece(*s, *options.piece);
    s->rule = rule_of(*s);
    prepare(*s);
    return s;
}

// ---- arguments

template <class V, class C>
Operands<V, C> operands(Sum<V> alpha, const DenseView<const V>& b, Sum<V> beta, const DenseView<C>& c)
{
    const auto steps = [](const auto& m) {
        return m.layout == Layout::row_major ? std::pair{m.leading, offset_t{1}} : std::pair{offset_t{1}, m.leading};
    };
    const auto [b_row, b_col] = steps(b);
    const auto [c_row, c_col] = steps(c);
    return {alpha, b.data, b_row, b_col, beta, c.data, c_row, c_col, b.cols};
}

// ---- one slice of columns

// In full precision, dense matrices by rows where the layout of B is not for tensor cores.
template <class State, class V>
void multiply_in_full(const CudaQueue& q, const State& s, const Operands<V, V>& o)
{
    const Policy& policy = s.choice.policy;
    if (policy.kernel == Kernel::rows) return multiply_rows(q, s.rows(), policy.lanes, s.work, o);
    if (has_pieces(o)) return multiply_dense_in_full(q, policy, s.features.cols, s.work, o);
    multiply_rows(q, s.rows(), policy_of(Kernel::rows, s.features, s.limits).lanes, s.work, o);
}

template <class State, class V, class C>
void multiply_slice(const CudaQueue& q, const State& s, const Operands<V, C>& o)
{
    if constexpr (!is_half<V>)
        if (!s.features.tensor) return multiply_in_full(q, s, o);
    const Policy& policy = s.choice.policy;
    if constexpr (sizeof(V) != 8) {
        if (policy.kernel == Kernel::rows) return multiply_rows(q, s.rows(), policy.lanes, s.work, o);
        if (policy.kernel == Kernel::dense) return multiply_dense(q, policy, s.features.cols, s.work, o);
        if (policy.kernel == Kernel::tiles) return multiply_tiles_and_rest(q, policy.lanes, s.work, o);
        multiply_panels(q, policy.width, s.work, o);
    }
}

template <class State, class V, class C>
void multiply_slice(const CpuQueue& q, const State& s, const Operands<V, C>& o)
{
    if (s.choice.policy.kernel == Kernel::tiles) return multiply_tiles_and_rest(q, s.choice.policy.lanes, s.work, o);
    multiply_rows(q, s.rows(), s.choice.policy.lanes, s.work, o);
}

// alpha = 0: nothing of A and B is read.
template <class State, class V, class C>
void scale_result(State& s, const Operands<V, C>& all)
{
    const bool by_rows = all.c_col == 1;
    const prim::Lines<C> lines{all.c, by_rows ? s.features.rows : all.n, by_rows ? all.n : s.features.rows,
                               by_rows ? all.c_row : all.c_col};
    s.ctx.run([&](const auto& q) { prim::scale(q, lines, all.beta); });
}

template <class State, class V, class C>
void run_slices(State& s, const Operands<V, C>& all)
{
    const bool turns = all.b_col != 1 && all.b_row == 1 && !s.work.b_by_rows.empty();
    s.work.early = std::exchange(s.settled, true) && s.limits.clusters;  // dependent launch came with clusters
    const index_t at_once = turns || !s.work.partial.empty() || !s.work.merged.empty() ? s.work.columns : all.n;
    s.ctx.run([&](const auto& q) {
        for (index_t j = 0; j < all.n; j += std::min(at_once, all.n - j)) {
            Operands<V, C> o = all.columns(j, at_once);
            if (turns) {
                turn_columns(q, o.b, o.b_col, s.features.cols, o.n, s.work.b_by_rows.data());
                o.b = s.work.b_by_rows.data();
                o.b_row = o.n;
                o.b_col = 1;
            }
            multiply_slice(q, s, o);
        }
    });
}

template <class State, class V, class C>
void run_state(State& s, const Operands<V, C>& all)
{
    if (s.features.rows == 0 || all.n == 0) return;
    if (all.alpha == 0) return scale_result(s, all);
    if constexpr (is_half<V>)
        if (!s.options.row_scale.empty()) return run_slices(s, with_factors<V, C>(all, s.options.row_scale.data()));
    run_slices(s, all);
}

// ---- searching

constexpr int timed_runs = 3;

// The best of some runs, in seconds, on numbers that are zero.
template <class State, class V, class C>
double time_runs(State& s, const Operands<V, C>& o)
{
    double best = 0;
    for (int k = 0; k <= timed_runs; ++k) {
        const double from = trace::now();
        run_state(s, o);
        s.ctx.synchronize();
        const double took = trace::now() - from;
        if (k <= 1 || took < best) best = took;  // the first is for warming up
    }
    return best;
}

// Keeps the delta whose product is done first: the cheapest by the model, or one of those in the table.
template <class V, class C, class State>
void search_density(State& s)
{
    const trace::Phase phase{"search"};
    const index_t n = std::max(index_t{1}, s.options.n);
    s.ctx.run([&](const auto& q) {
        Buffer<V> b(q, checked_product(s.features.cols, n, "B"));
        Buffer<C> c(q, checked_product(s.features.rows, n, "C"));
        fill_zero(q, b.data(), b.size());
        const Operands<V, C> o{1, b.data(), n, 1, 0, c.data(), n, 1, n};
        TileRule best = s.rule;
        double least = time_runs(s, o);
        for (const double delta : searched_densities) {
            s.rule = fixed_density(delta);
            prepare(s);
            const double took = time_runs(s, o);
            if (took < least) best = s.rule, least = took;
        }
        s.rule = best;
        prepare(s);
    });
    s.choice.why += "; delta by trying";
}

}  // namespace

template <class V, class C>
Plan<V, C> Plan<V, C>::make(const Context& ctx, const AnyCsr<V>& a, const Options& options)
{
    auto s = make_state<State>(ctx, a, options);
    if (options.effort == Effort::search && s->choice.policy.kernel == Kernel::tiles) search_density<V, C>(*s);
    s->order = {};
    return Plan(std::move(s));
}

template <class V, class C>
void Plan<V, C>::run(Scalar alpha, const DenseView<const V>& b, Scalar beta, const DenseView<C>& c) const
{
    require_operands(state_->ctx, state_->features.rows, state_->features.cols, b, c, state_->known_b, state_->known_c);
    run_state(*state_, operands<V, C>(alpha, b, beta, c));
}

template <class V, class C>
void Plan<V, C>::update_values(const AnyCsr<V>& given)
{
    State& s = *state_;
    Buffer<offset_t> fresh;
    const auto a = matrix::renewed<CsrView<V>>(s.ctx, given, s.wide, fresh);
    matrix::require_same_size(matrix::size_of(s.a), matrix::size_of(a));
    s.a = a;
    if (!fresh.empty()) s.wide = std::move(fresh);
    s.settled = false;
    s.ctx.run([&](const auto& q) {
        if (s.transposed()) carry_values(q, a.value, s.source.data(), a.nonzeros, s.copy.value.data());
        fill_panels(q, s.rows(), s.work.panels);
        fill_tiles(q, s.rows(), s.work.tiles);
    });
}

template <class V, class C>
const Policy& Plan<V, C>::policy() const
{
    return state_->choice.policy;
}
template <class V, class C>
const Features& Plan<V, C>::features() const
{
    return state_->features;
}
template <class V, class C>
std::size_t Plan<V, C>::bytes() const
{
    return state_->wide.bytes() + state_->copy.bytes() + state_->source.bytes() + state_->work.bytes();
}
template <class V, class C>
index_t Plan<V, C>::rows() const
{
    return state_->features.rows;
}
template <class V, class C>
index_t Plan<V, C>::cols() const
{
    return state_->features.cols;
}

namespace {

template <class V>
std::string tiles_text(const Tiles<V>& tiles, const TileRule& rule, const Features& t)
{
    const auto share = [](offset_t part, offset_t whole) {
        return fixed(whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole), 1);
    };
    return concat("\n  tiles:  ", tiles.dense_tiles, " that are ",
                  share(tiles.in_tiles, tiles.dense_tiles * tile_places), " % full, with ",
                  share(tiles.in_tiles, t.nonzeros), " % of the nonzeros; dense above ",
                  fixed(rule.least / tile_places, 3),
                  rule.gain > 0 ? concat(" where a panel gains ", fixed(rule.gain, 0), " nonzeros") : "",
                  "; panels from ", tiles.first_panel, " on, ", tiles.width, " tiles wide",
                  "\n  rest:   ", t.nonzeros - tiles.in_tiles, " nonzeros, by rows");
}

}  // namespace

template <class V, class C>
std::string Plan<V, C>::describe() const
{
    const State& s = *state_;
    const Features& t = s.features;
    std::string others, moves;
    for (const Policy& p : candidates(t, s.limits))
        if (p != s.choice.policy) others += (others.empty() ? "" : "; ") + to_text(p);
    if (const Panels<V>& p = s.work.panels; !p.chunk.empty())
        moves = concat("\n  panels: ", p.chunk.size(), " chunks, ", p.tiles(), " tiles that are ",
                       fixed(100.0 * static_cast<double>(p.nonzeros) /
                                 (static_cast<double>(p.tiles()) * slab_rows * chunk_columns<V>),
                             1),
                       " % full, ", p.slots, " pieces of long panels");
    if (s.choice.policy.kernel == Kernel::tiles) moves = tiles_text(s.work.tiles, s.rule, t);
    const bool tf32 = t.tensor && !is_half<V>,
               split = sizeof(V) == 4 && !t.tensor && s.choice.policy.kernel == Kernel::dense;
    return concat("spmm on ", s.ctx.name(), ": ", t.rows, " x ", t.cols, ", ", t.nonzeros,
                  plural(t.nonzeros, " nonzero", " nonzeros"), s.transposed() ? " transposed" : "", ", ", t.n,
                  plural(t.n, " column", " columns"), " expected, ", type_name<V>(),
                  tf32    ? " (tf32 products)"
                  : split ? " (three tf32 products for one)"
                          : "",
                  std::is_same_v<V, C> ? "" : " to " + type_name<C>(), "\n  chosen: ", to_text(s.choice.policy),
                  "\n  why:    ", s.choice.why, moves, row_scale_text(s.options.row_scale, s.scale),
                  "\n  order:  the same bits every time", "\n  keeps:  ", human_bytes(bytes()), " beside the matrix",
                  matrix::widened_text(s.wide.bytes()),
                  "\n  also possible: ", others.empty() ? "nothing else" : others);
}

template class Plan<double>;
template class Plan<float>;
template class Plan<Float16>;
template class Plan<Float16, float>;
template class Plan<Bfloat16>;
template class Plan<Bfloat16, float>;

}  // namespace tulle::inline TULLE_ABI::spmm
