// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The product on several devices, one host thread for each. DeltaSPARSE's seven stages:
//
//   bound      products of every row, on the host
//   cut        rows dealt out by products
//   count      every member: its rows of A and the pattern of B, nonzeros of its rows of C (symbolic)
//   gather     counts to the host, a running sum: where every row of C begins
//   cut        rows dealt out again, by nonzeros
//   deal       rows of A that have changed hands, values, groups for the rows each member fills
//   fill       columns and values (numeric), gathered on the host, on one member, or nowhere
//
// The steps are those of one device (steps.hpp); the paper's sections are mapped to files in docs/design/spgemm.md.
#include "tulle/spgemm/multi.hpp"

#include <algorithm>
#include <utility>

#include "tulle/base/text.hpp"
#include "tulle/partition/crew.hpp"
#include "tulle/partition/members.hpp"
#include "tulle/partition/nodes.hpp"
#include "tulle/prim/scan.hpp"
#include "tulle/spgemm/factor.hpp"
#include "tulle/spgemm/places.hpp"
#include "tulle/spgemm/steps.hpp"

namespace tulle::spgemm {
namespace {

using partition::Cut;
using partition::Part;

template <class V>
struct Member {
    Context ctx;
    Policy policy = {};
    Part counted = {}, filled = {};           // rows of A, and of C
    bool borrows = false;                     // works on the host's arrays
    Buffer<offset_t> pointer = {};            // of its rows of A
    Buffer<index_t> col = {};                 // theirs, unless they are a slice of B's or the host's
    Buffer<V> value = {};
    Csr<V> b = {};                            // empty where it borrows
    CsrView<V> a_view = {}, b_view = {};
    Workspace work = {};
    Buffer<offset_t> row_begin = {};          // of its rows of C, in numbers of the whole C; empty where it borrows
    const offset_t* c_begin = nullptr;
    Places places = {};                       // of its products, where they are kept
    offset_t c_from = 0, c_nonzeros = 0;      // its entries in the whole C
    offset_t moved = 0;
    double count_seconds = 0, fill_seconds = 0;

    std::size_t bytes() const { return pointer.bytes() + col.bytes() + value.bytes() + b.bytes() + work.bytes() + row_begin.bytes() + places.bytes(); }
    Stretch<V> rows(index_t* to_col, V* to_value) const { return {0, filled.lines(), c_begin, c_from, to_col, to_value}; }
};

}  // namespace

template <class V>
struct TeamPlan<V>::State {
    Context host;
    TeamOptions options;
    Factor<V> a = {}, b = {};                 // on the host
    offset_t products = 0, nonzeros = 0;
    Buffer<offset_t> product_begin = {};      // products before every row
    Buffer<offset_t> row_begin = {};          // of C
    std::vector<Cut> count_cuts = {}, fill_cuts = {};
    partition::Crew crew;
    partition::Link link = {};
    std::vector<Member<V>> members = {};

