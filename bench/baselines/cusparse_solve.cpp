// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// CG with IC(0) or BiCGStab with ILU(0) as one writes them with cuSPARSE and cuBLAS: products by SpMV, scalars on the
// host. The factors are tulle's, so that iterations are as many; they are applied by SpSV, or by two Jacobi sweeps for
// each triangle. Factorisation and analysis are the preparation.
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "bench/baselines/cublas.hpp"
#include "bench/baselines/cusparse.hpp"
#include "bench/baselines/solve.hpp"
#include "bench/baselines/sparse_formats.hpp"
#include "tulle/convert.hpp"
#include "tulle/factor.hpp"
#include "tulle/trace.hpp"

namespace tulle::bench {
namespace {

constexpr double one = 1, minus_one = -1, zero = 0;
constexpr int most_iterations = 10'000;
constexpr double most_seconds = 5;  // of a solve: one that takes longer is given up
constexpr auto no_transpose = CUSPARSE_OPERATION_NON_TRANSPOSE;

using Matrix = std::unique_ptr<const cusparseSpMatDescr, Destroyer<cusparseDestroySpMat>>;
using Vector = std::unique_ptr<const cusparseDnVecDescr, Destroyer<cusparseDestroyDnVec>>;
using Spsv = std::unique_ptr<cusparseSpSVDescr, Destroyer<cusparseSpSV_destroyDescr>>;

// A vector on the GPU, and its description.
struct Numbers {
    Numbers(const CudaQueue& q, index_t n) : data(q, n)
    {
        cusparseDnVecDescr_t made = nullptr;
        check(cusparseCreateDnVec(&made, n, data.data(), CUDA_R_64F));
        vector.reset(made);
    }
    cusparseDnVecDescr_t get() const { return const_cast<cusparseDnVecDescr_t>(vector.get()); }

    Buffer<double> data;
    Vector vector;
};

// A matrix on the GPU with offsets of 32 bits; SpMV and its work space.
class Product {
public:
    Product(const CudaQueue& q, cusparseHandle_t handle, const CsrView<double>& here) : handle_(handle), n_(here.rows)
    {
        const std::vector<index_t> begin = narrowed({here.row_begin, static_cast<std::size_t>(n_) + 1});
        begin_ = to_queue(q, begin.data(), std::ssize(begin));
        col_ = to_queue(q, here.col, here.nonzeros);
        value_ = to_queue(q, here.value, here.nonzeros);
        cusparseSpMatDescr_t made = nullptr;
        check(cusparseCreateCsr(&made, n_, n_, here.nonzeros, begin_.data(), col_.data(), value_.data(),
                                CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F));
        matrix_.reset(made);
    }
    cusparseSpMatDescr_t get() const { return const_cast<cusparseSpMatDescr_t>(matrix_.get()); }
    std::size_t bytes() const { return begin_.bytes() + col_.bytes() + value_.bytes() + work_.bytes(); }

