// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The product on several devices, one host thread for each.
//
//   arrange    op(A) by rows on the host: the caller's arrays, or a transposed copy
//   cut        rows by nonzeros and rows, or columns of B; whichever moves fewer bytes (choose.cpp)
//   deal       every member: its rows of A, or all of them; a plan of its own (spmm.hpp); room for B and its part of C
//   run        every member, some columns at a time: B to the member, C too if beta asks for it, multiply, C back
//
// The steps are those of one device: a member's part is a matrix like any other.
#include "tulle/spmm_team.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/enumerators.hpp"
#include "base/math.hpp"
#include "base/plural.hpp"
#include "matrix/plan_checks.hpp"
#include "partition/cutting.hpp"
#include "partition/members.hpp"
#include "partition/nodes.hpp"
#include "partition/signal.hpp"
#include "partition/split_steps.hpp"
#include "partition/thread_pool.hpp"
#include "partition/transfers.hpp"
#include "spmm/arguments.hpp"
#include "spmm/row_scale.hpp"
#include "tulle/features.hpp"
#include "tulle/outline.hpp"
#include "tulle/partition.hpp"
#include "tulle/text.hpp"
#include "tulle/trace.hpp"

namespace tulle::inline TULLE_ABI::spmm {
namespace {

using partition::Cut;
using partition::Part;
using partition::Signal;

template <class V, class C>
struct Member {
    Context ctx;
    Part part = {};                 // rows of op(A)
    bool borrows = false;           // works on the host's arrays
    Buffer<offset_t> pointer = {};  // of its rows
    Buffer<index_t> col = {};       // empty where it borrows
    Buffer<V> value = {};
    Buffer<float> scale = {};             // factors of its rows of C, where it does not borrow them
    std::optional<Plan<V, C>> plan = {};  // none: nothing to do
    index_t columns = 0;                  // of B that it has room for
    Buffer<V> b = {};
    Buffer<C> c = {};
    Signal ready = {}, done = {},
           taken = {};  // the caller's B and C may be read; our part of C may; everybody's has been

    std::size_t bytes() const
    {
        return pointer.bytes() + col.bytes() + value.bytes() + scale.bytes() + (plan ? plan->bytes() : 0) + b.bytes() +
               c.bytes();
    }
};

}  // namespace

template <class V, class C>
struct TeamPlan<V, C>::State {
    Context host;
    TeamOptions options;
    CsrView<V> given;              // the caller's
    Buffer<offset_t> wide = {};    // its offsets, where the caller's have 32 bits
    Csr<V> copy = {};              // A transposed by rows
    Buffer<offset_t> source = {};  // for every value of the copy where it stands in the caller's array
    RowScaleFacts scale = {};      // of Options::row_scale
    SplitFeatures features = {};
    SplitChoice choice = {};
    Policy by_rows = {};         // of all of op(A): a row is added up alike whoever has it
    std::vector<Cut> cuts = {};  // of rows by nonzeros and rows, or of the columns expected
    partition::ThreadPool crew;
    partition::Transfers link = {};
    std::vector<Member<V, C>> members = {};

