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
// The stages up to deal are in prepare.cpp. The steps are those of one device (steps.hpp); the paper's sections
// are mapped to files in docs/design/spgemm.md.
#include "tulle/spgemm_team.hpp"

#include <algorithm>
#include <utility>

#include "base/plural.hpp"
#include "device/host_memory.hpp"
#include "partition/members.hpp"
#include "partition/nodes.hpp"
#include "spgemm/team/member.hpp"
#include "tulle/partition.hpp"
#include "tulle/text.hpp"
#include "tulle/trace.hpp"

namespace tulle::inline TULLE_ABI::spgemm {

using team::for_members;
using team::Member;

template <class V>
struct TeamPlan<V>::State : team::State<V> {};

namespace {

// work(queue) with a member's clock running.
template <class V, class Work>
void timed(Member<V>& m, const Work& work)
{
    const double begin = trace::now();
    m.ctx.run(work);
    m.ctx.synchronize();
    m.numeric_seconds = trace::now() - begin;
}

template <class V>
void fill_into(Member<V>& m, index_t* col, V* value)
{
    timed(m, [&](const auto& q) { fill(q, m.a_view, m.b_view, m.policy, m.work, m.rows(col, value)); });
}

// The values of a part whose columns are there; the first time, what is kept of products is found on the way.
template <class V>
void refill_part(Member<V>& m, Csr<V>& part)
{
    const RowRange<V> c = m.rows(part.col.data(), part.value.data());
    timed(m, [&](const auto& q) {
        keep(q, m.a_view, m.b_view, m.work, c, m.kept);
        refill_by(q, m.a_view, m.b_view, m.policy, m.work, m.kept, c);
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

template <class V>
TeamPlan<V> TeamPlan<V>::make(const Team& team, const AnyCsr<V>& any_a, const AnyCsr<V>& any_b,
                              const TeamOptions& options)
{
    const auto nonzeros_of = [](const AnyCsr<V>& any) {
        return std::visit([](const auto& m) { return m.nonzeros; }, any);
    };
    const Context host = partition::host_for(std::max(nonzeros_of(any_a), nonzeros_of(any_b)));
    Wide<V> given = widen(host, any_a, any_b);
    const CsrView<V> a = given.a, b = given.b;
    check_factors(host, a, b,
                  {.op_a = options.op_a, .op_b = options.op_b, .checked = options.checked, .refill = options.refill});
    auto s = std::unique_ptr<State>(new State{{.host = host,
                                               .options = options,
                                               .given = std::move(given),
                                               .crew = partition::ThreadPool(team.size(), partition::nodes_of(team))}});
    team::prepare(*s, team, a, b);
    return TeamPlan(std::move(s));
}

template <class V>
Csr<V> TeamPlan<V>::run()
{
    State& s = *state_;
    const trace::Phase phase{"numeric"};
    const CpuQueue q = s.host.host();
    host::require_room("host memory for C", (sizeof(index_t) + sizeof(V)) * static_cast<std::size_t>(s.nonzeros));
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
    require<PlanMismatch>(parts.size() == s.members.size(), [&] {
        return concat("the plan gives ", s.members.size(), " parts, those to compute again are ", parts.size());
    });
    for (std::size_t k = 0; k < parts.size(); ++k)
        require<PlanMismatch>(parts[k].rows == s.members[k].filled.lines() && parts[k].cols == cols() &&
                                  parts[k].nonzeros() == s.members[k].c_nonzeros &&
                                  parts[k].value.size() == parts[k].nonzeros(),
                              [&] {
                                  return concat("part ", k, " has ", s.members[k].filled.lines(), " rows with ",
                                                s.members[k].c_nonzeros, " nonzeros, the one to compute again ",
                                                parts[k].rows, " with ", parts[k].nonzeros());
                              });
    for_members(s, [&](Member<V>& m) { refill_part(m, parts[static_cast<std::size_t>(&m - s.members.data())]); });
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
    for (std::size_t k = 0; k < parts.size(); ++k) {  // everybody has finished, so nobody need wait
        const Member<V>& m = s.members[k];
        s.link.across(m.ctx, std::as_const(parts[k].col).data(), there, c.col.data() + m.c_from, parts[k].nonzeros());
        s.link.across(m.ctx, std::as_const(parts[k].value).data(), there, c.value.data() + m.c_from,
                      parts[k].nonzeros());
    }
    there.synchronize();
    for (const Member<V>& m : s.members) m.ctx.synchronize();
    return c;
}

template <class V>
void TeamPlan<V>::update_values(const AnyCsr<V>& a, const AnyCsr<V>& b)
{
    State& s = *state_;
    renew(s.host, s.given, a, b);
    renew(s.host, s.a, s.given.a, s.options.op_a, false);
    renew(s.host, s.b, s.given.b, s.options.op_b, true);
    for_members(s, [&](Member<V>& m) { bring_values(s, m); });
}

template <class V>
index_t TeamPlan<V>::first_row(int member) const
{
    if (member != members()) partition::require_member(member, members());
    return static_cast<index_t>(state_->fill_cuts[static_cast<std::size_t>(member)].item);
}

template <class V>
index_t TeamPlan<V>::rows() const
{
    return state_->a.view().rows;
}
template <class V>
index_t TeamPlan<V>::cols() const
{
    return state_->b.view().cols;
}
template <class V>
offset_t TeamPlan<V>::products() const
{
    return state_->products;
}
template <class V>
offset_t TeamPlan<V>::nonzeros() const
{
    return state_->nonzeros;
}
template <class V>
int TeamPlan<V>::members() const
{
    return static_cast<int>(state_->members.size());
}
template <class V>
const TeamOptions& TeamPlan<V>::policy() const
{
    return state_->options;
}
template <class V>
const Features& TeamPlan<V>::features() const
{
    return state_->features;
}
template <class V>
double TeamPlan<V>::symbolic_imbalance() const
{
    return partition::imbalance(state_->count_cuts);
}
template <class V>
double TeamPlan<V>::numeric_imbalance() const
{
    return partition::imbalance(state_->fill_cuts);
}
template <class V>
partition::Traffic TeamPlan<V>::traffic() const
{
    return state_->link.traffic();
}
template <class V>
void TeamPlan<V>::reset_traffic()
{
    state_->link.reset();
}

template <class V>
std::size_t TeamPlan<V>::bytes() const
{
    const State& s = *state_;
    std::size_t all = s.given.bytes() + s.a.bytes() + s.b.bytes() + s.product_begin.bytes() + s.row_begin.bytes();
    for (const Member<V>& m : s.members) all += m.bytes();
    return all;
}

template <class V>
std::vector<TeamPart> TeamPlan<V>::parts() const
{
    const State& s = *state_;
    std::vector<TeamPart> all;
    for (const Member<V>& m : s.members) {
        const offset_t products =
            s.product_begin.data()[m.counted.last_line] - s.product_begin.data()[m.counted.first_line];
        all.push_back({m.ctx.name(), m.counted.lines(), m.filled.lines(), products, m.c_nonzeros, m.moved, m.bytes(),
                       m.symbolic_seconds, m.numeric_seconds, to_text(m.policy)});
    }
    return all;
}

template <class V>
std::string TeamPlan<V>::describe() const
{
    const State& s = *state_;
    std::string text =
        concat("spgemm on a team of ", members(), ": ", rows(), " x ", s.a.view().cols, " times ", s.b.view().rows,
               " x ", cols(), sizeof(V) == 4 ? ", float" : ", double", "\n  C:       ", grouped(s.nonzeros),
               plural(s.nonzeros, " nonzero from ", " nonzeros from "), grouped(s.products),
               plural(s.products, " product", " products"),
               "\n  counted: rows dealt out by products, the largest part has ", fixed(symbolic_imbalance(), 3),
               " times the mean", "\n  filled:  rows dealt out by nonzeros, the largest part has ",
               fixed(numeric_imbalance(), 3), " times the mean", "\n  order:   ",
               is_of_one_kind(s.members) ? "the same bits for any number of members" : "as the members' kernels add");
    text += matrix::widened_text(s.given.bytes());
    for (const TeamPart& p : parts())
        text += concat("\n  ", p.where, ": counts ", grouped(p.symbolic_rows),
                       plural(p.symbolic_rows, " row with ", " rows with "), grouped(p.products),
                       plural(p.products, " product, fills ", " products, fills "), grouped(p.numeric_rows),
                       plural(p.numeric_rows, " row with ", " rows with "), grouped(p.nonzeros),
                       plural(p.nonzeros, " nonzero, ", " nonzeros, "), human_bytes(p.bytes), "; ", p.policy);
    return text;
}

template class TeamPlan<float>;
template class TeamPlan<double>;

}  // namespace tulle::inline TULLE_ABI::spgemm
