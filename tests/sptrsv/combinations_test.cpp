// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Options of the triangular solve in all combinations on one matrix: uplo, op, format, diagonal, other side, scheme,
// where tasks are made, types, right-hand sides with their layouts, in place, new values. Other tests change an option
// at a time.
#include <gtest/gtest.h>

#include <limits>

#include "sptrsv/schemes.hpp"
#include "sptrsv/triangles.hpp"
#include "support/backends.hpp"
#include "support/battery.hpp"
#include "support/dense.hpp"
#include "tulle/convert.hpp"
#include "tulle/sptrsv.hpp"
#include "tulle/transfer.hpp"

namespace tulle::inline TULLE_ABI::sptrsv {
namespace {

using namespace tulle::test;

class SptrsvCombinationsOn : public OnBackend {};

constexpr index_t side = 75;

// Both triangles and the diagonal; all its triangles can be solved with, also with a diagonal of ones.
template <class V>
HostCsr<V> general_matrix(std::uint64_t seed)
{
    std::vector<std::tuple<index_t, index_t, V>> entries;
    for (index_t i = 0; i < side; ++i)
        for (index_t j = 0; j < side; ++j) {
            const bool near = std::abs(i - j) <= 2,
                       far = (i * 5 + j * 3) % 17 == 0 || (i == 70 && j % 2 == 0) || (j == 3 && i % 3 == 0);
            if (i == j)
                entries.emplace_back(i, j, static_cast<V>((2 + unit(hash_of(seed, i))) * (i % 2 == 0 ? 1 : -1)));
            else if (near || far) entries.emplace_back(i, j, static_cast<V>((unit(hash_of(seed, i, j)) - 0.5) / 4));
        }
    return csr_of<V>(side, side, entries);
}

struct TriangleForm {
    Uplo uplo;
    Op op;
    bool csc, unit, whole;  // whole: the other triangle is stored as well, and ignored

    std::string name() const
    {
        return std::string(uplo == Uplo::upper ? "upper" : "lower") + (op == Op::transpose ? ", transposed" : "") +
               (csc ? ", csc" : ", csr") + (unit ? ", unit diagonal" : "") + (whole ? ", of a whole matrix" : "");
    }
    bool solves_upwards() const { return (uplo == Uplo::upper) != (op == Op::transpose); }
};

std::vector<TriangleForm> all_forms()
{
    std::vector<TriangleForm> all;
    for (const Uplo uplo : {Uplo::lower, Uplo::upper})
        for (const Op op : {Op::none, Op::transpose})
            for (int k = 0; k < 8; ++k) all.push_back({uplo, op, (k & 1) != 0, (k & 2) != 0, (k & 4) != 0});
    return all;
}

template <class V, class Keep>
HostCsr<V> part_of(const HostCsr<V>& a, Keep&& keep)
{
    std::vector<std::tuple<index_t, index_t, V>> entries;
    for (const auto& [i, j, v] : a.entries())
        if (keep(i, j)) entries.emplace_back(i, j, v);
    return csr_of<V>(a.rows, a.cols, entries);
}

// What is handed to the plan.
template <class V>
HostCsr<V> stored(const HostCsr<V>& a, const TriangleForm& f)
{
    return part_of(a, [&](index_t i, index_t j) { return f.whole || (f.uplo == Uplo::lower ? j <= i : j >= i); });
}

// The system as a lower triangle: transposed and turned round as the form says.
template <class V>
HostCsr<V> system_of(const HostCsr<V>& a, const TriangleForm& f)
{
    HostCsr<V> t = part_of(a, [&](index_t i, index_t j) { return f.uplo == Uplo::lower ? j <= i : j >= i; });
    std::vector<std::tuple<index_t, index_t, V>> entries;
    for (const auto& [i, j, v] : t.entries()) {
        const index_t row = f.op == Op::transpose ? j : i, col = f.op == Op::transpose ? i : j;
        const bool up = f.solves_upwards();
        entries.emplace_back(up ? side - 1 - row : row, up ? side - 1 - col : col, i == j && f.unit ? V(1) : v);
    }
    std::sort(entries.begin(), entries.end());
    return csr_of<V>(side, side, entries);
}

// Right-hand sides: how many, where b and x stand. `in_place`: x is b.
struct SidesForm {
    index_t columns;
    Layout b, x;
    bool in_place;

