// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The product on several devices, one host thread for each.
//
//   arrange    op(A) on the host: by rows, or by columns as stored (arrange.cpp)
//   build      cut, deal out, prepare (build.cpp, prepare.cpp)
//   run        x to the members, multiply, y to the host:
//     pack       every member lays out what others need of its x
//     fetch      … and takes what it needs of theirs, on a queue beside its own
//     multiply   meanwhile the rows that need nothing, then the others
//     join       rows: the owner of a cut row adds what later members have of it. Columns: everybody adds up its slice
//                of all y
//     release    nobody may go on with what another is still reading
//
// MSREP: Chen and others, papers/004. Where this differs from the paper, and why: docs/design/partition.md.
#include "tulle/spmv_team.hpp"

#include <algorithm>
#include <utility>

#include "base/enumerators.hpp"
#include "base/plural.hpp"
#include "device/placed.hpp"
#include "matrix/plan_checks.hpp"
#include "partition/members.hpp"
#include "partition/nodes.hpp"
#include "prim/scale.hpp"
#include "spmv/team/member.hpp"
#include "spmv/team/steps.hpp"
#include "tulle/outline.hpp"
#include "tulle/text.hpp"
#include "tulle/trace.hpp"
#include "tulle/validate.hpp"

namespace tulle::inline TULLE_ABI::spmv {

using team::Axis;
using team::Member;
using team::Piece;
using team::Pull;
using team::WideView;

template <class V>
struct TeamPlan<V>::State {
    Context host;
    Team members_of;
    TeamOptions options;
    WideView<V> given;           // the caller's
    Buffer<offset_t> wide = {};  // its offsets, where the caller's have 32 bits
    team::Arranged<V> a = {};
    team::Decision decision = {};
    partition::ThreadPool crew;
    partition::Transfers link = {};
    std::vector<Member<V>> members = {};
    bool exchanges = false, joins = false;

