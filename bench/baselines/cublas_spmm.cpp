// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// cuBLAS: the same product with A as a dense matrix, where that fits: what a sparse product must beat on nearly dense
// matrices.
#include <memory>
#include <type_traits>
#include <vector>

#include "bench/baselines/cublas.hpp"
#include "bench/baselines/cuda_type.hpp"
#include "bench/baselines/spmm.hpp"

namespace tulle::bench {

namespace {

constexpr std::size_t most_bytes = std::size_t{4} << 30;

template <class V>
class CublasSpmm {
public:
    CublasSpmm(SpmmProblem<V>& problem, const CudaQueue& q) : problem_(problem), q_(q) {}

    Prepared prepare()
    {
        const CsrView<V> a = problem_.host.view();
        const std::size_t entries = static_cast<std::size_t>(a.rows) * static_cast<std::size_t>(a.cols);
        require<ValueError>(entries * sizeof(V) <= most_bytes, "A is too large as a dense matrix");
        std::vector<V> dense(entries, static_cast<V>(0.0f));
        for (index_t i = 0; i < a.rows; ++i)
            for (offset_t k = a.row_begin[i]; k < a.row_begin[i + 1]; ++k)
                dense[static_cast<std::size_t>(i) * static_cast<std::size_t>(a.cols) +
                      static_cast<std::size_t>(a.col[k])] = a.value[k];
        a_ = to_queue(q_, dense.data(), std::ssize(dense));
        handle_ = open_cublas(q_);
        return {"", a_.bytes()};
    }

    // Rows are contiguous, which cuBLAS calls columns: C' = B' A'.
    void run()
    {
        using Result = typename SpmmProblem<V>::Result;
        const Result one = 1, zero = 0;
        const cublasComputeType_t compute = problem_.tf32    ? CUBLAS_COMPUTE_32F_FAST_TF32
                                            : sizeof(V) == 8 ? CUBLAS_COMPUTE_64F
                                                             : CUBLAS_COMPUTE_32F;
        check(cublasGemmEx(handle_.get(), CUBLAS_OP_N, CUBLAS_OP_N, problem_.n, problem_.c.rows, problem_.b.rows, &one,
                           problem_.b.data, cuda_type<V>, problem_.n, a_.data(), cuda_type<V>, problem_.b.rows, &zero,
                           problem_.c.data, cuda_type<Result>, problem_.n, compute, CUBLAS_GEMM_DEFAULT));
    }

private:
    SpmmProblem<V>& problem_;
    CudaQueue q_;
    Buffer<V> a_;
    CublasHandle handle_;
};

}  // namespace

template <class V>
std::vector<Contender> cublas_spmm(SpmmProblem<V>& problem)
{
    std::vector<Contender> all;
    problem.ctx.run([&](const auto& q) {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(q)>, CudaQueue>) {
            auto peer = std::make_shared<CublasSpmm<V>>(problem, q);
            all.push_back({"cublas dense", Role::baseline, [peer] { return peer->prepare(); }, [peer] { peer->run(); },
                           [&problem] { return problem.download(); }});
        }
    });
    return all;
}

template std::vector<Contender> cublas_spmm(SpmmProblem<float>&);
template std::vector<Contender> cublas_spmm(SpmmProblem<double>&);
template std::vector<Contender> cublas_spmm(SpmmProblem<Float16>&);
template std::vector<Contender> cublas_spmm(SpmmProblem<Bfloat16>&);

}  // namespace tulle::bench