    bool keeps_places() const { return options.refill == Refill::keep_places; }
    bool one_pattern() const { return a.view().col == b.view().col && a.view().row_begin == b.view().row_begin; }
    bool one_matrix() const { return one_pattern() && a.view().value == b.view().value; }
};

namespace {

CpuQueue queue_of(const Context& host) { return host.host(); }

// work(member) on every member's thread, or one after the other.
template <class State, class Work>
void for_members(State& s, const Work& work)
{
    const auto one = [&](int number) { work(s.members[static_cast<std::size_t>(number)]); };
    if (!s.options.take_turns) return s.crew.run(one);
    for (int number = 0; number < static_cast<int>(s.members.size()); ++number) one(number);
}

// ---- preparing ----

template <class State>
void bound(State& s)
{
    const trace::Phase phase{"bound"};
    const CpuQueue q = queue_of(s.host);
    const auto a = s.a.view(), b = s.b.view();
    s.product_begin = Buffer<offset_t>(q, offset_t{a.rows} + 1);
    count_products(q, a, b, s.product_begin.data());
    prim::exclusive_scan(q, s.product_begin.data(), s.product_begin.data(), a.rows);
    s.products = s.product_begin.data()[a.rows];
}

template <class State>
std::vector<Cut> cut(const State& s, const Buffer<offset_t>& prefix)
{
    return cut_rows(queue_of(s.host), prefix.data(), prefix.size() - 1, static_cast<int>(s.members.size()), s.options.cutting);
}

// The rows of A between two cuts.
template <class State>
Part rows_between(const State& s, const Cut& from, const Cut& to)
{
    const offset_t* row_begin = s.a.view().row_begin;
    return {row_begin[from.item], row_begin[to.item], static_cast<index_t>(from.item), static_cast<index_t>(to.item), false};
}

template <class State, class V>
void bring_b(State& s, Member<V>& m)
{
    if (m.borrows) return;
    const auto b = s.b.view();
    m.b = m.ctx.run([&](const auto& q) { return Csr<V>::make(q, b.rows, b.cols, b.nonzeros); });
    s.link.up(m.ctx, b.row_begin, m.b.row_begin.data(), offset_t{b.rows} + 1);
    s.link.up(m.ctx, b.col, m.b.col.data(), b.nonzeros);
}

// What the member has of these columns already stays; the rest comes from the host.
template <class State, class V>
void bring_columns(State& s, Member<V>& m, const Part& had, const Part& part)
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
template <class State, class V>
void look_at_arrays(State& s, Member<V>& m, const Part& part)
{
    const auto a = s.a.view(), b = s.b.view();
    m.b_view = m.borrows ? b : m.b.view();
    const index_t* col = m.borrows ? a.col + part.begin : s.one_pattern() ? m.b.col.data() + part.begin : m.col.data();
    const V* value = m.borrows ? a.value + part.begin : s.one_matrix() ? m.b.value.data() + part.begin : m.value.data();
    m.a_view = {part.lines(), a.cols, part.nonzeros(), m.pointer.data(), col, value, a.sorted, a.unique};
}

template <class State, class V>
void bring_rows(State& s, Member<V>& m, const Part& had, const Part& part)
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

template <class State, class V>
void bring_values(State& s, Member<V>& m)
{
    const auto a = s.a.view(), b = s.b.view();
    if (!m.borrows) {
        s.link.up(m.ctx, b.value, m.b.value.data(), b.nonzeros);
        if (!s.one_matrix()) {
            if (m.value.size() != m.filled.nonzeros()) m.value = m.ctx.run([&](const auto& q) { return Buffer<V>(q, m.filled.nonzeros()); });
            s.link.up(m.ctx, a.value + m.filled.begin, m.value.data(), m.filled.nonzeros());
        }
    }
    look_at_arrays(s, m, m.filled);
}

template <class State, class V>
void analyse_rows(const State& s, Member<V>& m)
{
    m.work = Workspace{};
    m.work.sorted = s.options.sorted || s.keeps_places();
    m.ctx.run([&](const auto& q) { analyse(q, m.a_view, m.b_view, m.policy, m.work); });
}

// The symbolic phase of one member; its counts go to their places on the host.
template <class State, class V>
void count(State& s, Member<V>& m)
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
    m.count_seconds = trace::now() - begin;
    s.link.down(m.ctx, std::as_const(counts).data(), s.row_begin.data() + m.counted.first_line, m.counted.lines());
}

// Gets ready to fill other rows than were counted, perhaps.
template <class State, class V>
void deal(State& s, Member<V>& m)
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
        if (s.keeps_places()) m.places = reserve_places(q, m.a_view, m.b_view, m.work, m.c_begin);
    });
}

