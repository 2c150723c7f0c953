// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// cuSPARSE: SpSV for one right-hand side, SpSM for many, both row-major and, on copies of its own, column-major.
// Analysis is the preparation.
#include <memory>
#include <utility>

#include "bench/baselines/cusparse.hpp"
#include "bench/baselines/sparse_formats.hpp"
#include "bench/baselines/sptrsv.hpp"
#include "tulle/trace.hpp"

namespace tulle::bench {

namespace {

// Handle, matrix and work space; freed in the other order.
template <class V>
class CusparseSptrsv {
public:
    CusparseSptrsv(SptrsvProblem<V>& problem, const CudaQueue& q, bool columns)
        : problem_(problem),
          q_(q),
          columns_(columns)
    {}
    CusparseSptrsv(const CusparseSptrsv&) = delete;
    CusparseSptrsv& operator=(const CusparseSptrsv&) = delete;
    ~CusparseSptrsv()
    {
        forget_analysis();
        if (b_vector_) (void)cusparseDestroyDnVec(b_vector_);
        if (x_vector_) (void)cusparseDestroyDnVec(x_vector_);
        if (b_matrix_) (void)cusparseDestroyDnMat(b_matrix_);
        if (x_matrix_) (void)cusparseDestroyDnMat(x_matrix_);
        if (matrix_) (void)cusparseDestroySpMat(matrix_);
    }

    Prepared prepare()
    {
        if (handle_ == nullptr) describe();
        forget_analysis();
        synchronize(q_);
        const trace::Phase phase{"analyse"};
        if (problem_.sides == 1) analyse_one();
        else analyse_many();
        return {problem_.sides == 1 ? "SpSV" : "SpSM", begin_.bytes() + work_.bytes() + b_.bytes() + x_.bytes()};
    }

    void run()
    {
        if (problem_.sides == 1)
            check(cusparseSpSV_solve(handle_.get(), none_, &one_, matrix_, b_vector_, x_vector_, cuda_type<V>,
                                     CUSPARSE_SPSV_ALG_DEFAULT, spsv_));
        else
            check(cusparseSpSM_solve(handle_.get(), none_, none_, &one_, matrix_, b_matrix_, x_matrix_, cuda_type<V>,
                                     CUSPARSE_SPSM_ALG_DEFAULT, spsm_));
    }

    std::vector<double> result() const
    {
        if (!columns_) return problem_.download_x();
        const Buffer<V> here = to_host(problem_.ctx, x_.span());
        std::vector<double> rows(static_cast<std::size_t>(here.size()));
        for (index_t i = 0; i < problem_.host.rows; ++i)
            for (index_t j = 0; j < problem_.sides; ++j)
                rows[static_cast<std::size_t>(i) * static_cast<std::size_t>(problem_.sides) +
                     static_cast<std::size_t>(j)] = here.data()[offset_t{j} * problem_.host.rows + i];
        return rows;
    }

private:
    void forget_analysis()
    {
        if (spsv_) (void)cusparseSpSV_destroyDescr(std::exchange(spsv_, nullptr));
        if (spsm_) (void)cusparseSpSM_destroyDescr(std::exchange(spsm_, nullptr));
    }

    void describe()
    {
        const trace::Phase phase{"describe"};
        const CsrView<V> a = problem_.a;
        require<ValueError>(a.nonzeros <= max_index, "more nonzeros than 32-bit offsets can count");
        handle_ = open_cusparse(q_);
        const std::vector<index_t> begin = narrowed(std::as_const(problem_.host.row_begin).span());
        begin_ = to_queue(q_, begin.data(), std::ssize(begin));
        check(cusparseCreateCsr(&matrix_, a.rows, a.cols, a.nonzeros, begin_.data(), const_cast<index_t*>(a.col),
                                const_cast<V*>(a.value), CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                                CUSPARSE_INDEX_BASE_ZERO, cuda_type<V>));
        cusparseFillMode_t lower = CUSPARSE_FILL_MODE_LOWER;
        cusparseDiagType_t stored = CUSPARSE_DIAG_TYPE_NON_UNIT;
        check(cusparseSpMatSetAttribute(matrix_, CUSPARSE_SPMAT_FILL_MODE, &lower, sizeof lower));
        check(cusparseSpMatSetAttribute(matrix_, CUSPARSE_SPMAT_DIAG_TYPE, &stored, sizeof stored));
        if (problem_.sides > 1) return describe_sides();
        check(cusparseCreateDnVec(&b_vector_, a.rows, problem_.b.data(), cuda_type<V>));
        check(cusparseCreateDnVec(&x_vector_, a.rows, problem_.x.data(), cuda_type<V>));
    }

