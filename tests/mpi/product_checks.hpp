// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What other checks take for granted, on any number of ranks: rows in the order that the caller gave them, products in
// any number of batches with new values, and sums of what is not finite. Values are small integers, so that every order
// of additions has the same bits.
#pragma once

#include <limits>
#include <set>

#include "tests/mpi/checks.hpp"

namespace tulle::testing {

// Integers from -4 to 4 without zero.
template <class V>
void give_integers(Csr<V>& a, int seed)
{
    for (offset_t k = 0; k < a.nonzeros(); ++k) {
        const auto n = static_cast<int>(io::pattern_value(static_cast<index_t>(k), seed) * 1000) % 8 - 4;
        a.value.data()[k] = static_cast<V>(n < 0 ? n : n + 1);
    }
}

// This rank's rows of a matrix that all ranks have. `turned`: from the last column to the first; `twice`: the first
// entry of each is given twice, with a value that the second takes back.
template <class V>
mpi::DistCsr<V> rows_of(const mpi::Cluster& cluster, const CsrView<V>& a, const mpi::Cuts& cuts,
                        const mpi::Cuts& col_cuts, bool turned = false, bool twice = false)
{
    std::vector<offset_t> row_begin{0};
    std::vector<mpi::global_t> col;
    std::vector<V> value;
    const auto put = [&](offset_t k, V v) {
        col.push_back(a.col[k]);
        value.push_back(v);
    };
    for (mpi::global_t i = cuts[here(cluster)]; i < cuts[here(cluster) + 1]; ++i) {
        const offset_t begin = a.row_begin[i], end = a.row_begin[i + 1];
        if (twice && begin < end) put(begin, V(3));
        for (offset_t k = begin; k < end; ++k) {
            const offset_t from = turned ? begin + end - 1 - k : k;
            put(from, twice && from == begin ? a.value[from] - V(3) : a.value[from]);
        }
        row_begin.push_back(std::ssize(col));
    }
    return mpi::DistCsr<V>::from_rows(cluster, a.cols, row_begin, col, value, col_cuts);
}

template <class V>
Csr<V> product_of_one(const CsrView<V>& a, const CsrView<V>& b)
{
    return spgemm::multiply(Context::cpu(1).deterministic(), a, b);
}

// SpMV, SpMM, a transposed copy and products of a matrix whose rows some ranks have in another order.
template <class V>
void check_order(const mpi::DistCsr<V>& a, const mpi::DistCsr<V>& sorted, const CsrView<V>& square,
                 const std::string& name)
{
    const mpi::Cluster& cluster = a.cluster();
    mpi::DistVector<V> x(cluster, a.col_cuts()), y(cluster, a.row_cuts()), expected(cluster, a.row_cuts());
    std::vector<V> all(static_cast<std::size_t>(a.cols()));
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<V>(i % 7) - V(3);
    x.upload(part(cluster, all, a.col_cuts()));
    for (const Op op : {Op::none, Op::transpose}) {
        mpi::SpmvPlan<V>::make(a, {.op = op}).run(x.local(), y.local());
        mpi::SpmvPlan<V>::make(sorted, {.op = op}).run(x.local(), expected.local());
        expect_same<V>(y.download(), expected.download(), name + ", SpMV");
    }
    mpi::SpmmPlan<V>::make(a, 1).run(V(1), x.local(), V(0), y.local());
    mpi::SpmvPlan<V>::make(sorted).run(x.local(), expected.local());
    expect_same<V>(y.download(), expected.download(), name + ", SpMM");
    for (const auto& [left, right] : {std::pair{a, a}, {a, sorted}, {sorted, a}}) {
        auto plan = mpi::SpgemmPlan<V>::make(left, right);
        mpi::DistCsr<V> c = plan.run();
        check_gather(c, square, name + ", SpGEMM");
        plan.run(c);
        check_gather(c, square, name + ", SpGEMM again");
    }
}

// Calls check(matrix, text) with rows of the first rank, of the last, then of all of them, that are not sorted, or have
// duplicates, or both.
template <class V, class Check>
void for_each_order(const mpi::DistCsr<V>& sorted, const CsrView<V>& whole, const std::string& name, const Check& check)
{
    const mpi::Cluster& cluster = sorted.cluster();
    const mpi::Cuts& cuts = sorted.row_cuts();
    for (const int guilty : std::set{0, cluster.ranks() - 1, cluster.ranks()})
        for (const auto& [turned, twice] : {std::pair{true, false}, {false, true}, {true, true}}) {
            const bool mine = guilty == cluster.rank() || guilty == cluster.ranks();
            check(rows_of(cluster, whole, cuts, cuts, mine && turned, mine && twice),
                  concat(name, ", rows of rank ", guilty, turned ? " turned" : "", twice ? " twice" : ""));
        }
}

template <class V>
void check_orders(const mpi::Cluster& cluster, const char* sentence)
{
    Csr<V> whole = io::generate<V>(Context::cpu(1), sentence);
    give_integers(whole, 3);
    const Csr<V> square = product_of_one(whole.view(), whole.view());
    const auto sorted = mpi::DistCsr<V>::scatter(cluster, whole.view());
    for_each_order(sorted, whole.view(), sentence, [&](const mpi::DistCsr<V>& a, const std::string& name) {
        check_order(a, sorted, square.view(), name);
    });
}

// Solvers need as many iterations, or one more or less, whatever the order of the rows is.
inline void check_solve_orders(const mpi::Cluster& cluster, const char* sentence)
{
    const Csr<double> whole = io::generate<double>(Context::cpu(1), sentence);
    const auto sorted = mpi::DistCsr<double>::scatter(cluster, whole.view());
    const std::vector<double> b(static_cast<std::size_t>(sorted.local().rows), 1);
    mpi::DistVector<double> x(cluster, sorted.row_cuts());
    for (const char* preconditioner : {"jacobi", "ic0", "amg"}) {
        const mpi::SolveOptions how{.preconditioner = solve::parse_preconditioner(preconditioner)};
        const auto iterations = mpi::solve<double>(sorted, b, x.local(), how).iterations;
        for_each_order(sorted, whole.view(), preconditioner, [&](const auto& a, const std::string& name) {
            if (preconditioner != std::string("jacobi") && a.nonzeros() > whole.nonzeros()) return;  // refused
            const auto report = mpi::solve<double>(a, b, x.local(), how);
            expect(report.converged() && std::abs(report.iterations - iterations) <= 1,
                   concat(name, ": ", report.text(), "; sorted: ", iterations, " iterations"));
        });
    }
}

// A matrix that all ranks have, and this rank's rows of it.
template <class V>
struct OnAll {
    Csr<V> whole;
    mpi::DistCsr<V> dist;

