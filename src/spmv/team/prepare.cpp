// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What every member needs beside its window of the matrix.
//
//   look       which columns lie outside the member's own slice of x, and which rows need them
//   decide     a halo, or all of x for everybody
//   prepare    columns renumbered, rows in pieces, a plan for each, vectors
//   connect    who sends what to whom
#include <algorithm>

#include "partition/cutting.hpp"
#include "spmv/team/member.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::spmv::team {
namespace {

using partition::Outside;

// A gather that moves less than this many times what the halo moves is preferred: it needs no packing and no
// renumbering.
constexpr double halo_limit = 0.5;
// Rows multiplied while the halo comes cost a part in three pieces instead of one: 15 us more on an H200
// (docs/design/partition.md). That is hidden by a halo that takes as long, 6 MB on a link of 400 GB/s, and by as many
// rows to multiply meanwhile. On a CPU nothing overlaps.
constexpr offset_t interior_nonzeros = offset_t{1} << 22, overlap_bytes = offset_t{6} << 20;

struct Run {
    index_t first = 0, last = 0;
};

// The neighbouring rows with most nonzeros that need nothing from others.
Run interior_rows(const Look& seen, index_t first, index_t lines, Overlap overlap)
{
    if (overlap == Overlap::never) return {first, first};
    const offset_t* begin = seen.pointer.data();
    Run best{first, first};
    for (index_t i = first; i < lines;) {
        const index_t start = i;
        while (i < lines && !seen.reaches.data()[i]) ++i;
        if (begin[i] - begin[start] > begin[best.last] - begin[best.first]) best = {start, i};
        i += i < lines;
    }
    const offset_t enough = overlap == Overlap::always ? 1 : interior_nonzeros;
    return begin[best.last] - begin[best.first] >= enough ? best : Run{first, first};
}

// Head, rows before the interior, interior, rows behind it: those that are there.
template <class V>
void cut_pieces(Member<V>& m, const Look& seen, bool exchanges, index_t head_lines, Overlap overlap)
{
    const index_t lines = m.part.lines();
    const offset_t* begin = seen.pointer.data();
    const auto add = [&](index_t first, index_t last, bool waits, bool head) {
        if (first < last)
            m.pieces.push_back({.first = first,
                                .last = last,
                                .begin = begin[first],
                                .end = begin[last],
                                .waits = waits,
                                .head = head});
    };
    add(0, head_lines, exchanges, true);
    const Run inside =
        exchanges && seen.outside ? interior_rows(seen, head_lines, lines, overlap) : Run{head_lines, head_lines};
    add(head_lines, inside.first, exchanges, false);
    add(inside.first, inside.last, false, false);
    add(inside.last, lines, exchanges, false);
    m.interior = exchanges ? begin[inside.last] - begin[inside.first] : m.part.nonzeros();
}

// Every piece its own pointer from 0 on; a part in one piece has that already.
template <class V>
void point_pieces(Member<V>& m)
{
    if (m.pieces.size() == 1) {
        m.pieces[0].pointer = m.pointer.data();
        return;
    }
    m.ctx.run([&](const auto& q) {
        m.piece_pointer = Buffer<offset_t>(q, m.part.lines() + std::ssize(m.pieces));
        offset_t* to = m.piece_pointer.data();
        for (Piece<V>& piece : m.pieces) {
            const Part window{piece.begin, piece.end, 0, piece.last - piece.first, false};
            write_pointer(q, m.pointer.data() + piece.first, window, to);
            piece.pointer = to;
            to += window.lines() + 1;
        }
        m.pointer = {};
    });
}

// Columns in the numbers of the member's own x.
template <class V>
void renumber_columns(Member<V>& m, const Outside& outside)
{
    m.ctx.run([&](const auto& q) {
        if (m.borrows) m.other = Buffer<index_t>(q, m.part.nonzeros());
        renumber(q, m.others, m.part.nonzeros(), m.own_x, outside.number.data(), m.other.data());
        m.others = m.other.data();
        m.renumbered = true;
    });
}

template <class V>
void make_vectors(Member<V>& m, const Arranged<V>& a, const Decision& d)
{
    const bool whole = d.gather || a.axis == Axis::none;
    const offset_t size = whole ? a.cols : a.axis == Axis::columns ? m.part.lines() : m.own_x.size() + m.halo;
    m.own_at = whole ? m.own_x.begin : a.axis == Axis::columns ? (m.part.head ? 1 : 0) : m.halo_below;
    m.given = !d.paper                  ? m.own_x
              : a.axis == Axis::columns ? ColumnRange{m.part.first_line, m.part.last_line}
                                        : ColumnRange{0, a.cols};
    m.given_at = d.paper ? 0 : m.own_at;
    m.ctx.run([&](const auto& q) {
        m.x = Buffer<V>(q, size);
        m.y = Buffer<V>(q, m.own_y.size());
        fill_zero(q, m.x.data(), size);
        fill_zero(q, m.y.data(), m.y.size());
    });
}

// The numbers a view of the whole piece has: its rows, or, where lines are columns, all rows and the part's columns.
template <class V>
AnyView<V> view_of(const Member<V>& m, const Piece<V>& piece, const Arranged<V>& a)
{
    const CsrView<V> lines{piece.last - piece.first, static_cast<index_t>(m.x.size()),
                           piece.end - piece.begin,  piece.pointer,
                           m.others + piece.begin,   m.values + piece.begin,
                           a.lines.sorted,           a.lines.unique};
    if (a.axis == Axis::rows) return lines;
    if (a.axis == Axis::columns)
        return CscView<V>{a.rows,    lines.rows,  lines.nonzeros, lines.row_begin,
                          lines.col, lines.value, lines.sorted,   lines.unique};
    return CooView<V>{a.rows,   a.cols,   lines.nonzeros, m.line.data(),
                      m.others, m.values, CooOrder::none, a.lines.unique};
}

// Room for what goes between members, and a plan for every piece.
template <class V>
void make_room(Member<V>& m, const Arranged<V>& a, int members)
{
    m.ctx.run([&](const auto& q) {
        if (a.axis != Axis::rows) {
            m.partial = Buffer<V>(q, a.rows);
            m.others_partial = Buffer<V>(q, offset_t{members - 1} * m.own_y.size());
        }
        if (a.axis == Axis::rows && m.part.head && !a.fixed) m.head = Buffer<V>(q, 1);
        if (!a.folds()) return;
        const offset_t* row_line = a.row_line.data();
        Buffer<offset_t> first(m.ctx.host(), offset_t{m.own_y.size()} + 1);
        for (index_t i = 0; i <= m.own_y.size(); ++i) first.data()[i] = row_line[m.own_y.begin + i] - m.part.first_line;
        m.first_line = to_queue(q, first.data(), first.size());
        m.sums = Buffer<V>(q, std::max(offset_t{m.part.lines()}, row_line[m.own_y.end] - m.part.first_line));
    });
}

// ---- who sends what to whom ----

// The owner of an entry among slices in order.
template <class V, class Slice>
int owner_of(const std::vector<Member<V>>& members, Slice slice, index_t entry)
{
    for (std::size_t p = 0; p < members.size(); ++p)
        if (slice(members[p]).has(entry)) return static_cast<int>(p);
    return -1;
}

template <class V>
void connect_halo(std::vector<Member<V>>& members, const std::vector<std::vector<index_t>>& halos,
                  std::vector<std::vector<index_t>>& sends)
{
    for (std::size_t p = 0; p < members.size(); ++p) {
        const std::vector<index_t>& halo = halos[p];
        for (std::size_t o = 0; o < members.size(); ++o) {
            const ColumnRange own = members[o].own_x;
            const auto from = std::lower_bound(halo.begin(), halo.end(), own.begin),
                       to = std::lower_bound(from, halo.end(), own.end);
            if (from == to) continue;
            const offset_t target = (from - halo.begin()) + (o < p ? 0 : members[p].own_x.size());
            members[p].pulls.push_back({static_cast<int>(o), true, std::ssize(sends[o]), target, to - from});
            for (auto col = from; col != to; ++col) sends[o].push_back(*col - own.begin);
        }
    }
}

template <class V>
void connect_all(std::vector<Member<V>>& members)
{
    for (std::size_t p = 0; p < members.size(); ++p)
        for (std::size_t o = 0; o < members.size(); ++o)
            if (o != p && members[o].own_x.size() > 0)
                members[p].pulls.push_back(
                    {static_cast<int>(o), false, members[o].own_at, members[o].own_x.begin, members[o].own_x.size()});
}

// Lines are columns: the x of a cut column lies with its owner.
template <class V>
void connect_columns(std::vector<Member<V>>& members)
{
    for (Member<V>& m : members) {
        if (!m.part.head) continue;
        const int owner = owner_of(
            members, [](const auto& other) { return other.own_x; }, m.part.first_line);
        const Member<V>& from = members[static_cast<std::size_t>(owner)];
        m.pulls.push_back({owner, false, from.own_at + m.part.first_line - from.own_x.begin, 0, 1});
    }
}

// Cut rows: their owner gets what the later members have of them, in order.
template <class V>
void connect_heads(std::vector<Member<V>>& members)
{
    for (std::size_t p = 0; p < members.size(); ++p) {
        if (members[p].head_lines == 0) continue;
        const int owner = owner_of(
            members, [](const auto& m) { return m.own_y; }, members[p].own_y.begin - 1);
        members[static_cast<std::size_t>(owner)].heads_from.push_back(static_cast<int>(p));
    }
    for (Member<V>& m : members)
        if (!m.heads_from.empty()) m.ctx.run([&](const auto& q) { m.heads = Buffer<V>(q, std::ssize(m.heads_from)); });
}

template <class V>
std::vector<index_t> halo_on_host(const Member<V>& m, const Outside& outside)
{
    return m.ctx.run([&](const auto& q) {
        const Buffer<index_t> there = list_halo(q, outside);
        std::vector<index_t> halo(static_cast<std::size_t>(there.size()));
        download(q, there.data(), halo.data(), there.size());
        return halo;
    });
}

}  // namespace

