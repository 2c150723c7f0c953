// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// cuSPARSE: its algorithms for C = A B with CSR, and Blocked-ELL on tensor cores; rows of B and C contiguous. Matrices
// are converted on the host before the clock runs; offsets are 32 bits wide, since cuSPARSE refuses 64-bit offsets
// together with 32-bit columns. Numbers of 16 bits have sums and C in f32.
#include <algorithm>
#include <array>
#include <memory>
#include <type_traits>

#include "bench/baselines/cusparse.hpp"
#include "bench/baselines/sparse_formats.hpp"
#include "bench/baselines/spmm.hpp"

namespace tulle::bench {

namespace {

struct Variant {
    const char* name;
    cusparseSpMMAlg_t algorithm;
    int block = 0;  // Blocked-ELL: rows of a block; else CSR
};

constexpr std::array variants{
    Variant{"cusparse csr", CUSPARSE_SPMM_ALG_DEFAULT},
    Variant{"cusparse csr alg1", CUSPARSE_SPMM_CSR_ALG1},
    Variant{"cusparse csr alg2", CUSPARSE_SPMM_CSR_ALG2},
    Variant{"cusparse csr alg3", CUSPARSE_SPMM_CSR_ALG3},
    Variant{"cusparse bell16", CUSPARSE_SPMM_BLOCKED_ELL_ALG1, 16},
    Variant{"cusparse bell32", CUSPARSE_SPMM_BLOCKED_ELL_ALG1, 32},
};

constexpr offset_t most_padding = 16;  // times the nonzeros: no product can be fast that reads more
constexpr auto index32 = CUSPARSE_INDEX_32I;
constexpr auto base0 = CUSPARSE_INDEX_BASE_ZERO;

template <class V>
class CusparseSpmm {
public:
    CusparseSpmm(SpmmProblem<V>& problem, const CudaQueue& q, Variant variant)
        : problem_(problem),
          q_(q),
          variant_(variant)
    {}

    Prepared prepare()
    {
        handle_ = open_cusparse(q_);
        require<ValueError>(problem_.host.nonzeros() <= max_index, "more nonzeros than 32-bit offsets can count");
        if (variant_.block > 0) convert_blocks();
        else convert_csr();
        cusparseConstDnMatDescr_t b = nullptr;
        cusparseDnMatDescr_t c = nullptr;
        check(cusparseCreateConstDnMat(&b, extent(problem_.b.rows), problem_.n, problem_.n, problem_.b.data,
                                       cuda_type<V>, CUSPARSE_ORDER_ROW));
        b_.reset(b);
        check(cusparseCreateDnMat(&c, extent(problem_.c.rows), problem_.n, problem_.n, problem_.c.data,
                                  cuda_type<Result>, CUSPARSE_ORDER_ROW));
        c_ = c;
        c_owner_.reset(c);
        std::size_t bytes = 0;
        check(cusparseSpMM_bufferSize(handle_.get(), none_, none_, &one_, matrix_.get(), b_.get(), &zero_, c_,
                                      cuda_type<Result>, variant_.algorithm, &bytes));
        work_ = Buffer<unsigned char>(q_, static_cast<offset_t>(bytes));
        if (variant_.block == 0)
            check(cusparseSpMM_preprocess(handle_.get(), none_, none_, &one_, matrix_.get(), b_.get(), &zero_, c_,
                                          cuda_type<Result>, variant_.algorithm, work_.data()));
        return {"", begin_.bytes() + index_.bytes() + value_.bytes() + work_.bytes()};
    }

    void run()
    {
        check(cusparseSpMM(handle_.get(), none_, none_, &one_, matrix_.get(), b_.get(), &zero_, c_, cuda_type<Result>,
                           variant_.algorithm, work_.data()));
    }

private:
    using Result = typename SpmmProblem<V>::Result;

    void convert_csr()
    {
        const std::vector<index_t> begin = narrowed(problem_.host.row_begin.span());
        begin_ = to_queue(q_, begin.data(), std::ssize(begin));
        const CsrView<V>& a = problem_.a;
        cusparseConstSpMatDescr_t made = nullptr;
        check(cusparseCreateConstCsr(&made, a.rows, a.cols, a.nonzeros, begin_.data(), a.col, a.value, index32, index32,
                                     base0, cuda_type<V>));
        matrix_.reset(made);
    }

    // Rows or columns as cuSPARSE sees them: whole blocks.
    offset_t extent(offset_t n) const
    {
        return variant_.block > 0 ? ceil_div<offset_t>(n, variant_.block) * variant_.block : n;
    }

