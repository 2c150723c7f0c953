// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// cuSPARSE: its SDDMM with CSR, Y as a transposed matrix with contiguous rows, or as one with contiguous columns: the
// same array. Offsets are 32 bits wide, as in the other baselines. Numbers of 16 bits have sums and c in f32.
#include <memory>
#include <type_traits>

#include "bench/baselines/cusparse.hpp"
#include "bench/baselines/sddmm.hpp"
#include "bench/baselines/sparse_formats.hpp"

namespace tulle::bench {

namespace {

template <class V>
class CusparseSddmm {
public:
    CusparseSddmm(SddmmProblem<V>& problem, const CudaQueue& q, bool by_columns)
        : problem_(problem),
          q_(q),
          op_y_(by_columns ? CUSPARSE_OPERATION_NON_TRANSPOSE : CUSPARSE_OPERATION_TRANSPOSE),
          by_columns_(by_columns)
    {}

    Prepared prepare()
    {
        handle_ = open_cusparse(q_);
        require<ValueError>(problem_.host.nonzeros() <= max_index, "more nonzeros than 32-bit offsets can count");
        describe();
        std::size_t bytes = 0;
        check(cusparseSDDMM_bufferSize(handle_.get(), none_, op_y_, &one_, x_.get(), y_.get(), &zero_, c_.get(),
                                       cuda_type<Result>, CUSPARSE_SDDMM_ALG_DEFAULT, &bytes));
        work_ = Buffer<unsigned char>(q_, static_cast<offset_t>(bytes));
        check(cusparseSDDMM_preprocess(handle_.get(), none_, op_y_, &one_, x_.get(), y_.get(), &zero_, c_.get(),
                                       cuda_type<Result>, CUSPARSE_SDDMM_ALG_DEFAULT, work_.data()));
        return {"", begin_.bytes() + work_.bytes()};
    }

    void run()
    {
        check(cusparseSDDMM(handle_.get(), none_, op_y_, &one_, x_.get(), y_.get(), &zero_, c_.get(), cuda_type<Result>,
                            CUSPARSE_SDDMM_ALG_DEFAULT, work_.data()));
    }

private:
    using Result = typename SddmmProblem<V>::Result;

    void describe()
    {
        const std::vector<index_t> begin = narrowed(problem_.host.row_begin.span());
        begin_ = to_queue(q_, begin.data(), std::ssize(begin));
        const CsrView<V>& a = problem_.a;
        const index_t k = problem_.k;
        cusparseSpMatDescr_t c = nullptr;
        check(cusparseCreateCsr(&c, a.rows, a.cols, a.nonzeros, begin_.data(), const_cast<index_t*>(a.col),
                                problem_.c.data(), CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO,
                                cuda_type<Result>));
        c_.reset(c);
        cusparseConstDnMatDescr_t x = nullptr, y = nullptr;
        check(cusparseCreateConstDnMat(&x, a.rows, k, k, problem_.x.data, cuda_type<V>, CUSPARSE_ORDER_ROW));
        x_.reset(x);
        check(by_columns_
                  ? cusparseCreateConstDnMat(&y, k, a.cols, k, problem_.y.data, cuda_type<V>, CUSPARSE_ORDER_COL)
                  : cusparseCreateConstDnMat(&y, a.cols, k, k, problem_.y.data, cuda_type<V>, CUSPARSE_ORDER_ROW));
        y_.reset(y);
    }

    static constexpr auto none_ = CUSPARSE_OPERATION_NON_TRANSPOSE;
    static constexpr Result one_ = 1, zero_ = 0;

    SddmmProblem<V>& problem_;
    CudaQueue q_;
    cusparseOperation_t op_y_;
    bool by_columns_;
    CusparseHandle handle_;
    Buffer<index_t> begin_;
    Buffer<unsigned char> work_;
    std::unique_ptr<cusparseSpMatDescr, Destroyer<cusparseDestroySpMat>> c_;
    std::unique_ptr<const cusparseDnMatDescr, Destroyer<cusparseDestroyDnMat>> x_, y_;
};

}  // namespace

template <class V>
std::vector<Contender> cusparse_sddmm(SddmmProblem<V>& problem)
{
    std::vector<Contender> all;
    problem.ctx.run([&](const auto& q) {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(q)>, CudaQueue>)
            for (const bool by_columns : {false, true}) {
                auto peer = std::make_shared<CusparseSddmm<V>>(problem, q, by_columns);
                all.push_back({by_columns ? "cusparse columns" : "cusparse rows", Role::baseline,
                               [peer] { return peer->prepare(); }, [peer] { peer->run(); },
                               [&problem] { return problem.download(); }});
            }
    });
    return all;
}

template std::vector<Contender> cusparse_sddmm(SddmmProblem<float>&);
template std::vector<Contender> cusparse_sddmm(SddmmProblem<double>&);
template std::vector<Contender> cusparse_sddmm(SddmmProblem<Float16>&);
template std::vector<Contender> cusparse_sddmm(SddmmProblem<Bfloat16>&);

}  // namespace tulle::bench
