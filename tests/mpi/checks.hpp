// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What must hold on any number of ranks, by threads (distributed_test.cpp) or by MPI (mpi/tests/checks.cpp): results
// have the bits of one process. A check throws std::logic_error with what is wrong.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/mpi/thread_transport.hpp"
#include "tulle/distributed_solve.hpp"
#include "tulle/error.hpp"
#include "tulle/generate.hpp"
#include "tulle/io.hpp"
#include "tulle/text.hpp"
#include "tulle/transfer.hpp"

namespace tulle::testing {

inline void expect(bool ok, const std::string& what)
{
    if (!ok) throw std::logic_error(what);
}

template <class T>
void expect_same(std::span<const T> a, std::span<const T> b, const std::string& what)
{
    expect(a.size() == b.size(), what + ": sizes differ");
    for (std::size_t i = 0; i < a.size(); ++i)
        expect(std::memcmp(&a[i], &b[i], sizeof(T)) == 0, concat(what, ": entry ", i, " is ", a[i], ", not ", b[i]));
}

// Numbers of very different size and both signs, functions of their global position.
template <class V>
std::vector<V> numbers(offset_t first, offset_t n, int seed)
{
    std::vector<V> x(static_cast<std::size_t>(n));
    for (offset_t i = 0; i < n; ++i) {
        const double v = io::pattern_value(static_cast<index_t>(first + i), seed) - 1;
        x[static_cast<std::size_t>(i)] = static_cast<V>(v * std::ldexp(1.0, static_cast<int>((first + i) % 37) - 18));
    }
    return x;
}

inline std::size_t here(const mpi::Cluster& cluster) { return static_cast<std::size_t>(cluster.rank()); }

// The part of this rank.
template <class T>
std::span<const T> part(const mpi::Cluster& cluster, const std::vector<T>& all, const mpi::Cuts& cuts, offset_t n = 1)
{
    const auto first = static_cast<std::size_t>(cuts[here(cluster)] * n);
    return std::span<const T>(all).subspan(first, static_cast<std::size_t>(cuts[here(cluster) + 1] * n) - first);
}

template <class V>
void check_gather(const mpi::DistCsr<V>& a, const CsrView<V>& whole, const std::string& name)
{
    const Csr<V> back = a.gather();
    if (a.cluster().rank() != 0) return expect(back.rows == 0, name + ": gathered on another rank");
    expect(back.rows == whole.rows && back.cols == whole.cols, name + ": shape");
    const auto rows = static_cast<std::size_t>(whole.rows) + 1, nonzeros = static_cast<std::size_t>(whole.nonzeros);
    expect_same<offset_t>(back.row_begin.span(), {whole.row_begin, rows}, name + ": row_begin");
    expect_same<index_t>(back.col.span(), {whole.col, nonzeros}, name + ": col");
    expect_same<V>(back.value.span(), {whole.value, nonzeros}, name + ": value");
}

// One process beside the ranks: on the CPU deterministic with one thread, or on the GPU of this rank.
inline Context one_process(const mpi::Cluster& cluster)
{
    const Context& ctx = cluster.context();
    return ctx.backend() == Backend::cpu ? Context::cpu(1).deterministic() : ctx;
}

template <class V>
std::vector<V> host_copy(const Context& ctx, const Buffer<V>& there)
{
    const Buffer<V> copy = to_host(ctx, there.span());
    return {copy.data(), copy.data() + copy.size()};
}

// y of one process with the policy of the ranks.
template <class V>
spmv::Plan<V> plan_of_one(const Context& ctx, const Csr<V>& whole, Op op, const spmv::Policy& policy)
{
    spmv::Options how{.op = op};
    if (ctx.backend() != Backend::cpu)
        how.force = spmv::Policy{policy.kernel, policy.lanes, op == Op::transpose};  // CPUs choose it
    return spmv::Plan<V>::make(ctx, whole.view(), how);
}

template <class V>
void check_spmv(const mpi::DistCsr<V>& a, const CsrView<V>& whole, Op op, const std::string& name)
{
    const mpi::Cluster& cluster = a.cluster();
    const Context &ctx = cluster.context(), single = one_process(cluster);
    const bool turned = op == Op::transpose;
    const mpi::Cuts &x_cuts = turned ? a.row_cuts() : a.col_cuts(), &y_cuts = turned ? a.col_cuts() : a.row_cuts();
    const auto x = numbers<V>(0, turned ? whole.rows : whole.cols, 1);
    const auto y = numbers<V>(0, turned ? whole.cols : whole.rows, 2);
    auto plan = mpi::SpmvPlan<V>::make(a, {.op = op});
    const Csr<V> there = to_device(single, whole);
    const auto one = plan_of_one(single, there, op, plan.policy());
    expect(one.policy().lanes == plan.policy().lanes && one.policy().kernel == plan.policy().kernel,
           name + ": one process chooses " + to_text(one.policy()) + ", ranks " + to_text(plan.policy()));
    const Buffer<V> all_x = to_device<V>(single, x), my_x = to_device(ctx, part(cluster, x, x_cuts));
    Buffer<V> all_y = to_device<V>(single, y), my_y = to_device(ctx, part(cluster, y, y_cuts));
    const mpi::Traffic before = cluster.sent();
    for (const V beta : {V(0), V(0.5)}) {
        one.run(V(1.5), all_x.span(), beta, all_y.span());
        plan.run(V(1.5), my_x.span(), beta, my_y.span());
    }
    const mpi::Traffic after = cluster.sent(), once = plan.sent_per_run();
    expect(after.bytes - before.bytes == 2 * once.bytes && after.messages - before.messages == 2 * once.messages,
           name + ": other bytes were sent than planned");
    expect_same<V>(host_copy(ctx, my_y), part(cluster, host_copy(single, all_y), y_cuts), name);
    one.run(all_x.span(), all_y.span());
    const mpi::PhaseTimes times = plan.run_timed(my_x.span(), my_y.span());
    expect(times.pack > 0 && times.exchange > 0 && times.product > 0, name + ": times of phases");
    expect_same<V>(host_copy(ctx, my_y), part(cluster, host_copy(single, all_y), y_cuts), name + ", timed");
}

template <class V>
void check_spmm(const mpi::DistCsr<V>& a, const CsrView<V>& whole, index_t n, const std::string& name)
{
    const mpi::Cluster& cluster = a.cluster();
    const Context &ctx = cluster.context(), single = one_process(cluster);
    const auto b = numbers<V>(0, offset_t{whole.cols} * n, 3), c = numbers<V>(0, offset_t{whole.rows} * n, 4);
    auto plan = mpi::SpmmPlan<V>::make(a, n);
    const Csr<V> there = to_device(single, whole);
    const Buffer<V> all_b = to_device<V>(single, b), my_b = to_device(ctx, part(cluster, b, a.col_cuts(), n));
    Buffer<V> all_c = to_device<V>(single, c), my_c = to_device(ctx, part(cluster, c, a.row_cuts(), n));
    const mpi::Traffic before = cluster.sent();
    plan.run(V(2), my_b.span(), V(0.5), my_c.span());
    expect(cluster.sent().bytes - before.bytes == plan.sent_per_run().bytes, name + ": bytes");
    const auto one = spmm::Plan<V>::make(single, there.view(), {.n = n, .force = plan.policy()});
    const DenseView<const V> dense_b{whole.cols, n, n, Layout::row_major, all_b.data()};
    const DenseView<V> dense_c{whole.rows, n, n, Layout::row_major, all_c.data()};
    one.run(V(2), dense_b, V(0.5), dense_c);
    expect_same<V>(host_copy(ctx, my_c), part(cluster, host_copy(single, all_c), a.row_cuts(), n), name);
    plan.run(my_b.span(), my_c.span());
    one.run(dense_b, dense_c);
    expect_same<V>(host_copy(ctx, my_c), part(cluster, host_copy(single, all_c), a.row_cuts(), n), name + ", plain");
}

// The same bits on CPUs and GPUs.
template <class V>
void check_dot(const mpi::Cluster& cluster, const mpi::Cuts& cuts, const std::string& name)
{
    const auto x = numbers<V>(0, cuts.back(), 5), y = numbers<V>(0, cuts.back(), 6);
    const double one = mpi::dot<V>(alone(), x, y);
    const Buffer<V> my_x = to_device(cluster.context(), part(cluster, x, cuts)),
                    my_y = to_device(cluster.context(), part(cluster, y, cuts));
    const double all = mpi::dot<V>(cluster, my_x.span(), my_y.span());
    expect(std::memcmp(&one, &all, sizeof one) == 0, concat(name, ": dot is ", all, ", in one process ", one));
}

// New values of the same pattern.
template <class V>
void check_update(mpi::DistCsr<V> a, const CsrView<V>& whole, Op op, const std::string& name)
{
    const mpi::Cluster& cluster = a.cluster();
    auto plan = mpi::SpmvPlan<V>::make(a, {.op = op});
    for (V& v : a.values()) v *= V(2);
    plan.update_values();
    std::vector<V> doubled(whole.value, whole.value + whole.nonzeros);
    for (V& v : doubled) v *= V(2);
    CsrView<V> twice = whole;
    twice.value = doubled.data();
    const bool turned = op == Op::transpose;
    const Context &ctx = cluster.context(), single = one_process(cluster);
    const auto x = numbers<V>(0, turned ? whole.rows : whole.cols, 7);
    Buffer<V> y(to_device<V>(single, std::vector<V>(static_cast<std::size_t>(turned ? whole.cols : whole.rows))));
    const Csr<V> there = to_device(single, twice);
    const Buffer<V> all_x = to_device<V>(single, x);
    plan_of_one(single, there, op, plan.policy()).run(all_x.span(), y.span());
    mpi::DistVector<V> mine(cluster, turned ? a.col_cuts() : a.row_cuts());
    const auto x_part = part(cluster, x, turned ? a.row_cuts() : a.col_cuts());
    ctx.run([&](const auto& q) { upload(q, x_part.data(), plan.x().data(), std::ssize(x_part)); });
    plan.run(plan.x(), mine.local());
    expect_same<V>(mine.download(), part(cluster, host_copy(single, y), mine.cuts()), name);
    for (V& v : a.values()) v /= V(2);
}

// Bytes of rows of B from other ranks that the neediest row of this rank asks for, at most.
template <class V>
std::size_t longest_need(const mpi::DistCsr<V>& a, const mpi::DistCsr<V>& b)
{
    offset_t longest_b = 0, longest_a = 0;
    for (index_t i = 0; i < b.local().rows; ++i)
        longest_b = std::max(longest_b, b.local().row_begin[i + 1] - b.local().row_begin[i]);
    for (index_t i = 0; i < a.local().rows; ++i)
        longest_a = std::max(longest_a, a.local().row_begin[i + 1] - a.local().row_begin[i]);
    const auto entries = static_cast<std::size_t>(a.cluster().largest(longest_b) * a.cluster().largest(longest_a));
    return entries * (sizeof(V) + sizeof(mpi::global_t));
}

// C = A B with B = A or A transposed, whole and in batches, and its values again.
template <class V>
void check_spgemm(mpi::DistCsr<V> a, const CsrView<V>& whole, const std::string& name)
{
    const mpi::Cluster& cluster = a.cluster();
    const bool square = whole.rows == whole.cols;
    const mpi::DistCsr<V> b = square ? a : a.transpose();
    const Context single = one_process(cluster);
    const spgemm::Options how{.op_b = square ? Op::none : Op::transpose};
    const auto product = [&](const CsrView<V>& left, const CsrView<V>& right) {
        const Csr<V> there = to_device(single, left), other = to_device(single, right);
        const Csr<V> c = spgemm::multiply(single, there.view(), other.view(), how);
        return to_host(single, c.view());
    };
    const Csr<V> one = product(whole, whole);
    std::vector<V> doubled(whole.value, whole.value + whole.nonzeros);
    for (V& v : doubled) v *= V(2);
    CsrView<V> twice = whole;
    twice.value = doubled.data();
    const Csr<V> again = product(twice, square ? twice : whole);
    for (const std::size_t budget : {Memory::unlimited, std::size_t{2000}, std::size_t{500}}) {
        auto plan = mpi::SpgemmPlan<V>::make(a, b, {.budget = budget});
        mpi::DistCsr<V> c = plan.run();
        check_gather(c, one.view(), name);
        if (budget == 500) continue;
        for (V& v : a.values()) v *= V(2);
        plan.run(c);
        check_gather(c, again.view(), name + ", new values");
        for (V& v : a.values()) v /= V(2);
        const std::size_t need = longest_need(a, b);
        if (budget == Memory::unlimited) expect(plan.batches() == 1, name + ": batches without a budget");
        else expect(plan.most_held() <= std::max(budget, 2 * need + budget / 2), name + ": the budget is exceeded");
        expect(plan.most_held() >= plan.largest_batch(), name + ": less is held than a batch");
    }
    expect(cluster.sum(0) == 0, "ranks are in step");
}

template <class V>
std::vector<mpi::Cuts> cuts_for(const CsrView<V>& a, int ranks)
{
    const auto size = static_cast<std::size_t>(ranks) + 1;
    mpi::Cuts last(size, 0), first(size, a.rows), holes(size, 0);
    last.back() = a.rows;
    first.front() = 0;
    for (std::size_t r = 1; r < size; ++r)
        holes[r] = r % 2 ? a.rows * static_cast<mpi::global_t>(r) / ranks : holes[r - 1];
    holes.back() = a.rows;
    return {{}, last, first, holes};
}

// Residuals and x have the bits of one rank where the preconditioner does not depend on the cuts, restarts included.
template <class V>
void check_solve(const mpi::DistCsr<V>& a, const CsrView<V>& whole, solve::Method method, const std::string& name)
{
    const mpi::Cluster& cluster = a.cluster();
    const Context& ctx = cluster.context();
    const std::vector<V> ones(static_cast<std::size_t>(whole.rows), V(1));
    const auto single = mpi::DistCsr<V>::scatter(alone(ctx), whole);
    const Buffer<V> all_b = to_device<V>(ctx, ones), b = to_device(ctx, part(cluster, ones, a.row_cuts()));
    mpi::DistVector<V> x(single.cluster(), single.row_cuts()), mine(cluster, a.row_cuts());
    mpi::SolveOptions how{.method = method, .restart = 6, .stop = {.relative = sizeof(V) == 8 ? 1e-9 : 1e-4}};
    offset_t iterations = 0;
    for (const char* preconditioner : {"none", "jacobi"}) {
        how.preconditioner = solve::parse_preconditioner(preconditioner);
        const auto one = mpi::solve<V>(single, all_b.span(), x.local(), how);
        const auto all = mpi::solve<V>(a, b.span(), mine.local(), how);
        expect(all.converged() && all.method == method, name + ": " + all.text());
        expect(all.iterations > 1, name + ": nothing was iterated");
        expect(all.restarts > 0 || method != solve::Method::gmres, name + ": no restart");
        expect_same<double>(all.history, one.history, name + ": residuals");
        expect_same<V>(mine.download(), part(cluster, x.download(), a.row_cuts()), name + ": x");
        iterations = all.iterations;
    }
    const bool symmetric = method == solve::Method::cg || method == solve::Method::minres;
    how.preconditioner = solve::Incomplete{symmetric ? factor::Kind::ic0 : factor::Kind::ilu0};
    const auto blocks = mpi::solve<V>(a, b.span(), mine.local(), how);
    expect(blocks.converged() && blocks.iterations < 2 * iterations + 10, name + ": block Jacobi: " + blocks.text());
}

// A matrix whose upper triangle is half as large: not symmetric, dominated by its diagonal.
template <class V>
Csr<V> lopsided(const char* sentence)
{
    Csr<V> a = io::generate<V>(Context::cpu(1), sentence);
    for (index_t i = 0; i < a.rows; ++i)
        for (offset_t k = a.row_begin.data()[i]; k < a.row_begin.data()[i + 1]; ++k)
            if (a.col.data()[k] > i) a.value.data()[k] /= V(2);
    return a;
}

// few: some of the methods, others for another type.
template <class V>
void check_solvers(const mpi::Cluster& cluster, const char* sentence, bool few = false)
{
    using enum solve::Method;
    constexpr bool wide = sizeof(V) == 8;
    const Csr<V> grid = io::generate<V>(Context::cpu(1), sentence), other = lopsided<V>(sentence);
    const auto a = mpi::DistCsr<V>::scatter(cluster, grid.view());
    const auto b = mpi::DistCsr<V>::scatter(cluster, other.view(), 0, cuts_for(other.view(), cluster.ranks())[3]);
    for (const auto method : {cg, minres})
        if (!few || wide == (method == cg)) check_solve(a, grid.view(), method, solve::to_text(method));
    for (const auto method : {bicgstab, gmres, fgmres})
        if (!few || method == (wide ? gmres : bicgstab)) check_solve(b, other.view(), method, solve::to_text(method));
}

// A small matrix by its rows.
inline Csr<double> small_matrix(const std::vector<std::vector<double>>& rows)
{
    const auto n = static_cast<index_t>(rows.size());
    Csr<double> a = Csr<double>::make(Context::cpu(1).host(), n, n, offset_t{n} * n);
    for (index_t i = 0; i < n; ++i) {
        a.row_begin.data()[i] = offset_t{n} * i;
        for (index_t j = 0; j < n; ++j) {
            a.col.data()[offset_t{n} * i + j] = j;
            a.value.data()[offset_t{n} * i + j] = rows[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)];
        }
    }
    a.row_begin.data()[n] = offset_t{n} * n;
    return a;
}

