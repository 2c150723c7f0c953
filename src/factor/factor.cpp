// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// An incomplete factorisation, from a matrix to z.
//
//   arrange     the rows and columns permuted and scaled, where the options ask for that (arrange.hpp); an automatic
//               order is priced (price_orders.hpp)
//   pattern     where L and U have entries: on a GPU of ILU(0) and IC(0) there (cuda/find_pattern.cu), else on the host
//               (pattern.cpp)
//   load        values of A in the pattern, with the shift (load_values)
//   factorise   L U or L L^T on the pattern (factorize); after a breakdown again, with a larger shift
//   analyse     both triangles, by SpTRSV; apply() is a solve with each. One thread of a CPU sweeps over both,
//               one after the other (cpu/sweeps.cpp)
#include "tulle/factor.hpp"

#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "base/enumerators.hpp"
#include "base/plural.hpp"
#include "device/placed.hpp"
#include "factor/arrange.hpp"
#include "factor/price_orders.hpp"
#include "factor/steps.hpp"
#include "factor/sweeps.hpp"
#include "matrix/plan_checks.hpp"
#include "matrix/widened_once.hpp"
#include "tulle/sptrsv.hpp"
#include "tulle/text.hpp"
#include "tulle/trace.hpp"
#include "tulle/transfer.hpp"
#include "tulle/validate.hpp"

namespace tulle::inline TULLE_ABI::factor {

template <class V>
struct Plan<V>::State {
    Context ctx;
    Options options;
    Options policy;  // the same with the order in use
    Features features;
    bool narrow;  // A was given with offsets of 32 bits
    Pattern pattern;
    LevelOrder levels;
    Buffer<V> value;
    Report report = {};
    bool usable = false;
    std::optional<sptrsv::Plan<V>> first = {}, second = {};  // solved in this order,
    std::optional<Sweeps<V>> sweeps = {};                    // or these
    std::optional<ArrangedMatrix<V>> arranged = {};          // factorised in place of A
    mutable const void *known_r = nullptr, *known_z = nullptr;