template <class V>
std::vector<Member<V>> members_of(const Team& team, const Traits& traits, const TeamOptions& options)
{
    const bool deterministic = partition::is_deterministic(team);
    std::vector<Member<V>> members;
    for (int number = 0; number < team.size(); ++number) {
        const Limits limits{team[number].backend(), team[number].host().threads, deterministic};
        if (options.force) check_policy(*options.force, limits);
        if (options.force && options.refill == Refill::keep_places) check_keeps_places(*options.force, limits.backend);
        members.push_back({.ctx = team[number], .policy = options.force ? *options.force : choose(traits, limits).policy,
                           .borrows = team[number].backend() == Backend::cpu});
    }
    return members;
}

template <class State>
void count_all(State& s)
{
    const trace::Phase phase{"symbolic"};
    s.count_cuts = cut(s, s.product_begin);
    for (std::size_t m = 0; m < s.members.size(); ++m) s.members[m].counted = rows_between(s, s.count_cuts[m], s.count_cuts[m + 1]);
    s.row_begin = Buffer<offset_t>(queue_of(s.host), offset_t{s.a.view().rows} + 1);
    for_members(s, [&](auto& m) { count(s, m); });
    prim::exclusive_scan(queue_of(s.host), s.row_begin.data(), s.row_begin.data(), s.a.view().rows);
    s.nonzeros = s.row_begin.data()[s.a.view().rows];
}

template <class State>
void deal_all(State& s)
{
    const trace::Phase phase{"group"};
    s.fill_cuts = cut(s, s.row_begin);
    for (std::size_t m = 0; m < s.members.size(); ++m) s.members[m].filled = rows_between(s, s.fill_cuts[m], s.fill_cuts[m + 1]);
    for_members(s, [&](auto& m) { deal(s, m); });
}

// ---- computing ----

// work(queue) with a member's clock running.
template <class V, class Work>
void timed(Member<V>& m, const Work& work)
{
    const double begin = trace::now();
    m.ctx.run(work);
    m.ctx.synchronize();
    m.fill_seconds = trace::now() - begin;
}

template <class V>
void fill_into(Member<V>& m, index_t* col, V* value)
{
    timed(m, [&](const auto& q) { fill(q, m.a_view, m.b_view, m.policy, m.work, m.rows(col, value)); });
}

// The values of a part whose columns are there; the first time, where places are kept, they are noted on the way.
template <class V>
void refill_part(Member<V>& m, Csr<V>& part, bool keeps_places)
{
    const Stretch<V> c = m.rows(part.col.data(), part.value.data());
    timed(m, [&](const auto& q) {
        if (keeps_places && !m.places.known) place_products(q, m.a_view, m.b_view, m.work, c, m.places);
        if (m.places.known) add_placed(q, m.a_view, m.b_view, m.work, m.places, c);
        else refill(q, m.a_view, m.b_view, m.policy, m.work, c);
    });
}

template <class V>
bool gives_sorted(const Member<V>& m)
{
    return m.work.sorted || always_sorts(m.policy, m.ctx.backend());
}

// Columns and values of a member's rows, in its memory.
template <class V>
Csr<V> fill_here(Member<V>& m)
{
    Csr<V> c = m.ctx.run([&](const auto& q) { return Csr<V>::make(q, m.filled.lines(), m.b_view.cols, m.c_nonzeros); });
    c.sorted = gives_sorted(m);
    m.ctx.run([&](const auto& q) { shift_offsets(q, m.c_begin, m.c_from, c.row_begin.size(), c.row_begin.data()); });
    fill_into(m, c.col.data(), c.value.data());
    return c;
}

template <class V>
bool is_of_one_kind(const std::vector<Member<V>>& members)
{
    return std::all_of(members.begin(), members.end(), [&](const auto& m) {
        return m.borrows == members.front().borrows && is_repeatable(m.policy, m.ctx.backend());
    });
}

}  // namespace

template <class V> TeamPlan<V>::TeamPlan(std::unique_ptr<State> state) : state_(std::move(state)) {}
template <class V> TeamPlan<V>::TeamPlan(TeamPlan&&) noexcept = default;
template <class V> TeamPlan<V>& TeamPlan<V>::operator=(TeamPlan&&) noexcept = default;
template <class V> TeamPlan<V>::~TeamPlan() = default;