// A solve that goes wrong, or need not begin, has the reason of one process, and x of one rank.
inline void check_reason(const mpi::Cluster& cluster, const CsrView<double>& whole, const std::vector<double>& b,
                         const mpi::SolveOptions& how, const std::string& name)
{
    const Context single = Context::cpu(1).deterministic();
    const std::string title = concat(name, ", ", solve::to_text(how.method));
    const auto a = mpi::DistCsr<double>::scatter(cluster, whole);
    const auto alone_a = mpi::DistCsr<double>::scatter(alone(), whole);
    std::vector<double> x(b.size(), 5);
    mpi::DistVector<double> one_x(alone_a.cluster(), alone_a.row_cuts()), mine(cluster, a.row_cuts());
    const auto all = mpi::solve<double>(a, part(cluster, b, a.row_cuts()), mine.local(), how);
    const auto one = mpi::solve<double>(alone_a, b, one_x.local(), how);
    solve::Recipe recipe{.method = how.method, .preconditioner = how.preconditioner, .stop = how.stop};
    recipe.restart = how.restart;
    const auto expected = solve::Plan<double>::make(single, whole, recipe).solve(b, x);
    expect(all.reason == expected.reason, title + ": " + all.text() + ", one process: " + expected.text());
    expect(all.where == expected.where && all.note == expected.note,
           title + ": " + all.text() + ", one process: " + expected.text());
    expect(all.iterations == one.iterations && all.restarts == one.restarts, title + ": " + one.text());
    expect_same<double>(mine.download(), part(cluster, one_x.download(), a.row_cuts()), title + ": x");
}

