// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// From op(A) on the host to the members of a team.
//
//   cut        equal shares of the nonzeros: to the nonzero (paper), or at rows where a hundredth allows it
//   stage      several NUMA nodes: one thread of each copies the slice of its members into memory there (level one of
//              two)
//   bring      every member takes its window; the local pointer is computed where it works
//   look, decide, prepare, connect      prepare.cpp
//
// All but the cuts and the decision is done by the members' own threads, side by side.
#include <algorithm>

#include "partition/cutting.hpp"
#include "partition/split_steps.hpp"
#include "spmv/team/member.hpp"
#include "tulle/partition.hpp"
#include "tulle/trace.hpp"

namespace tulle::inline TULLE_ABI::spmv::team {
namespace {

using partition::Cut;
using partition::Rule;

// ---- cut ----

template <class V>
std::vector<Cut> cut(const Context& host, const Arranged<V>& a, int parts, const TeamOptions& options)
{
    const Lines<V>& lines = a.lines;
    const Rule rule = a.fixed ? Rule::whole : options.paper ? Rule::exact : Rule::tolerant;
    const partition::SplitOptions how{.rule = rule, .tolerance = options.tolerance};
    if (a.axis == Axis::none) return partition::split_evenly(lines.nonzeros, parts);
    if (lines.begin) return partition::split(host.host(), lines.begin, lines.lines, parts, how);
    const CooView<V> coo{lines.lines, lines.others, lines.nonzeros,   lines.line,
                         lines.other, lines.value,  CooOrder::by_row, lines.unique};
    return partition::cuts_of(host, coo, parts, how);
}

template <class V>
std::vector<Part> windows(const Arranged<V>& a, const std::vector<Cut>& cuts)
{
    std::vector<Part> parts;
    if (a.axis != Axis::none) return partition::parts_of(cuts);
    for (std::size_t p = 0; p + 1 < cuts.size(); ++p) parts.push_back({.begin = cuts[p].at, .end = cuts[p + 1].at});
    return parts;
}

std::vector<ColumnRange> even_slices(index_t n, int parts)
{
    std::vector<ColumnRange> slices;
    for (int p = 0; p < parts; ++p)
        slices.push_back({static_cast<index_t>(partition::fair_position(n, p, parts)),
                          static_cast<index_t>(partition::fair_position(n, p + 1, parts))});
    return slices;
}

// The first row whose lines begin at `line` or behind it.
template <class V>
index_t row_at(const Arranged<V>& a, index_t line)
{
    return a.folds() ? static_cast<index_t>(prim::lower_bound(a.row_line.data(), a.rows, offset_t{line})) : line;
}

// Who owns which rows of y and which entries of x. A square matrix has both alike, so that y can be the next x.
template <class V>
void deal_vectors(const Arranged<V>& a, std::vector<Member<V>>& members)
{
    const int n = static_cast<int>(members.size());
    const std::vector<ColumnRange> even_y = even_slices(a.rows, n), even_x = even_slices(a.cols, n);
    for (std::size_t p = 0; p < members.size(); ++p) {
        Member<V>& m = members[p];
        m.own_y = even_y[p];
        m.own_x = even_x[p];
        if (a.axis == Axis::rows) m.own_y = {row_at(a, m.part.first_owned()), row_at(a, m.part.last_line)};
        if (a.axis == Axis::rows && a.rows == a.cols) m.own_x = m.own_y;
        if (a.axis == Axis::columns) m.own_x = {m.part.first_owned(), m.part.last_line};
    }
}

// ---- stage and bring ----

// The slice of one NUMA node in memory there: first touched by a thread that stays.
template <class V>
struct Staged {
    offset_t begin = 0, first_line = 0;
    Buffer<offset_t> pointer;
    Buffer<index_t> line, other;
    Buffer<V> value;
};

// GPUs are fed from pinned memory; for CPUs alone, which may have no driver that pins, any memory of the node does.
template <class V>
Staged<V> stage(const Context& ctx, const Lines<V>& lines, const Part& window, Space space)
{
    const auto copied = [&]<class T>(const T* array, offset_t first, offset_t n) {
        Buffer<T> here(ctx.host().memory, Place{.space = space, .device = 0, .stream = nullptr}, array ? n : 0);
        if (array) copy(ctx.host(), array + first, here.data(), n);
        return here;
    };
    const offset_t n = window.nonzeros();
    return {window.begin,
            window.first_line,
            copied(lines.begin, window.first_line, offset_t{window.lines()} + 1),
            copied(lines.line, window.begin, n),
            copied(lines.other, window.begin, n),
            copied(lines.value, window.begin, n)};
}

// A part's arrays on the host: out of the whole ones, or out of those of its node.
template <class V>
struct Window {
    const offset_t* begin;
    const index_t *line, *other;
    const V* value;
};

template <class V>
Window<V> window_of(const Lines<V>& lines, const Part& part)
{
    return {lines.begin ? lines.begin + part.first_line : nullptr, lines.line ? lines.line + part.begin : nullptr,
            lines.other + part.begin, lines.value + part.begin};
}

template <class V>
Window<V> window_of(const Staged<V>& staged, const Part& part)
{
    const offset_t at = part.begin - staged.begin;
    return {staged.pointer.empty() ? nullptr : staged.pointer.data() + (part.first_line - staged.first_line),
            staged.line.empty() ? nullptr : staged.line.data() + at, staged.other.data() + at,
            staged.value.data() + at};
}

// Consecutive members on the same node: {first, last}. Level one of the two-level split; its borders are borders of
// parts.
std::vector<std::pair<int, int>> groups_of(const std::vector<int>& nodes)
{
    std::vector<std::pair<int, int>> groups;
    for (int member = 0; member < static_cast<int>(nodes.size()); ++member) {
        if (member == 0 || nodes[static_cast<std::size_t>(member)] != nodes[static_cast<std::size_t>(member) - 1])
            groups.push_back({member, member});
        groups.back().second = member;
    }
    return groups;
}

template <class Queue, class V>
Buffer<offset_t> local_pointer(const Queue& q, const Window<V>& window, const Part& part)
{
    if (window.begin) {
        Buffer<offset_t> pointer = to_queue(q, window.begin, offset_t{part.lines()} + 1);
        write_pointer(q, pointer.data(), part, pointer.data());
        return pointer;
    }
    const Buffer<index_t> line = to_queue(q, window.line, part.nonzeros());
    Buffer<offset_t> pointer(q, offset_t{part.lines()} + 1);
    find_pointer(q, line.data(), part, pointer.data());
    return pointer;
}

template <class V>
void bring(Member<V>& m, const Window<V>& window, Axis axis)
{
    m.ctx.run([&](const auto& q) {
        const offset_t n = m.part.nonzeros();
        if (axis != Axis::none) m.pointer = local_pointer(q, window, m.part);
        else m.line = to_queue(q, window.line, n);
        m.others = window.other;
        m.values = window.value;
        if (m.borrows) return;
        m.other = to_queue(q, window.other, n);
        m.value = to_queue(q, window.value, n);
        m.others = m.other.data();
        m.values = m.value.data();
    });
}

// Every member's window, from its node where there are several. `staged` lives until all have it.
template <class V>
void bring_all(partition::ThreadPool& crew, const Arranged<V>& a, const std::vector<int>& nodes,
               std::vector<Member<V>>& members)
{
    const trace::Phase phase{"bring"};
    const auto groups = groups_of(nodes);
    std::vector<Staged<V>> staged(groups.size());
    std::vector<std::size_t> group_of(members.size());
    for (std::size_t g = 0; g < groups.size(); ++g)
        for (int member = groups[g].first; member <= groups[g].second; ++member)
            group_of[static_cast<std::size_t>(member)] = g;
    const bool stages = groups.size() > 1;
    if (stages)
        crew.run([&](int member) {
            const std::size_t g = group_of[static_cast<std::size_t>(member)];
            if (groups[g].first != member) return;
            const Part &first = members[static_cast<std::size_t>(groups[g].first)].part,
                       &last = members[static_cast<std::size_t>(groups[g].second)].part;
            const bool feeds_gpu =
                std::any_of(members.begin() + groups[g].first, members.begin() + groups[g].second + 1,
                            [](const Member<V>& m) { return m.ctx.backend() == Backend::cuda; });
            staged[g] = stage(members[static_cast<std::size_t>(member)].ctx, a.lines,
                              {first.begin, last.end, first.first_line, last.last_line, first.head},
                              feeds_gpu ? Space::pinned : Space::host);
        });
    crew.run([&](int member) {
        Member<V>& m = members[static_cast<std::size_t>(member)];
        bring(m,
              stages ? window_of(staged[group_of[static_cast<std::size_t>(member)]], m.part)
                     : window_of(a.lines, m.part),
              a.axis);
        m.ctx.synchronize();  // the stage may go
    });
}

// Another queue of the member's device, so that copies and products overlap; a CPU has one.
Context side_of(const Context& ctx)
{
    if constexpr (build::has_cuda)
        if (ctx.backend() == Backend::cuda)
            return ctx.run([&](const auto& q) {
                if constexpr (std::is_same_v<std::remove_cvref_t<decltype(q)>, CudaQueue>)
                    return Context::cuda(q.device);
                else return ctx;
            });
    return ctx;
}

template <class V>
std::vector<Member<V>> members_for(const Team& team, const std::vector<Part>& parts, bool one_node)
{
    std::vector<Member<V>> members;
    for (int p = 0; p < team.size(); ++p) {
        const Context& ctx = team[p];
        Member<V> m{.ctx = ctx, .side = side_of(ctx), .part = parts[static_cast<std::size_t>(p)]};
        m.borrows = ctx.backend() == Backend::cpu && one_node;
        for (partition::Signal* signal : {&m.ready, &m.done, &m.settled}) *signal = partition::Signal(m.ctx);
        m.arrived = partition::Signal(m.side);
        members.push_back(std::move(m));
    }
    return members;
}

}  // namespace

template <class V>
std::size_t Member<V>::bytes() const
{
    std::size_t all = pointer.bytes() + piece_pointer.bytes() + line.bytes() + other.bytes() + value.bytes() +
                      x.bytes() + y.bytes() + send_at.bytes() + send.bytes() + head.bytes() + heads.bytes() +
                      sums.bytes() + first_line.bytes() + partial.bytes() + others_partial.bytes();
    for (const Piece<V>& piece : pieces) all += piece.plan ? piece.plan->bytes() : 0;
    return all;
}

template <class V>
std::vector<Member<V>> build(const Team& team, partition::ThreadPool& crew, const Arranged<V>& a,
                             const TeamOptions& options, const std::vector<int>& nodes, Decision& decision)
{
    const std::vector<Cut> cuts = cut(Context::cpu(1), a, team.size(), options);
    decision.imbalance = partition::imbalance(cuts);
    std::vector<Member<V>> members = members_for<V>(team, windows(a, cuts), groups_of(nodes).size() == 1);
    deal_vectors(a, members);
    bring_all(crew, a, nodes, members);

    std::vector<Look> looks(members.size());
    const auto each = [&](auto&& work) {
        crew.run([&](int p) { work(members[static_cast<std::size_t>(p)], looks[static_cast<std::size_t>(p)]); });
    };
    if (a.axis == Axis::rows && !options.paper) {
        const trace::Phase phase{"look"};
        each([&](Member<V>& m, Look& seen) { look(m, a, seen); });
    }
    decide(a, options, looks, decision);
    {
        const trace::Phase phase{"prepare"};
        each([&](Member<V>& m, Look& seen) { prepare(m, a, seen, decision, team.size()); });
    }
    connect(crew, a, decision, looks, members);
    each([](Member<V>& m, Look& seen) {
        seen = {};
        m.ctx.synchronize();
    });
    return members;
}

template struct Member<float>;
template struct Member<double>;
template std::vector<Member<float>> build(const Team&, partition::ThreadPool&, const Arranged<float>&,
                                          const TeamOptions&, const std::vector<int>&, Decision&);
template std::vector<Member<double>> build(const Team&, partition::ThreadPool&, const Arranged<double>&,
                                           const TeamOptions&, const std::vector<int>&, Decision&);

}  // namespace tulle::inline TULLE_ABI::spmv::team
