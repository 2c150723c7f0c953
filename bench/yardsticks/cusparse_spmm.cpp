// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// cuSPARSE: its algorithms for C = A B with CSR, and Blocked-ELL on tensor cores; rows of B and C contiguous. Matrices are converted on the host
// before the clock runs; offsets are 32 bits wide, since cuSPARSE refuses 64-bit offsets beside 32-bit columns. Numbers of 16 bits have sums and C in f32.
#include <cusparse.h>

#include <array>
#include <memory>
#include <type_traits>

#include "bench/cuda/check.hpp"
#include "bench/yardsticks/sparse_formats.hpp"
#include "bench/yardsticks/spmm.hpp"

namespace tulle::bench {

// Beside check(cudaError_t), in the same namespace, so that neither hides the other.
static void check(cusparseStatus_t status, const char* file = __builtin_FILE(), int line = __builtin_LINE())
{
    if (status != CUSPARSE_STATUS_SUCCESS) throw DeviceError(concat(file, ":", line, ": ", cusparseGetErrorString(status)));
}

namespace {

struct Variant {
    const char* name;
    cusparseSpMMAlg_t algorithm;
    int block = 0;                                         // Blocked-ELL: rows of a block; else CSR
};

constexpr std::array variants{
    Variant{"cusparse csr", CUSPARSE_SPMM_ALG_DEFAULT},
    Variant{"cusparse csr alg1", CUSPARSE_SPMM_CSR_ALG1},
    Variant{"cusparse csr alg2", CUSPARSE_SPMM_CSR_ALG2},
    Variant{"cusparse csr alg3", CUSPARSE_SPMM_CSR_ALG3},
    Variant{"cusparse bell16", CUSPARSE_SPMM_BLOCKED_ELL_ALG1, 16},
    Variant{"cusparse bell32", CUSPARSE_SPMM_BLOCKED_ELL_ALG1, 32},
};

constexpr std::size_t most_block_bytes = std::size_t{4} << 30;
constexpr auto index32 = CUSPARSE_INDEX_32I;
constexpr auto base0 = CUSPARSE_INDEX_BASE_ZERO;

template <class V> constexpr cudaDataType cuda_type = std::is_same_v<V, Float16> ? CUDA_R_16F : std::is_same_v<V, Bfloat16> ? CUDA_R_16BF : sizeof(V) == 4 ? CUDA_R_32F : CUDA_R_64F;

// Frees what a cusparseCreate… call made.
template <auto Destroy>
struct Destroyer {
    template <class T>
    void operator()(T* object) const { (void)Destroy(object); }
};

template <class V>
class CusparseSpmm {
public:
    CusparseSpmm(SpmmProblem<V>& problem, const CudaQueue& q, Variant variant) : problem_(problem), q_(q), variant_(variant) {}

    Prepared prepare()
    {
        check(cudaSetDevice(q_.device));
        cusparseHandle_t handle = nullptr;
        check(cusparseCreate(&handle));
        handle_.reset(handle);
        check(cusparseSetStream(handle, q_.stream));
        require<ValueError>(problem_.host.nonzeros() <= max_index, "more nonzeros than 32-bit offsets can count");
        if (variant_.block > 0) convert_blocks();
        else convert_csr();
        cusparseConstDnMatDescr_t b = nullptr;
        cusparseDnMatDescr_t c = nullptr;
        check(cusparseCreateConstDnMat(&b, problem_.b.rows, problem_.n, problem_.n, problem_.b.data, cuda_type<V>, CUSPARSE_ORDER_ROW));
        b_.reset(b);
        check(cusparseCreateDnMat(&c, problem_.c.rows, problem_.n, problem_.n, problem_.c.data, cuda_type<Result>, CUSPARSE_ORDER_ROW));
        c_ = c;
        c_owner_.reset(c);
        std::size_t bytes = 0;
        check(cusparseSpMM_bufferSize(handle, none_, none_, &one_, matrix_.get(), b_.get(), &zero_, c_, cuda_type<Result>, variant_.algorithm, &bytes));
        work_ = Buffer<unsigned char>(q_, static_cast<offset_t>(bytes));
        if (variant_.block == 0)
            check(cusparseSpMM_preprocess(handle, none_, none_, &one_, matrix_.get(), b_.get(), &zero_, c_, cuda_type<Result>, variant_.algorithm, work_.data()));
        return {"", begin_.bytes() + index_.bytes() + value_.bytes() + work_.bytes()};
    }