// Turns of pairs of unknowns by a right angle, each with another factor: r · A r = 0.
inline Csr<double> turns(std::size_t pairs)
{
    std::vector<std::vector<double>> rows(2 * pairs, std::vector<double>(2 * pairs, 0.0));
    for (std::size_t k = 0; k < pairs; ++k) {
        rows[2 * k][2 * k + 1] = 1 + static_cast<double>(k) / 7;
        rows[2 * k + 1][2 * k] = -rows[2 * k][2 * k + 1];
    }
    return small_matrix(rows);
}

inline void check_reasons(const mpi::Cluster& cluster)
{
    using enum solve::Method;
    const Csr<double> grid = io::generate<double>(Context::cpu(1), "stencil5:6");
    const auto n = static_cast<std::size_t>(grid.rows);
    std::vector<double> with_nan(n, 1);
    with_nan[n - 1] = std::nan("");
    for (const auto method : {cg, minres, bicgstab, gmres, fgmres}) {
        check_reason(cluster, grid.view(), std::vector<double>(n, 0), {.method = method}, "zero b");
        check_reason(cluster, grid.view(), with_nan, {.method = method}, "NaN in b");
        check_reason(cluster, grid.view(), std::vector<double>(n, 1), {.method = method, .stop = {.iterations = 3}},
                     "few iterations");
        check_reason(cluster, grid.view(), std::vector<double>(n, 1),
                     {.method = method, .stop = {.relative = 1e-30, .stagnation = 50}}, "a tolerance out of reach");
    }
    const Csr<double> turn = small_matrix({{0, 1, 0}, {-1, 0, 0}, {0, 0, 1}}), plus = small_matrix({{1, 2}, {2, 1}}),
                      singular = small_matrix({{1, 1}, {1, 1}}), many = turns(8);
    const mpi::SolveOptions plain{.preconditioner = solve::None{}};
    const auto by = [&](solve::Method method) {
        mpi::SolveOptions how = plain;
        how.method = method;
        return how;
    };
    Csr<double> hollow = io::generate<double>(Context::cpu(1), "identity:6");  // the last row has no entries
    hollow.row_begin.data()[6] = 5;
    check_reason(cluster, {6, 6, 5, hollow.row_begin.data(), hollow.col.data(), hollow.value.data()},
                 {1, 1, 1, 1, 1, 1}, by(gmres), "a row without entries");
    check_reason(cluster, turn.view(), {1, 1, 0}, by(bicgstab), "breakdown");
    check_reason(cluster, many.view(), std::vector<double>(16, 1.0), by(bicgstab), "breakdowns of many rows");
    check_reason(cluster, plus.view(), {1, -1}, by(cg), "indefinite");
    for (const auto method : {minres, gmres}) {
        check_reason(cluster, plus.view(), {1, -1}, by(method), "indefinite");
        check_reason(cluster, singular.view(), {1, 0}, by(method), "singular");
    }
}

