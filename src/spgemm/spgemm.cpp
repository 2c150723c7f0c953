// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The sparse matrix-matrix product, in two phases: row i of C is the sum of rows of B that row i of A picks.
//
//   arrange    op(A) and op(B) by rows; B sorted and without duplicates. The caller's arrays are used wherever they are
//              that already.
//   analyse    multiplications of every row, an upper bound of its nonzeros; neighbouring rows of equal pattern
//   symbolic   exact nonzeros of every row, and by a running sum where each begins: now C can be allocated, exactly
//   group      rows sorted by what they need
//   numeric    columns and values
//   keep       where each product falls, or all of them, for plans that are to be refilled fast (kept.hpp)
//
// Nagasaka, Nukada, Matsuoka: GPU sparse matrix-matrix multiplication with reduced memory usage (nsparse),
// doi:10.1109/ICPP.2017.19; the map from its sections to files, and where our own method departs from it, is
// docs/design/spgemm.md.
#include "tulle/spgemm.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/math.hpp"
#include "base/plural.hpp"
#include "device/host_memory.hpp"
#include "prim/scan.hpp"
#include "spgemm/adaptive/cpu/one_pass.hpp"
#include "spgemm/adaptive/groups.hpp"
#include "spgemm/factor.hpp"
#include "spgemm/reuse/kept.hpp"
#include "spgemm/small/small.hpp"
#include "spgemm/steps.hpp"
#include "tulle/memory.hpp"
#include "tulle/text.hpp"
#include "tulle/trace.hpp"
#include "tulle/transfer.hpp"

namespace tulle::inline TULLE_ABI::spgemm {
namespace {

std::size_t result_bytes(offset_t rows, offset_t nonzeros, std::size_t value_bytes)
{
    return static_cast<std::size_t>(rows + 1) * sizeof(offset_t) +
           static_cast<std::size_t>(nonzeros) * (sizeof(index_t) + value_bytes);
}

// Multiplications, if all rows of B were equally long; what is looked at beside them.
template <class V>
offset_t about_products(const CsrView<V>& a, const CsrView<V>& b)
{
    constexpr double enough = 1e15;
    const double products = static_cast<double>(a.nonzeros) * static_cast<double>(b.nonzeros) /
                            std::max<double>(1, std::min(b.rows, b.cols));
    return a.nonzeros + b.nonzeros + offset_t{a.rows} + b.rows +
           static_cast<offset_t>(std::clamp(products, 0.0, enough));
}

}  // namespace

template <class V>
struct Plan<V>::State {
    Context ctx;
    Options options;
    Limits limits;
    Choice choice;
    Wide<V> given;  // the caller's
    Factor<V> a, b;
    Workspace work;
    Buffer<offset_t> row_begin;  // of C
    offset_t nonzeros = 0;       // of C
    ReuseData kept = {};         // for refills
    Features features = {};

