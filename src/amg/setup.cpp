// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "amg/setup.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "amg/steps.hpp"
#include "matrix/convert_steps.hpp"
#include "prim/reduce.hpp"
#include "prim/scan.hpp"
#include "tulle/convert.hpp"
#include "tulle/trace.hpp"
#include "vector/vector.hpp"

namespace tulle::inline TULLE_ABI::amg {
namespace {

// --- The spectral radius of D^-1 A: Lanczos in the inner product of D ---

template <class Queue, class V>
double estimate_radius(const Queue& q, const LevelData<V>& level, const spmv::Plan<V>& product)
{
    const offset_t n = level.a.rows;
    std::array<Buffer<V>, 3> room;
    for (auto& b : room) b = Buffer<V>(q, n);
    Buffer<V>&w = room[0], &u = room[1], &y = room[2];
    vector::PassBuffer sums(q, n);
    Buffer<vector::Lanczos> state(q, 1);
    const V* diagonal = level.diagonal.data();
    fill_zero(q, state.data(), 1);
    vector::fill_scattered(q, n, w.data());
    vector::lanczos_start(q, n, diagonal, std::as_const(w).data(), state.data(), sums.space());
    for (int step = 0; step < lanczos_steps; ++step) {
        product.run(std::as_const(w).span(), y.span());
        vector::lanczos_alpha(q, n, std::as_const(w).data(), std::as_const(y).data(), state.data(), sums.space());
        vector::lanczos_next(q, n, std::as_const(y).data(), diagonal, std::as_const(w).data(), u.data(), state.data(),
                             sums.space());
        std::swap(u, w);
    }
    const vector::Lanczos found = read_value(q, std::as_const(state).data());
    return found.steps == 0 ? 0 : largest_eigenvalue(found.alpha, found.beta, found.steps);
}

// --- Aggregation ---

template <class V>
struct Strong {
    Buffer<offset_t> begin;
    Buffer<index_t> col;
    Buffer<V> weight;
    Graph view() const { return {begin.data(), col.data()}; }
};

template <class Queue, class V>
Strong<V> find_strong(const Queue& q, const CsrView<V>& a, const V* diagonal, double strength)
{
    const index_t n = a.rows;
    const double squared = strength * strength;
    Strong<V> s{Buffer<offset_t>(q, offset_t{n} + 1), {}, {}};
    for_each(q, n, CountStrong<V>{a, diagonal, squared, s.begin.data()});
    prim::exclusive_scan(q, s.begin.data(), s.begin.data(), n);
    const offset_t strong = read_value(q, s.begin.data() + n);
    s.col = Buffer<index_t>(q, strong);
    s.weight = Buffer<V>(q, strong);
    for_each(q, n, FillStrong<V>{a, diagonal, squared, s.begin.data(), s.col.data(), s.weight.data()});
    return s;
}

// The connections of nodes, from those of their unknowns, whose columns ascend.
template <class Queue, class V>
Strong<V> join_unknowns(const Queue& q, const Strong<V>& strong, index_t nodes, index_t unknowns)
{
    Buffer<offset_t> at(q, offset_t{nodes} * unknowns);
    const UnknownGraph<V> graph{strong.view(), strong.weight.data(), unknowns, at.data()};
    Strong<V> s{Buffer<offset_t>(q, offset_t{nodes} + 1), {}, {}};
    for_each(q, nodes, CountNodeNeighbours<V>{graph, s.begin.data()});
    prim::exclusive_scan(q, s.begin.data(), s.begin.data(), nodes);
    const offset_t found = read_value(q, s.begin.data() + nodes);
    s.col = Buffer<index_t>(q, found);
    s.weight = Buffer<V>(q, found);
    for_each(q, nodes, FillNodeNeighbours<V>{graph, s.begin.data(), s.col.data(), s.weight.data()});
    return s;
}

// Numbers of the roots before each row: the scanned flags of a maximal independent set of distance two.
template <class Queue>
Buffer<offset_t> choose_roots(const Queue& q, const Graph& strong, index_t n)
{
    Buffer<Word> word(q, n), around(q, n);
    Buffer<index_t> open(q, n);
    for_each(q, n, StartSet{strong, word.data()});
    do {
        for (int round = 0; round < rounds_at_once<Queue>; ++round) {
            for_each(q, n, LargestAround{strong, word.data(), around.data()});
            for_each(q, n, DecideSet{strong, around.data(), word.data(), open.data()});
        }
    } while (prim::maximum(q, open.data(), n, index_t{0}) > 0);  // the largest undecided word is always decided
    Buffer<offset_t> number(q, offset_t{n} + 1);
    for_each(q, n, FlagRoots{word.data(), number.data()});
    prim::exclusive_scan(q, number.data(), number.data(), n);
    return number;
}

template <class V>
struct Aggregates {
    index_t count;
    Buffer<index_t> of_row;
};

template <class Queue, class V>
Aggregates<V> find_aggregates(const Queue& q, const Strong<V>& strong, index_t n)
{
    const Buffer<offset_t> number = choose_roots(q, strong.view(), n);
    Buffer<index_t> first(q, n), joined(q, n);
    for_each(q, n, JoinRoot{strong.view(), number.data(), first.data()});
    for_each(q, n, JoinNeighbour<V>{strong.view(), strong.weight.data(), first.data(), joined.data()});
    return {static_cast<index_t>(read_value(q, number.data() + n)), std::move(joined)};
}

// Aggregates of nodes, as aggregates of their unknowns.
template <class Queue, class V>
Aggregates<V> find_node_aggregates(const Queue& q, const Strong<V>& strong, index_t n, index_t unknowns)
{
    const index_t nodes = n / unknowns;
    const Aggregates<V> found = find_aggregates(q, join_unknowns(q, strong, nodes, unknowns), nodes);
    Buffer<index_t> of_row(q, n);
    for_each(q, n, SpreadAggregates{found.of_row.data(), unknowns, of_row.data()});
    return {found.count, std::move(of_row)};
}

template <class Queue, class V>
Csr<V> make_tentative(const Queue& q, const Aggregates<V>& aggregates, index_t n, index_t vectors, Buffer<V>& near_null)
{
    Csr<V> t{.rows = n,
             .cols = aggregates.count * vectors,
             .row_begin = Buffer<offset_t>(q, offset_t{n} + 1),
             .col = {},
             .value = {}};
    for_each(q, n, CountTentative{aggregates.of_row.data(), vectors, t.row_begin.data()});
    prim::exclusive_scan(q, t.row_begin.data(), t.row_begin.data(), n);
    const offset_t entries = read_value(q, t.row_begin.data() + n);
    t.col = Buffer<index_t>(q, entries);
    t.value = Buffer<V>(q, entries);
    Buffer<index_t> bin(q, n);
    for_each(q, n, BinRows{aggregates.of_row.data(), aggregates.count, bin.data()});
    const matrix::Groups rows = matrix::group(q, bin.data(), n, aggregates.count + 1);
    Buffer<V> coarse(q, offset_t{t.cols} * vectors);
    for_each(q, aggregates.count,
             Orthonormalize<V>{rows.begin.data(), rows.source.data(), near_null.data(), vectors, t.row_begin.data(),
                               t.col.data(), t.value.data(), coarse.data()});
    near_null = std::move(coarse);
    return t;
}

// --- Prolongator and Galerkin product ---

template <class V>
void smooth_prolongator(const Context& ctx, LevelData<V>& level, double damping, bool fresh)
{
    Transfer<V>& t = *level.next;
    if (damping == 0) {
        if (fresh) t.prolongation = to_csr(ctx, t.tentative.view());
        return;
    }
    multiply(ctx, t.smooth, level.a, t.tentative.view(), fresh, t.product);
    ctx.run([&](const auto& q) {
        if (fresh) {
            t.prolongation = Csr<V>::make(q, t.product.rows, t.product.cols, t.product.nonzeros());
            copy(q, t.product.row_begin.data(), t.prolongation.row_begin.data(), t.product.row_begin.size());
            copy(q, t.product.col.data(), t.prolongation.col.data(), t.product.col.size());
        }
        const V factor = level.spectral_radius > 0 ? static_cast<V>(damping / level.spectral_radius) : V(0);
        for_each(q, t.product.rows,
                 SmoothRow<V>{t.product.row_begin.data(), t.tentative.row_begin.data(), t.product.col.data(),
                              t.tentative.col.data(), t.tentative.value.data(), level.diagonal.data(), factor,
                              t.product.value.data(), t.prolongation.value.data()});
    });
}

template <class V>
void transpose_prolongator(const Context& ctx, Transfer<V>& t, bool fresh)
{
    if (fresh) t.restriction = transpose(ctx, t.prolongation.view(), &t.source);
    else
        ctx.run([&](const auto& q) {
            matrix::gather(q, std::as_const(t.prolongation.value).data(), std::as_const(t.source).data(),
                           t.source.size(), t.restriction.value.data());
        });
}

}  // namespace

double largest_eigenvalue(const double* diagonal, const double* beside, int n)
{
    double low = diagonal[0], high = diagonal[0];
    for (int k = 0; k < n; ++k) {
        const double reach = (k > 0 ? beside[k - 1] : 0) + (k + 1 < n ? beside[k] : 0);
        high = std::max(high, diagonal[k] + reach);
        low = std::max(low, diagonal[k]);
    }
    const auto all_below = [&](double x) {
        double q = 1;
        for (int k = 0; k < n; ++k) {
            q = diagonal[k] - x - (k > 0 ? beside[k - 1] * beside[k - 1] / q : 0);
            if (!(q < 0)) return false;
        }
        return true;
    };
    for (int step = 0; step < 60; ++step) {
        const double middle = low + (high - low) / 2;
        (all_below(middle) ? high : low) = middle;
    }
    return high;
}

const char* problem_text(index_t problem)
{
    return problem == 1   ? " has no diagonal entry, or two"
           : problem == 2 ? " has a diagonal entry that is not positive"
                          : " has an entry that is not finite";
}

template <class V>
void multiply(const Context& ctx, std::optional<spgemm::Plan<V>>& plan, const CsrView<V>& a, const CsrView<V>& b,
              bool fresh, Csr<V>& c)
{
    if (fresh) {
        plan = spgemm::Plan<V>::make(ctx, a, b, {.checked = false});
        c = plan->run();
    } else {
        plan->update_values(a, b);
        plan->run(c);
    }
}

template <class V>
void inspect(const Context& ctx, LevelData<V>& level, const Options& options, bool finest)
{
    const trace::Phase phase{"spectral radius"};
    const index_t n = level.a.rows;
    std::optional<spmv::Plan<V>> own;  // for a moment, where cycles read 16 bits
    if (!level.multiply->full()) own = spmv::Plan<V>::make(ctx, level.a, {.checked = false});
    ctx.run([&](const auto& q) {
        Buffer<index_t> problem(q, n);
        for (Buffer<V>* b : {&level.diagonal, &level.inverse, &level.bound})
            if (b->size() != n) *b = Buffer<V>(q, n);
        for_each(q, n, InspectRow<V>{level.a, level.diagonal.data(), level.bound.data(), problem.data()});
        level.positive = prim::maximum(q, problem.data(), n, index_t{0}) == 0;
        if (finest && !level.positive) {
            Buffer<index_t> here(ctx.host(), n);
            download(q, problem.data(), here.data(), n);
            const auto* row = std::find_if(here.data(), here.data() + n, [](index_t p) { return p > 0; });
            throw ValueError(concat("row ", row - here.data(), problem_text(*row)),
                             "AMG needs a symmetric positive definite matrix");
        }
        const bool l1 = options.smoother == Smoother::l1_jacobi;
        for_each(q, n, InvertDiagonal<V>{level.diagonal.data(), level.bound.data(), l1, level.inverse.data()});
        const auto bound = static_cast<double>(prim::maximum(q, level.bound.data(), n, V(0)));
        const double estimate = estimate_radius(q, level, own ? *own : *level.multiply->full());
        level.spectral_radius = std::min(bound, estimate);
        level.largest = std::min(bound, radius_safety * estimate);
    });
}

template <class V>
void prepare_triangles(const Context& ctx, LevelRows<V>& level)
{
    const trace::Phase phase{"triangles"};
    if (!level.positive) {
        level.lower.reset();
        level.upper.reset();
        return;
    }
    sptrsv::Options o{.uplo = sptrsv::Uplo::lower, .other_side = sptrsv::OtherSide::ignore, .checked = false};
    for (auto* plan : {&level.lower, &level.upper}) {
        if (*plan) (*plan)->update_values(level.a);
        else *plan = sptrsv::Plan<V>::make(ctx, level.a, o);
        o.uplo = sptrsv::Uplo::upper;
    }
}

template <class V>
Csr<V> aggregate(const Context& ctx, const LevelRows<V>& level, double strength, index_t unknowns, index_t vectors,
                 Buffer<V>& near_null)
{
    const trace::Phase phase{"aggregate"};
    const index_t n = level.a.rows;
    const bool by_nodes = unknowns > 1;
    const Csr<V> sorted = by_nodes && !level.a.sorted ? sort_rows(ctx, level.a) : Csr<V>{};
    const CsrView<V> a = sorted.rows > 0 ? sorted.view() : level.a;
    return ctx.run([&](const auto& q) {
        const Strong<V> strong = find_strong(q, a, level.diagonal.data(), strength);
        const Aggregates<V> found =
            by_nodes ? find_node_aggregates(q, strong, n, unknowns) : find_aggregates(q, strong, n);
        return make_tentative(q, found, n, vectors, near_null);
    });
}

template <class V>
void coarsen(const Context& ctx, LevelData<V>& level, const Options& options, bool fresh, Csr<V>& coarse)
{
    Transfer<V>& t = *level.next;
    {
        const trace::Phase phase{"prolongator"};
        if (t.interpolation) interpolate(ctx, level, options.interpolation_entries, fresh);
        else smooth_prolongator(ctx, level, options.prolongator_damping, fresh);
        transpose_prolongator(ctx, t, fresh);
    }
    const trace::Phase phase{"Galerkin product"};
    multiply(ctx, t.right, level.a, t.prolongation.view(), fresh, t.image);
    multiply(ctx, t.left, t.restriction.view(), t.image.view(), fresh, coarse);
}

template <class V>
std::size_t Transfer<V>::bytes() const
{
    std::size_t sum = tentative.bytes() + product.bytes() + prolongation.bytes() + restriction.bytes() + image.bytes() +
                      source.bytes() + (interpolation ? interpolation->bytes() : 0);
    for (const auto* plan : {&smooth, &right, &left}) sum += *plan ? (*plan)->bytes() : 0;
    for (const auto* plan : {&down, &up}) sum += *plan ? (*plan)->bytes() : 0;
    return sum;
}

template <class V>
std::size_t LevelRows<V>::bytes() const
{
    std::size_t sum = (krylov ? krylov->bytes() : 0) + (given ? given->bytes() : 0);
    for (const auto* plan : {&lower, &upper}) sum += *plan ? (*plan)->bytes() : 0;
    for (const Buffer<V>* b : {&diagonal, &inverse, &bound, &r, &z, &residual, &direction}) sum += b->bytes();
    return sum;
}

template <class V>
std::size_t LevelData<V>::bytes() const
{
    return LevelRows<V>::bytes() + own.bytes() + (multiply ? multiply->bytes() : 0) + (full ? full->bytes() : 0) +
           (next ? next->bytes() : 0) + solution.bytes() + (direct ? direct->bytes() : 0);
}

template <class V>
void LevelData<V>::store_dot(const Context& ctx, const Buffer<V>& x, const Buffer<V>& y, int to)
{
    Krylov<V>& k = *this->krylov;
    ctx.run(
        [&](const auto& q) { vector::dot(q, this->rows(), x.data(), y.data(), k.dots.data() + to, k.sums.space()); });
}

template <class V>
using KeptPlan = std::optional<spgemm::Plan<V>>;

#define TULLE_SETUP(V)                                                                                         \
    template struct Transfer<V>;                                                                               \
    template struct LevelRows<V>;                                                                              \
    template struct LevelData<V>;                                                                              \
    template void multiply(const Context&, KeptPlan<V>&, const CsrView<V>&, const CsrView<V>&, bool, Csr<V>&); \
    template void inspect(const Context&, LevelData<V>&, const Options&, bool);                                \
    template void prepare_triangles(const Context&, LevelRows<V>&);                                            \
    template Csr<V> aggregate(const Context&, const LevelRows<V>&, double, index_t, index_t, Buffer<V>&);      \
    template void coarsen(const Context&, LevelData<V>&, const Options&, bool, Csr<V>&);
TULLE_SETUP(float)
TULLE_SETUP(double)
#undef TULLE_SETUP

}  // namespace tulle::inline TULLE_ABI::amg