    std::string name() const
    {
        return ", " + std::to_string(columns) + " sides, " + (b == Layout::row_major ? "rows to " : "columns to ") +
               (x == Layout::row_major ? "rows" : "columns") + (in_place ? ", in place" : "");
    }
};
const std::vector<SidesForm> all_sides{
    {1, Layout::col_major, Layout::col_major, false},  {1, Layout::row_major, Layout::col_major, false},
    {1, Layout::col_major, Layout::col_major, true},   {3, Layout::row_major, Layout::row_major, false},
    {3, Layout::row_major, Layout::col_major, false},  {3, Layout::col_major, Layout::row_major, false},
    {3, Layout::col_major, Layout::col_major, true},   {33, Layout::row_major, Layout::row_major, true},
    {33, Layout::col_major, Layout::col_major, false}, {64, Layout::col_major, Layout::row_major, false}};

template <class V>
void check_solve(const Context& c, const Plan<V>& plan, const HostCsr<V>& system, bool upwards, V alpha,
                 const SidesForm& s, int power)
{
    const auto b = dense<V>(side, s.columns, Values::reals, 8);
    Lent<V> b_there(c, b, {s.b, s.columns == 1 && s.b == Layout::row_major ? 4 : 2, 61});
    Lent<V> x_there(c, {side, s.columns, std::vector<V>(b.at.size(), std::numeric_limits<V>::quiet_NaN())},
                    {s.x, 3, 63});
    for (int k = 0; k < (s.in_place ? 1 : 2); ++k)
        plan.solve(alpha, b_there.view(), s.in_place ? b_there.view() : x_there.view());
    plan.wait();
    const auto got = s.in_place ? b_there.take() : x_there.take();
    for (const index_t j : {index_t{0}, s.columns / 2, s.columns - 1}) {
        std::vector<V> right, column;
        for (index_t i = 0; i < side; ++i) {
            right.push_back(b(upwards ? side - 1 - i : i, j));
            column.push_back(got(upwards ? side - 1 - i : i, j));
        }
        ASSERT_TRUE(within_bound(column, oracle_solve(system, alpha, right, power))) << "column " << j;
    }
}

// One form with all schemes, the chosen one first; plans are made when something is drawn for them.
template <class V>
void check_form(const Context& c, const TriangleForm& form, unsigned one_in)
{
    const auto before = general_matrix<V>(5), after = general_matrix<V>(6);
    const auto csr = to_device(c, stored(before, form).view()), csr2 = to_device(c, stored(after, form).view());
    const auto csc = to_csc(c, csr.view()), csc2 = to_csc(c, csr2.view());
    const auto view = [&](bool updated) {
        return form.csc ? AnyView<V>((updated ? csc2 : csc).view()) : AnyView<V>((updated ? csr2 : csr).view());
    };
    std::vector<std::optional<Policy>> schemes{std::nullopt};
    for (const Policy& s : schemes_for(c)) schemes.emplace_back(s);
    int turn = static_cast<int>(form.name().size());
    for (const auto& scheme : schemes)
        for (const Analysis analysis : {Analysis::device, Analysis::host})
            for (const index_t prepared : {1, 3})
                for (const bool updated : {false, true})
                    for (const SidesForm& sides : all_sides) {
                        if (c.backend() == Backend::cpu && analysis == Analysis::host)
                            continue;  // tasks are of the GPU
                        const std::string what = (sizeof(V) == 4 ? "f32, " : "f64, ") + form.name() + ", " +
                                                 (scheme ? to_text(*scheme) : "chosen") +
                                                 (analysis == Analysis::host ? ", tasks of the host" : "") +
                                                 (prepared > 1 ? ", for many" : "") + (updated ? ", updated" : "") +
                                                 sides.name();
                        if (++turn % (build::simulated ? 1 : 7) != 0 || !is_drawn(what, one_in))
                            continue;  // where all are drawn: every seventh, others for each form and scheme
                        SCOPED_TRACE(what);
                        auto plan = Plan<V>::make(c, view(false),
                                                  {.uplo = form.uplo,
                                                   .op = form.op,
                                                   .unit_diagonal = form.unit,
                                                   .other_side = form.whole ? OtherSide::ignore : OtherSide::refuse,
                                                   .right_hand_sides = prepared,
                                                   .force = scheme,
                                                   .analysis = analysis});
                        if (updated) plan.update_values(view(true));
                        check_solve<V>(c, plan, system_of(updated ? after : before, form), form.solves_upwards(),
                                       V(-0.75), sides, 2);
                        if (::testing::Test::HasFatalFailure()) return;
                    }
}

// Every form with the chosen policy, on the CPU always: a draw from all combinations misses most forms.
TEST_P(SptrsvCombinationsOn, EveryFormWithTheChosenPolicy)
{
    const auto c = ctx();
    const auto general = general_matrix<double>(5);
    for (const TriangleForm& form : all_forms()) {
        if (c.backend() != Backend::cpu && !is_drawn(form.name(), 4)) continue;
        SCOPED_TRACE(form.name());
        const auto csr = to_device(c, stored(general, form).view());
        const auto csc = to_csc(c, csr.view());
        Options options{.uplo = form.uplo,
                        .op = form.op,
                        .unit_diagonal = form.unit,
                        .other_side = form.whole ? OtherSide::ignore : OtherSide::refuse};
        for (const bool analysed : {false, true}) {
            if (analysed && c.backend() != Backend::cpu) continue;
            if (analysed) options.force = Policy{};  // else one thread, or a busy machine, needs no analysis
            const auto plan =
                Plan<double>::make(c, form.csc ? AnyView<double>(csc.view()) : AnyView<double>(csr.view()), options);
            check_solve<double>(c, plan, system_of(general, form), form.solves_upwards(), -0.75, all_sides.front(), 2);
            if (HasFatalFailure()) return;
        }
    }
}

TEST_P(SptrsvCombinationsOn, OfAllOptionsInDouble)
{
    for (const TriangleForm& form : all_forms()) check_form<double>(ctx(), form, 700);
}

TEST_P(SptrsvCombinationsOn, OfAllOptionsInFloat)
{
    for (const TriangleForm& form : all_forms()) check_form<float>(ctx(), form, 700);
}

// The other triangle is refused where it is not to be ignored, whichever it is.
TEST_P(SptrsvCombinationsOn, TheOtherSideIsRefusedInEveryForm)
{
    const auto c = ctx();
    const auto csr = to_device(c, general_matrix<double>(5).view());
    const auto csc = to_csc(c, csr.view());
    for (const TriangleForm& form : all_forms()) {
        if (!form.whole) continue;
        const AnyView<double> view = form.csc ? AnyView<double>(csc.view()) : AnyView<double>(csr.view());
        EXPECT_THROW(Plan<double>::make(c, view, {.uplo = form.uplo, .op = form.op, .unit_diagonal = form.unit}),
                     ValueError)
            << form.name();
    }
}

TULLE_ON_BACKENDS(SptrsvCombinationsOn);

}  // namespace
}  // namespace tulle::inline TULLE_ABI::sptrsv
