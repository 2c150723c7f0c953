// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The CPU steps with wider vectors against plain loops, on integers: every result is exact. Small enough for QEMU.
#include <cmath>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/machine.hpp"
#include "tulle/tulle.hpp"
#include "vector/binned_sum.hpp"

namespace tulle {
namespace {

int failures = 0, checks = 0;

void expect(bool holds, const std::string& what)
{
    ++checks;
    if (holds) return;
    ++failures;
    std::printf("FAILED: %s\n", what.c_str());
}

int small(index_t i, index_t j) { return (i * 7 + j * 5 + i * j) % 5 - 2; }

template <class V>
std::vector<V> numbers(index_t rows, index_t cols)
{
    std::vector<V> all;
    for (index_t i = 0; i < rows; ++i)
        for (index_t j = 0; j < cols; ++j) all.push_back(V(static_cast<float>(small(i + 1, j + 3))));
    return all;
}

template <class V>
struct Matrix {
    index_t rows, cols;
    std::vector<offset_t> row_begin{0};
    std::vector<index_t> col;
    std::vector<V> value;

    Matrix(index_t m, index_t n) : rows(m), cols(n) {}
    void add(index_t j, int v)
    {
        col.push_back(j);
        value.push_back(V(static_cast<float>(v)));
    }
    void end_row() { row_begin.push_back(static_cast<offset_t>(col.size())); }
    CsrView<V> view() const
    {
        CsrView<V> a{};
        a.rows = rows;
        a.cols = cols;
        a.nonzeros = static_cast<offset_t>(col.size());
        a.row_begin = row_begin.data();
        a.col = col.data();
        a.value = value.data();
        return a;
    }
};

// Rows of 0 to 11 nonzeros; many in threes with the same columns.
template <class V>
Matrix<V> uneven(index_t rows, index_t cols)
{
    Matrix<V> a(rows, cols);
    for (index_t i = 0; i < rows; ++i, a.end_row())
        for (index_t k = 0, node = i / 3; k < node % 12; ++k)
            a.add((k * (cols / 12) + node) % (cols / 12) + k * (cols / 12), small(i, k));
    return a;
}

// The number at (i, j) of A B before alpha.
template <class V>
double entry(const Matrix<V>& a, const std::vector<V>& b, index_t n, index_t i, index_t j)
{
    double sum = 0;
    for (offset_t k = a.row_begin[static_cast<std::size_t>(i)]; k < a.row_begin[static_cast<std::size_t>(i) + 1]; ++k) {
        const auto at = static_cast<std::size_t>(k);
        sum += static_cast<double>(static_cast<float>(a.value[at])) *
               static_cast<double>(static_cast<float>(b[static_cast<std::size_t>(a.col[at] * n + j)]));
    }
    return sum;
}

template <class V, class C>
bool is_product(const Matrix<V>& a, const std::vector<V>& b, index_t n, double beta, const std::vector<C>& before,
                const std::vector<C>& c)
{
    for (index_t i = 0; i < a.rows; ++i)
        for (index_t j = 0; j < n; ++j) {
            const auto at = static_cast<std::size_t>(i * n + j);
            const double old = beta * static_cast<double>(static_cast<float>(before[at]));
            if (static_cast<double>(static_cast<float>(c[at])) != 2 * entry(a, b, n, i, j) + old) return false;
        }
    return true;
}

template <class V>
void check_spmv(const Context& ctx)
{
    const auto a = uneven<V>(90, 96);
    const auto x = numbers<V>(a.cols, 1), before = numbers<V>(a.rows, 1);
    for (const auto& policy : spmv::candidates(spmv::Plan<V>::make(ctx, a.view()).features(), {ctx.backend()})) {
        auto y = before;
        spmv::Plan<V>::make(ctx, a.view(), {.force = policy}).run(V(2), x, V(-1), y);
        expect(is_product(a, x, 1, -1, before, y), "SpMV, " + to_text(policy));
    }
}

template <class V, class C>
void check_spmm(const Context& ctx)
{
    using S = spmm::Sum<V>;
    const auto a = uneven<V>(90, 96);
    for (const index_t n : {1, 3, 4, 8, 20, 64, 67, 128})
        for (const int beta : {0, -1}) {
            const auto b = numbers<V>(a.cols, n);
            const auto before = numbers<C>(a.rows, n);
            auto c = before;
            const spmm::Policy rows{.kernel = spmm::Kernel::rows, .lanes = 1};
            spmm::Plan<V, C>::make(ctx, a.view(), {.n = n, .force = rows})
                .run(S(2), DenseView<const V>{a.cols, n, n, Layout::row_major, b.data()}, static_cast<S>(beta),
                     DenseView<C>{a.rows, n, n, Layout::row_major, c.data()});
            expect(is_product(a, b, n, beta, before, c), "SpMM, " + std::to_string(n) + " columns");
        }
}

template <class V>
void check_sddmm(const Context& ctx)
{
    const auto a = uneven<V>(60, 48);
    for (const index_t k : {1, 4, 7, 8, 16, 33, 64}) {
        const auto x = numbers<V>(a.rows, k), y = numbers<V>(a.cols, k);
        std::vector<float> c(a.col.size(), 1);
        sddmm::Plan<V, float>::make(ctx, a.view(), {.k = k})
            .run(2, {a.rows, k, k, Layout::row_major, x.data()}, {a.cols, k, k, Layout::row_major, y.data()}, -1, c);
        bool same = true;
        for (index_t i = 0; i < a.rows; ++i)
            for (auto p = a.row_begin[static_cast<std::size_t>(i)]; p < a.row_begin[static_cast<std::size_t>(i) + 1];
                 ++p) {
                double dot = 0;
                for (index_t l = 0; l < k; ++l)
                    dot += small(i + 1, l + 3) * small(a.col[static_cast<std::size_t>(p)] + 1, l + 3);
                same = same && static_cast<double>(c[static_cast<std::size_t>(p)]) == 2 * dot - 1;
            }
        expect(same, "SDDMM, " + std::to_string(k) + " columns");
    }
}

// Solutions are chosen, right-hand sides computed.
template <class V>
void check_sptrsv(const Context& ctx)
{
    Matrix<V> a(70, 70);
    for (index_t i = 0; i < a.rows; ++i, a.end_row()) {
        for (index_t j = i < 9 ? 0 : i - 9; j < i; j += 2) a.add(j, small(i, j));
        a.add(i, 2);
    }
    const auto plan = sptrsv::Plan<V>::make(ctx, a.view(), {.uplo = sptrsv::Uplo::lower});
    for (const index_t n : {1, 3, 4, 8, 17, 64}) {
        const auto x = numbers<V>(a.rows, n);
        std::vector<V> b, found(x.size());
        for (index_t i = 0; i < a.rows; ++i)
            for (index_t j = 0; j < n; ++j) b.push_back(static_cast<V>(entry(a, x, n, i, j)));
        plan.solve(V(1), DenseView<const V>{a.rows, n, n, Layout::row_major, b.data()},
                   DenseView<V>{a.rows, n, n, Layout::row_major, found.data()});
        expect(found == x, "SpTRSV, " + std::to_string(n) + " right-hand sides");
    }
}

void check_graph(const Context& ctx)
{
    Matrix<double> complete(40, 40);
    for (index_t i = 0; i < 40; ++i, complete.end_row())
        for (index_t j = 0; j < 40; ++j)
            if (i != j) complete.add(j, 1);
    expect(graph::count_triangles(ctx, complete.view()) == 40 * 39 * 38 / 6, "triangles of a complete graph");
}

// A sum whose bits do not depend on the width of the vectors: many products at a time, and one by one, which takes one
// lane of them.
template <class V>
void check_dot()
{
    constexpr int n = 3000;
    std::vector<V> x(n), y(n);
    for (int i = 0; i < n; ++i) {
        x[static_cast<std::size_t>(i)] = static_cast<V>(std::ldexp(1.0 + i % 37 * 0.11, i / 7 % 90 - 45));
        y[static_cast<std::size_t>(i)] = static_cast<V>(i % 11 - 5.3);
    }
    vector::BinnedSum together, one_by_one;
    together.add_products(x.data(), y.data(), n);
    for (std::size_t i = 0; i < n; ++i) one_by_one.add_products(&x[i], &y[i], 1);
    expect(together.value() == one_by_one.value(), "a reproducible sum of products");
}

void check_all(const Context& ctx)
{
    check_dot<double>();
    check_dot<float>();
    check_spmv<double>(ctx);
    check_spmv<float>(ctx);
    check_spmm<double, double>(ctx);
    check_spmm<float, float>(ctx);
    check_spmm<Float16, Float16>(ctx);
    check_spmm<Float16, float>(ctx);
    check_spmm<Bfloat16, float>(ctx);
    check_sddmm<float>(ctx);
    check_sddmm<Float16>(ctx);
    check_sptrsv<double>(ctx);
    check_sptrsv<float>(ctx);
    check_graph(ctx);
}

bool has_wider_vectors()
{
#if defined(__x86_64__)
    return simd::machine() != simd::Machine::plain;
#else
    return true;
#endif
}

}  // namespace
}  // namespace tulle

int main()
{
    tulle::expect(tulle::has_wider_vectors(), "AVX2 is found");
    for (const int threads : {1, 2}) tulle::check_all(tulle::Context::cpu(threads));
    std::printf("%d checks, %d failed\n", tulle::checks, tulle::failures);
    return tulle::failures == 0 ? 0 : 1;
}