    bool transposed() const { return options.product.op == Op::transpose; }
    CsrView<V> rows() const { return transposed() ? copy.view() : given; }  // of op(A)
    Member<V, C>& operator[](int member) { return members[static_cast<std::size_t>(member)]; }
};

namespace {

// ---- preparing ----

template <class State>
SplitFeatures features_of(const State& s, std::size_t value_bytes)
{
    const auto a = s.rows();
    const Options& o = s.options.product;
    const auto devices = std::count_if(s.members.begin(), s.members.end(), [](const auto& m) { return !m.borrows; });
    return {a.rows,
            a.cols,
            a.nonzeros,
            o.n,
            value_bytes,
            static_cast<int>(s.members.size()),
            static_cast<int>(devices),
            o.expected_calls};
}

template <class State>
SplitChoice decide(const State& s, bool deterministic)
{
    SplitChoice choice = choose_split(s.features);
    if (s.options.split != SplitBy::automatic)
        return {s.options.split, choice.by_rows, choice.by_columns, "asked for by the caller"};
    if (deterministic)
        return {SplitBy::rows, choice.by_rows, choice.by_columns,
                "which gives the same bits for any number of members"};
    return choice;
}

// Lanes and lines of the row kernel as one device would have them, the first GPU of the team.
template <class State>
Policy rows_of_one(const State& s, std::size_t value_bytes)
{
    const auto a = s.rows();
    const auto gpu = std::find_if(s.members.begin(), s.members.end(), [](const auto& m) { return !m.borrows; });
    if (gpu == s.members.end()) return {};
    const RowStatistics lengths = row_statistics(s.host, a.rows, a.cols, a.row_begin);
    return policy_of(Kernel::rows,
                     {.rows = a.rows,
                      .cols = a.cols,
                      .nonzeros = a.nonzeros,
                      .longest = lengths.longest,
                      .n = s.options.product.n,
                      .value_bytes = value_bytes},
                     limits_of(gpu->ctx));
}

// A row costs its nonzeros and itself: rows of C are written, empty ones too.
template <class State>
std::vector<Cut> cut(const State& s)
{
    const int parts = static_cast<int>(s.members.size());
    const partition::SplitOptions options{.shares = s.options.shares};
    if (s.choice.split == SplitBy::columns) return partition::split_evenly(s.options.product.n, parts, options);
    const auto a = s.rows();
    const CpuQueue q = s.host.host();
    Buffer<offset_t> work(q, offset_t{a.rows} + 1);
#pragma omp parallel for num_threads(q.threads) schedule(static)
    for (index_t i = 0; i <= a.rows; ++i) work.data()[i] = a.row_begin[i] + i;
    return partition::split(q, work.data(), a.rows, parts, options);
}

template <class State>
Part part_of(const State& s, std::size_t member)
{
    const auto a = s.rows();
    if (s.choice.split == SplitBy::columns) return {0, a.nonzeros, 0, a.rows, false};
    const auto first = static_cast<index_t>(s.cuts[member].item), last = static_cast<index_t>(s.cuts[member + 1].item);
    return {a.row_begin[first], a.row_begin[last], first, last, false};
}

// Columns of B that the member will be asked for, if there are as many as expected.
template <class State>
index_t columns_of(const State& s, std::size_t member)
{
    if (s.choice.split == SplitBy::rows) return s.options.product.n;
    return static_cast<index_t>(s.cuts[member + 1].item - s.cuts[member].item);
}

template <class State, class V, class C>
CsrView<V> matrix_of(const State& s, const Member<V, C>& m)
{
    const auto a = s.rows();
    return {m.part.lines(),
            a.cols,
            m.part.nonzeros(),
            m.pointer.data(),
            m.borrows ? a.col + m.part.begin : m.col.data(),
            m.borrows ? a.value + m.part.begin : m.value.data(),
            a.sorted,
            a.unique};
}

// Its rows of A, or where they are.
template <class State, class V, class C>
void bring_rows(State& s, Member<V, C>& m)
{
    const auto a = s.rows();
    const offset_t* row_begin = a.row_begin + m.part.first_line;
    m.ctx.run([&](const auto& q) {
        m.pointer = Buffer<offset_t>(q, offset_t{m.part.lines()} + 1);
        if (!m.borrows) s.link.up(m.ctx, row_begin, m.pointer.data(), m.pointer.size());
        partition::write_pointer(q, m.borrows ? row_begin : m.pointer.data(), m.part, m.pointer.data());
        if (m.borrows) return;
        m.col = Buffer<index_t>(q, m.part.nonzeros());
        m.value = Buffer<V>(q, m.part.nonzeros());
        s.link.up(m.ctx, a.col + m.part.begin, m.col.data(), m.part.nonzeros());
        s.link.up(m.ctx, a.value + m.part.begin, m.value.data(), m.part.nonzeros());
    });
}

// The factors of its rows of C, brought to it unless it borrows them.
template <class State, class V, class C>
std::span<const float> bring_scale(State& s, Member<V, C>& m)
{
    const std::span<const float> all = s.options.product.row_scale;
    if (all.empty()) return {};
    const auto mine =
        all.subspan(static_cast<std::size_t>(m.part.first_line), static_cast<std::size_t>(m.part.lines()));
    if (m.borrows) return mine;
    if (m.scale.empty()) m.ctx.run([&](const auto& q) { m.scale = Buffer<float>(q, std::ssize(mine)); });
    s.link.up(m.ctx, mine.data(), m.scale.data(), m.scale.size());
    return std::as_const(m.scale).span();
}

template <class State, class V, class C>
void make_room(const State& s, Member<V, C>& m)
{
    m.ctx.run([&](const auto& q) {
        m.b = Buffer<V>(q, checked_product(s.rows().cols, m.columns, "columns of B"));
        m.c = Buffer<C>(q, checked_product(m.part.lines(), m.columns, "columns of C"));
    });
}

template <class State, class V, class C>
void deal(State& s, Member<V, C>& m, Options wish)
{
    for (Signal* signal : {&m.ready, &m.done, &m.taken}) *signal = Signal(m.ctx);
    if (m.part.lines() == 0) return;
    bring_rows(s, m);
    wish.row_scale = bring_scale(s, m);
    m.columns = std::clamp(wish.n, index_t{1}, most_columns);
    m.plan = Plan<V, C>::make(m.ctx, matrix_of(s, m), wish);
    if (!m.borrows) make_room(s, m);
    m.ctx.synchronize();
}

// What a member's own plan is asked for.
template <class State>
Options wish_of(const State& s, std::size_t member, bool deterministic)
{
    Options wish = s.options.product;
    wish.op = Op::none;
    wish.checked = false;
    wish.n = columns_of(s, member);
    if (!wish.piece) {
        wish.piece = s.by_rows.piece;
        wish.lanes = s.by_rows.lanes;
    }
    if (!deterministic || wish.force) return wish;
    const Backend backend = s.members[member].ctx.backend();
    wish.force = policy_of(Kernel::rows, {.n = wish.n, .value_bytes = sizeof(*s.given.value)}, {backend});
    if (backend == Backend::cuda) {
        wish.force->piece = *wish.piece;
        wish.force->lanes = wish.lanes.value_or(wish.force->lanes);
    }
    return wish;
}

template <class V>
void require_options(const Team& team, const TeamOptions& o)
{
    check_options(o.product, sizeof(V));
    require_enumerator(o.split, SplitBy::columns, "split");
    require<ValueError>(!(partition::is_deterministic(team) && o.product.force &&
                          o.product.force->kernel != Kernel::rows),
                        "dense, panels and tiles add in an order that depends on the number of members",
                        "force rows, or leave the team not deterministic");
}

// ---- one product ----

// B and C of the caller, and where they lie: with a member, or on the host.
template <class V, class C>
struct Job {
    Sum<V> alpha;
    DenseView<const V> b;
    Sum<V> beta;
    DenseView<C> c;
    int home = -1;  // -1: the host