    // Through a matrix of wider numbers, which is what the library converts.
    void convert_blocks()
    {
        using Wide = std::conditional_t<sizeof(V) == 8, double, float>;
        const CsrView<V> host = problem_.host.view();
        const std::vector<Wide> wide = [&] {
            std::vector<Wide> values;
            for (offset_t k = 0; k < host.nonzeros; ++k) values.push_back(static_cast<Wide>(host.value[k]));
            return values;
        }();
        require<ValueError>(host.nonzeros == 0 || padded_size(host) / host.nonzeros < most_padding,
                            "blocks padded to the widest row take too much memory");
        const Context cpu = Context::cpu();
        const CsrView<Wide> widened{host.rows, host.cols,   host.nonzeros, host.row_begin,
                                    host.col,  wide.data(), host.sorted,   host.unique};
        const BlockedEll<Wide> blocks = to_blocked_ell(cpu, widened, static_cast<index_t>(variant_.block));
        // cuSPARSE wants rows one after the other through all blocks of a block row; the library has block after block.
        const offset_t block = variant_.block, width = blocks.width * block;
        std::vector<V> value(static_cast<std::size_t>(blocks.value.size()));
        for (offset_t k = 0; k < blocks.value.size(); ++k) {
            const offset_t slot = k / (block * block), row = slot / blocks.width * block + k / block % block;
            value[static_cast<std::size_t>(row * width + slot % blocks.width * block + k % block)] =
                static_cast<V>(blocks.value.data()[k]);
        }
        index_ = to_queue(q_, blocks.block_col.data(), blocks.block_col.size());
        value_ = to_queue(q_, value.data(), std::ssize(value));
        cusparseConstSpMatDescr_t made = nullptr;
        check(cusparseCreateConstBlockedEll(&made, extent(host.rows), extent(host.cols), variant_.block, width,
                                            index_.data(), value_.data(), index32, base0, cuda_type<V>));
        matrix_.reset(made);
    }

    // Numbers that Blocked-ELL stores.
    offset_t padded_size(const CsrView<V>& a) const
    {
        const auto block = static_cast<index_t>(variant_.block);
        std::vector<index_t> seen(static_cast<std::size_t>(ceil_div(a.cols, block)), -1);  // in which block row last
        offset_t widest = 0, here = 0;
        for (index_t i = 0; i < a.rows; ++i) {
            if (i % block == 0) here = 0;
            for (offset_t k = a.row_begin[i]; k < a.row_begin[i + 1]; ++k)
                if (index_t& last = seen[static_cast<std::size_t>(a.col[k] / block)]; last != i / block) {
                    last = i / block;
                    ++here;
                }
            widest = std::max(widest, here);
        }
        return extent(a.rows) * widest * block;
    }

    static constexpr auto none_ = CUSPARSE_OPERATION_NON_TRANSPOSE;
    static constexpr Result one_ = 1, zero_ = 0;

    SpmmProblem<V>& problem_;
    CudaQueue q_;
    Variant variant_;
    CusparseHandle handle_;
    Buffer<index_t> begin_, index_;
    Buffer<V> value_;
    Buffer<unsigned char> work_;
    std::unique_ptr<const cusparseSpMatDescr, Destroyer<cusparseDestroySpMat>> matrix_;
    std::unique_ptr<const cusparseDnMatDescr, Destroyer<cusparseDestroyDnMat>> b_, c_owner_;
    cusparseDnMatDescr_t c_ = nullptr;
};

}  // namespace

template <class V>
std::vector<Contender> cusparse_spmm(SpmmProblem<V>& problem)
{
    std::vector<Contender> all;
    problem.ctx.run([&](const auto& q) {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(q)>, CudaQueue>)
            for (const Variant& variant : variants) {
                auto peer = std::make_shared<CusparseSpmm<V>>(problem, q, variant);
                all.push_back({variant.name, Role::baseline, [peer] { return peer->prepare(); },
                               [peer] { peer->run(); }, [&problem] { return problem.download(); }});
            }
    });
    return all;
}

template std::vector<Contender> cusparse_spmm(SpmmProblem<float>&);
template std::vector<Contender> cusparse_spmm(SpmmProblem<double>&);
template std::vector<Contender> cusparse_spmm(SpmmProblem<Float16>&);
template std::vector<Contender> cusparse_spmm(SpmmProblem<Bfloat16>&);

}  // namespace tulle::bench
