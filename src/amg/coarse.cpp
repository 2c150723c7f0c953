// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The inverse of the coarsest matrix, on the host and in double: L D L^T of its symmetric part. A pivot that is next to
// nothing beside its diagonal entry belongs to a direction in which the matrix is singular; the inverse is zero there.
#include <algorithm>
#include <cmath>
#include <vector>

#include "amg/setup.hpp"
#include "base/machine.hpp"
#include "tulle/transfer.hpp"

namespace tulle::inline TULLE_ABI::amg {
namespace {

// Of the diagonal entry; values in float are not known any better.
template <class V>
constexpr double singular = sizeof(V) == 4 ? 1e-6 : 1e-12;

constexpr std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

class DenseMatrix {
public:
    DenseMatrix(const CpuQueue& q, index_t n) : n_(n), data_(q, offset_t{n} * n)
    {
        std::fill_n(data_.data(), data_.size(), 0.0);
    }
    double& operator()(index_t i, index_t j) { return data_.data()[offset_t{i} * n_ + j]; }
    double* row(index_t i) { return data_.data() + offset_t{i} * n_; }

private:
    index_t n_;
    Buffer<double> data_;
};

template <class V>
void load_symmetric(const CsrView<V>& a, DenseMatrix& m)
{
    for (index_t i = 0; i < a.rows; ++i)
        for (offset_t k = a.row_begin[i]; k < a.row_begin[i + 1]; ++k) {
            const double half = static_cast<double>(a.value[k]) / 2;
            m(i, a.col[k]) += half;
            m(a.col[k], i) += half;
        }
}

// Both triangles: L with unit diagonal, below as it is and above transposed; diagonal: 1 / D, zero where the pivot is
// next to nothing. Every inner loop goes along a row.
[[gnu::always_inline]] inline void factorise_rows(DenseMatrix& m, index_t n, const std::vector<double>& least)
{
    for (index_t k = 0; k < n; ++k) {
        const double pivot = m(k, k), inverse = std::abs(pivot) > least[at(k)] ? 1 / pivot : 0;
        m(k, k) = inverse;
        const double* column = m.row(k);  // the row, which is the column: d_k l_jk
        for (index_t i = k + 1; i < n; ++i) {
            const double l = column[i] * inverse;
            double* row = m.row(i);
            for (index_t j = i; j < n; ++j) row[j] -= l * column[j];
            row[k] = l;
        }
        for (index_t i = k + 1; i < n; ++i) m(k, i) *= inverse;
    }
}

// Columns of the inverse that are computed at once, so that a row of the factors is read once for all of them.
constexpr index_t columns_at_once = 4;
using Columns = double* const (&)[columns_at_once];

// x -= factor * row, for entries begin … end - 1 of each column.
[[gnu::always_inline]] inline void subtract_row(const double* row, index_t k, index_t begin, index_t end, Columns x)
{
    double *const a = x[0], *const b = x[1], *const c = x[2], *const d = x[3];
    const double fa = a[k], fb = b[k], fc = c[k], fd = d[k];
    for (index_t i = begin; i < end; ++i) {
        const double r = row[i];
        a[i] -= fa * r;
        b[i] -= fb * r;
        c[i] -= fc * r;
        d[i] -= fd * r;
    }
}

// Columns j, j + 1, … of the inverse from entry j on, as the inverse is symmetric: L D L^T x = e_j.
[[gnu::always_inline]] inline void solve_columns(DenseMatrix& m, index_t n, index_t j, Columns x)
{
    for (index_t c = 0; c < columns_at_once; ++c) {
        std::fill_n(x[c], n, 0.0);
        if (j + c < n) x[c][j + c] = 1;
    }
    for (index_t k = j; k < n; ++k) subtract_row(m.row(k), k, k + 1, n, x);
    for (double* column : x)
        for (index_t i = j; i < n; ++i) column[i] *= m(i, i);
    for (index_t k = n; k-- > j;) subtract_row(m.row(k), k, j, k, x);
}

// The same for the machine's vectors, and with the same bits: products are rounded before they are subtracted.
struct Steps {
    void (*factorise)(DenseMatrix&, index_t, const std::vector<double>&);
    void (*solve)(DenseMatrix&, index_t, index_t, Columns);
};
void factorise(DenseMatrix& m, index_t n, const std::vector<double>& least) { factorise_rows(m, n, least); }
void solve(DenseMatrix& m, index_t n, index_t j, Columns x) { solve_columns(m, n, j, x); }

#if defined(__x86_64__)
[[gnu::target("avx2")]] void factorise_avx2(DenseMatrix& m, index_t n, const std::vector<double>& least)
{
    factorise_rows(m, n, least);
}
[[gnu::target("avx2")]] void solve_avx2(DenseMatrix& m, index_t n, index_t j, Columns x) { solve_columns(m, n, j, x); }

Steps best_steps()
{
    return simd::machine() == simd::Machine::plain ? Steps{factorise, solve} : Steps{factorise_avx2, solve_avx2};
}
#else
Steps best_steps() { return {factorise, solve}; }
#endif

// Rows from which on threads are worth waking: for 200 rows the 16 of an H200's host took 6 ms the first time, one 2.4.
constexpr index_t rows_for_threads = 400;

}  // namespace

template <class V>
Csr<V> invert_dense(const Context& ctx, const CsrView<V>& a)
{
    const CpuQueue host = ctx.host();
    const index_t n = a.rows;
    const Csr<V> here = to_host(ctx, a);
    DenseMatrix m(host, n), x(host, n);
    Buffer<double> beyond(host, offset_t{columns_at_once} * n);  // for columns behind the last
    load_symmetric(here.view(), m);
    std::vector<double> least(at(n));  // pivots
    for (index_t i = 0; i < n; ++i) least[at(i)] = singular<V> * std::abs(m(i, i));
    const Steps steps = best_steps();
    steps.factorise(m, n, least);
#pragma omp parallel for num_threads(host.threads) schedule(dynamic, 2) if (n > rows_for_threads)
    for (index_t j = 0; j < n; j += columns_at_once) {
        double* columns[columns_at_once];
        for (index_t c = 0; c < columns_at_once; ++c)
            columns[c] = j + c < n ? x.row(j + c) : beyond.data() + offset_t{c} * n;
        steps.solve(m, n, j, columns);
    }
    Csr<V> inverse = Csr<V>::make(host, n, n, offset_t{n} * n);
    for (index_t i = 0; i < n; ++i) {
        inverse.row_begin.data()[i + 1] = offset_t{i + 1} * n;
        for (index_t j = 0; j < n; ++j) {
            inverse.col.data()[offset_t{i} * n + j] = j;
            inverse.value.data()[offset_t{i} * n + j] = static_cast<V>(i < j ? x(i, j) : x(j, i));
        }
    }
    inverse.row_begin.data()[0] = 0;
    return to_device(ctx, inverse.view());
}

template Csr<float> invert_dense(const Context&, const CsrView<float>&);
template Csr<double> invert_dense(const Context&, const CsrView<double>&);

}  // namespace tulle::inline TULLE_ABI::amg