template <class V>
TeamPlan<V> TeamPlan<V>::make(const Team& team, const CsrView<V>& a, const CsrView<V>& b, const TeamOptions& options)
{
    const Context host = partition::host_for(a.nonzeros + b.nonzeros);
    check_factors(host, a, b, {.op_a = options.op_a, .op_b = options.op_b, .checked = options.checked});
    auto s = std::unique_ptr<State>(new State{.host = host, .options = options, .crew = partition::Crew(team.size(), partition::nodes_of(team))});
    s->a = arrange(host, a, options.op_a, false);
    s->b = arrange(host, b, options.op_b, true);
    s->members = members_of<V>(team, {s->a.view().rows, s->a.view().cols, s->b.view().cols, a.nonzeros, b.nonzeros}, options);
    bound(*s);
    count_all(*s);
    deal_all(*s);
    return TeamPlan(std::move(s));
}

template <class V>
Csr<V> TeamPlan<V>::run()
{
    State& s = *state_;
    const trace::Phase phase{"numeric"};
    const CpuQueue q = queue_of(s.host);
    Csr<V> c = Csr<V>::make(q, rows(), cols(), s.nonzeros);
    c.sorted = std::all_of(s.members.begin(), s.members.end(), gives_sorted<V>);
    copy(q, std::as_const(s.row_begin).data(), c.row_begin.data(), c.row_begin.size());
    for_members(s, [&](Member<V>& m) {
        if (m.borrows) return fill_into(m, c.col.data() + m.c_from, c.value.data() + m.c_from);
        const Csr<V> mine = fill_here(m);
        s.link.down(m.ctx, mine.col.data(), c.col.data() + m.c_from, m.c_nonzeros);
        s.link.down(m.ctx, mine.value.data(), c.value.data() + m.c_from, m.c_nonzeros);
    });
    return c;
}

template <class V>
std::vector<Csr<V>> TeamPlan<V>::run_parts()
{
    State& s = *state_;
    const trace::Phase phase{"numeric"};
    std::vector<Csr<V>> parts(s.members.size());
    for_members(s, [&](Member<V>& m) { parts[static_cast<std::size_t>(&m - s.members.data())] = fill_here(m); });
    return parts;
}

template <class V>
void TeamPlan<V>::run_parts(std::vector<Csr<V>>& parts)
{
    State& s = *state_;
    const trace::Phase phase{"refill"};
    require<PlanMismatch>(parts.size() == s.members.size(), [&] { return concat("the plan gives ", s.members.size(), " parts, those to compute again are ", parts.size()); });
    for (std::size_t k = 0; k < parts.size(); ++k)
        require<PlanMismatch>(parts[k].rows == s.members[k].filled.lines() && parts[k].cols == cols() && parts[k].nonzeros() == s.members[k].c_nonzeros, [&] {
            return concat("part ", k, " has ", s.members[k].filled.lines(), " rows with ", s.members[k].c_nonzeros, " nonzeros, the one to compute again ", parts[k].rows, " with ", parts[k].nonzeros());
        });
    for_members(s, [&](Member<V>& m) { refill_part(m, parts[static_cast<std::size_t>(&m - s.members.data())], s.keeps_places()); });
}

template <class V>
Csr<V> TeamPlan<V>::run_on(int member)
{
    State& s = *state_;
    partition::require_member(member, members());
    const Context& there = s.members[static_cast<std::size_t>(member)].ctx;
    Csr<V> c = there.run([&](const auto& q) { return Csr<V>::make(q, rows(), cols(), s.nonzeros); });
    c.sorted = std::all_of(s.members.begin(), s.members.end(), gives_sorted<V>);
    s.link.up(there, std::as_const(s.row_begin).data(), c.row_begin.data(), c.row_begin.size());
    there.synchronize();
    std::vector<Csr<V>> parts(s.members.size());
    for_members(s, [&](Member<V>& m) {
        const auto number = &m - s.members.data();
        if (number == member) return fill_into(m, c.col.data() + m.c_from, c.value.data() + m.c_from);
        parts[static_cast<std::size_t>(number)] = fill_here(m);
    });
    for (std::size_t k = 0; k < parts.size(); ++k) {                        // everybody has finished, so nobody need wait
        const Member<V>& m = s.members[k];
        s.link.across(m.ctx, std::as_const(parts[k].col).data(), there, c.col.data() + m.c_from, parts[k].nonzeros());
        s.link.across(m.ctx, std::as_const(parts[k].value).data(), there, c.value.data() + m.c_from, parts[k].nonzeros());
    }
    there.synchronize();
    for (const Member<V>& m : s.members) m.ctx.synchronize();
    return c;
}