    OnAll(const mpi::Cluster& cluster, const char* sentence, const mpi::Cuts& col_cuts = {})
        : whole(io::generate<V>(Context::cpu(1), sentence)),
          dist(rows_of(cluster, whole.view(), mpi::balanced_cuts(whole.row_begin.span(), cluster.ranks()), col_cuts))
    {
        renew(1);
    }
    void renew(int seed)
    {
        give_integers(whole, seed);
        const auto first = static_cast<std::size_t>(dist.row_cuts()[here(dist.cluster())]);
        std::copy_n(whole.value.data() + whole.row_begin.span()[first], dist.local().nonzeros, dist.values().data());
    }
};

// C = A B with new values of A, of B and of both. Returns what becomes of the patterns of B.
template <class V>
std::string check_new_values(OnAll<V>& a, OnAll<V>& b, std::size_t budget, const std::string& name)
{
    auto plan = mpi::SpgemmPlan<V>::make(a.dist, b.dist, {.budget = budget});
    mpi::DistCsr<V> c = plan.run();
    int seed = 10;
    for (const auto& [new_a, new_b] : {std::pair{false, false}, {true, false}, {false, true}, {true, true}}) {
        if (new_a) a.renew(++seed);
        if (new_b) b.renew(++seed);
        const Csr<V> one = product_of_one(a.whole.view(), b.whole.view());
        plan.run(c);
        check_gather(c, one.view(), name + ", values again");
        check_gather(plan.run(), one.view(), name + ", a C of its own again");
    }
    const std::string text = plan.describe();
    return text.find("patterns of B are kept") != text.npos ? "kept" : "sent again";
}

// In as many batches as budgets of a tenth to all of what is fetched make; patterns are kept in some of them.
template <class V>
void check_batched_values(const mpi::Cluster& cluster, const char* sentence_b)
{
    std::set<std::string> seen;
    for (const char* sentence_a : {"uniform:60,60,1", "uniform:40,60,3"}) {
        OnAll<V> b(cluster, sentence_b), a(cluster, sentence_a, b.dist.row_cuts());
        auto at_once = mpi::SpgemmPlan<V>::make(a.dist, b.dist);
        at_once.run();
        const auto need = static_cast<std::size_t>(cluster.largest(static_cast<mpi::global_t>(at_once.most_held())));
        for (const std::size_t percent : {100U, 90U, 40U, 10U})
            seen.insert(check_new_values(a, b, need * percent / 100,
                                         concat(sentence_a, " by ", sentence_b, ", budget ", percent, " %")));
    }
    expect(cluster.ranks() == 1 || seen.size() == 2, "patterns are not both kept and sent again");
}

// A sum does not depend on which rank has what is not finite, nor on what the others have.
inline void check_special_sums(const mpi::Cluster& cluster)
{
    constexpr double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN(),
                     large = 1e308;
    const std::vector<std::vector<double>> lists{{nan},
                                                 {infinity},
                                                 {-infinity},
                                                 {infinity, -infinity},
                                                 {nan, large},
                                                 {nan, infinity},
                                                 {large, large},
                                                 {-large, -large},
                                                 {large, -large, 1},
                                                 {infinity, large},
                                                 {-infinity, nan, infinity}};
    for (const auto& list : lists)
        for (int first = 0; first < cluster.ranks(); ++first) {
            std::vector<double> mine{1}, one(static_cast<std::size_t>(cluster.ranks()), 1.0);
            one.insert(one.end(), list.begin(), list.end());
            for (std::size_t k = 0; k < list.size(); ++k)
                if ((first + static_cast<int>(k)) % cluster.ranks() == cluster.rank()) mine.push_back(list[k]);
            const std::vector<double> ones(one.size(), 1.0);
            const Buffer<double> there = to_device<double>(cluster.context(), mine),
                                 with = to_device(cluster.context(), std::span(ones).first(mine.size()));
            const double expected = mpi::dot<double>(alone(), one, ones),
                         got = mpi::dot<double>(cluster, there.span(), with.span());
            expect(std::isnan(expected) ? std::isnan(got) : got == expected,
                   concat("dot with ", list.front(), " and others from rank ", first, " on is ", got, ", not ",
                          expected));
        }
}

}  // namespace tulle::testing
