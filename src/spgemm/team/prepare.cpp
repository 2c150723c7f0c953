// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// From two factors to members that are ready to fill their rows: products are counted and dealt out, nonzeros counted
// and dealt out again.
#include <algorithm>
#include <utility>

#include "partition/members.hpp"
#include "prim/scan.hpp"
#include "spgemm/team/member.hpp"
#include "spgemm/team/split_rows.hpp"
#include "tulle/trace.hpp"

namespace tulle::inline TULLE_ABI::spgemm::team {
namespace {

CpuQueue queue_of(const Context& host) { return host.host(); }

template <class V>
void bound(State<V>& s)
{
    const trace::Phase phase{"bound"};
    const CpuQueue q = queue_of(s.host);
    const auto a = s.a.view(), b = s.b.view();
    s.product_begin = Buffer<offset_t>(q, offset_t{a.rows} + 1);
    count_products(q, a, b, s.product_begin.data());
    prim::exclusive_scan(q, s.product_begin.data(), s.product_begin.data(), a.rows);
    s.products = s.product_begin.data()[a.rows];
}

template <class V>
std::vector<Cut> cut(const State<V>& s, const Buffer<offset_t>& prefix)
{
    return cut_rows(queue_of(s.host), prefix.data(), prefix.size() - 1, static_cast<int>(s.members.size()),
                    s.options.cut_method);
}

// The rows of A between two cuts.
template <class V>
Part rows_between(const State<V>& s, const Cut& from, const Cut& to)
{
    const offset_t* row_begin = s.a.view().row_begin;
    return {row_begin[from.item], row_begin[to.item], static_cast<index_t>(from.item), static_cast<index_t>(to.item),
            false};
}

template <class V>
void bring_b(State<V>& s, Member<V>& m)
{
    if (m.borrows) return;
    const auto b = s.b.view();
    m.b = m.ctx.run([&](const auto& q) { return Csr<V>::make(q, b.rows, b.cols, b.nonzeros); });
    s.link.up(m.ctx, b.row_begin, m.b.row_begin.data(), offset_t{b.rows} + 1);
    s.link.up(m.ctx, b.col, m.b.col.data(), b.nonzeros);
}

// What the member has of these columns already stays; the rest comes from the host.
template <class V>
void bring_columns(State<V>& s, Member<V>& m, const Part& had, const Part& part)
{
    const index_t* col = s.a.view().col;
    Buffer<index_t> mine = m.ctx.run([&](const auto& q) { return Buffer<index_t>(q, part.nonzeros()); });
    const offset_t begin = std::clamp(had.begin, part.begin, part.end), end = std::clamp(had.end, begin, part.end);
    if (end > begin) {
        const index_t* stays = m.col.data() + (begin - had.begin);
        m.ctx.run([&](const auto& q) { copy(q, stays, mine.data() + (begin - part.begin), end - begin); });
    }
    s.link.up(m.ctx, col + part.begin, mine.data(), begin - part.begin);
    s.link.up(m.ctx, col + end, mine.data() + (end - part.begin), part.end - end);
    m.col = std::move(mine);
}

// Where the member's arrays are, for the steps.
template <class V>
void look_at_arrays(State<V>& s, Member<V>& m, const Part& part)
{
    const auto a = s.a.view(), b = s.b.view();
    m.b_view = m.borrows ? b : m.b.view();
    const index_t* col = m.borrows ? a.col + part.begin : s.one_pattern() ? m.b.col.data() + part.begin : m.col.data();
    const V* value = m.borrows ? a.value + part.begin : s.one_matrix() ? m.b.value.data() + part.begin : m.value.data();
    m.a_view = {part.lines(), a.cols, part.nonzeros(), m.pointer.data(), col, value, a.sorted, a.unique};
}

template <class V>
void bring_rows(State<V>& s, Member<V>& m, const Part& had, const Part& part)
{
    const offset_t* row_begin = s.a.view().row_begin + part.first_line;
    m.ctx.run([&](const auto& q) {
        m.pointer = Buffer<offset_t>(q, offset_t{part.lines()} + 1);
        if (!m.borrows) s.link.up(m.ctx, row_begin, m.pointer.data(), m.pointer.size());
        partition::write_pointer(q, m.borrows ? row_begin : m.pointer.data(), part, m.pointer.data());
    });
    if (!m.borrows && !s.one_pattern()) bring_columns(s, m, had, part);
    look_at_arrays(s, m, part);
}

template <class V>
void analyse_rows(const State<V>& s, Member<V>& m)
{
    m.work = Workspace{};
    m.work.sorted = s.options.sorted || s.options.refill != NumericReuse::find_places;
    m.ctx.run([&](const auto& q) { analyse(q, m.a_view, m.b_view, m.policy, m.work); });
}

// The symbolic phase of one member; its counts go to their places on the host.
template <class V>
void count(State<V>& s, Member<V>& m)
{
    bring_b(s, m);
    bring_rows(s, m, {}, m.counted);
    m.ctx.synchronize();
    const double begin = trace::now();
    analyse_rows(s, m);
    Buffer<offset_t> counts = m.ctx.run([&](const auto& q) {
        Buffer<offset_t> found(q, offset_t{m.counted.lines()} + 1);
        count_nonzeros(q, m.a_view, m.b_view, m.policy, m.work, found.data());
        return found;
    });
    m.ctx.synchronize();
    m.symbolic_seconds = trace::now() - begin;
    s.link.down(m.ctx, std::as_const(counts).data(), s.row_begin.data() + m.counted.first_line, m.counted.lines());
}

// Gets ready to fill other rows than were counted, perhaps.
template <class V>
void deal(State<V>& s, Member<V>& m)
{
    const offset_t stay = std::min(m.counted.end, m.filled.end) - std::max(m.counted.begin, m.filled.begin);
    m.moved = m.filled.nonzeros() - std::max(offset_t{0}, stay);
    if (m.filled != m.counted) {
        bring_rows(s, m, m.counted, m.filled);
        analyse_rows(s, m);
    }
    bring_values(s, m);
    const offset_t* whole = s.row_begin.data() + m.filled.first_line;
    m.c_from = whole[0];
    m.c_nonzeros = whole[m.filled.lines()] - whole[0];
    m.ctx.run([&](const auto& q) {
        if (!m.borrows) m.row_begin = to_queue(q, whole, offset_t{m.filled.lines()} + 1);
        m.c_begin = m.borrows ? whole : m.row_begin.data();
        group_rows(q, m.a_view, m.policy, m.work, 0, m.filled.lines(), m.c_begin);
        const NumericReuse way =
            decide_refill(s.options.refill, m.a_view, m.b_view, m.work, m.c_nonzeros, m.ctx.backend());
        m.kept = reserve_kept(q, way, m.a_view, m.b_view, m.work, m.c_begin);
    });
}

template <class V>
std::vector<Member<V>> members_of(const Team& team, const Features& features, const TeamOptions& options)
{
    const bool deterministic = partition::is_deterministic(team);
    std::vector<Member<V>> members;
    for (int number = 0; number < team.size(); ++number) {
        const Limits limits{team[number].backend(), team[number].host().threads, deterministic};
        if (options.force) check_policy(*options.force, limits);
        if (options.force) check_reuse(options.refill, *options.force, limits.backend);
        members.push_back({.ctx = team[number],
                           .policy = options.force ? *options.force : choose(features, limits).policy,
                           .borrows = team[number].backend() == Backend::cpu});
    }
    return members;
}

template <class V>
void count_all(State<V>& s)
{
    const trace::Phase phase{"symbolic"};
    s.count_cuts = cut(s, s.product_begin);
    for (std::size_t m = 0; m < s.members.size(); ++m)
        s.members[m].counted = rows_between(s, s.count_cuts[m], s.count_cuts[m + 1]);
    s.row_begin = Buffer<offset_t>(queue_of(s.host), offset_t{s.a.view().rows} + 1);
    for_members(s, [&](auto& m) { count(s, m); });
    prim::exclusive_scan(queue_of(s.host), s.row_begin.data(), s.row_begin.data(), s.a.view().rows);
    s.nonzeros = s.row_begin.data()[s.a.view().rows];
}

template <class V>
void deal_all(State<V>& s)
{
    const trace::Phase phase{"group"};
    s.fill_cuts = cut(s, s.row_begin);
    for (std::size_t m = 0; m < s.members.size(); ++m)
        s.members[m].filled = rows_between(s, s.fill_cuts[m], s.fill_cuts[m + 1]);
    for_members(s, [&](auto& m) { deal(s, m); });
}

}  // namespace

template <class V>
void bring_values(State<V>& s, Member<V>& m)
{
    const auto a = s.a.view(), b = s.b.view();
    if (!m.borrows) {
        s.link.up(m.ctx, b.value, m.b.value.data(), b.nonzeros);
        if (!s.one_matrix()) {
            if (m.value.size() != m.filled.nonzeros())
                m.value = m.ctx.run([&](const auto& q) { return Buffer<V>(q, m.filled.nonzeros()); });
            s.link.up(m.ctx, a.value + m.filled.begin, m.value.data(), m.filled.nonzeros());
        }
    }
    look_at_arrays(s, m, m.filled);
}

template <class V>
void prepare(State<V>& s, const Team& team, const CsrView<V>& a, const CsrView<V>& b)
{
    s.a = arrange(s.host, a, s.options.op_a, false);
    s.b = arrange(s.host, b, s.options.op_b, true);
    s.features = {s.a.view().rows, s.a.view().cols, s.b.view().cols, a.nonzeros, b.nonzeros};
    s.members = members_of<V>(team, s.features, s.options);
    bound(s);
    count_all(s);
    deal_all(s);
}

template void bring_values(State<float>&, Member<float>&);
template void bring_values(State<double>&, Member<double>&);
template void prepare(State<float>&, const Team&, const CsrView<float>&, const CsrView<float>&);
template void prepare(State<double>&, const Team&, const CsrView<double>&, const CsrView<double>&);

}  // namespace tulle::inline TULLE_ABI::spgemm::team