    bool at_host() const { return home < 0; }
};

template <class T>
DenseView<T> block_of(const DenseView<T>& m, index_t i, index_t rows, index_t j, index_t cols)
{
    return {rows, cols, m.leading, m.layout, m.data == nullptr ? nullptr : m.data + m.at(i, j)};
}

// A member's room as a matrix like the caller's, without gaps.
template <class T>
DenseView<T> room_for(Buffer<T>& room, index_t rows, index_t cols, Layout layout)
{
    return {rows, cols, layout == Layout::row_major ? cols : rows, layout, room.data()};
}

template <class State, class Member, class T>
void bring(State& s, Member& m, int home, const DenseView<const T>& from, const DenseView<T>& to)
{
    if (home < 0) return s.link.up(m.ctx, from, to);
    s.link.across(s[home].ctx, from, m.ctx, to);
}

// Our part of C to the caller's. At home it is taken in the order of that queue, and ours goes on when it has been.
template <class State, class Member, class C>
void give(State& s, Member& m, int home, const DenseView<const C>& from, const DenseView<C>& to)
{
    if (home < 0) return s.link.down(m.ctx, from, to);
    m.done.set(m.ctx);
    m.done.wait(s[home].ctx);
    s.link.across(m.ctx, from, s[home].ctx, to);
    s[home].taken.set(s[home].ctx);
    s[home].taken.wait(m.ctx);
}

// Columns j … j + n - 1 of the member's part, in its own memory.
template <class State, class V, class C>
void multiply_slice(State& s, Member<V, C>& m, const Job<V, C>& job, index_t j, index_t n)
{
    const auto b = room_for(m.b, job.b.rows, n, job.b.layout);
    const auto c = room_for(m.c, m.part.lines(), n, job.c.layout),
               whole = block_of(job.c, m.part.first_line, m.part.lines(), j, n);
    bring(s, m, job.home, block_of(job.b, 0, job.b.rows, j, n), b);
    if (job.beta != 0) bring(s, m, job.home, DenseView<const C>(whole), c);
    m.plan->run(job.alpha, b, job.beta, c);
    give(s, m, job.home, DenseView<const C>(c), whole);
}

template <class State, class V, class C>
void multiply_part(State& s, int number, const Job<V, C>& job, index_t first, index_t last)
{
    Member<V, C>& m = s[number];
    if (!m.plan || first == last) return;
    if (job.at_host() ? m.borrows : number == job.home)
        return m.plan->run(job.alpha, block_of(job.b, 0, job.b.rows, first, last - first), job.beta,
                           block_of(job.c, m.part.first_line, m.part.lines(), first, last - first));
    if (!job.at_host()) s[job.home].ready.wait(m.ctx);
    for (index_t j = first; j < last; j += std::min(m.columns, last - j))
        multiply_slice(s, m, job, j, std::min(m.columns, last - j));
}

template <class State, class V, class C>
void multiply_all(State& s, const Job<V, C>& job)
{
    const trace::Phase phase{"multiply"};
    const bool by_columns = s.choice.split == SplitBy::columns;
    const std::vector<Cut> columns =
        partition::split_evenly(job.b.cols, static_cast<int>(s.members.size()), {.shares = s.options.shares});
    s.crew.run([&](int number) {
        const auto at = static_cast<std::size_t>(number);
        const offset_t first = by_columns ? columns[at].item : 0, last = by_columns ? columns[at + 1].item : job.b.cols;
        multiply_part(s, number, job, static_cast<index_t>(first), static_cast<index_t>(last));
    });
}

template <class V, class C>
std::string bits_text(const std::vector<Member<V, C>>& members, SplitBy split)
{
    const bool rows = std::all_of(members.begin(), members.end(),
                                  [&](const auto& m) { return !m.plan || m.plan->policy().kernel == Kernel::rows; });
    const bool one_kind = std::all_of(members.begin(), members.end(),
                                      [&](const auto& m) { return m.borrows == members.front().borrows; });
    if (!rows) return "the same bits every time; tensor cores take rows together by member";
    return one_kind && split == SplitBy::rows ? "the bits of one device, for any number of members"
                                              : "the same bits every time";
}

}  // namespace

template <class V, class C>
TeamPlan<V, C> TeamPlan<V, C>::make(const Team& team, const AnyCsr<V>& given, const TeamOptions& options)
{
    require_options<V>(team, options);
    const Context host = partition::host_for(std::visit([](const auto& m) { return m.nonzeros; }, given));
    Buffer<offset_t> wide;
    const auto a = matrix::widened<CsrView<V>>(host, given, wide);
    if (options.product.checked) check_matrix(host, a);
    auto s = std::unique_ptr<State>(new State{.host = host,
                                              .options = options,
                                              .given = a,
                                              .wide = std::move(wide),
                                              .crew = partition::ThreadPool(team.size(), partition::nodes_of(team))});
    for (int m = 0; m < team.size(); ++m)
        s->members.push_back({.ctx = team[m], .borrows = team[m].backend() == Backend::cpu});
    if (s->transposed()) s->copy = transpose_rows(host, a, s->source);
    require_row_scale<V>(options.product.row_scale, s->rows().rows);
    s->scale = inspect_row_scale(host, options.product.row_scale);
    const bool deterministic = partition::is_deterministic(team);
    s->features = features_of(*s, sizeof(V));
    s->choice = decide(*s, deterministic);
    s->options.split = s->choice.split;
    s->by_rows = rows_of_one(*s, sizeof(V));
    s->cuts = cut(*s);
    s->crew.run([&](int number) {
        const auto at = static_cast<std::size_t>(number);
        s->members[at].part = part_of(*s, at);
        deal(*s, s->members[at], wish_of(*s, at, deterministic));
    });
    return TeamPlan(std::move(s));
}

template <class V, class C>
void TeamPlan<V, C>::run(Scalar alpha, const DenseView<const V>& b, Scalar beta, const DenseView<C>& c)
{
    const void *unknown_b = nullptr, *unknown_c = nullptr;
    require_operands(state_->host, rows(), cols(), b, c, unknown_b, unknown_c);
    multiply_all(*state_, Job<V, C>{alpha, b, beta, c});
}

template <class V, class C>
void TeamPlan<V, C>::run_on(int member, Scalar alpha, const DenseView<const V>& b, Scalar beta, const DenseView<C>& c)
{
    State& s = *state_;
    partition::require_member(member, members());
    if (s[member].borrows) return run(alpha, b, beta, c);
    const void *unknown_b = nullptr, *unknown_c = nullptr;
    require_operands(s[member].ctx, rows(), cols(), b, c, unknown_b, unknown_c);
    for (Member<V, C>& m : s.members)
        if (m.borrows && m.plan && m.c.empty()) make_room(s, m);  // the first time that it cannot use the caller's
    s[member].ready.set(s[member].ctx);
    multiply_all(s, Job<V, C>{alpha, b, beta, c, member});
}

template <class V, class C>
void TeamPlan<V, C>::update_values(const AnyCsr<V>& given)
{
    State& s = *state_;
    Buffer<offset_t> fresh;
    const auto a = matrix::renewed<CsrView<V>>(s.host, given, s.wide, fresh);
    matrix::require_same_size(matrix::size_of(s.given), matrix::size_of(a));
    s.given = a;
    if (!fresh.empty()) s.wide = std::move(fresh);
    if (s.transposed()) carry_values(s.host.host(), a.value, s.source.data(), a.nonzeros, s.copy.value.data());
    s.crew.run([&](int number) {
        Member<V, C>& m = s[number];
        if (!m.plan) return;
        if (!m.borrows) s.link.up(m.ctx, s.rows().value + m.part.begin, m.value.data(), m.part.nonzeros());
        bring_scale(s, m);
        m.plan->update_values(matrix_of(s, m));
    });
}

template <class V, class C>
index_t TeamPlan<V, C>::rows() const
{
    return state_->transposed() ? state_->given.cols : state_->given.rows;
}
template <class V, class C>
index_t TeamPlan<V, C>::cols() const
{
    return state_->transposed() ? state_->given.rows : state_->given.cols;
}
template <class V, class C>
int TeamPlan<V, C>::members() const
{
    return static_cast<int>(state_->members.size());
}
template <class V, class C>
const TeamOptions& TeamPlan<V, C>::policy() const
{
    return state_->options;
}
template <class V, class C>
const SplitFeatures& TeamPlan<V, C>::features() const
{
    return state_->features;
}
template <class V, class C>
const SplitChoice& TeamPlan<V, C>::choice() const
{
    return state_->choice;
}
template <class V, class C>
double TeamPlan<V, C>::imbalance() const
{
    return partition::imbalance(state_->cuts);
}
template <class V, class C>
partition::Traffic TeamPlan<V, C>::traffic() const
{
    return state_->link.traffic();
}
template <class V, class C>
void TeamPlan<V, C>::reset_traffic()
{
    state_->link.reset();
}

template <class V, class C>
std::size_t TeamPlan<V, C>::bytes() const
{
    std::size_t all = state_->wide.bytes() + state_->copy.bytes() + state_->source.bytes();
    for (const auto& m : state_->members) all += m.bytes();
    return all;
}

template <class V, class C>
std::vector<TeamPart> TeamPlan<V, C>::parts() const
{
    std::vector<TeamPart> all;
    for (std::size_t k = 0; k < state_->members.size(); ++k) {
        const Member<V, C>& m = state_->members[k];
        all.push_back({m.ctx.name(), m.part.first_line, m.part.lines(), m.part.nonzeros(), columns_of(*state_, k),
                       m.bytes(), m.plan ? to_text(m.plan->policy()) : ""});
    }
    return all;
}

template <class V, class C>
std::string TeamPlan<V, C>::describe() const
{
    const State& s = *state_;
    const auto a = s.rows();
    const SplitBy split = s.choice.split;
    std::string text =
        concat("spmm on a team of ", members(), ": ", a.rows, " x ", a.cols, ", ", a.nonzeros,
               plural(a.nonzeros, " nonzero", " nonzeros"), s.transposed() ? " transposed" : "", ", ",
               s.options.product.n, plural(s.options.product.n, " column", " columns"), " expected, ", type_name<V>(),
               std::is_same_v<V, C> ? "" : " to " + type_name<C>(), "\n  split:  by ", to_text(split), ", ",
               s.choice.why, "\n  moves:  ", human_bytes(static_cast<std::size_t>(s.choice.by_rows)),
               " of A and B to the members in a call by rows, ",
               human_bytes(static_cast<std::size_t>(s.choice.by_columns)), " by columns",
               "\n  parts:  the largest has ", fixed(imbalance(), 3), " times the mean of ",
               split == SplitBy::rows ? "nonzeros and rows" : "columns",
               row_scale_text(s.options.product.row_scale, s.scale), "\n  order:  ", bits_text(s.members, split),
               "\n  keeps:  ", human_bytes(bytes()), " beside the matrix");
    text += matrix::widened_text(s.wide.bytes());
    for (const TeamPart& p : parts())
        text += concat("\n  ", p.where, ": ", grouped(p.rows), plural(p.rows, " row from ", " rows from "),
                       grouped(p.first_row), " on with ", grouped(p.nonzeros),
                       plural(p.nonzeros, " nonzero, ", " nonzeros, "), p.columns,
                       plural(p.columns, " column, ", " columns, "), human_bytes(p.bytes), "; ",
                       p.policy.empty() ? "nothing to do" : p.policy);
    return text;
}

template class TeamPlan<double>;
template class TeamPlan<float>;
template class TeamPlan<Float16>;
template class TeamPlan<Float16, float>;
template class TeamPlan<Bfloat16>;
template class TeamPlan<Bfloat16, float>;

}  // namespace tulle::inline TULLE_ABI::spmm