// What is refused, by all ranks.
inline void check_refused(const mpi::Cluster& cluster)
{
    const auto said = [&](const mpi::DistCsr<double>& a, const mpi::SolveOptions& how) {
        mpi::DistVector<double> b(cluster, a.row_cuts()), x(cluster, a.row_cuts());
        try {
            mpi::solve<double>(a, b.local(), x.local(), how);
        } catch (const Error& e) {
            return e.message();
        }
        return std::string("nothing");
    };
    const auto grid = mpi::DistCsr<double>::generate(cluster, "stencil5:3");
    Csr<double> bad = io::generate<double>(Context::cpu(1), "stencil5:3");
    bad.value.data()[bad.nonzeros() - 1] = std::nan("");
    const auto expect_said = [&](const std::string& what, const std::string& expected) {
        expect(what.find(expected) != std::string::npos, "'" + expected + "' is not in: " + what);
    };
    expect_said(said(mpi::DistCsr<double>::generate(cluster, "uniform:9,5,2"), {}), "A is 9 x 5, not square");
    expect_said(said(grid, {.method = solve::Method::chebyshev}), "chebyshev does not run on distributed matrices");
    expect_said(said(grid, {.method = solve::Method::gmres, .restart = 0}), "restart must be 1 to 1000");
    expect_said(said(mpi::DistCsr<double>::scatter(cluster, bad.view()), {}), "row 8 of the matrix (counted from 0)");
}