template <class V>
void TeamPlan<V>::update_values(const CsrView<V>& a, const CsrView<V>& b)
{
    State& s = *state_;
    require_same_shape(s.a.given, a, "A");
    require_same_shape(s.b.given, b, "B");
    renew(s.host, s.a, a, s.options.op_a, false);
    renew(s.host, s.b, b, s.options.op_b, true);
    for_members(s, [&](Member<V>& m) { bring_values(s, m); });
}

template <class V>
index_t TeamPlan<V>::first_row(int member) const
{
    if (member != members()) partition::require_member(member, members());
    return static_cast<index_t>(state_->fill_cuts[static_cast<std::size_t>(member)].item);
}

template <class V> index_t TeamPlan<V>::rows() const { return state_->a.view().rows; }
template <class V> index_t TeamPlan<V>::cols() const { return state_->b.view().cols; }
template <class V> offset_t TeamPlan<V>::products() const { return state_->products; }
template <class V> offset_t TeamPlan<V>::nonzeros() const { return state_->nonzeros; }
template <class V> int TeamPlan<V>::members() const { return static_cast<int>(state_->members.size()); }
template <class V> double TeamPlan<V>::count_imbalance() const { return partition::imbalance(state_->count_cuts); }
template <class V> double TeamPlan<V>::fill_imbalance() const { return partition::imbalance(state_->fill_cuts); }
template <class V> partition::Traffic TeamPlan<V>::traffic() const { return state_->link.traffic(); }

template <class V>
std::vector<TeamPart> TeamPlan<V>::parts() const
{
    const State& s = *state_;
    std::vector<TeamPart> all;
    for (const Member<V>& m : s.members) {
        const offset_t products = s.product_begin.data()[m.counted.last_line] - s.product_begin.data()[m.counted.first_line];
        all.push_back({m.ctx.name(), m.counted.lines(), m.filled.lines(), products, m.c_nonzeros, m.moved, m.bytes(), m.count_seconds,
                       m.fill_seconds, to_text(m.policy)});
    }
    return all;
}

template <class V>
std::string TeamPlan<V>::describe() const
{
    const State& s = *state_;
    std::string text = concat("spgemm on a team of ", members(), ": ", rows(), " x ", s.a.view().cols, " times ", s.b.view().rows, " x ", cols(),
                              sizeof(V) == 4 ? ", float" : ", double", "\n  C:       ", grouped(s.nonzeros), " nonzeros from ",
                              grouped(s.products), " products",
                              "\n  counted: rows dealt out by products, the largest part has ", fixed(count_imbalance(), 3), " times the mean",
                              "\n  filled:  rows dealt out by nonzeros, the largest part has ", fixed(fill_imbalance(), 3), " times the mean",
                              "\n  order:   ", is_of_one_kind(s.members) ? "the same bits for any number of members" : "as the members' kernels add");
    for (const TeamPart& p : parts())
        text += concat("\n  ", p.where, ": counts ", grouped(p.counted_rows), " rows with ", grouped(p.products), " products, fills ",
                       grouped(p.filled_rows), " rows with ", grouped(p.nonzeros), " nonzeros, ", human_bytes(p.bytes), "; ", p.policy);
    return text;
}

template class TeamPlan<float>;
template class TeamPlan<double>;

}  // namespace tulle::spgemm