    CsrView<V> factors() const
    {
        return {
            pattern.rows, pattern.rows, pattern.nonzeros(), pattern.row_begin.data(), pattern.col.data(), value.data(),
            true,         true};
    }
};

namespace {

constexpr double shift_growth = 4;

void check_options(const Options& o)
{
    require_enumerator(o.kind, Kind::ilut, "kind");
    require_enumerator(o.order, Order::automatic, "order");
    require_enumerator(o.missing_diagonal, MissingDiagonal::add, "missing_diagonal");
    require<ValueError>(o.level >= 0, [&] { return concat("the level of fill-in is ", o.level, ", below zero"); });
    require<ValueError>(o.most_fill >= 0, [&] { return concat("most_fill is ", o.most_fill, ", below zero"); });
    require<ValueError>(o.drop >= 0, [&] { return concat("drop is ", o.drop, ", not a number from zero on"); });
    require<ValueError>(o.fill >= 0 && o.fill <= 1e6,
                        [&] { return concat("fill is ", o.fill, ", not a number from 0 to 1e6"); });
    require<ValueError>(o.shift >= 0 && std::isfinite(o.shift),
                        [&] { return concat("shift is ", o.shift, ", not a finite number from zero on"); });
    require<ValueError>(o.shift_attempts >= 0 && o.shift_attempts <= 100,
                        [&] { return concat("shift_attempts is ", o.shift_attempts, ", not from 0 to 100"); });
    require<ValueError>(o.first_shift > 0 && std::isfinite(o.first_shift),
                        [&] { return concat("first_shift is ", o.first_shift, ", not a finite number above zero"); });
}

void check_relax(const Context& ctx, const Options& o)
{
    require<ValueError>(o.relax >= 0 && o.relax <= 1,
                        [&] { return concat("relax is ", o.relax, ", not a number from 0 to 1"); });
    require<ValueError>(o.relax == 0 || o.kind != Kind::ic0, "ic0 keeps the diagonal of the matrix and takes no relax",
                        "use ilu0 or iluk");
    require<ValueError>(o.relax == 0 || ctx.backend() == Backend::cpu, "relaxed factors are made on a CPU only",
                        "leave relax at 0");
}

void check_arrangement(const Options& o)
{
    require<ValueError>(!o.match || o.kind != Kind::ic0,
                        "ic0 needs a symmetric matrix, but rows alone are permuted by match", "use ilu0, iluk or ilut");
}

template <class V>
void require_square(const CsrView<V>& a)
{
    require(a.rows == a.cols,
            [&] { return concat("a matrix of ", a.rows, " x ", a.cols, " cannot be factorised: it is not square"); });
}

template <class Queue, class V>
ArrangedMatrix<V> upload_arranged(const Queue& q, ArrangedMatrix<V>&& here)
{
    const auto up = [&]<class T>(const Buffer<T>& b) { return to_queue(q, b.data(), b.size()); };
    const auto up_gather = [&](const Gather<V>& g) {
        const std::vector<V> ones(static_cast<std::size_t>(g.scale.empty() ? g.index.size() : 0), V(1));
        return Gather<V>{up(g.index), g.scale.empty() ? to_queue(q, ones.data(), g.index.size()) : up(g.scale)};
    };
    return {here.rows,
            up(here.row_begin),
            up(here.col),
            {},
            up_gather(here.from_matrix),
            up_gather(here.from_rhs),
            up_gather(here.to_solution),
            {}};
}

// The permutations of a matrix on the host; an automatic order is chosen here.
template <class V, class State>
Arrangement arrangement_of(State& s, const CsrView<V>& here)
{
    const Options& o = s.options;
    if (o.order != Order::automatic) return arrange(s.ctx.host(), here, o.match, o.order);
    std::vector<PricedOrder> all = price_orders(s.ctx, here, o);
    for (const PricedOrder& one : all) s.features.orders.push_back(one.cost);
    PricedOrder& best = all[choose_order(s.features.orders, o.expected_calls)];
    s.policy.order = best.cost.order;
    return std::move(best.by);
}

// The matrix permuted and scaled; nothing where it would be the same. On a GPU the permutations are found on the host.
template <class V, class State>
std::optional<ArrangedMatrix<V>> arrange_on(State& s, const CsrView<V>& a)
{
    const trace::Phase phase{"arrange"};
    const Options& o = s.options;
    if (!o.match && o.order == Order::natural) return {};
    const bool lower = o.kind == Kind::ic0 && s.ctx.backend() == Backend::cpu;
    return s.ctx.run([&]<class Queue>(const Queue& q) -> std::optional<ArrangedMatrix<V>> {
        ArrangedMatrix<V> b;
        const auto make = [&](const CsrView<V>& here) {
            const Arrangement by = arrangement_of(s, here);
            if (o.match || s.policy.order != Order::natural) b = make_arranged(s.ctx.host(), here, by, lower);
        };
        if constexpr (std::is_same_v<Queue, CpuQueue>) {
            make(a);
        } else {
            const Csr<V> here = to_host(s.ctx, a);
            make(here.view());
        }
        if (!o.match && s.policy.order == Order::natural) return {};
        if constexpr (!std::is_same_v<Queue, CpuQueue>) b = upload_arranged(q, std::move(b));
        b.value = Buffer<V>(q, b.col.size());
        b.work = Buffer<V>(q, a.rows);
        gather(q, b.from_matrix, a.value, b.value.data());
        return b;
    });
}

// Says which entry of A is not finite, if one is: no shift helps against that.
template <class V>
void require_finite(const Context& ctx, const CsrView<V>& a)
{
    const Csr<V> here = to_host(ctx, a);
    for (index_t i = 0; i < a.rows; ++i)
        for (offset_t k = here.row_begin.data()[i]; k < here.row_begin.data()[i + 1]; ++k)
            require_finite_entry(i, here.col.data()[k], static_cast<double>(here.value.data()[k]));
}

template <class V, class State>
FirstBreakdown attempt(State& s, const V* value, double shift)
{
    const bool cholesky = s.options.kind == Kind::ic0;
    const PatternView p = view_of(s.pattern);
    if (s.options.relax > 0) {
        const CpuQueue q = s.ctx.host();
        load_values(q, p, value, shift, false, s.value.data());
        return factorize_relaxed(q, p, s.levels, s.options.relax, s.value.data());
    }
    return s.ctx.run([&](const auto& q) {
        load_values(q, p, value, shift, cholesky, s.value.data());
        return cholesky ? factorize_cholesky(q, p, s.levels, s.value.data())
                        : factorize_lu(q, p, s.levels, s.value.data());
    });
}

// Factorises, with larger shifts as long as it breaks down.
template <class V, class State>
void factorise(State& s, const CsrView<V>& a)
{
    const trace::Phase phase{"factorise"};
    const Options& o = s.options;
    s.report = {.shift = o.shift};
    FirstBreakdown found = attempt(s, a.value, o.shift);
    if (found.why == Breakdown::none) return;
    require_finite(s.ctx, a);
    s.report.first_breakdown = found.why;
    s.report.first_row = found.row;
    for (double shift = std::max(o.first_shift, o.shift * shift_growth); s.report.attempts <= o.shift_attempts;
         shift *= shift_growth) {
        ++s.report.attempts;
        s.report.shift = shift;
        found = attempt(s, a.value, shift);
        if (found.why == Breakdown::none) return;
    }
    throw ValueError(concat("row ", found.row, ": ", to_text(found.why), ", with a shift of ", s.report.shift,
                            " after ", s.report.attempts, plural(s.report.attempts, " attempt", " attempts")),
                     s.options.kind == Kind::ic0 ? "is the matrix symmetric and positive definite? Else use ilu0"
                                                 : "set shift or shift_attempts, or reorder the rows");
}

template <class V>
struct Triangles {
    sptrsv::Plan<V> first, second;
};

template <class V, class State>
Triangles<V> analyse(const State& s)
{
    const bool cholesky = s.options.kind == Kind::ic0;
    sptrsv::Options o{.uplo = sptrsv::Uplo::lower,
                      .unit_diagonal = !cholesky,
                      .other_side = sptrsv::OtherSide::ignore,
                      .expected_calls = s.options.expected_calls,
                      .checked = false};
    auto first = sptrsv::Plan<V>::make(s.ctx, s.factors(), o);
    if (cholesky) o.op = Op::transpose;
    else o.uplo = sptrsv::Uplo::upper;
    o.unit_diagonal = false;
    return {std::move(first), sptrsv::Plan<V>::make(s.ctx, s.factors(), o)};
}

template <class V, class State>
void prepare_solves(State& s)
{
    const trace::Phase phase{"triangles"};
    const PatternView p = view_of(s.pattern);
    const bool alone = s.ctx.backend() == Backend::cpu && threads_for(s.ctx.host(), s.pattern.nonzeros() + p.rows) == 1;
    if (alone && Sweeps<V>::can_hold(p)) {
        s.sweeps.emplace(s.ctx.host(), p, s.options.kind == Kind::ic0 ? SweepForm::cholesky : SweepForm::lu);
        s.sweeps->fill(p, s.value.data());
        return;
    }
    Triangles<V> t = analyse<V>(s);
    s.first = std::move(t.first);
    s.second = std::move(t.second);
}

template <class V, class State>
void solve_both(const State& s, std::span<const V> r, std::span<V> z)
{
    if (s.sweeps) return s.sweeps->apply(r.data(), z.data());
    s.first->solve(r, z);
    s.second->solve(z, z);
}

// Levels of both triangles; sweeps have not asked for them.
template <class V, class State>
std::pair<index_t, index_t> levels_of(const State& s)
{
    if (!s.sweeps) return {s.first->levels(), s.second->levels()};
    const Triangles<V> t = analyse<V>(s);
    return {t.first.levels(), t.second.levels()};
}

// They are found when they are asked for, which takes memory that a budget may not have.
template <class V, class State>
std::string levels_text(const State& s)
{
    try {
        const auto [first, second] = levels_of<V>(s);
        return concat(first, " and ", second, " of the solves");
    } catch (const OutOfMemory&) {
        return "not counted, no memory is left for that";
    }
}

// The order of the unknowns, what it has done to the levels, and the prices it was chosen by.
template <class V, class State>
std::string unknowns_text(const State& s)
{
    if (s.options.order == Order::natural) return {};
    std::string text = concat("\n  unknowns: order ", to_text(s.policy.order));
    if (s.policy.order != Order::natural) {
        const Csr<V> b = to_host(s.ctx, s.arranged->view());
        std::vector<offset_t> row(static_cast<std::size_t>(b.rows));
        s.ctx.run([&](const auto& q) {
            download(q, std::as_const(s.arranged->from_rhs.index).data(), row.data(), std::ssize(row));
        });
        const CpuQueue host = s.ctx.host();
        const bool symmetric = s.options.kind == Kind::ic0;
        text += concat(", ", levels_before(host, b.view(), row.data(), symmetric), " levels without it");
    }
    if (s.features.orders.empty()) return text;
    return concat(text, "\n  priced:  ", to_text(s.features.orders, s.options.expected_calls), "; for ",
                  s.options.expected_calls, " iterations");
}

}  // namespace

std::string to_text(Kind kind)
{
    switch (kind) {
    case Kind::ilu0: return "ilu0";
    case Kind::ic0: return "ic0";
    case Kind::iluk: return "iluk";
    case Kind::ilut: return "ilut";
    }
    return "unknown";
}

std::string to_text(Order order)
{
    switch (order) {
    case Order::natural: return "natural";
    case Order::rcm: return "rcm";
    case Order::colour: return "colour";
    case Order::nested_dissection: return "nd";
    case Order::automatic: return "auto";
    }
    return "unknown";
}

std::string to_text(Breakdown breakdown)
{
    switch (breakdown) {
    case Breakdown::none: return "no breakdown";
    case Breakdown::zero_pivot: return "the pivot is zero";
    case Breakdown::negative: return "the pivot is not positive";
    case Breakdown::not_finite: return "an entry of the factors is not finite";
    }
    return "unknown";
}

template <class V>
Plan<V> Plan<V>::make(const Context& ctx, const AnyCsr<V>& given, const Options& options)
{
    check_options(options);
    check_arrangement(options);
    check_relax(ctx, options);
    Buffer<offset_t> wide;
    const auto given_matrix =
        std::visit([&](const auto& m) { return matrix::widened<CsrView<V>>(ctx, m, wide); }, given);
    require_square(given_matrix);
    if (options.checked) check(ctx, given_matrix);
    auto state = std::make_unique<State>(State{.ctx = ctx,
                                               .options = options,
                                               .policy = options,
                                               .features = {given_matrix.rows, given_matrix.nonzeros},
                                               .narrow = !wide.empty(),
                                               .pattern = {},
                                               .levels = {},
                                               .value = {}});
    State& s = *state;
    s.arranged = arrange_on<V>(s, given_matrix);
    const CsrView<V> a = s.arranged ? s.arranged->view() : given_matrix;
    s.pattern = find_pattern_on(ctx, a, options);
    ctx.run([&](const auto& q) {
        s.levels = order_levels(q, view_of(s.pattern));
        s.value = Buffer<V>(q, s.pattern.nonzeros());
    });
    s.features.factor_nonzeros = s.pattern.nonzeros();
    factorise(s, a);
    prepare_solves<V>(s);
    s.usable = true;
    return Plan(std::move(state));
}

template <class V>
void Plan<V>::apply(std::span<const V> r, std::span<V> z) const
{
    const State& s = *state_;
    require<ValueError>(s.usable, "the plan has no factors: the last update_values was refused",
                        "call update_values with values that can be factorised");
    require(std::ssize(r) == rows(),
            [&] { return concat("r has ", r.size(), " entries, but the matrix has ", rows(), " rows"); });
    require(std::ssize(z) == rows(),
            [&] { return concat("z has ", z.size(), " entries, but the matrix has ", rows(), " rows"); });
    require<ValueError>(r.data() == z.data() || are_apart(r, z), "r and z overlap", "give z memory of its own, or r's");
    require_placed(s.ctx, r.data(), r.size(), s.known_r, "r");
    require_placed(s.ctx, z.data(), z.size(), s.known_z, "z");
    if (!s.arranged) return solve_both<V>(s, r, z);
    const ArrangedMatrix<V>& b = *s.arranged;
    s.ctx.run([&](const auto& q) { gather(q, b.from_rhs, r.data(), b.work.data()); });
    solve_both<V>(s, b.work.span(), b.work.span());
    s.ctx.run([&](const auto& q) { gather(q, b.to_solution, std::as_const(b.work).data(), z.data()); });
}

template <class V>
void Plan<V>::update_values(const AnyCsr<V>& given)
{
    State& s = *state_;
    Buffer<offset_t> wide;
    const auto a = std::visit([&](const auto& m) { return matrix::widened<CsrView<V>>(s.ctx, m, wide); }, given);
    matrix::require_same_size({rows(), rows(), s.features.nonzeros}, matrix::size_of(a));
    s.usable = false;
    if (s.arranged)
        s.ctx.run([&](const auto& q) { gather(q, s.arranged->from_matrix, a.value, s.arranged->value.data()); });
    factorise(s, s.arranged ? s.arranged->view() : a);
    if (s.sweeps) {
        s.sweeps->fill(view_of(s.pattern), s.value.data());
    } else {
        s.first->update_values(s.factors());
        s.second->update_values(s.factors());
    }
    s.usable = true;
}

template <class V>
const Report& Plan<V>::report() const
{
    return state_->report;
}
template <class V>
CsrView<V> Plan<V>::factors() const
{
    return state_->factors();
}
template <class V>
const Options& Plan<V>::policy() const
{
    return state_->policy;
}
template <class V>
const Features& Plan<V>::features() const
{
    return state_->features;
}
template <class V>
index_t Plan<V>::rows() const
{
    return state_->pattern.rows;
}

template <class V>
std::size_t Plan<V>::bytes() const
{
    const State& s = *state_;
    return s.pattern.bytes() + s.levels.bytes() + s.value.bytes() +
           (s.sweeps ? s.sweeps->bytes() : s.first->bytes() + s.second->bytes()) +
           (s.arranged ? s.arranged->bytes() : 0);
}

template <class V>
std::string Plan<V>::describe() const
{
    const State& s = *state_;
    const Report& r = s.report;
    std::string kind = to_text(s.options.kind);
    if (s.options.kind == Kind::iluk) kind += concat(", level ", s.options.level);
    if (s.options.kind == Kind::ilut) kind += concat(", drop ", s.options.drop, ", fill ", s.options.fill);
    if (s.options.relax > 0) kind += concat(", relaxed by ", s.options.relax);
    if (s.options.match) kind += ", rows matched to columns and scaled";
    std::string text = concat("factor on ", s.ctx.name(), ": ", kind, sizeof(V) == 4 ? ", float" : ", double",
                              "\n  factors: ", rows(), plural(rows(), " row, ", " rows, "), s.pattern.nonzeros(),
                              plural(s.pattern.nonzeros(), " entry; ", " entries; "), "the matrix has ",
                              s.features.nonzeros, "\n  levels:  ", levels_text<V>(s), unknowns_text<V>(s));
    text += r.shift == 0 ? std::string("\n  shift:   none") : concat("\n  shift:   ", r.shift, " of the diagonal");
    if (r.first_breakdown != Breakdown::none)
        text += concat(", after ", r.attempts, " attempts: row ", r.first_row,
                       " (counted from 0): ", to_text(r.first_breakdown));
    if (s.narrow) text += matrix::widened_once;
    return text + concat("\n  order:   the same bits every time\n  keeps:   ", human_bytes(bytes()));
}

template class Plan<float>;
template class Plan<double>;

}  // namespace tulle::inline TULLE_ABI::factor