// Nothing to solve: every method converges at once.
inline void check_empty_system(const mpi::Cluster& cluster)
{
    using enum solve::Method;
    const std::vector<offset_t> begin{0};
    const auto a = mpi::DistCsr<double>::from_rows(cluster, 0, begin, {}, {});
    mpi::DistVector<double> b(cluster, a.row_cuts()), x(cluster, a.row_cuts());
    const solve::Preconditioner all[]{solve::None{}, solve::Jacobi{}, solve::Incomplete{}};
    for (const auto method : {cg, minres, bicgstab, gmres, fgmres})
        for (const solve::Preconditioner& preconditioner : all) {
            const auto report =
                mpi::solve<double>(a, b.local(), x.local(), {.method = method, .preconditioner = preconditioner});
            expect(report.converged() && report.iterations == 0,
                   concat("0 x 0, ", solve::to_text(method), ": ", report.text()));
        }
}

template <class V>
void check_matrix(const mpi::Cluster& cluster, const CsrView<V>& whole, const std::string& name)
{
    for (const mpi::Cuts& cuts : cuts_for(whole, cluster.ranks())) {
        const auto a = mpi::DistCsr<V>::scatter(cluster, whole, 0, cuts);
        expect(a.nonzeros() == whole.nonzeros, name + ": nonzeros");
        check_gather(a, whole, name + ", gather");
        check_spmv(a, whole, Op::none, name + ", SpMV");
        check_spmv(a, whole, Op::transpose, name + ", SpMV transposed");
        check_spmm(a, whole, 5, name + ", SpMM");
        if (cuts.empty() || cuts[1] != cuts.back()) check_spgemm(a, whole, name + ", SpGEMM");
        check_update(a, whole, Op::none, name + ", new values");
        check_update(a, whole, Op::transpose, name + ", new values transposed");
        check_dot<V>(cluster, a.row_cuts(), name + ", dot");
    }
}