    void prepare(const CudaQueue& q, const Numbers& x, const Numbers& y)
    {
        std::size_t bytes = 0;
        check(cusparseSpMV_bufferSize(handle_, no_transpose, &one, get(), x.get(), &zero, y.get(), CUDA_R_64F,
                                      CUSPARSE_SPMV_ALG_DEFAULT, &bytes));
        work_ = Buffer<unsigned char>(q, static_cast<offset_t>(bytes));
    }
    // y = alpha A x + beta y
    void run(const double& alpha, const Numbers& x, const double& beta, const Numbers& y)
    {
        check(cusparseSpMV(handle_, no_transpose, &alpha, get(), x.get(), &beta, y.get(), CUDA_R_64F,
                           CUSPARSE_SPMV_ALG_DEFAULT, work_.data()));
    }

private:
    cusparseHandle_t handle_;
    index_t n_;
    Buffer<index_t> begin_, col_;
    Buffer<double> value_;
    Matrix matrix_;
    Buffer<unsigned char> work_;
};

// ---- both triangles of the factors ----

// One triangle by SpSV. `transpose`: that of the stored one.
class SpsvTriangle {
public:
    SpsvTriangle(const CudaQueue& q, cusparseHandle_t handle, const Product& factors, bool lower, bool unit,
                 bool transpose, const Numbers& b, const Numbers& x)
        : handle_(handle),
          matrix_(factors.get()),
          op_(transpose ? CUSPARSE_OPERATION_TRANSPOSE : no_transpose)
    {
        cusparseFillMode_t fill = lower ? CUSPARSE_FILL_MODE_LOWER : CUSPARSE_FILL_MODE_UPPER;
        cusparseDiagType_t diagonal = unit ? CUSPARSE_DIAG_TYPE_UNIT : CUSPARSE_DIAG_TYPE_NON_UNIT;
        check(cusparseSpMatSetAttribute(matrix_, CUSPARSE_SPMAT_FILL_MODE, &fill, sizeof fill));
        check(cusparseSpMatSetAttribute(matrix_, CUSPARSE_SPMAT_DIAG_TYPE, &diagonal, sizeof diagonal));
        cusparseSpSVDescr_t made = nullptr;
        check(cusparseSpSV_createDescr(&made));
        solve_.reset(made);
        std::size_t bytes = 0;
        check(cusparseSpSV_bufferSize(handle_, op_, &one, matrix_, b.get(), x.get(), CUDA_R_64F,
                                      CUSPARSE_SPSV_ALG_DEFAULT, solve_.get(), &bytes));
        work_ = Buffer<unsigned char>(q, static_cast<offset_t>(bytes));
        check(cusparseSpSV_analysis(handle_, op_, &one, matrix_, b.get(), x.get(), CUDA_R_64F,
                                    CUSPARSE_SPSV_ALG_DEFAULT, solve_.get(), work_.data()));
    }
    void run(const Numbers& b, const Numbers& x)
    {
        check(cusparseSpSV_solve(handle_, op_, &one, matrix_, b.get(), x.get(), CUDA_R_64F, CUSPARSE_SPSV_ALG_DEFAULT,
                                 solve_.get()));
    }
    std::size_t bytes() const { return work_.bytes(); }

private:
    cusparseHandle_t handle_;
    cusparseSpMatDescr_t matrix_;
    cusparseOperation_t op_;
    Buffer<unsigned char> work_;
    Spsv solve_;
};

// One triangle by two Jacobi sweeps from zero: w = D^-1 b, x = w - D^-1 N w.
class SweptTriangle {
public:
    SweptTriangle(const CudaQueue& q, cusparseHandle_t handle, const CsrView<double>& t, bool unit)
        : inverse_(q, t.rows),
          w_(q, t.rows)
    {
        std::vector<double> inverse(static_cast<std::size_t>(t.rows), 1);
        std::vector<offset_t> begin{0};
        std::vector<index_t> col;
        std::vector<double> value;
        for (index_t i = 0; i < t.rows; ++i) {
            double& d = inverse[static_cast<std::size_t>(i)];
            for (offset_t k = t.row_begin[i]; k < t.row_begin[i + 1]; ++k)
                if (t.col[k] == i && !unit) d = 1 / t.value[k];
            for (offset_t k = t.row_begin[i]; k < t.row_begin[i + 1]; ++k)
                if (t.col[k] != i) {
                    col.push_back(t.col[k]);
                    value.push_back(d * t.value[k]);
                }
            begin.push_back(std::ssize(col));
        }
        upload(q, inverse.data(), inverse_.data(), t.rows);
        rest_.emplace(q, handle,
                      CsrView<double>{.rows = t.rows,
                                      .cols = t.cols,
                                      .nonzeros = std::ssize(col),
                                      .row_begin = begin.data(),
                                      .col = col.data(),
                                      .value = value.data()});
        rest_->prepare(q, w_, w_);
    }
    void run(cublasHandle_t blas, const Numbers& b, const Numbers& x)
    {
        const int n = static_cast<int>(w_.data.size());
        check(cublasDdgmm(blas, CUBLAS_SIDE_LEFT, n, 1, b.data.data(), n, inverse_.data(), 1,
                          const_cast<double*>(w_.data.data()), n));
        check(cublasDcopy(blas, n, w_.data.data(), 1, const_cast<double*>(x.data.data()), 1));
        rest_->run(minus_one, w_, one, x);
    }
    std::size_t bytes() const { return inverse_.bytes() + w_.data.bytes() + rest_->bytes(); }

private:
    Buffer<double> inverse_;
    Numbers w_;
    std::optional<Product> rest_;
};

// The entries of a matrix on the host with a column below, or above, their row, or on the diagonal.
Csr<double> triangle_of(const CsrView<double>& a, bool lower)
{
    const CpuQueue host = Context::cpu().host();
    std::vector<offset_t> begin{0};
    std::vector<index_t> col;
    std::vector<double> value;
    for (index_t i = 0; i < a.rows; ++i) {
        for (offset_t k = a.row_begin[i]; k < a.row_begin[i + 1]; ++k)
            if (lower ? a.col[k] <= i : a.col[k] >= i) {
                col.push_back(a.col[k]);
                value.push_back(a.value[k]);
            }
        begin.push_back(std::ssize(col));
    }
    Csr<double> t = Csr<double>::make(host, a.rows, a.cols, std::ssize(col));
    std::copy(begin.begin(), begin.end(), t.row_begin.data());
    std::copy(col.begin(), col.end(), t.col.data());
    std::copy(value.begin(), value.end(), t.value.data());
    return t;
}

// ---- the methods ----

enum class Apply { spsv, sweeps };

class CusparseSolve {
public:
    CusparseSolve(SolveProblem& problem, const CudaQueue& q, bool symmetric, Apply apply)
        : problem_(problem),
          q_(q),
          symmetric_(symmetric),
          apply_(apply)
    {}