template <class V>
void look(Member<V>& m, const Arranged<V>& a, Look& seen)
{
    m.ctx.run([&](const auto& q) {
        const index_t lines = m.part.lines();
        seen.outside = find_outside(q, m.others, m.part.nonzeros(), a.cols, m.own_x);
        Buffer<unsigned char> reaches(q, lines);
        find_reaching_rows(q, m.pointer.data(), lines, m.others, m.own_x, reaches.data());
        seen.reaches = Buffer<unsigned char>(m.ctx.host(), lines);
        download(q, reaches.data(), seen.reaches.data(), lines);
    });
}

template <class V>
void decide(const Arranged<V>& a, const TeamOptions& options, const std::vector<Look>& looks, Decision& d)
{
    const auto n = static_cast<offset_t>(looks.size());
    ExchangeFeatures& f = d.features;
    f = {a.rows, a.cols, a.lines.nonzeros, static_cast<int>(n), 0, (n - 1) * a.cols};
    d.paper = options.paper;
    d.overlap = options.overlap;
    for (const Look& seen : looks) f.halo += seen.outside ? seen.outside->count : 0;
    const bool small = static_cast<double>(f.halo) <= halo_limit * static_cast<double>(f.gather);
    d.gather = a.axis == Axis::rows && (options.paper || options.exchange == Exchange::gather ||
                                        (options.exchange == Exchange::automatic && !small));
    const std::string share =
        concat(f.halo, " entries of x lie outside their parts, ",
               fixed(f.gather > 0 ? 100.0 * static_cast<double>(f.halo) / static_cast<double>(f.gather) : 0.0, 1),
               " % of what a gather moves");
    d.why = a.axis != Axis::rows                      ? "cut by columns: every member has its own part of x"
            : options.paper                           ? "as in the paper: all of x for everybody"
            : options.exchange != Exchange::automatic ? concat("asked for by the caller; ", share)
                                                      : share;
}