// All checks, with one in `one_in` of the matrices: others for another number of ranks and another type.
template <class V>
void check_all(const mpi::Cluster& cluster, unsigned one_in = 1)
{
    const Context ctx = Context::cpu(1);
    unsigned number = static_cast<unsigned>(cluster.ranks()) + sizeof(V) / 8;
    for (const char* sentence :
         {"stencil5:12", "uniform:90,60,4", "rmat:7,6", "arrow:40", "stencil5:1", "banded:70,3"}) {
        if (number++ % one_in != 0) continue;
        const Csr<V> whole = io::generate<V>(ctx, sentence);
        check_matrix<V>(cluster, whole.view(), sentence);
    }
    check_solvers<V>(cluster, "stencil5:12", cluster.ranks() > 4);
}

// What can go wrong on a GPU alone: a vector in host memory.
inline void check_places(const mpi::Cluster& cluster)
{
    const auto a = mpi::DistCsr<double>::generate(cluster, "stencil5:3");
    auto plan = mpi::SpmvPlan<double>::make(a);
    mpi::DistVector<double> y(cluster, a.row_cuts());
    const std::vector<double> x(y.local().size(), 1);
    std::string said;
    try {
        if (!x.empty()) plan.run(x, y.local());
    } catch (const DeviceError& e) {
        said = e.message();
    }
    expect(x.empty() || said.starts_with("x is not in the memory of cuda:"), "x in host memory: " + said);
}