    Member<V>& operator[](int member) { return members[static_cast<std::size_t>(member)]; }
    const Member<V>& operator[](int member) const { return members[static_cast<std::size_t>(member)]; }
};

namespace {

template <class V>
WideView<V> with_op(const WideView<V>& a, Op op)
{
    if (op == Op::none) return a;
    return std::visit([](const auto& m) -> WideView<V> { return transposed(m); }, a);
}

template <class V>
matrix::MatrixSize size_of(const WideView<V>& a)
{
    return std::visit([](const auto& m) { return matrix::size_of(m); }, a);
}

void require_nodes(const std::vector<int>& nodes, int members)
{
    require(std::ssize(nodes) == members,
            [&] { return concat(nodes.size(), " NUMA nodes were given for ", members, " members"); });
}

// ---- one product ----

template <class V>
void pack(Member<V>& m)
{
    m.ctx.run(
        [&](const auto& q) { pack_entries(q, m.x.data() + m.own_at, m.send_at.data(), m.send.size(), m.send.data()); });
    m.ready.set(m.ctx);
}

template <class State, class V>
void fetch(State& s, Member<V>& m)
{
    m.ready.wait(m.side);  // our own x may still be in use by the product before
    for (const Pull& pull : m.pulls) {
        Member<V>& from = s[pull.from];
        from.ready.wait(m.side);
        s.link.across(from.ctx, (pull.packed ? from.send.data() : from.x.data()) + pull.source, m.side,
                      m.x.data() + pull.target, pull.n);
    }
    m.arrived.set(m.side);
}

template <class V>
std::span<const V> x_of(const Member<V>& m)
{
    return m.x.span();
}

// A piece whose order is fixed: lines straight into y, or as sums that are folded to rows later.
template <class Queue, class V>
void multiply_fixed(const Queue& q, Member<V>& m, const Piece<V>& piece, const team::Arranged<V>& a, V alpha, V beta)
{
    const CsrView<V> lines{piece.last - piece.first, static_cast<index_t>(m.x.size()),
                           piece.end - piece.begin,  piece.pointer,
                           m.others + piece.begin,   m.values + piece.begin};
    if (a.folds())
        return multiply_lines(q, lines, a.lanes, Vectors<V>{V(1), m.x.data(), V(0), m.sums.data() + piece.first});
    multiply_lines(q, lines, a.lanes, Vectors<V>{alpha, m.x.data(), beta, m.y.data() + piece.first});
}

template <class V>
void multiply_piece(Member<V>& m, const Piece<V>& piece, const team::Arranged<V>& a, V alpha, V beta)
{
    if (a.axis != Axis::rows) return piece.plan->run(V(1), x_of(m), V(0), m.partial.span());
    if (a.fixed) return m.ctx.run([&](const auto& q) { multiply_fixed(q, m, piece, a, alpha, beta); });
    if (piece.head) return piece.plan->run(alpha, x_of(m), V(0), m.head.span());
    const auto first = static_cast<std::size_t>(piece.first - m.head_lines),
               rows = static_cast<std::size_t>(piece.last - piece.first);
    piece.plan->run(alpha, x_of(m), beta, m.y.span().subspan(first, rows));
}

template <class V>
void multiply_pieces(Member<V>& m, const team::Arranged<V>& a, bool waiting, V alpha, V beta)
{
    for (const Piece<V>& piece : m.pieces)
        if (piece.waits == waiting) multiply_piece(m, piece, a, alpha, beta);
}

// The last row a member owns, with what others have of it.
template <class State, class V>
void join_heads(State& s, Member<V>& m)
{
    offset_t k = 0;
    for (const int other : m.heads_from) {
        s[other].done.wait(m.ctx);
        s.link.across(s[other].ctx, s[other].head.data(), m.ctx, m.heads.data() + k++, 1);
    }
    m.ctx.run(
        [&](const auto& q) { add_heads(q, m.heads.data(), static_cast<index_t>(k), m.y.data() + m.y.size() - 1); });
}

// The same where the order is fixed: others' lines come to their places among ours, then lines become rows.
template <class State, class V>
void join_lines(State& s, Member<V>& m, V alpha, V beta)
{
    for (const int other : m.heads_from) {
        const Member<V>& from = s[other];
        from.done.wait(m.ctx);
        s.link.across(from.ctx, from.sums.data(), m.ctx, m.sums.data() + (from.part.first_line - m.part.first_line),
                      from.head_lines);
    }
    m.ctx.run([&](const auto& q) {
        fold_lines(q, m.sums.data(), m.first_line.data(), m.own_y.size(), alpha, beta, m.y.data());
    });
}

// Our slice of everybody's y.
template <class State, class V>
void join_columns(State& s, int member, V alpha, V beta)
{
    Member<V>& m = s[member];
    const offset_t n = m.own_y.size();
    V* to = m.others_partial.data();
    for (int other = 0; other < static_cast<int>(s.members.size()); ++other) {
        if (other == member) continue;
        s[other].done.wait(m.ctx);
        s.link.across(s[other].ctx, s[other].partial.data() + m.own_y.begin, m.ctx, to, n);
        to += n;
    }
    const PartialSums<V> all{m.partial.data() + m.own_y.begin, m.others_partial.data(),
                             static_cast<index_t>(s.members.size()), member, n};
    m.ctx.run([&](const auto& q) { sum_parts(q, all, alpha, beta, m.y.data()); });
}

template <class State, class V>
void join(State& s, int member, V alpha, V beta)
{
    Member<V>& m = s[member];
    if (s.a.axis != Axis::rows) join_columns(s, member, alpha, beta);
    else if (s.a.folds()) join_lines(s, m, alpha, beta);
    else if (!m.heads_from.empty()) join_heads(s, m);
    m.settled.set(m.ctx);
}

// What comes next on a queue waits until others have read what they needed. Nothing to do where queues finish by
// themselves.
template <class State>
void release(State& s, bool exchanged)
{
    for (auto& m : s.members) {
        for (const int other : m.pulled_by)
            if (exchanged) s[other].arrived.wait(m.ctx);
        for (const int other : m.heads_from) m.settled.wait(s[other].ctx);
        if (s.a.axis != Axis::rows)
            for (const auto& other : s.members) other.settled.wait(m.ctx);
    }
}

// alpha = 0: nothing of A and x is read.
template <class V>
void scale_part(Member<V>& m, V beta)
{
    m.ctx.run([&](const auto& q) { prim::scale(q, m.y.data(), m.y.size(), beta); });
}

// `exchange`: x lies distributed; otherwise everybody has got what it needs from the host.
template <class State, class V>
void multiply_all(State& s, V alpha, V beta, bool exchange)
{
    const trace::Phase phase{"multiply"};
    if (alpha == V(0)) return s.crew.run([&](int member) { scale_part(s[member], beta); });
    if (exchange) s.crew.run([&](int member) { pack(s[member]); });
    s.crew.run([&](int member) {
        auto& m = s[member];
        if (exchange) fetch(s, m);
        multiply_pieces(m, s.a, false, alpha, beta);
        if (exchange) m.arrived.wait(m.ctx);
        multiply_pieces(m, s.a, true, alpha, beta);
        m.done.set(m.ctx);
    });
    if (s.joins) s.crew.run([&](int member) { join(s, member, alpha, beta); });
    release(s, exchange);
}

template <class State, class V>
void require_whole_vectors(const State& s, std::span<const V> x, std::span<V> y)
{
    require(std::ssize(x) == s.a.cols,
            [&] { return concat("x has ", x.size(), " entries, but op(A) has ", s.a.cols, " columns"); });
    require(std::ssize(y) == s.a.rows,
            [&] { return concat("y has ", y.size(), " entries, but op(A) has ", s.a.rows, " rows"); });
    const void* unknown = nullptr;
    require_placed(s.host, x.data(), x.size(), unknown, "x");
    require_placed(s.host, y.data(), y.size(), unknown, "y");
    require<ValueError>(are_apart(x, y), "x and y overlap", "give y memory of its own");
}

std::string cuts_text(const team::Decision& d, bool fixed, Axis axis, double tolerance)
{
    if (axis == Axis::none) return "equal numbers of entries, in no order";
    const std::string lines = axis == Axis::rows ? "rows" : "columns";
    if (fixed) return "between rows, long ones in segments";
    return d.paper ? concat("to the nonzero; ", lines, " are split")
                   : concat("between ", lines, " where that is within ", tolerance * 100, " %, else inside them");
}

void check_options(const TeamOptions& o)
{
    require_enumerator(o.op, Op::transpose, "op");
    require_enumerator(o.exchange, Exchange::gather, "exchange");
    require_enumerator(o.overlap, Overlap::never, "overlap");
}

}  // namespace

double predict_seconds(std::span<const TeamPart> parts, std::span<const double> seconds, std::size_t value_bytes,
                       const Interconnect& wire)
{
    require(parts.size() == seconds.size(),
            [&] { return concat(seconds.size(), " times were given for ", parts.size(), " parts"); });
    double slowest = 0;
    for (std::size_t p = 0; p < parts.size(); ++p) {
        const double comes =
            static_cast<double>(parts[p].halo) * static_cast<double>(value_bytes) / wire.bytes_per_second +
            parts[p].senders * wire.seconds_per_message;
        const double meanwhile = parts[p].nonzeros > 0 ? seconds[p] * static_cast<double>(parts[p].interior) /
                                                             static_cast<double>(parts[p].nonzeros)
                                                       : 0;
        slowest = std::max(slowest, seconds[p] + std::max(0.0, comes - meanwhile));
    }
    return slowest;
}

template <class V>
TeamPlan<V> TeamPlan<V>::make(const Team& team, const PartitionableView<V>& given, const TeamOptions& options)
{
    check_options(options);
    const Context host = partition::host_for(std::visit([](const auto& m) { return m.nonzeros; }, given));
    Buffer<offset_t> wide;
    const auto a = matrix::widened<WideView<V>>(host, given, wide);
    const bool fixed = partition::is_deterministic(team);
    require<ValueError>(!(options.paper && fixed),
                        "the paper's cuts add in an order that depends on the number of members",
                        "leave TeamOptions::paper off, or the team not deterministic");
    if (options.checked) std::visit([&](const auto& m) { check(host, m); }, a);
    const std::vector<int> nodes = options.nodes.empty() ? partition::nodes_of(team) : options.nodes;
    require_nodes(nodes, team.size());

    auto s = std::unique_ptr<State>(new State{.host = host,
                                              .members_of = team,
                                              .options = options,
                                              .given = a,
                                              .wide = std::move(wide),
                                              .crew = partition::ThreadPool(team.size(), nodes)});
    s->a = team::arrange(host, with_op(a, options.op), options.paper, fixed);
    s->members = team::build(team, s->crew, s->a, options, nodes, s->decision);
    s->options.exchange = s->decision.gather ? Exchange::gather : Exchange::halo;
    s->options.nodes = nodes;
    for (const Member<V>& m : s->members) {
        s->exchanges = s->exchanges || !m.pulls.empty();
        s->joins = s->joins || !m.heads_from.empty();
    }
    s->joins = s->joins || s->a.axis != Axis::rows || s->a.folds();
    return TeamPlan(std::move(s));
}

template <class V>
void TeamPlan<V>::run(V alpha, std::span<const V> x, V beta, std::span<V> y)
{
    State& s = *state_;
    require_whole_vectors(s, x, y);
    {
        const trace::Phase phase{"x to the members"};
        s.crew.run([&](int member) {
            Member<V>& m = s[member];
            s.link.up(m.ctx, x.data() + m.given.begin, m.x.data() + m.given_at, m.given.size());
            if (beta != V(0))
                s.link.up(m.ctx, static_cast<const V*>(y.data()) + m.own_y.begin, m.y.data(), m.own_y.size());
        });
    }
    multiply_all(s, alpha, beta, s.exchanges && !s.decision.paper);
    const trace::Phase phase{"y to the host"};
    s.crew.run([&](int member) {
        Member<V>& m = s[member];
        s.link.down(m.ctx, static_cast<const V*>(m.y.data()), y.data() + m.own_y.begin, m.own_y.size());
    });
}

template <class V>
void TeamPlan<V>::run(V alpha, V beta)
{
    multiply_all(*state_, alpha, beta, state_->exchanges);
}

template <class V>
void TeamPlan<V>::run_on(int member, V alpha, V beta)
{
    partition::require_member(member, members());
    Member<V>& m = (*state_)[member];
    if (alpha == V(0)) return scale_part(m, beta);
    multiply_pieces(m, state_->a, false, alpha, beta);
    multiply_pieces(m, state_->a, true, alpha, beta);
}

template <class V>
std::span<V> TeamPlan<V>::x(int member)
{
    partition::require_member(member, members());
    Member<V>& m = (*state_)[member];
    return m.x.span().subspan(static_cast<std::size_t>(m.own_at), static_cast<std::size_t>(m.own_x.size()));
}

template <class V>
std::span<V> TeamPlan<V>::y(int member)
{
    partition::require_member(member, members());
    return (*state_)[member].y.span();
}

template <class V>
index_t TeamPlan<V>::x_begin(int member) const
{
    partition::require_member(member, members());
    return (*state_)[member].own_x.begin;
}

template <class V>
index_t TeamPlan<V>::y_begin(int member) const
{
    partition::require_member(member, members());
    return (*state_)[member].own_y.begin;
}

template <class V>
void TeamPlan<V>::synchronize() const
{
    for (const Member<V>& m : state_->members) m.ctx.synchronize();
}

template <class V>
void TeamPlan<V>::update_values(const PartitionableView<V>& given)
{
    State& s = *state_;
    Buffer<offset_t> fresh;
    const auto a = matrix::renewed<WideView<V>>(s.host, given, s.wide, fresh);
    matrix::require_same_format(s.given.index(), a.index());
    matrix::require_same_size(size_of(s.given), size_of(a));
    s.given = a;
    if (!fresh.empty()) s.wide = std::move(fresh);
    team::arrange_values(s.host, with_op(a, s.options.op), s.a);
    s.crew.run([&](int member) { team::bring_values(s[member], s.a); });
}

template <class V>
index_t TeamPlan<V>::rows() const
{
    return state_->a.rows;
}
template <class V>
index_t TeamPlan<V>::cols() const
{
    return state_->a.cols;
}
template <class V>
int TeamPlan<V>::members() const
{
    return static_cast<int>(state_->members.size());
}
template <class V>
bool TeamPlan<V>::gathers() const
{
    return state_->decision.gather;
}
template <class V>
const TeamOptions& TeamPlan<V>::policy() const
{
    return state_->options;
}
template <class V>
const ExchangeFeatures& TeamPlan<V>::features() const
{
    return state_->decision.features;
}
template <class V>
double TeamPlan<V>::imbalance() const
{
    return state_->decision.imbalance;
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
std::vector<TeamPart> TeamPlan<V>::parts() const
{
    const State& s = *state_;
    std::vector<TeamPart> all;
    for (const Member<V>& m : s.members) {
        offset_t comes = 0;
        for (const Pull& pull : m.pulls) comes += pull.n;
        std::string kernels = s.a.fixed ? "lines" : "";
        for (const Piece<V>& piece : m.pieces)
            if (piece.plan) kernels += (kernels.empty() ? "" : " | ") + to_text(piece.plan->policy());
        all.push_back({m.ctx.name(), m.part.nonzeros(), m.own_y.size(), comes, static_cast<int>(m.pulls.size()),
                       m.interior, m.head_lines > 0, m.bytes(), kernels});
    }
    return all;
}

template <class V>
std::size_t TeamPlan<V>::bytes() const
{
    std::size_t all = state_->wide.bytes();
    for (const Member<V>& m : state_->members) all += m.bytes();
    return all;
}

template <class V>
std::string TeamPlan<V>::describe() const
{
    const State& s = *state_;
    std::string text =
        concat("spmv on a team of ", members(), ": ", rows(), " x ", cols(), ", ", s.a.lines.nonzeros,
               plural(s.a.lines.nonzeros, " nonzero", " nonzeros"), sizeof(V) == 4 ? ", float" : ", double",
               "\n  cuts:  ", cuts_text(s.decision, s.a.fixed, s.a.axis, s.options.tolerance),
               "; the largest part has ", fixed(imbalance(), 3), " times the mean", "\n  x:     ",
               s.a.axis == Axis::columns ? "by columns"
               : s.decision.gather       ? "all of it for everybody"
                                         : "only what a part needs",
               "; ", s.decision.why,
               "\n  order: ", s.a.fixed ? "the same bits for any number of members" : "as the members' kernels add");
    text += matrix::widened_text(s.wide.bytes());
    for (const TeamPart& part : parts())
        text += concat("\n  ", part.where, ": ", part.nonzeros, plural(part.nonzeros, " nonzero, ", " nonzeros, "),
                       part.rows, plural(part.rows, " row of y", " rows of y"),
                       part.head ? " and the rest of one more" : "", ", ", part.halo,
                       plural(part.halo, " entry", " entries"), " of x from others, ", human_bytes(part.bytes), "; ",
                       part.policy);
    return text;
}

template class TeamPlan<float>;
template class TeamPlan<double>;

}  // namespace tulle::inline TULLE_ABI::spmv
