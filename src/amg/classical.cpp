// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Classical coarsening: a part of the points is the next level, the others are interpolated from it (classical.hpp).
#include <utility>

#include "amg/setup.hpp"
#include "amg/steps.hpp"
#include "prim/reduce.hpp"
#include "prim/scan.hpp"
#include "tulle/convert.hpp"
#include "tulle/trace.hpp"

namespace tulle::inline TULLE_ABI::amg {
namespace {

template <class V>
struct Dependences {
    Csr<V> needs, dependents;
    Buffer<offset_t> source;
};

template <class V>
Graph graph_of(const Csr<V>& a)
{
    return {a.row_begin.data(), a.col.data()};
}

// Offsets from counts; how many there are in all.
template <class Queue>
offset_t scan(const Queue& q, Buffer<offset_t>& counts)
{
    const offset_t n = counts.size() - 1;
    prim::exclusive_scan(q, counts.data(), counts.data(), n);
    return read_value(q, std::as_const(counts).data() + n);
}

template <class V>
Dependences<V> find_dependences(const Context& ctx, const CsrView<V>& a, double strength)
{
    Dependences<V> d;
    const Dependence<V> of{a, strength};
    d.needs = ctx.run([&](const auto& q) {
        Csr<V> s{.rows = a.rows,
                 .cols = a.cols,
                 .row_begin = Buffer<offset_t>(q, offset_t{a.rows} + 1),
                 .col = {},
                 .value = {}};
        for_each(q, a.rows, CountDependences<V>{of, s.row_begin.data()});
        const offset_t found = scan(q, s.row_begin);
        s.col = Buffer<index_t>(q, found);
        s.value = Buffer<V>(q, found);
        d.source = Buffer<offset_t>(q, found);
        s.sorted = a.sorted;
        for_each(q, a.rows, FillDependences<V>{of, s.row_begin.data(), s.col.data(), s.value.data(), d.source.data()});
        return s;
    });
    d.dependents = transpose(ctx, d.needs.view());
    return d;
}

// Numbers of the coarse points before each point: scanned flags.
template <class Queue, class V>
Buffer<offset_t> choose_points(const Queue& q, const Dependences<V>& d)
{
    const index_t n = d.needs.rows;
    const Graph needs = graph_of(d.needs), dependents = graph_of(d.dependents);
    Buffer<Word> word(q, n), next(q, n);
    Buffer<index_t> open(q, n);
    for_each(q, n, StartPoints{needs, dependents, word.data()});
    do {
        for (int round = 0; round < rounds_at_once<Queue>; ++round) {
            for_each(q, n, DecideCoarse{needs, dependents, word.data(), next.data()});
            for_each(q, n, DecideFine{needs, next.data(), word.data(), open.data()});
        }
    } while (prim::maximum(q, open.data(), n, index_t{0}) > 0);  // the largest undecided word is always decided
    Buffer<offset_t> number(q, offset_t{n} + 1);
    for_each(q, n, FlagRoots{word.data(), number.data()});
    scan(q, number);
    return number;
}

template <class Queue, class V>
Csr<V> with_counts(const Queue& q, index_t rows, index_t cols, bool sorted)
{
    Csr<V> a{.rows = rows, .cols = cols, .row_begin = Buffer<offset_t>(q, offset_t{rows} + 1), .col = {}, .value = {}};
    a.sorted = sorted;
    return a;
}

template <class Queue, class V>
void make_room(const Queue& q, Csr<V>& a, Buffer<offset_t>& source)
{
    const offset_t entries = scan(q, a.row_begin);
    a.col = Buffer<index_t>(q, entries);
    a.value = Buffer<V>(q, entries);
    source = Buffer<offset_t>(q, entries);
}

template <class Queue, class V>
void make_patterns(const Queue& q, const Dependences<V>& d, Interpolation<V>& p)
{
    const index_t n = d.needs.rows;
    const auto coarse = static_cast<index_t>(read_value(q, std::as_const(p.number).data() + n));
    const Points points{p.number.data()};
    const Graph needs = graph_of(d.needs);
    p.direct = with_counts<Queue, V>(q, n, coarse, d.needs.sorted);
    p.through = with_counts<Queue, V>(q, n, n, d.needs.sorted);
    for_each(q, n, CountInterpolation{needs, points, p.direct.row_begin.data(), p.through.row_begin.data()});
    make_room(q, p.direct, p.direct_source);
    make_room(q, p.through, p.through_source);
    for_each(q, n,
             FillInterpolation{needs, d.source.data(), points, p.direct.row_begin.data(), p.through.row_begin.data(),
                               p.direct.col.data(), p.through.col.data(), p.direct_source.data(),
                               p.through_source.data()});
    p.sum = Buffer<V>(q, n);
    p.factor = Buffer<V>(q, n);
}

template <class V>
void choose_points_and_patterns(const Context& ctx, const Dependences<V>& d, Interpolation<V>& p)
{
    ctx.run([&](const auto& q) {
        p.number = choose_points(q, d);
        make_patterns(q, d, p);
    });
}

// The pattern of P.
template <class Queue, class V>
void truncate(const Queue& q, Interpolation<V>& p, int most, Csr<V>& prolongation)
{
    const index_t n = p.product.rows;
    const Ranking<V> ranking{p.product.row_begin.data(), p.product.value.data(), most};
    prolongation = with_counts<Queue, V>(q, n, p.product.cols, true);
    for_each(q, n, CountKept<V>{ranking, prolongation.row_begin.data()});
    make_room(q, prolongation, p.kept);
    for_each(q, n,
             ChooseKept<V>{ranking, p.product.col.data(), prolongation.row_begin.data(), prolongation.col.data(),
                           p.kept.data()});
}

}  // namespace

template <class V>
Interpolation<V> choose_interpolation(const Context& ctx, const LevelData<V>& level, double strength)
{
    const trace::Phase phase{"coarse points"};
    Interpolation<V> p;
    choose_points_and_patterns(ctx, find_dependences(ctx, level.a, strength), p);
    return p;
}

template <class V>
void interpolate(const Context& ctx, LevelData<V>& level, int most, bool fresh)
{
    Transfer<V>& t = *level.next;
    Interpolation<V>& p = *t.interpolation;
    const index_t n = level.a.rows;
    ctx.run([&](const auto& q) {
        for_each(q, n,
                 FillDirect<V>{level.a.value, p.direct.row_begin.data(), p.direct_source.data(), p.direct.value.data(),
                               p.sum.data()});
        for_each(q, n,
                 FillThrough<V>{level.a, Points{p.number.data()}, p.through.row_begin.data(), p.through_source.data(),
                                p.through.col.data(), p.sum.data(), level.diagonal.data(), p.through.value.data(),
                                p.factor.data()});
    });
    multiply(ctx, t.smooth, p.through.view(), p.direct.view(), fresh, p.product);
    ctx.run([&](const auto& q) {
        if (fresh) truncate(q, p, most, t.prolongation);
        for_each(q, n,
                 FillKept<V>{p.product.row_begin.data(), p.product.value.data(), p.factor.data(),
                             t.prolongation.row_begin.data(), p.kept.data(), t.prolongation.value.data()});
    });
}

template <class V>
std::size_t Interpolation<V>::bytes() const
{
    std::size_t sum_of =
        number.bytes() + direct.bytes() + through.bytes() + product.bytes() + sum.bytes() + factor.bytes();
    for (const auto* b : {&direct_source, &through_source, &kept}) sum_of += b->bytes();
    return sum_of;
}

#define TULLE_CLASSICAL(V)                                                                       \
    template struct Interpolation<V>;                                                            \
    template Interpolation<V> choose_interpolation(const Context&, const LevelData<V>&, double); \
    template void interpolate(const Context&, LevelData<V>&, int, bool);
TULLE_CLASSICAL(float)
TULLE_CLASSICAL(double)
#undef TULLE_CLASSICAL

}  // namespace tulle::inline TULLE_ABI::amg