    Prepared prepare()
    {
        const index_t n = problem_.host.rows;
        require<ValueError>(problem_.host.nonzeros() <= max_index, "more nonzeros than 32-bit offsets can count");
        if (!handle_) {
            handle_ = open_cusparse(q_);
            blas_ = open_cublas(q_);
            matrix_.emplace(q_, handle_.get(), problem_.host.view());
            for (auto& vector : vectors_) vector.emplace(q_, n);
            matrix_->prepare(q_, at(p), at(v));
        }
        const auto plan = factor::Plan<double>::make(problem_.ctx, problem_.a.view(),
                                                     {.kind = symmetric_ ? factor::Kind::ic0 : factor::Kind::ilu0});
        const Csr<double> factors = to_host(problem_.ctx, plan.factors());
        if (apply_ == Apply::spsv) prepare_spsv(factors.view());
        else prepare_sweeps(factors.view());
        synchronize(q_);
        return {symmetric_ ? "cg, ic0" : "bicgstab, ilu0", bytes()};
    }

    void run() { symmetric_ ? run_cg() : run_bicgstab(); }

private:
    enum { x, r, z, p, v, s, t, shadow, y, count };

    Numbers& at(int which) { return *vectors_[static_cast<std::size_t>(which)]; }
    double* data(int which) { return at(which).data.data(); }
    int n() const { return problem_.host.rows; }

    void prepare_spsv(const CsrView<double>& factors)
    {
        for (auto& solve : spsv_) solve.reset();
        for (auto& triangle : triangle_) triangle.reset();
        // SpSV keeps fill mode and diagonal in the matrix, so that each triangle has a description of its own.
        for (auto& triangle : triangle_) triangle.emplace(q_, handle_.get(), factors);
        spsv_[0].emplace(q_, handle_.get(), *triangle_[0], true, !symmetric_, false, at(r), at(y));
        spsv_[1].emplace(q_, handle_.get(), *triangle_[1], symmetric_, false, symmetric_, at(y), at(z));
    }

    void prepare_sweeps(const CsrView<double>& factors)
    {
        const Csr<double> lower = triangle_of(factors, true);
        const Csr<double> upper = symmetric_ ? transpose(Context::cpu(), lower.view()) : triangle_of(factors, false);
        swept_[0].emplace(q_, handle_.get(), lower.view(), !symmetric_);
        swept_[1].emplace(q_, handle_.get(), upper.view(), false);
    }

    std::size_t bytes() const
    {
        std::size_t sum = matrix_->bytes();
        for (const auto& part : triangle_) sum += part ? part->bytes() : 0;
        for (const auto& part : spsv_) sum += part ? part->bytes() : 0;
        for (const auto& part : swept_) sum += part ? part->bytes() : 0;
        for (const auto& part : vectors_) sum += part->data.bytes();
        return sum;
    }

