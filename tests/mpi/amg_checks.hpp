// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Multigrid on any number of ranks (checks.hpp): hardly more iterations than one process needs, a symmetric operator,
// and matrices that leave ranks with little or nothing.
#pragma once

#include "tests/mpi/checks.hpp"
#include "tulle/amg.hpp"

namespace tulle::testing {

// Several distributed levels on small matrices: 100 rows and fewer are on every rank.
inline constexpr amg::Options small_levels{.coarse_rows = 20};

template <class V>
double tolerance()
{
    return sizeof(V) == 8 ? 1e-9 : 1e-4;
}

template <class V>
solve::Report solve_ones(const mpi::DistCsr<V>& a, const mpi::SolveOptions& how)
{
    mpi::DistVector<V> b(a.cluster(), a.row_cuts()), x(a.cluster(), a.row_cuts());
    b.upload(std::vector<V>(b.local().size(), V(1)));
    return mpi::solve<V>(a, b.local(), x.local(), how);
}

// Iterations of CG on all ranks and on one.
template <class V>
void check_iterations(const mpi::Cluster& cluster, const char* sentence, const std::string& preconditioner)
{
    const Csr<V> whole = io::generate<V>(Context::cpu(1), sentence);
    const mpi::SolveOptions how{.preconditioner = solve::parse_preconditioner(preconditioner),
                                .stop = {.relative = tolerance<V>()}};
    const auto one = solve_ones(mpi::DistCsr<V>::scatter(alone(cluster.context()), whole.view()), how);
    for (const mpi::Cuts& cuts : cuts_for(whole.view(), cluster.ranks())) {
        const auto all = solve_ones(mpi::DistCsr<V>::scatter(cluster, whole.view(), 0, cuts), how);
        const std::string name = concat(sentence, ", ", preconditioner, ": ", all.text());
        expect(all.converged() && one.converged(), name);
        expect(static_cast<double>(all.iterations) <= 1.3 * static_cast<double>(one.iterations) + 1,
               concat(name, "; one process: ", one.iterations, " iterations"));
    }
}

// u . (M v) = v . (M u), and u . (M u) is positive.
template <class V>
void check_symmetry(mpi::AmgPlan<V>& plan, const mpi::DistCsr<V>& a, const std::string& name)
{
    const mpi::Cluster& cluster = a.cluster();
    mpi::DistVector<V> u(cluster, a.row_cuts()), v(cluster, a.row_cuts()), mu(cluster, a.row_cuts()),
        mv(cluster, a.row_cuts());
    std::vector<V> host(u.local().size());
    for (std::size_t i = 0; i < host.size(); ++i)
        host[i] = static_cast<V>(io::pattern_value(static_cast<index_t>(u.first()) + static_cast<index_t>(i), 1) - 1);
    u.upload(host);
    for (std::size_t i = 0; i < host.size(); ++i)
        host[i] = static_cast<V>(io::pattern_value(static_cast<index_t>(u.first()) + static_cast<index_t>(i), 2));
    v.upload(host);
    plan.apply(u.local(), mu.local());
    plan.apply(v.local(), mv.local());
    const double there = mpi::dot(u, mv), back = mpi::dot(v, mu);
    const double scale = mpi::norm(u) * mpi::norm(mv) + mpi::norm(v) * mpi::norm(mu);
    expect(std::abs(there - back) <= (sizeof(V) == 8 ? 1e-12 : 1e-5) * scale, concat(name, ": not symmetric"));
    expect(mpi::dot(u, mu) > 0 && mpi::dot(v, mv) > 0, concat(name, ": not positive"));
}

template <class V>
void check_symmetry(const mpi::DistCsr<V>& a, const amg::Options& options, const std::string& name)
{
    auto plan = mpi::AmgPlan<V>::make(a, options);
    check_symmetry(plan, a, name);
}

// Equal numbers of whole nodes for all ranks, or any cuts where a node is one unknown.
template <class V>
std::vector<mpi::Cuts> cuts_of_nodes(const CsrView<V>& a, int ranks, index_t unknowns)
{
    if (unknowns == 1) return cuts_for(a, ranks);
    mpi::Cuts cuts;
    for (int r = 0; r <= ranks; ++r) cuts.push_back(mpi::global_t{a.rows} / unknowns * r / ranks * unknowns);
    return {cuts};
}

// Matrices that are small, or a cluster of one rank: the hierarchy of one process, with its bits.
template <class V>
void check_replicated(const mpi::Cluster& cluster, const char* sentence, const amg::Options& options = {})
{
    const Context& ctx = cluster.context();
    const Csr<V> whole = io::generate<V>(Context::cpu(1), sentence);
    const Csr<V> there = to_device(ctx, whole.view());
    const auto all_r = numbers<V>(0, whole.rows, 3);
    const Buffer<V> one_r = to_device<V>(ctx, all_r);
    Buffer<V> one_z = to_device<V>(ctx, all_r);
    const auto one = amg::Plan<V>::make(ctx, there.view(), options);
    one.apply(one_r.span(), one_z.span());
    const std::vector<V> expected = host_copy(ctx, one_z);
    for (const mpi::Cuts& cuts : cuts_of_nodes(whole.view(), cluster.ranks(), options.unknowns_per_node)) {
        const auto a = mpi::DistCsr<V>::scatter(cluster, whole.view(), 0, cuts);
        auto plan = mpi::AmgPlan<V>::make(a, options);
        mpi::DistVector<V> r(cluster, a.row_cuts()), z(cluster, a.row_cuts());
        r.upload(part(cluster, all_r, a.row_cuts()));
        plan.apply(r.local(), z.local());
        expect_same<V>(z.download(), part(cluster, expected, a.row_cuts()),
                       concat(sentence, ": a cycle on every rank"));
        expect(plan.levels()[0].replicated && plan.operator_complexity() == one.operator_complexity(),
               concat(sentence, ": the levels of one process"));
    }
}

// Paths of a few rows, one after the other; `pull` is added to the diagonal, 0: every path is singular. The last rows
// have nothing beside their diagonal.
inline Csr<double> paths(index_t count, index_t length, index_t alone, double pull)
{
    const index_t n = count * length + alone;
    Csr<double> a = Csr<double>::make(Context::cpu(1).host(), n, n, offset_t{count} * (3 * length - 2) + alone);
    offset_t next = 0;
    for (index_t i = 0; i < n; ++i) {
        a.row_begin.data()[i] = next;
        const bool inside = i < count * length;
        const bool left = inside && i % length > 0, right = inside && i % length + 1 < length;
        const auto put = [&](index_t j, double v) {
            a.col.data()[next] = j;
            a.value.data()[next++] = v;
        };
        if (left) put(i - 1, -1);
        put(i, inside ? (left ? 1 : 0) + (right ? 1 : 0) + pull : 1);
        if (right) put(i + 1, -1);
    }
    a.row_begin.data()[n] = next;
    return a;
}

// b = A times numbers that add up to nothing in particular: there is a solution, whatever A is.
inline void check_solvable(const mpi::Cluster& cluster, const Csr<double>& whole, const mpi::SolveOptions& how,
                           const std::string& name)
{
    for (const mpi::Cuts& cuts : cuts_for(whole.view(), cluster.ranks())) {
        const auto a = mpi::DistCsr<double>::scatter(cluster, whole.view(), 0, cuts);
        mpi::DistVector<double> b(cluster, a.row_cuts()), x(cluster, a.row_cuts());
        std::vector<double> host(x.local().size());
        for (std::size_t i = 0; i < host.size(); ++i)
            host[i] = io::pattern_value(static_cast<index_t>(x.first()) + static_cast<index_t>(i), 1);
        x.upload(host);
        mpi::SpmvPlan<double>::make(a).run(x.local(), b.local());
        const auto report = mpi::solve<double>(a, b.local(), x.local(), how);
        expect(report.converged(), concat(name, ": ", report.text()));
    }
}

// The first rows are singular, so that their coarse matrix is zero, the last are not: ranks smooth alike nevertheless.
inline void check_smoothed_alike(const mpi::Cluster& cluster)
{
    Csr<double> half = paths(400, 3, 0, 0);
    for (index_t i = 600; i < half.rows; ++i)
        for (offset_t k = half.row_begin.data()[i]; k < half.row_begin.data()[i + 1]; ++k)
            if (half.col.data()[k] == i) half.value.data()[k] += 1;
    const auto a = mpi::DistCsr<double>::scatter(cluster, half.view());
    check_symmetry(a, {.smoother = amg::Smoother::gauss_seidel, .coarse_rows = 20, .most_levels = 2}, "half singular");
}

inline void check_little(const mpi::Cluster& cluster)
{
    const mpi::SolveOptions how{.preconditioner = solve::Amg{}};
    check_solvable(cluster, io::generate<double>(Context::cpu(1), "stencil5:1"), how, "one row");
    check_solvable(cluster, paths(1, 3, 0, 1), how, "three rows");
    check_solvable(cluster, paths(400, 4, 7, 0.01), how, "disconnected");
    check_solvable(cluster, paths(1, 1500, 0, 0), how, "singular");
    check_solvable(cluster, paths(500, 3, 0, 0), how, "disconnected and singular");
    check_solvable(cluster, paths(0, 1, 1200, 0), how, "a diagonal");
    check_smoothed_alike(cluster);
    mpi::SolveOptions local = how;
    local.local_amg = true;
    check_solvable(cluster, io::generate<double>(Context::cpu(1), "stencil5:40"), local, "block Jacobi");
}

// A cycle for some right-hand side: the local part.
template <class V>
std::vector<V> cycle_of(mpi::AmgPlan<V>& plan, const mpi::DistCsr<V>& a)
{
    mpi::DistVector<V> r(a.cluster(), a.row_cuts()), z(a.cluster(), a.row_cuts());
    r.upload(part(a.cluster(), numbers<V>(0, static_cast<index_t>(a.rows()), 3), a.row_cuts()));
    plan.apply(r.local(), z.local());
    return z.download();
}

// Multiplies all values, and those on the diagonal once more.
template <class V>
void scale(mpi::DistCsr<V>& a, V all, V diagonal)
{
    const CsrView<V> local = a.local();
    const mpi::global_t first = a.row_cuts()[here(a.cluster())];
    for (index_t i = 0; i < local.rows; ++i)
        for (offset_t k = local.row_begin[i]; k < local.row_begin[i + 1]; ++k)
            a.values()[static_cast<std::size_t>(k)] *= a.global_col(local.col[k]) == first + i ? all * diagonal : all;
}

// New values twice (the first prepare what the next ones use): the bits of a plan that is made with them. The values
// are such that aggregates stay the same.
template <class V>
void check_amg_update(const mpi::Cluster& cluster, const char* sentence, const amg::Options& options, V all, V diagonal,
                      const std::string& name)
{
    auto a = mpi::DistCsr<V>::generate(cluster, sentence);
    const std::vector<V> old(a.values().begin(), a.values().end());
    auto plan = mpi::AmgPlan<V>::make(a, options);
    const std::vector<V> before = cycle_of(plan, a);
    for (int round = 0; round < 2; ++round) {
        scale(a, all, diagonal);
        plan.update_values();
        auto fresh = mpi::AmgPlan<V>::make(a, options);
        expect(plan.describe() == fresh.describe(), concat(name, ": ", plan.describe(), fresh.describe()));
        expect_same<V>(cycle_of(plan, a), cycle_of(fresh, a), concat(name, ": new values, round ", round));
    }
    std::copy(old.begin(), old.end(), a.values().begin());
    plan.update_values();
    expect_same<V>(cycle_of(plan, a), before, concat(name, ": the values of before"));
}

// What f throws, as text.
template <class F>
std::string thrown_by(const F& f)
{
    try {
        f();
    } catch (const Error& e) {
        return e.message();
    }
    return "nothing";
}

// Without new values, a plan has the same cycles and holds less; bytes() are those that its memory counts, and more:
// lists on the host are not counted there.
inline void check_no_new_values(const mpi::Cluster& cluster, const char* sentence)
{
    const auto a = mpi::DistCsr<double>::generate(cluster, sentence);
    const Memory& memory = cluster.context().memory();
    const std::size_t before = memory.live(Space::host);
    auto plan = mpi::AmgPlan<double>::make(a, small_levels);
    const std::size_t counted = memory.live(Space::host) - before;
    expect(plan.bytes() >= counted && plan.bytes() < 3 * counted,
           concat("multigrid holds ", counted, " bytes, not ", plan.bytes()));
    auto once = mpi::AmgPlan<double>::make(a, small_levels, {}, mpi::NewValues::never);
    expect_same<double>(cycle_of(once, a), cycle_of(plan, a), "a plan without new values");
    const bool distributed = !plan.levels()[0].replicated;
    expect(!distributed || cluster.sum(static_cast<mpi::global_t>(once.bytes())) * 4 <
                               cluster.sum(static_cast<mpi::global_t>(plan.bytes())) * 3,
           concat("without new values a plan holds ", once.bytes(), " of ", plan.bytes(), " bytes"));
    const std::string never = "the plan was made without room for new values";
    expect(thrown_by([&] { once.update_values(); }) == never, "new values are not refused");
    auto system =
        mpi::SolvePlan<double>::make(a, {.preconditioner = solve::Amg{}, .new_values = mpi::NewValues::never});
    expect(thrown_by([&] { system.update_values(); }) == never, "new values of a system are not refused");
    mpi::DistVector<double> b(cluster, a.row_cuts()), x(cluster, a.row_cuts());
    std::fill(b.local().begin(), b.local().end(), 1.0);
    expect(system.solve(b.local(), x.local()).converged() && system.bytes() > 0, "a system without new values");
    expect(plan.policy().coarse_rows == small_levels.coarse_rows && system.policy().method == solve::Method::cg &&
               system.policy().preconditioner == solve::Preconditioner{solve::Amg{}},
           "the policy is not that of the options");
}

// Values by which aggregates of a new plan would be others: P and R fit together nevertheless.
template <class V>
void check_other_values(const mpi::Cluster& cluster, const char* sentence)
{
    auto a = mpi::DistCsr<V>::generate(cluster, sentence);
    auto plan = mpi::AmgPlan<V>::make(a, small_levels);
    const double radius = plan.levels()[0].spectral_radius;
    scale<V>(a, V(0.75), V(1.25));
    plan.update_values();
    check_symmetry(plan, a, "other values");
    expect(plan.levels()[0].spectral_radius < radius, "the spectral radius is the old one");
}

template <class V>
void check_amg_updates(const mpi::Cluster& cluster, const char* sentence)
{
    using enum amg::Smoother;
    // Connections of a stencil are equally strong, whatever its diagonal; those of coarser levels are not.
    amg::Options two{.coarse_rows = 20, .most_levels = 2};
    for (const auto smoother : {chebyshev, l1_jacobi, gauss_seidel}) {
        two.smoother = smoother;
        check_amg_update<V>(cluster, sentence, two, 3, V(1.25), amg::to_text(smoother));
    }
    check_amg_update<V>(cluster, sentence, small_levels, 4, 1, "all levels");
    check_amg_update<V>(cluster, sentence, {.prolongator_damping = 0, .coarse_rows = 20}, 4, 1, "plain aggregation");
    check_amg_update<V>(cluster, "stencil5:9", {}, 3, V(1.25), "on every rank");
    check_other_values<V>(cluster, sentence);
}

// Values that cannot be used are told to all ranks; the plan refuses to work until it gets others.
inline void check_bad_updates(const mpi::Cluster& cluster)
{
    const auto has = [](const std::string& text, const char* expected) {
        expect(text.find(expected) != text.npos, concat("'", expected, "' is not in: ", text));
    };
    auto a = mpi::DistCsr<double>::generate(cluster, "stencil5:20");
    auto plan = mpi::AmgPlan<double>::make(a, small_levels);
    auto system = mpi::SolvePlan<double>::make(a, {.preconditioner = solve::Amg{}});
    const std::vector<double> before = cycle_of(plan, a);
    mpi::DistVector<double> b(cluster, a.row_cuts()), x(cluster, a.row_cuts());
    const bool last = a.row_cuts()[here(cluster)] < 400 && a.row_cuts()[here(cluster) + 1] == 400;
    for (const double bad : {-4.0, std::nan("")}) {
        double good = 0;
        if (last) good = std::exchange(a.values().back(), bad);  // the diagonal entry of row 399
        has(thrown_by([&] { plan.update_values(); }),
            bad < 0 ? "row 399 has a diagonal entry that is not positive" : "row 399 has an entry that is not finite");
        has(thrown_by([&] { cycle_of(plan, a); }), "the last update_values failed");
        has(thrown_by([&] { system.update_values(); }), "row 399");
        has(thrown_by([&] { system.solve(b.local(), x.local()); }), "the last update_values failed");
        if (last) a.values().back() = good;
        plan.update_values();
        system.update_values();
        expect_same<double>(cycle_of(plan, a), before, "values that can be used again");
        expect(system.solve(b.local(), x.local()).converged(), "solved again");
    }
}

// A matrix of elasticity on rows that belong to whole nodes, and the rigid-body modes of its points.
struct DistElasticity {
    mpi::DistCsr<double> a;
    Dense<double> modes;
};

inline std::vector<double> coordinates_of(const char* sizes, index_t& dimensions)
{
    const Csr<double> at = io::generate<double>(Context::cpu(1), concat("coordinates:", sizes));
    dimensions = at.cols;
    std::vector<double> dense(static_cast<std::size_t>(at.rows) * static_cast<std::size_t>(at.cols), 0.0);
    for (index_t i = 0; i < at.rows; ++i)
        for (offset_t k = at.row_begin.data()[i]; k < at.row_begin.data()[i + 1]; ++k)
            dense[static_cast<std::size_t>(i * at.cols + at.col.data()[k])] = at.value.data()[k];
    return dense;
}

inline DistElasticity elasticity(const mpi::Cluster& cluster, const char* sizes)
{
    index_t dimensions = 0;
    const std::vector<double> all = coordinates_of(sizes, dimensions);
    const Csr<double> whole = io::generate<double>(Context::cpu(1), concat("elasticity", dimensions, "d:", sizes));
    const mpi::Cuts points = mpi::even_cuts(whole.rows / dimensions, cluster.ranks());
    mpi::Cuts cuts = points;
    for (mpi::global_t& c : cuts) c *= dimensions;
    const auto first = points[here(cluster)];
    const auto mine = static_cast<index_t>(points[here(cluster) + 1] - first);
    const DenseView<const double> at{mine, dimensions, dimensions, Layout::row_major, all.data() + first * dimensions};
    return {mpi::DistCsr<double>::scatter(cluster, whole.view(), 0, cuts), mpi::rigid_body_modes<double>(cluster, at)};
}

// The modes of one process, but for rounding: all ranks turn about the same point.
inline void check_modes(const DistElasticity& one, const DistElasticity& all)
{
    const Context& ctx = all.a.cluster().context();
    const std::vector<double> expected = host_copy(ctx, one.modes.data), mine = host_copy(ctx, all.modes.data);
    const auto first = static_cast<std::size_t>(all.a.row_cuts()[here(all.a.cluster())] * all.modes.cols);
    double worst = 0;
    for (std::size_t k = 0; k < mine.size(); ++k) worst = std::max(worst, std::abs(mine[k] - expected[first + k]));
    expect(worst <= 1e-12, concat("rigid-body modes differ by ", worst));
}

// Iterations with a near null space, or with constants alone.
inline offset_t elastic_iterations(const DistElasticity& e, index_t unknowns, bool with_modes)
{
    const mpi::SolveOptions how{.preconditioner = solve::Amg{},
                                .stop = {.relative = 1e-8},
                                .unknowns_per_node = unknowns};
    auto plan = mpi::SolvePlan<double>::make(e.a, how, with_modes ? e.modes.view() : DenseView<const double>{});
    mpi::DistVector<double> b(e.a.cluster(), e.a.row_cuts()), x(e.a.cluster(), e.a.row_cuts());
    b.upload(std::vector<double>(b.local().size(), 1.0));
    const auto report = plan.solve(b.local(), x.local());
    expect(report.converged(), report.text());
    expect(plan.solve(b.local(), x.local()).iterations == report.iterations, "the second solve is another one");
    expect(plan.describe().find(with_modes ? "3 vectors of the near null space" : "cg, preconditioner amg") !=
               std::string::npos,
           plan.describe());
    return report.iterations;
}

// Levels below the first have as many unknowns at a node as there are modes: they shrink as those of one process do.
inline void check_nodes_of_levels(const DistElasticity& one, const DistElasticity& all)
{
    amg::Options options{.unknowns_per_node = 2};
    options.coarse_rows = 10;
    const auto single = mpi::AmgPlan<double>::make(one.a, options, one.modes.view()),
               plan = mpi::AmgPlan<double>::make(all.a, options, all.modes.view());
    expect(plan.levels().size() > 2 && single.levels().size() > 2, plan.describe());
    expect(plan.levels()[1].replicated == (all.a.cluster().ranks() == 1), plan.describe());
    const auto most = static_cast<double>(single.levels()[2].rows) * 1.35 + 3 * all.a.cluster().ranks();
    expect(static_cast<double>(plan.levels()[2].rows) <= most, plan.describe() + "\n" + single.describe());
}

inline void check_rigid_body_modes(const mpi::Cluster& cluster, const char* sizes)
{
    const DistElasticity one = elasticity(alone(cluster.context()), sizes), all = elasticity(cluster, sizes);
    check_modes(one, all);
    if (cluster.ranks() <= 3) check_nodes_of_levels(one, all);  // aggregates of many ranks are small
    const offset_t alone = elastic_iterations(one, 2, true), with = elastic_iterations(all, 2, true),
                   without = elastic_iterations(all, 1, false);
    expect(static_cast<double>(with) <= 1.3 * static_cast<double>(alone) + 1 && 2 * with < 3 * without,
           concat("elasticity: ", with, " iterations, one process ", alone, ", without modes ", without));
    const auto refused = [&](index_t rows, index_t cols, const char* expected) {
        const Buffer<double> zero = to_device<double>(cluster.context(), std::vector<double>(10000, 1.0));
        const DenseView<const double> wrong{rows, cols, cols, Layout::row_major, zero.data()};
        const std::string said = thrown_by([&] { mpi::AmgPlan<double>::make(all.a, {.unknowns_per_node = 2}, wrong); });
        expect(said.find(expected) != said.npos, concat("'", expected, "' is not in: ", said));
    };
    const index_t rows = all.a.local().rows;
    refused(rows + 1, 3, "rows, but the matrix has");
    if (cluster.ranks() > 1) refused(rows, cluster.rank() == 0 ? 2 : 3, "rank 0: the near null space has 2 columns");
}

inline std::string amg_refusal(const mpi::DistCsr<double>& a, const amg::Options& options)
{
    try {
        mpi::AmgPlan<double>::make(a, options);
    } catch (const Error& e) {
        return e.message();
    }
    return "nothing";
}

inline void check_amg_refused(const mpi::Cluster& cluster)
{
    Csr<double> bad = io::generate<double>(Context::cpu(1), "stencil5:40");
    const auto said = [&](const amg::Options& options, const std::string& expected) {
        const auto a = mpi::DistCsr<double>::scatter(cluster, bad.view());
        const std::string message = amg_refusal(a, options);
        expect(message.find(expected) != std::string::npos, concat("'", expected, "' is not in: ", message));
    };
    said({.degree = 0}, "the degree is 0");
    said({.unknowns_per_node = 7}, "nodes of 7 unknowns do not divide");
    if (cluster.ranks() > 1)
        said({.coarsening = amg::Coarsening::classical}, "classical coarsening is not distributed");
    for (const auto storage : {amg::Storage::f16, amg::Storage::bf16})
        said({.storage = storage}, "levels over several ranks are not kept in 16 bits");
    for (const auto& [text, expected] :
         {std::pair{"amg:f16", "not kept in 16 bits"}, std::pair{"amg:bf16", "not kept in 16 bits"},
          std::pair{"amg+smoother[ic0]", "take no nested smoother"}}) {
        const mpi::SolveOptions options{.preconditioner = solve::parse_preconditioner(text)};
        const auto a = mpi::DistCsr<double>::scatter(cluster, bad.view());
        const std::string message = thrown_by([&] { mpi::SolvePlan<double>::make(a, options); });
        expect(message.find(expected) != std::string::npos, concat("'", expected, "' is not in: ", message));
    }
    const offset_t last = bad.nonzeros() - 1;  // the diagonal entry of the last row
    bad.value.data()[last] = -4;
    said({}, "row 1599 has a diagonal entry that is not positive");
    bad.value.data()[last] = std::nan("");
    said({}, "row 1599 has an entry that is not finite");
    bad.value.data()[last] = 4;
    const auto cuts = mpi::DistCsr<double>::scatter(cluster, bad.view()).row_cuts();
    const mpi::global_t row = cuts[cuts.size() - 2];  // its first entry is in a column of another rank, if there is one
    bad.value.data()[bad.row_begin.data()[row]] = std::nan("");
    said({}, concat("row ", row, " has an entry that is not finite"));
    expect(cluster.sum(0) == 0, "ranks are in step");
    const auto wide = mpi::DistCsr<double>::generate(cluster, "uniform:9,5,2");
    expect(amg_refusal(wide, {}).find("not square") != std::string::npos, "a matrix that is not square");
}

// Some distributed levels; the first fits on a rank no more.
template <class V>
void check_levels(const mpi::DistCsr<V>& a)
{
    const auto plan = mpi::AmgPlan<V>::make(a, small_levels);
    const auto& levels = plan.levels();
    const bool several = a.cluster().ranks() > 1;
    expect(levels.size() >= 3 && levels[0].rows == a.rows() && levels[0].nonzeros == a.nonzeros(), plan.describe());
    expect(levels[0].replicated != several && levels[1].replicated != several, "levels are distributed");
    expect(levels.back().replicated && levels.back().rows <= small_levels.coarse_rows, plan.describe());
    expect(plan.operator_complexity() > 1 && plan.operator_complexity() < 2, plan.describe());
    expect(plan.describe().find("operator complexity: 1.") != std::string::npos, plan.describe());
}

template <class V>
void check_multigrid(const mpi::Cluster& cluster, const char* sentence)
{
    using enum amg::Smoother;
    const auto a = mpi::DistCsr<V>::generate(cluster, sentence);
    check_levels(a);
    amg::Options options = small_levels;
    for (const auto smoother : {chebyshev, jacobi, l1_jacobi, gauss_seidel}) {
        options.smoother = smoother;
        options.cycle = smoother == jacobi ? amg::Cycle::w : amg::Cycle::v;
        check_symmetry(a, options, amg::to_text(smoother));
    }
    check_symmetry(a, {.strength = 0.999, .coarse_rows = 20}, "nothing is aggregated");
    check_symmetry(a, {.coarse_rows = 20, .most_levels = 1}, "one level");
    check_symmetry(a, {.prolongator_damping = 0, .coarse_rows = 20, .most_levels = 3}, "plain aggregation");
    check_replicated<V>(cluster, "stencil5:12");
    check_replicated<V>(cluster, "stencil5:10", {.coarse_rows = 20, .unknowns_per_node = 2});
}

inline void check_methods(const mpi::Cluster& cluster, const char* sentence)
{
    using enum solve::Method;
    const auto a = mpi::DistCsr<double>::generate(cluster, sentence);
    for (const auto method : {minres, bicgstab, gmres, fgmres}) {
        const char* const text = method == fgmres ? "amg+k" : "amg";
        const mpi::SolveOptions how{.method = method, .preconditioner = solve::parse_preconditioner(text)};
        const auto report = solve_ones(a, how);
        expect(report.converged() && report.iterations < 25, concat(solve::to_text(method), ": ", report.text()));
    }
}

}  // namespace tulle::testing