// The checks for ranks on GPUs, small: a simulated GPU is slow.
template <class V>
void check_gpu(const mpi::Cluster& cluster)
{
    for (const char* sentence : {"stencil5:7", "uniform:30,24,4"}) {
        const Csr<V> whole = io::generate<V>(Context::cpu(1), sentence);
        const auto cuts = cuts_for(whole.view(), cluster.ranks());
        for (const std::size_t which : {std::size_t{0}, std::size_t{3}}) {  // even, with ranks without rows
            const auto a = mpi::DistCsr<V>::scatter(cluster, whole.view(), 0, cuts[which]);
            const std::string name = concat(sentence, " on GPUs");
            check_spmv(a, whole.view(), Op::none, name + ", SpMV");
            check_spmm(a, whole.view(), 3, name + ", SpMM");
            check_dot<V>(cluster, a.row_cuts(), name + ", dot");
            if (which == 0) check_spgemm(a, whole.view(), name + ", SpGEMM");
            if (which == 0) check_update(a, whole.view(), Op::transpose, name + ", new values transposed");
        }
    }
    check_solvers<V>(cluster, "stencil5:5", true);
}

// A fault on one rank is an exception on all of them.
inline void check_agreement(const mpi::Cluster& cluster)
{
    const int guilty = cluster.ranks() - 1;
    std::string said;
    try {
        cluster.run_collective("a test", [&] {
            if (cluster.rank() == guilty) throw FormatError("A.mtx:12: column 51 exceeds 50", "look there");
        });
    } catch (const FormatError& e) {
        said = e.message() + "|" + e.hint();
    }
    expect(said == concat("rank ", guilty, ": A.mtx:12: column 51 exceeds 50|look there"), "agreement: " + said);
    std::size_t needed = 0;
    try {
        cluster.run_collective("a test", [&] {
            if (cluster.rank() == guilty) throw OutOfMemory("too much", 7, 5);
        });
    } catch (const OutOfMemory& e) {
        needed = e.needed();
    }
    expect(needed == 7, "agreement on OutOfMemory");
    bool thrown = false;
    try {
        mpi::DistCsr<double>::read(cluster, "there/is/no/such/file.mtx");
    } catch (const FileError& e) {
        thrown = e.message().starts_with("rank 0: ");
    }
    expect(thrown, "a missing file is told by all ranks");
    thrown = false;
    const std::vector<offset_t> begin{0, 1};
    const std::vector<mpi::global_t> col{cluster.rank() == guilty ? 77 : 0};
    const std::vector<double> value{1};
    try {
        mpi::DistCsr<double>::from_rows(cluster, 5, begin, col, value);
    } catch (const ValueError& e) {
        thrown = e.message().find("column 77") != std::string::npos;
    }
    expect(thrown, "a wrong column is told by all ranks");
}

// A file that rank 0 writes and all ranks see; gone when it is destroyed.
class SharedFile {
public:
    SharedFile(const mpi::Cluster& cluster, const std::string& ending)
        : cluster_(cluster),
          path_(
              std::filesystem::temp_directory_path() /
              concat("tulle-mpi-", cluster.sum(cluster.rank() == 0 ? static_cast<mpi::global_t>(getpid()) : 0), ending))
    {}
    SharedFile(const SharedFile&) = delete;
    SharedFile& operator=(const SharedFile&) = delete;
    ~SharedFile()
    {
        cluster_.sum(0);  // everybody has read it
        if (cluster_.rank() == 0) std::filesystem::remove(path_);
    }
    void write(const std::string& text) const
    {
        if (cluster_.rank() == 0) std::ofstream(path_) << text;
        cluster_.sum(0);
    }
    void write(const CsrView<double>& a) const
    {
        if (cluster_.rank() == 0) io::write(Context::cpu(1), path_, a);
        cluster_.sum(0);
    }
    const std::filesystem::path& path() const { return path_; }

private:
    const mpi::Cluster& cluster_;
    std::filesystem::path path_;
};

