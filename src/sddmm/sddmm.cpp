// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A product of dense matrices at the positions of a sparse one.
//
//   look       is the matrix sound
//   choose     how many lanes of a GPU share a nonzero (policy.cpp), unless the caller forces it
//   prepare    on a GPU: the row of each nonzero, so that work is cut by nonzeros, whatever the rows are like; and room
//              for the scores of attention in two kernels
//   run        every nonzero once; nothing is added between threads, so the bits are the same every time
//
// Attention is the same walk row by row with a running softmax (Milakov and Gimelshein, arXiv 1805.02867): scores are
// used where they are computed, or on a GPU stored by one kernel and used by the next.
#include "tulle/sddmm.hpp"

#include <algorithm>
#include <utility>

#include "base/math.hpp"
#include "base/plural.hpp"
#include "device/cuda_devices.hpp"
#include "device/placed.hpp"
#include "matrix/convert_steps.hpp"
#include "matrix/dense_checks.hpp"
#include "matrix/plan_checks.hpp"
#include "prim/scale.hpp"
#include "sddmm/steps.hpp"
#include "tulle/text.hpp"
#include "tulle/trace.hpp"

namespace tulle::inline TULLE_ABI::sddmm {

namespace {

// Room for attention in two kernels. Rows of more than `longest` nonzeros are cut; for V of up to so many columns.
template <class S>
struct Scores {
    Buffer<S> score;
    Buffer<Piece> piece;
    Buffer<S> partial;
    Buffer<PartEnd<S>> end;
    Buffer<int> arrived;
    int longest = 0;
    index_t columns = 0;
    std::size_t bytes() const
    {
        return score.bytes() + piece.bytes() + partial.bytes() + end.bytes() + arrived.bytes();
    }
    ScoresView<S> stored()
    {
        return {score.data(), piece.data(), piece.size(), longest, partial.data(), end.data(), arrived.data()};
    }
};

}  // namespace

template <class V, class C>
struct Plan<V, C>::State {
    Context ctx;
    CsrView<V> a;           // the caller's
    Buffer<offset_t> wide;  // its offsets, where the caller's have 32 bits
    Options options;
    Features features;
    Choice choice;
    Buffer<index_t> row;        // of each nonzero, on a GPU
    Tiles tiles;                // with Policy::tiles, instead
    Scores<Sum<V>> scores;      // with Policy::stored
    const void* known[4] = {};  // arrays already found to be in the right memory
    bool settled = false;       // a kernel has run since the pattern was written
    bool can_be_early = false;
    bool next_is_early() { return std::exchange(settled, true) && can_be_early; }
    Walk walk() { return {row.data(), tiles.view(), choice.policy.lanes, choice.policy.tensor, next_is_early()}; }
    const V* factor() const { return options.scaled ? a.value : nullptr; }
};

namespace {

// X (Q) and Y (K): as many rows as A has rows and columns, and the same columns.
template <class State, class V>
void require_factors(State& s, const DenseView<const V>& x, const DenseView<const V>& y, const char* x_name,
                     const char* y_name)
{
    require<ValueError>(x.cols >= 0, [&] { return concat(x_name, " cannot have ", x.cols, " columns"); });
    matrix::require_shape(x, s.features.rows, x.cols, x_name);
    matrix::require_shape(y, s.features.cols, x.cols, y_name);
}

using Reach = std::pair<std::uintptr_t, std::uintptr_t>;

template <class T>
Reach reach_of(std::span<T> all)
{
    const auto begin = reinterpret_cast<std::uintptr_t>(all.data());
    return {begin, begin + all.size_bytes()};
}

void require_apart(const Reach& a, const Reach& b, const char* a_name, const char* b_name)
{
    const bool apart = a.second <= b.first || b.second <= a.first || a.first == a.second || b.first == b.second;
    require<ValueError>(
        apart, [&] { return concat(a_name, " and ", b_name, " overlap"); }, "give the result memory of its own");
}

template <class State, class V>
void require_dense_placed(State& s, const DenseView<V>& m, int which, const char* name)
{
    const Reach at = matrix::reach(m);
    require_placed(s.ctx, m.data, at.second - at.first, s.known[which], name);
}

template <class State, class V, class C>
void require_operands(State& s, const DenseView<const V>& x, const DenseView<const V>& y, std::span<C> c)
{
    require_factors(s, x, y, "X", "Y");
    require(std::ssize(c) == s.features.nonzeros, [&] {
        return concat("c has ", c.size(), plural(std::ssize(c), " entry", " entries"), ", but A has ",
                      s.features.nonzeros, plural(s.features.nonzeros, " nonzero", " nonzeros"));
    });
    const Reach results = reach_of(c);
    require_apart(matrix::reach(x), results, "X", "c");
    require_apart(matrix::reach(y), results, "Y", "c");
    const bool in_place = std::is_same_v<V, C> && static_cast<const void*>(c.data()) == s.a.value;
    if (s.factor() && !in_place) require_apart(reach_of(std::span(s.a.value, c.size())), results, "values of A", "c");
    require_dense_placed(s, x, 0, "X");
    require_dense_placed(s, y, 1, "Y");
    require_placed(s.ctx, c.data(), c.size(), s.known[2], "c");
}

void require_width(index_t columns)
{
    require<ValueError>(columns >= 0 && columns <= most_attended,
                        [&] { return concat("V has ", columns, " columns, but must have 0 to ", most_attended); });
}

template <class State, class V, class C>
void require_attention(State& s, const DenseView<const V>& q, const DenseView<const V>& k, const DenseView<const V>& v,
                       const DenseView<C>& h)
{
    require_factors(s, q, k, "Q", "K");
    require_width(v.cols);
    matrix::require_shape(v, s.features.cols, v.cols, "V");
    matrix::require_shape(h, s.features.rows, v.cols, "H");
    require_apart(matrix::reach(q), matrix::reach(h), "Q", "H");
    require_apart(matrix::reach(k), matrix::reach(h), "K", "H");
    require_apart(matrix::reach(v), matrix::reach(h), "V", "H");
    require_dense_placed(s, q, 0, "Q");
    require_dense_placed(s, k, 1, "K");
    require_dense_placed(s, v, 2, "V");
    require_dense_placed(s, h, 3, "H");
}

// Rows of more nonzeros are cut: small matrices wait for their longest row (as SpMM's lines, measured on an H200).
constexpr offset_t large_nonzeros = offset_t{1} << 18;
constexpr int longest_of_small = 32, longest_of_large = 64;

template <class S>
void make_room(const CudaQueue& q, const offset_t* row_begin, const Features& t, Scores<S>& to)
{
    constexpr index_t run = 4;
    to.longest = t.nonzeros < large_nonzeros ? longest_of_small : longest_of_large;
    to.columns = t.attended > 0 ? t.attended : std::min(t.k, most_attended);
    to.score = Buffer<S>(q, t.nonzeros);
    to.piece = cut_long_rows(q, row_begin, t.rows, to.longest);
    const offset_t pieces = to.piece.size();
    to.partial = Buffer<S>(q, checked_product(pieces, round_up(to.columns, run), "sums of pieces"));
    to.end = Buffer<PartEnd<S>>(q, pieces);
    to.arrived = Buffer<int>(q, pieces);
    fill_zero(q, to.arrived.data(), pieces);
}

template <class State>
void prepare(const CudaQueue& q, State& s)
{
    s.row = Buffer<index_t>(q, s.a.nonzeros);
    matrix::expand_rows(q, s.a.row_begin, s.a.rows, s.a.nonzeros, s.row.data());
    if (s.choice.policy.tiles) {
        s.tiles = make_tiles(q, s.row.data(), s.a.col, s.a.rows, s.a.cols, s.a.nonzeros);
        s.row = {};
    }
    if (s.choice.policy.stored) make_room(q, s.a.row_begin, s.features, s.scores);
}
template <class State>
void prepare(const CpuQueue&, State&)
{}

// The scores by one kernel, all else by the next.
template <class State, class V, class C>
void attend_stored(const CudaQueue& queue, State& s, const Attention<V, C>& o)
{
    const ScoresView<Sum<V>> stored = s.scores.stored();
    sample<V, Sum<V>>(queue, s.a, s.walk(), {o.alpha, 0, o.q, o.k, o.depth, o.value, stored.score});
    const bool follows = s.can_be_early && s.a.nonzeros > 0;  // the kernel above, behind all that wrote the pattern
    weigh<V, C>(queue, s.a, follows, stored, o);
}
template <class State, class V, class C>
void attend_stored(const CpuQueue&, State&, const Attention<V, C>&)
{}

}  // namespace

template <class V, class C>
Plan<V, C> Plan<V, C>::make(const Context& all, const AnyCsr<V>& given, const Options& options)
{
    const trace::Phase phase{"make"};
    require<ValueError>(options.k >= 0, [&] { return concat("X and Y cannot have ", options.k, " columns"); });
    require_width(options.attended);
    Buffer<offset_t> wide;
    const auto a = matrix::widened<CsrView<V>>(all, given, wide);
    const Context ctx = all.for_work((a.nonzeros + a.rows) / 16 * std::max(index_t{16}, options.k));
    if (options.checked) matrix::check_matrix(ctx, a);
    if (options.force) check_policy(*options.force, ctx.backend());
    const Features features{a.rows, a.cols, a.nonzeros, options.k, sizeof(V), options.attended};
    auto s = std::make_unique<State>(State{.ctx = ctx,
                                           .a = a,
                                           .wide = std::move(wide),
                                           .options = options,
                                           .features = features,
                                           .choice = options.force ? Choice{*options.force, "asked for by the caller"}
                                                                   : choose(features, ctx.backend()),
                                           .row = {},
                                           .tiles = {},
                                           .scores = {}});
    ctx.run([&](const auto& q) { prepare(q, *s); });
    s->can_be_early = cuda::has_dependent_launch(ctx);
    return Plan(std::move(s));
}

template <class V, class C>
void Plan<V, C>::run(Scalar alpha, const DenseView<const V>& x, const DenseView<const V>& y, Scalar beta,
                     std::span<C> c) const
{
    State& s = *state_;
    require_operands(s, x, y, c);
    if (c.empty()) return;
    s.ctx.run([&](const auto& q) {
        if (alpha == 0) return prim::scale(q, c.data(), std::ssize(c), beta);
        sample<V, C>(q, s.a, s.walk(), {alpha, beta, strided(x), strided(y), x.cols, s.factor(), c.data()});
    });
}

template <class V, class C>
void Plan<V, C>::attend(Scalar alpha, const DenseView<const V>& q, const DenseView<const V>& k,
                        const DenseView<const V>& v, const DenseView<C>& h) const
{
    State& s = *state_;
    require_attention(s, q, k, v, h);
    if (s.features.rows == 0 || v.cols == 0) return;
    Attention<V, C> o{alpha, strided(q), strided(k), strided(v), q.cols, v.cols, s.factor(), strided(h)};
    if (alpha == 0) o.depth = 0, o.value = nullptr;  // scores of zero, whatever Q, K and A hold
    s.ctx.run([&](const auto& queue) {
        if (s.choice.policy.stored && v.cols <= s.scores.columns) attend_stored(queue, s, o);
        else sddmm::attend<V, C>(queue, s.a, s.next_is_early(), o);
    });
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
    return state_->wide.bytes() + state_->row.bytes() + state_->tiles.bytes() + state_->scores.bytes();
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

template <class V, class C>
std::string Plan<V, C>::describe() const
{
    const State& s = *state_;
    const Features& t = s.features;
    std::string others;
    for (const Policy& p : candidates(s.ctx.backend()))
        if (p != s.choice.policy) others += (others.empty() ? "" : "; ") + to_text(p);
    return concat("sddmm on ", s.ctx.name(), ": ", t.rows, " x ", t.cols, ", ", t.nonzeros,
                  plural(t.nonzeros, " nonzero", " nonzeros"), s.options.scaled ? " with their values" : "", ", ", t.k,
                  plural(t.k, " column", " columns"), " expected, ", matrix::type_name<V>(),
                  std::is_same_v<V, C> ? "" : " to " + matrix::type_name<C>(), "\n  chosen: ", to_text(s.choice.policy),
                  "\n  why:    ", s.choice.why, "\n  order:  the same bits every time",
                  "\n  keeps:  ", human_bytes(bytes()), " beside the matrix", matrix::widened_text(s.wide.bytes()),
                  "\n  also possible: ", others.empty() ? "nothing else" : others);
}

template class Plan<double>;
template class Plan<float>;
template class Plan<Float16>;
template class Plan<Float16, float>;
template class Plan<Bfloat16>;
template class Plan<Bfloat16, float>;

}  // namespace tulle::inline TULLE_ABI::sddmm