template <class V>
void prepare(Member<V>& m, const Arranged<V>& a, Look& seen, const Decision& d, int members)
{
    const bool halo = a.axis == Axis::rows && !d.gather;
    m.halo = halo ? seen.outside->count : d.gather ? a.cols - m.own_x.size() : 0;
    m.halo_below = halo ? seen.outside->below : 0;
    if (a.axis == Axis::rows) {
        seen.pointer = Buffer<offset_t>(m.ctx.host(), offset_t{m.part.lines()} + 1);
        m.ctx.run([&](const auto& q) { download(q, m.pointer.data(), seen.pointer.data(), seen.pointer.size()); });
        m.head_lines = a.folds()
                           ? std::min(offset_t{m.part.lines()}, a.row_line.data()[m.own_y.begin] - m.part.first_line)
                       : m.part.head ? 1
                                     : 0;
        const bool pays =
            m.ctx.backend() == Backend::cuda && m.halo * static_cast<offset_t>(sizeof(V)) >= overlap_bytes;
        cut_pieces(m, seen, m.halo > 0, static_cast<index_t>(m.head_lines),
                   d.overlap == Overlap::automatic && !pays ? Overlap::never : d.overlap);
        point_pieces(m);
        if (halo) renumber_columns(m, *seen.outside);
    } else
        m.pieces.push_back(
            {.first = 0, .last = m.part.lines(), .begin = 0, .end = m.part.nonzeros(), .pointer = m.pointer.data()});
    make_vectors(m, a, d);
    make_room(m, a, members);
    for (Piece<V>& piece : m.pieces)
        if (!a.fixed) piece.plan.emplace(Plan<V>::make(m.ctx, view_of(m, piece, a), {.checked = false}));
}