    index_t rows() const { return a.view().rows; }
    index_t cols() const { return b.view().cols; }
    std::size_t held() const
    {
        return given.bytes() + a.bytes() + b.bytes() + work.bytes() + row_begin.bytes() + kept.bytes();
    }
};

namespace {

// The symbolic phase: afterwards row_begin of C is known.
template <class Queue, class State>
void count_on(const Queue& q, State& s)
{
    const auto a = s.a.view(), b = s.b.view();
    const Policy& policy = s.choice.policy;
    {
        const trace::Phase phase{"analyse"};
        analyse(q, a, b, policy, s.work);
    }
    const trace::Phase phase{"symbolic"};
    s.row_begin = Buffer<offset_t>(q, offset_t{a.rows} + 1);
    count_nonzeros(q, a, b, policy, s.work, s.row_begin.data());
    prim::exclusive_scan(q, s.row_begin.data(), s.row_begin.data(), a.rows);
}

template <class State, class V>
std::unique_ptr<State> make_state(const Context& all, const AnyCsr<V>& any_a, const AnyCsr<V>& any_b,
                                  const Options& options, bool renewable = true)
{
    Wide<V> given = widen(all, any_a, any_b);
    const CsrView<V> a = given.a, b = given.b;
    const Context ctx = all.for_work(about_products(a, b));
    check_factors(ctx, a, b, options);
    const Limits limits{ctx.backend(), ctx.host().threads, ctx.is_deterministic()};
    auto s = std::make_unique<State>(State{.ctx = ctx,
                                           .options = options,
                                           .limits = limits,
                                           .choice = {},
                                           .given = std::move(given),
                                           .a = {},
                                           .b = {},
                                           .work = {},
                                           .row_begin = {}});
    if (options.force) check_policy(*options.force, s->limits);
    {
        const trace::Phase phase{"arrange"};
        s->a = arrange(ctx, a, options.op_a, false, renewable);
        s->b = arrange(ctx, b, options.op_b, true, renewable);
    }
    s->features = {s->rows(), s->a.view().cols, s->cols(), a.nonzeros, b.nonzeros};
    s->work.sorted = s->options.sorted = options.sorted || options.refill != NumericReuse::find_places;
    s->choice = options.force ? Choice{*options.force, "asked for by the caller"} : choose(s->features, s->limits);
    check_reuse(options.refill, s->choice.policy, limits.backend);
    return s;
}

// With the symbolic phase, and without what is for products without one.
template <class State, class V>
std::unique_ptr<State> make_counted_state(const Context& ctx, const AnyCsr<V>& a, const AnyCsr<V>& b,
                                          const Options& options)
{
    auto s = make_state<State>(ctx, a, b, options);
    s->choice.policy.one_kernel = false;
    s->ctx.run([&](const auto& q) { count_on(q, *s); });
    return s;
}

// Whether the budget has room for so many bytes more, and on a CPU the machine.
template <class State>
bool has_room_for(const State& s, std::size_t bytes)
{
    const Memory& memory = s.ctx.memory();
    const Space space = s.limits.backend == Backend::cpu ? Space::host : Space::device;
    if (space == Space::host && bytes >= host::large_block && bytes > host::available().bytes) return false;
    const std::size_t budget = memory.budget(space), live = memory.live(space);
    return budget == Memory::unlimited || (live < budget && bytes <= budget - live);
}

// Whether one kernel computes C: it may, and the budget has room for rows that are not in order yet.
template <class State>
bool is_for_one_kernel(const State& s, std::size_t value_bytes)
{
    return s.choice.policy.one_kernel && small::is_small(s.features) &&
           has_room_for(s, 2 * result_bytes(s.rows(), small::first_room(s.features), value_bytes));
}

// Sorts all rows into groups; returns the nonzeros of C.
template <class State>
offset_t group_all(State& s)
{
    const trace::Phase phase{"group"};
    return s.ctx.run([&](const auto& q) {
        return group_rows(q, s.a.view(), s.choice.policy, s.work, 0, s.rows(), s.row_begin.data());
    });
}

// While it lives, no more than `bytes` beyond what is held now may be allocated where the context works.
class ScopedBudget {
public:
    ScopedBudget(const Context& ctx, std::size_t bytes)
        : memory_(ctx.memory()),
          space_(ctx.backend() == Backend::cpu ? Space::host : Space::device),
          before_(memory_.budget(space_))
    {
        const std::size_t live = memory_.live(space_);
        if (bytes < Memory::unlimited - live) memory_.budget(space_, std::min(before_, live + bytes));
    }
    ~ScopedBudget() { memory_.budget(space_, before_); }
    ScopedBudget(const ScopedBudget&) = delete;
    ScopedBudget& operator=(const ScopedBudget&) = delete;
    std::size_t left() const
    {
        const std::size_t budget = memory_.budget(space_), live = memory_.live(space_);
        return budget > live ? budget - live : 0;
    }

private:
    Memory& memory_;
    Space space_;
    std::size_t before_;
};

// Room for what is kept, as far as the budget leaves it beside the plan and C; OutOfMemory says what would do without.
template <class State>
void reserve_for_refills(State& s, const MemoryNeed& need)
{
    const trace::Phase phase{"reserve"};
    const std::size_t taken = need.plan + need.result + need.workspace, budget = s.options.budget;
    const ScopedBudget ceiling(s.ctx, budget == Memory::unlimited ? budget : budget - std::min(budget, taken));
    try {
        s.kept = s.ctx.run([&](const auto& q) {
            return reserve_kept(q, s.kept.way, s.a.view(), s.b.view(), s.work, s.row_begin.data());
        });
    } catch (const OutOfMemory& fault) {
        throw OutOfMemory(concat("what a refill keeps of ", s.work.products,
                                 " products does not fit beside C, the plan and what it works with, ", taken,
                                 " bytes: ", fault.what()),
                          fault.needed(), fault.available(),
                          "NumericReuse::find_places keeps nothing; or raise the budget");
    }
}

template <class State, class V>
void fill_rows(State& s, const RowRange<V>& c)
{
    const trace::Phase phase{"numeric"};
    s.ctx.run([&](const auto& q) { fill(q, s.a.view(), s.b.view(), s.choice.policy, s.work, c); });
}

// What is kept of the products of a C whose columns are there.
template <class State, class V>
void keep_all(State& s, const RowRange<V>& c)
{
    if (!s.kept.is_missing()) return;
    const trace::Phase phase{"keep"};
    s.ctx.run([&](const auto& q) { keep(q, s.a.view(), s.b.view(), s.work, c, s.kept); });
}

// All of C, columns and values, and what is kept of its products where that is not known yet.
template <class State, class V>
void fill_all(State& s, Csr<V>& c)
{
    const RowRange<V> all{0, s.rows(), s.row_begin.data(), 0, c.col.data(), c.value.data()};
    fill_rows(s, all);
    keep_all(s, all);
}

// The values of a C whose columns are there.
template <class State, class V>
void refill_all(State& s, const RowRange<V>& all)
{
    keep_all(s, all);
    const trace::Phase phase{"refill"};
    s.ctx.run([&](const auto& q) { refill_by(q, s.a.view(), s.b.view(), s.choice.policy, s.work, s.kept, all); });
}

// Room for rows of C; row_begin is the caller's to set.
template <class State, class V>
Csr<V> allocate(const State& s, index_t rows, offset_t nonzeros, Buffer<offset_t> row_begin, const V*)
{
    const trace::Phase phase{"allocate"};
    if (s.limits.backend == Backend::cpu)
        host::require_room("host memory for C", result_bytes(rows, nonzeros, sizeof(V)));
    return s.ctx.run([&](const auto& q) {
        return Csr<V>{.rows = rows,
                      .cols = s.cols(),
                      .row_begin = std::move(row_begin),
                      .col = Buffer<index_t>(q, nonzeros),
                      .value = Buffer<V>(q, nonzeros),
                      .sorted = s.work.sorted || always_sorts(s.choice.policy, s.limits.backend)};
    });
}

// A small C on a GPU: rows computed where there is room, then gathered. Nothing if a row of A is long.
template <class State, class V>
std::optional<Csr<V>> multiply_on(const CudaQueue& q, const State& s, const V* type)
{
    if (!is_for_one_kernel(s, sizeof(V))) return {};
    auto rows = [&] {
        const trace::Phase phase{"multiply"};
        return small::multiply_rows(q, s.a.view(), s.b.view(), s.features);
    }();
    if (rows.nonzeros == small::gave_up) return {};
    Csr<V> c = allocate(s, s.rows(), rows.nonzeros, {}, type);
    const trace::Phase phase{"gather"};
    small::gather_rows(q, rows, c.col.data(), c.value.data());
    c.row_begin = std::move(rows.row_begin);
    return c;
}

// The same on a CPU where rows have few products, and the budget has room for all of them beside C.
template <class State, class V>
std::optional<Csr<V>> multiply_on(const CpuQueue& q, const State& s, const V* type)
{
    const bool other_asked = s.options.force && s.options.force->method != Method::adaptive;
    if (other_asked || s.rows() == 0) return {};
    one_pass::Rows<V> rows;
    {
        const trace::Phase phase{"analyse"};
        if (!one_pass::count_blocks(q, s.a.view(), s.b.view(), rows)) return {};
    }
    if (!has_room_for(s, one_pass::bytes_for(q, rows, s.cols()) + result_bytes(s.rows(), rows.room(), sizeof(V))))
        return {};
    {
        const trace::Phase phase{"multiply"};
        one_pass::multiply_rows(q, s.a.view(), s.b.view(), s.work.sorted, rows);
    }
    Csr<V> c = allocate(s, s.rows(), rows.row_begin.data()[s.rows()], {}, type);
    const trace::Phase phase{"gather"};
    one_pass::gather_rows(q, rows, c.col.data(), c.value.data());
    c.row_begin = std::move(rows.row_begin);
    return c;
}

}  // namespace

template <class V>
Plan<V> Plan<V>::make(const Context& ctx, const AnyCsr<V>& a, const AnyCsr<V>& b, const Options& options)
{
    Plan plan(make_counted_state<State>(ctx, a, b, options));
    State& s = *plan.state_;
    s.nonzeros = group_all(s);
    s.kept.way = decide_refill(options.refill, s.a.view(), s.b.view(), s.work, s.nonzeros, s.limits.backend);
    if (s.kept.way == NumericReuse::find_places) return plan;
    try {
        reserve_for_refills(s, plan.memory());
    } catch (const OutOfMemory&) {
        if (options.refill != NumericReuse::fastest) throw;
        s.kept = {};
    }
    return plan;
}

template <class V>
Csr<V> Plan<V>::run() const
{
    State& s = *state_;
    Buffer<offset_t> row_begin = s.ctx.run([&](const auto& q) {
        Buffer<offset_t> offsets(q, s.row_begin.size());
        copy(q, s.row_begin.data(), offsets.data(), offsets.size());
        return offsets;
    });
    Csr<V> c = allocate(s, rows(), s.nonzeros, std::move(row_begin), static_cast<const V*>(nullptr));
    fill_all(s, c);
    return c;
}

template <class V>
void Plan<V>::run(Csr<V>& c) const
{
    State& s = *state_;
    require<PlanMismatch>(c.rows == rows() && c.cols == cols() && c.nonzeros() == s.nonzeros, [&] {
        return concat("the plan gives a C of ", rows(), " x ", cols(), " with ", s.nonzeros,
                      " nonzeros, the one to compute again is ", c.rows, " x ", c.cols, " with ", c.nonzeros());
    });
    require<PlanMismatch>(c.row_begin.size() == offset_t{rows()} + 1 && c.value.size() == s.nonzeros, [&] {
        return concat("the C to compute again has ", c.row_begin.size(), " offsets and ", c.value.size(), " values");
    });
    if (s.kept.is_missing()) fill_all(s, c);
    else refill_all(s, RowRange<V>{0, s.rows(), s.row_begin.data(), 0, c.col.data(), c.value.data()});
}

template <class V>
void Plan<V>::run(const index_t* col, V* value) const
{
    State& s = *state_;
    require<ValueError>(s.nonzeros == 0 || (col && value), "an array of the C to compute again is missing");
    // Its columns are only read.
    refill_all(s, RowRange<V>{0, s.rows(), s.row_begin.data(), 0, const_cast<index_t*>(col), value});
}

template <class V>
Csr<V> Plan<V>::once(const Context& ctx, const AnyCsr<V>& a, const AnyCsr<V>& b, const Options& options)
{
    const auto s = make_state<State>(ctx, a, b, options, false);
    auto in_one_pass = s->ctx.run([&](const auto& q) { return multiply_on(q, *s, static_cast<const V*>(nullptr)); });
    if (in_one_pass) return std::move(*in_one_pass);
    s->ctx.run([&](const auto& q) { count_on(q, *s); });
    s->nonzeros = group_all(*s);
    ctx.run([&](const auto& q) {
        drop_facts(q, s->choice.policy, s->work, result_bytes(s->rows(), s->nonzeros, sizeof(V)));
    });
    const offset_t* row_begin = s->row_begin.data();
    Csr<V> c = allocate(*s, s->rows(), s->nonzeros, std::move(s->row_begin), static_cast<const V*>(nullptr));
    fill_rows(*s, RowRange<V>{0, c.rows, row_begin, 0, c.col.data(), c.value.data()});
    return c;
}

template <class V>
void Plan<V>::update_values(const AnyCsr<V>& a, const AnyCsr<V>& b)
{
    State& s = *state_;
    renew(s.ctx, s.given, a, b);
    renew(s.ctx, s.a, s.given.a, s.options.op_a, false);
    renew(s.ctx, s.b, s.given.b, s.options.op_b, true);
}

template <class V>
index_t Plan<V>::rows() const
{
    return state_->rows();
}
template <class V>
index_t Plan<V>::cols() const
{
    return state_->cols();
}
template <class V>
offset_t Plan<V>::products() const
{
    return state_->work.products;
}
template <class V>
offset_t Plan<V>::nonzeros() const
{
    return state_->nonzeros;
}
template <class V>
const Policy& Plan<V>::policy() const
{
    return state_->choice.policy;
}

template <class V>
const Features& Plan<V>::features() const
{
    return state_->features;
}

template <class V>
MemoryNeed Plan<V>::memory() const
{
    const State& s = *state_;
    const std::size_t workspace = s.ctx.run([&](const auto& q) {
        const std::size_t filling = fill_bytes_for(q, s.choice.policy, s.work, rows(), cols(), sizeof(V));
        return std::max(filling, keeping_bytes_for(q, s.kept.way, s.a.view(), s.b.view(), s.work));
    });
    return {result_bytes(rows(), s.nonzeros, sizeof(V)), s.held(), s.kept.bytes(), workspace};
}

template <class V>
std::string Plan<V>::describe() const
{
    const State& s = *state_;
    std::string groups, others;
    for (const auto* phase : {&s.work.symbolic, &s.work.numeric})
        for (const RowGroup& g : *phase)
            if (g.rows > 0)
                groups += concat("\n  ", phase == &s.work.symbolic ? "counted: " : "filled:  ", grouped(g.rows),
                                 plural(g.rows, " row, ", " rows, "), g.name);
    for (const Policy& p : candidates(s.limits))
        if (p != s.choice.policy) others += (others.empty() ? "" : "; ") + to_text(p);
    const MemoryNeed need = memory();
    const double compression =
        s.nonzeros > 0 ? static_cast<double>(s.work.products) / static_cast<double>(s.nonzeros) : 1;
    return concat("spgemm on ", s.ctx.name(), ": ", rows(), " x ", s.a.view().cols, " times ", s.b.view().rows, " x ",
                  cols(), sizeof(V) == 4 ? ", float" : ", double", "\n  C:       ", grouped(s.nonzeros),
                  plural(s.nonzeros, " nonzero from ", " nonzeros from "), grouped(s.work.products),
                  plural(s.work.products, " product, ", " products, "), fixed(compression, 2), " each",
                  "\n  chosen:  ", to_text(s.choice.policy), "\n  why:     ", s.choice.why, "\n  order:   ",
                  is_repeatable(s.choice.policy, s.limits.backend) ? "the same bits every time"
                                                                   : "adds in no fixed order",
                  "\n  memory:  ", human_bytes(need.result), " for C, ", human_bytes(need.plan), " kept by the plan, ",
                  human_bytes(need.workspace), " while it runs", matrix::widened_text(s.given.bytes()), "\n  refill:  ",
                  s.kept.way == NumericReuse::find_places
                      ? std::string("by the columns of C, where products are looked up again")
                      : concat(s.kept.way == NumericReuse::keep_places ? "by the places of all products, "
                                                                       : "by a list of all products, ",
                               human_bytes(need.refill), " of what the plan keeps"),
                  groups, "\n  also possible: ", others);
}

namespace {

// Bytes of rows of C, with what fill() holds.
struct RowBytes {
    const std::vector<offset_t>& begin;
    std::size_t fixed, per_row, value_bytes;