inline void check_read_as_one(const mpi::Cluster& cluster, const SharedFile& file, const io::ReadOptions& options,
                              const std::string& name)
{
    const Csr<double> whole = io::read<double>(Context::cpu(1), file.path(), options);
    const auto a = mpi::DistCsr<double>::read(cluster, file.path(), options);
    check_gather(a, whole.view(), name);
    expect(a.row_cuts() ==
               mpi::balanced_cuts({whole.row_begin.data(), static_cast<std::size_t>(whole.rows) + 1}, cluster.ranks()),
           name + ": cuts");
}

// What all ranks say of a file that is wrong: the line in the whole file.
inline void check_read_fault(const mpi::Cluster& cluster, const SharedFile& file, const std::string& text,
                             const std::string& expected)
{
    file.write(text);
    std::string said;
    try {
        mpi::DistCsr<double>::read(cluster, file.path());
    } catch (const FormatError& e) {
        said = e.message();
    }
    expect(said.starts_with("rank ") && said.find(expected) != std::string::npos, expected + ", but: " + said);
    cluster.sum(0);
}

// Files that all ranks read together.
inline void check_files(const mpi::Cluster& cluster)
{
    const std::string banner = "%%MatrixMarket matrix coordinate ";
    const SharedFile text(cluster, ".mtx"), binary(cluster, ".tulle"), petsc(cluster, ".petsc");
    for (const char* sentence : {"rmat:7,6", "uniform:90,60,4", "arrow:40", "stencil5:1"}) {
        const Csr<double> a = io::generate<double>(Context::cpu(1), sentence);
        for (const SharedFile* file : {&text, &binary, &petsc}) {
            file->write(a.view());
            check_read_as_one(cluster, *file, {},
                              concat("reading ", sentence, ", ", file->path().extension().string()));
        }
    }
    text.write(banner + "real symmetric\n% here\n4 4 5\n1 1 0.1\n3 1 2.5\n3 1 0.3\n% there\n\n4 2 -1\n3 1 1e-17");
    check_read_as_one(cluster, text, {}, "reading a triangle with duplicates");
    text.write(banner + "integer skew-symmetric\n3 3 2\n2 1 5\n3 1 -6\n");
    check_read_as_one(cluster, text, {}, "reading a skew-symmetric matrix");
    text.write(banner + "pattern general\n3 5 3\n1 1\n3 5\n2 4\n");
    check_read_as_one(cluster, text, {}, "reading a pattern");
    check_read_as_one(cluster, text, {.random_values = 5}, "reading a pattern with random values");
    text.write("%%MatrixMarket matrix array real general\n2 2\n1\n0\n3\n4\n");
    check_read_as_one(cluster, text, {}, "reading an array");
    const std::string head = banner + "real general\n3 3 4\n1 1 1\n2 1 1\n";
    check_read_fault(cluster, text, head + "3 4 1\n3 3 1\n", ".mtx:5: ");
    check_read_fault(cluster, text, head + "3 1 1\n3 3 x\n", ".mtx:6: ");
    check_read_fault(cluster, text, head + "3 1 1\n3 3 1\n3 2 1\n", ".mtx:7: more than the 4 entries");
    check_read_fault(cluster, text, head + "3 1 1\n", "the file ends after 3 of 4 entries");
}

// Columns beyond 32 bits, only a few of them used.
inline void check_wide(const mpi::Cluster& cluster)
{
    const mpi::global_t cols = mpi::global_t{1} << 33;
    const mpi::Cuts cuts = mpi::even_cuts(16, cluster.ranks());
    mpi::Cuts col_cuts(cuts.size(), 0);
    for (std::size_t r = 1; r < cuts.size(); ++r) col_cuts[r] = cols / cluster.ranks() * static_cast<mpi::global_t>(r);
    col_cuts.back() = cols;
    if (cols / cluster.ranks() >= max_index) return;
    const std::vector<offset_t> begin{0, 2};
    const std::vector<mpi::global_t> col{3, cols - 1};
    const std::vector<double> value{1, 2};
    const auto a = mpi::DistCsr<double>::from_rows(cluster, cols, begin, col, value, col_cuts);
    expect(a.global_col(a.local().col[0]) == 3 && a.global_col(a.local().col[1]) == cols - 1, "global columns");
    expect(a.local().col[0] < a.local().col[1], "the order of columns is kept");
}

}  // namespace tulle::testing
