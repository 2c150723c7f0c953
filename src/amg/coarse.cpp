// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The inverse of the coarsest matrix, on the host and in double: L D L^T of its symmetric part. A pivot that is next to
// nothing beside its diagonal entry belongs to a direction in which the matrix is singular; the inverse is zero there.
#include <algorithm>
#include <cmath>

#include "amg/setup.hpp"
#include "tulle/transfer.hpp"

namespace tulle::inline TULLE_ABI::amg {
namespace {

constexpr double singular = 1e-12;  // of the diagonal entry

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

// Lower triangle: L with unit diagonal; diagonal: 1 / D, zero where the pivot is next to nothing.
void factorise(DenseMatrix& m, index_t n)
{
    for (index_t i = 0; i < n; ++i) {
        const double own = m(i, i);
        double pivot = own;
        for (index_t j = 0; j < i; ++j) {  // row i holds l_ij d_j until it is divided
            double sum = m(i, j);
            for (index_t k = 0; k < j; ++k) sum -= m(i, k) * m(j, k);
            m(i, j) = sum;
        }
        for (index_t j = 0; j < i; ++j) {
            const double l = m(i, j) * m(j, j);
            pivot -= l * m(i, j);
            m(i, j) = l;
        }
        m(i, i) = std::abs(pivot) > singular * std::abs(own) ? 1 / pivot : 0;
    }
}

// Column j of the inverse: L D L^T x = e_j.
void solve_unit(DenseMatrix& m, index_t n, index_t j, double* x)
{
    std::fill_n(x, n, 0.0);
    x[j] = 1;
    for (index_t i = j + 1; i < n; ++i)
        for (index_t k = j; k < i; ++k) x[i] -= m(i, k) * x[k];
    for (index_t i = 0; i < n; ++i) x[i] *= m(i, i);
    for (index_t i = n; i-- > 0;)
        for (index_t k = 0; k < i; ++k) x[k] -= m(i, k) * x[i];
}

}  // namespace

template <class V>
Buffer<V> invert_dense(const Context& ctx, const CsrView<V>& a)
{
    const CpuQueue host = ctx.host();
    const index_t n = a.rows;
    const Csr<V> here = to_host(ctx, a);
    DenseMatrix m(host, n), x(host, n);
    load_symmetric(here.view(), m);
    factorise(m, n);
    Buffer<V> inverse(host, offset_t{n} * n);
#pragma omp parallel for num_threads(host.threads) schedule(dynamic, 8) if (n > 64)
    for (index_t j = 0; j < n; ++j) solve_unit(m, n, j, x.row(j));
    for (index_t i = 0; i < n; ++i)
        for (index_t j = 0; j < n; ++j) inverse.data()[offset_t{j} * n + i] = static_cast<V>((x(i, j) + x(j, i)) / 2);
    return ctx.run([&](const auto& q) { return to_queue(q, inverse.data(), inverse.size()); });
}

template Buffer<float> invert_dense(const Context&, const CsrView<float>&);
template Buffer<double> invert_dense(const Context&, const CsrView<double>&);

}  // namespace tulle::inline TULLE_ABI::amg