    void describe_sides()
    {
        const index_t n = problem_.host.rows, sides = problem_.sides;
        if (columns_) {
            std::vector<V> by_column(problem_.host_b.size());
            for (index_t i = 0; i < n; ++i)
                for (index_t j = 0; j < sides; ++j)
                    by_column[static_cast<std::size_t>(offset_t{j} * n + i)] =
                        problem_.host_b[static_cast<std::size_t>(offset_t{i} * sides + j)];
            b_ = to_queue(q_, by_column.data(), std::ssize(by_column));
            x_ = Buffer<V>(q_, b_.size());
        }
        const auto order = columns_ ? CUSPARSE_ORDER_COL : CUSPARSE_ORDER_ROW;
        const offset_t leading = columns_ ? n : sides;
        check(cusparseCreateDnMat(&b_matrix_, n, sides, leading, columns_ ? b_.data() : problem_.b.data(), cuda_type<V>,
                                  order));
        check(cusparseCreateDnMat(&x_matrix_, n, sides, leading, columns_ ? x_.data() : problem_.x.data(), cuda_type<V>,
                                  order));
    }

    void analyse_one()
    {
        std::size_t bytes = 0;
        check(cusparseSpSV_createDescr(&spsv_));
        check(cusparseSpSV_bufferSize(handle_.get(), none_, &one_, matrix_, b_vector_, x_vector_, cuda_type<V>,
                                      CUSPARSE_SPSV_ALG_DEFAULT, spsv_, &bytes));
        work_ = Buffer<unsigned char>(q_, static_cast<offset_t>(bytes));
        check(cusparseSpSV_analysis(handle_.get(), none_, &one_, matrix_, b_vector_, x_vector_, cuda_type<V>,
                                    CUSPARSE_SPSV_ALG_DEFAULT, spsv_, work_.data()));
    }

    void analyse_many()
    {
        std::size_t bytes = 0;
        check(cusparseSpSM_createDescr(&spsm_));
        check(cusparseSpSM_bufferSize(handle_.get(), none_, none_, &one_, matrix_, b_matrix_, x_matrix_, cuda_type<V>,
                                      CUSPARSE_SPSM_ALG_DEFAULT, spsm_, &bytes));
        work_ = Buffer<unsigned char>(q_, static_cast<offset_t>(bytes));
        check(cusparseSpSM_analysis(handle_.get(), none_, none_, &one_, matrix_, b_matrix_, x_matrix_, cuda_type<V>,
                                    CUSPARSE_SPSM_ALG_DEFAULT, spsm_, work_.data()));
    }

    static constexpr auto none_ = CUSPARSE_OPERATION_NON_TRANSPOSE;
    static constexpr V one_ = 1;

    SptrsvProblem<V>& problem_;
    CudaQueue q_;
    bool columns_;  // right-hand sides column after column, in arrays of our own
    CusparseHandle handle_;
    cusparseSpMatDescr_t matrix_ = nullptr;
    cusparseDnVecDescr_t b_vector_ = nullptr, x_vector_ = nullptr;
    cusparseDnMatDescr_t b_matrix_ = nullptr, x_matrix_ = nullptr;
    cusparseSpSVDescr_t spsv_ = nullptr;
    cusparseSpSMDescr_t spsm_ = nullptr;
    Buffer<index_t> begin_;
    Buffer<V> b_, x_;
    Buffer<unsigned char> work_;
};

}  // namespace

template <class V>
std::vector<Contender> cusparse_sptrsv(SptrsvProblem<V>& problem)
{
    std::vector<Contender> all;
    const auto add = [&](const CudaQueue& q, const char* name, bool columns) {
        auto peer = std::make_shared<CusparseSptrsv<V>>(problem, q, columns);
        all.push_back({name, Role::baseline, [peer] { return peer->prepare(); }, [peer] { peer->run(); },
                       [peer] { return peer->result(); }, true});
    };
    problem.ctx.run([&](const auto& q) {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(q)>, CudaQueue>) {
            if (problem.sides == 1) return add(q, "cusparse spsv", false);
            add(q, "cusparse spsm row", false);
            add(q, "cusparse spsm col", true);
        }
    });
    return all;
}

template std::vector<Contender> cusparse_sptrsv(SptrsvProblem<float>&);
template std::vector<Contender> cusparse_sptrsv(SptrsvProblem<double>&);

}  // namespace tulle::bench