    // to = M^-1 from
    void apply(int from, int to)
    {
        if (apply_ == Apply::spsv) {
            spsv_[0]->run(at(from), at(y));
            spsv_[1]->run(at(y), at(to));
        } else {
            swept_[0]->run(blas_.get(), at(from), at(y));
            swept_[1]->run(blas_.get(), at(y), at(to));
        }
    }
    double dot(int a, int b)
    {
        double found = 0;
        check(cublasDdot(blas_.get(), n(), data(a), 1, data(b), 1, &found));
        return found;
    }
    double norm(int a)
    {
        double found = 0;
        check(cublasDnrm2(blas_.get(), n(), data(a), 1, &found));
        return found;
    }
    void add(double factor, int from, int to)
    {
        check(cublasDaxpy(blas_.get(), n(), &factor, data(from), 1, data(to), 1));
    }
    void scale(double factor, int which) { check(cublasDscal(blas_.get(), n(), &factor, data(which), 1)); }
    void copy_to(const double* from, double* to) { check(cublasDcopy(blas_.get(), n(), from, 1, to, 1)); }
    void copy_to(int from, int to) { copy_to(data(from), data(to)); }

    // x = 0, r = b; what the norm of the residual shall be.
    double start()
    {
        begin_ = trace::now();
        fill_zero(q_, data(x), n());
        copy_to(problem_.b.data(), data(r));
        return problem_.tolerance * norm(r);
    }
    bool goes_on(int k) const { return k < most_iterations && trace::now() - begin_ < most_seconds; }
    void finish() { copy_to(data(x), problem_.x.data()); }

    void run_cg()
    {
        const double wanted = start();
        double before = 0;
        for (int k = 0; goes_on(k) && norm(r) > wanted; ++k) {
            apply(r, z);
            const double rho = dot(r, z);
            if (k == 0) copy_to(z, p);
            else {
                scale(rho / before, p);
                add(1, z, p);
            }
            matrix_->run(one, at(p), zero, at(v));
            const double alpha = rho / dot(p, v);
            add(alpha, p, x);
            add(-alpha, v, r);
            before = rho;
        }
        finish();
    }

    void run_bicgstab()
    {
        const double wanted = start();
        copy_to(r, shadow);
        copy_to(r, p);
        double rho = dot(shadow, r);
        for (int k = 0; goes_on(k) && norm(r) > wanted; ++k) {
            apply(p, z);
            matrix_->run(one, at(z), zero, at(v));
            const double alpha = rho / dot(shadow, v);
            if (!std::isfinite(alpha)) break;
            add(alpha, z, x);
            add(-alpha, v, r);
            if (norm(r) <= wanted) break;
            apply(r, s);
            matrix_->run(one, at(s), zero, at(t));
            const double omega = dot(t, r) / dot(t, t);
            if (!std::isfinite(omega)) break;
            add(omega, s, x);
            add(-omega, t, r);
            const double next = dot(shadow, r), beta = next / rho * (alpha / omega);
            rho = next;
            add(-omega, v, p);
            scale(beta, p);
            add(1, r, p);
        }
        finish();
    }

    SolveProblem& problem_;
    CudaQueue q_;
    bool symmetric_;
    Apply apply_;
    double begin_ = 0;
    CusparseHandle handle_;
    CublasHandle blas_;
    std::optional<Product> matrix_;
    std::array<std::optional<Numbers>, count> vectors_;
    std::array<std::optional<Product>, 2> triangle_;
    std::array<std::optional<SpsvTriangle>, 2> spsv_;
    std::array<std::optional<SweptTriangle>, 2> swept_;
};

}  // namespace

std::vector<Contender> cusparse_solve(SolveProblem& problem, bool symmetric)
{
    std::vector<Contender> all;
    problem.ctx.run([&](const auto& q) {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(q)>, CudaQueue>)
            for (const auto& [apply, name] : {std::pair{Apply::spsv, "cusparse spsv"}, {Apply::sweeps, "two sweeps"}}) {
                auto peer = std::make_shared<CusparseSolve>(problem, q, symmetric, apply);
                all.push_back({name, Role::baseline, [peer] { return peer->prepare(); }, [peer] { peer->run(); },
                               [&problem] { return problem.download_x(); }, true});
            }
    });
    return all;
}

}  // namespace tulle::bench