    index_t rows() const { return static_cast<index_t>(begin.size()) - 1; }
    std::size_t of(index_t first, index_t last) const
    {
        const offset_t nonzeros = begin[static_cast<std::size_t>(last)] - begin[static_cast<std::size_t>(first)];
        return fixed + static_cast<std::size_t>(last - first) * per_row +
               result_bytes(last - first, nonzeros, value_bytes);
    }
};

void require_row_fits(const RowBytes& need, index_t row, std::size_t bytes)
{
    const std::size_t alone = need.of(row, row + 1);
    if (alone > bytes)
        throw OutOfMemory(concat("row ", row, " of C needs ", alone, " bytes, ", bytes, " are left of the budget"),
                          alone, bytes, "raise the budget");
}

// The last row of the longest range from `first` on whose C, with what fill() holds, fits.
index_t fitting_rows(const RowBytes& need, index_t first, std::size_t bytes)
{
    require_row_fits(need, first, bytes);
    index_t low = first + 1, high = need.rows();
    while (low < high) {
        const index_t middle = low + (high - low + 1) / 2;
        if (need.of(first, middle) <= bytes) low = middle;
        else high = middle - 1;
    }
    return low;
}

}  // namespace

template <class V>
void Plan<V>::in_chunks(const Context& ctx, const AnyCsr<V>& a, const AnyCsr<V>& b, const Sink& sink,
                        const Options& options)
{
    const ScopedBudget ceiling(ctx, options.budget);
    const auto state = make_counted_state<State>(ctx, a, b, options);
    State& s = *state;
    ctx.run([&](const auto& q) {
        std::vector<offset_t> begin(static_cast<std::size_t>(s.rows()) + 1);
        download(q, s.row_begin.data(), begin.data(), s.row_begin.size());
        const auto needs = [&](offset_t rows) {
            return fill_bytes_for(q, s.choice.policy, s.work, rows, s.cols(), sizeof(V));
        };
        const RowBytes need{begin, needs(0), needs(1) - needs(0), sizeof(V)};
        const std::size_t room = ceiling.left();
        for (index_t row = 0; row < s.rows(); ++row) require_row_fits(need, row, room);  // before any is given
        for (index_t first = 0; first < s.rows();) {
            const index_t last = fitting_rows(need, first, ceiling.left());
            const offset_t base =
                group_rows(q, s.a.view(), s.choice.policy, s.work, first, last - first, s.row_begin.data()) -
                (begin[static_cast<std::size_t>(last)] - begin[static_cast<std::size_t>(first)]);
            Buffer<offset_t> offsets(q, offset_t{last - first} + 1);
            shift_offsets(q, s.row_begin.data() + first, base, offsets.size(), offsets.data());
            Csr<V> c = allocate(s, last - first, begin[static_cast<std::size_t>(last)] - base, std::move(offsets),
                                static_cast<const V*>(nullptr));
            fill_rows(s, RowRange<V>{first, last - first, s.row_begin.data(), base, c.col.data(), c.value.data()});
            if (s.options.to_host && s.limits.backend == Backend::cuda) c = to_host(ctx, c.view());
            sink(first, std::move(c));
            first = last;
        }
    });
}

template class Plan<float>;
template class Plan<double>;

}  // namespace tulle::inline TULLE_ABI::spgemm