template <class V>
void connect(partition::ThreadPool& crew, const Arranged<V>& a, const Decision& d, std::vector<Look>& looks,
             std::vector<Member<V>>& members)
{
    std::vector<std::vector<index_t>> halos(members.size()), sends(members.size());
    if (a.axis == Axis::columns) connect_columns(members);
    else if (d.gather || a.axis == Axis::none) connect_all(members);
    else {
        crew.run([&](int p) {
            halos[static_cast<std::size_t>(p)] =
                halo_on_host(members[static_cast<std::size_t>(p)], *looks[static_cast<std::size_t>(p)].outside);
        });
        connect_halo(members, halos, sends);
    }
    if (a.axis == Axis::rows) connect_heads(members);
    for (std::size_t p = 0; p < members.size(); ++p)
        for (const Pull& pull : members[p].pulls)
            members[static_cast<std::size_t>(pull.from)].pulled_by.push_back(static_cast<int>(p));
    crew.run([&](int member) {
        Member<V>& m = members[static_cast<std::size_t>(member)];
        const auto& at = sends[static_cast<std::size_t>(member)];
        m.ctx.run([&](const auto& q) {
            m.send_at = to_queue(q, at.data(), std::ssize(at));
            m.send = Buffer<V>(q, std::ssize(at));
        });
    });
}

template <class V>
void bring_values(Member<V>& m, const Arranged<V>& a)
{
    const V* host = a.lines.value + m.part.begin;
    if (m.borrows) m.values = host;
    else m.ctx.run([&](const auto& q) { upload(q, host, m.value.data(), m.part.nonzeros()); });
    if (m.borrows && !m.renumbered) m.others = a.lines.other + m.part.begin;
    for (Piece<V>& piece : m.pieces)
        if (piece.plan) piece.plan->update_values(view_of(m, piece, a));
}

template void look(Member<float>&, const Arranged<float>&, Look&);
template void decide(const Arranged<float>&, const TeamOptions&, const std::vector<Look>&, Decision&);
template void prepare(Member<float>&, const Arranged<float>&, Look&, const Decision&, int);
template void connect(partition::ThreadPool&, const Arranged<float>&, const Decision&, std::vector<Look>&,
                      std::vector<Member<float>>&);
template void bring_values(Member<float>&, const Arranged<float>&);
template void look(Member<double>&, const Arranged<double>&, Look&);
template void decide(const Arranged<double>&, const TeamOptions&, const std::vector<Look>&, Decision&);
template void prepare(Member<double>&, const Arranged<double>&, Look&, const Decision&, int);
template void connect(partition::ThreadPool&, const Arranged<double>&, const Decision&, std::vector<Look>&,
                      std::vector<Member<double>>&);
template void bring_values(Member<double>&, const Arranged<double>&);

}  // namespace tulle::inline TULLE_ABI::spmv::team