    void run()
    {
        check(cusparseSpMM(handle_.get(), none_, none_, &one_, matrix_.get(), b_.get(), &zero_, c_, cuda_type<Result>, variant_.algorithm, work_.data()));
    }

private:
    using Result = typename SpmmProblem<V>::Result;

    void convert_csr()
    {
        const std::vector<index_t> begin = narrowed(problem_.host.row_begin.span());
        begin_ = to_queue(q_, begin.data(), std::ssize(begin));
        const CsrView<V>& a = problem_.a;
        cusparseConstSpMatDescr_t made = nullptr;
        check(cusparseCreateConstCsr(&made, a.rows, a.cols, a.nonzeros, begin_.data(), a.col, a.value, index32, index32, base0, cuda_type<V>));
        matrix_.reset(made);
    }

    // Through a matrix of wider numbers, which is what the library converts; whole blocks only.
    void convert_blocks()
    {
        using Wide = std::conditional_t<sizeof(V) == 8, double, float>;
        const CsrView<V> host = problem_.host.view();
        require<ValueError>(host.rows % variant_.block == 0 && host.cols % variant_.block == 0, "not a whole number of blocks");
        const std::vector<Wide> wide = [&] {
            std::vector<Wide> values;
            for (offset_t k = 0; k < host.nonzeros; ++k) values.push_back(static_cast<Wide>(host.value[k]));
            return values;
        }();
        const Context cpu = Context::cpu();
        const CsrView<Wide> widened{host.rows, host.cols, host.nonzeros, host.row_begin, host.col, wide.data(), host.sorted, host.unique};
        const BlockedEll<Wide> blocks = to_blocked_ell(cpu, widened, static_cast<index_t>(variant_.block));
        require<ValueError>(static_cast<std::size_t>(blocks.value.size()) * sizeof(V) <= most_block_bytes, "blocks padded to the widest row take too much memory");
        std::vector<V> value;
        for (offset_t k = 0; k < blocks.value.size(); ++k) value.push_back(static_cast<V>(blocks.value.data()[k]));
        index_ = to_queue(q_, blocks.block_col.data(), blocks.block_col.size());
        value_ = to_queue(q_, value.data(), std::ssize(value));
        cusparseConstSpMatDescr_t made = nullptr;
        check(cusparseCreateConstBlockedEll(&made, host.rows, host.cols, variant_.block, offset_t{blocks.width} * variant_.block, index_.data(), value_.data(), index32, base0, cuda_type<V>));
        matrix_.reset(made);
    }

    static constexpr auto none_ = CUSPARSE_OPERATION_NON_TRANSPOSE;
    static constexpr Result one_ = 1, zero_ = 0;

    SpmmProblem<V>& problem_;
    CudaQueue q_;
    Variant variant_;
    std::unique_ptr<cusparseContext, Destroyer<cusparseDestroy>> handle_;
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
                all.push_back({variant.name, Role::yardstick, [peer] { return peer->prepare(); }, [peer] { peer->run(); }, [&problem] { return problem.download(); }});
            }
    });
    return all;
}

template std::vector<Contender> cusparse_spmm(SpmmProblem<float>&);
template std::vector<Contender> cusparse_spmm(SpmmProblem<double>&);
template std::vector<Contender> cusparse_spmm(SpmmProblem<Float16>&);
template std::vector<Contender> cusparse_spmm(SpmmProblem<Bfloat16>&);

}  // namespace tulle::bench
