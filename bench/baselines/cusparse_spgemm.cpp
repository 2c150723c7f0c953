// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// cuSPARSE: SpGEMM with its default algorithm and the two that need less memory, and SpGEMMreuse, whose last step
// computes the values of a C that is already there. Buffers come from the context's memory, so they are as fast to get,
// and counted, as ours. Offsets are 32 bits wide.
#include <array>
#include <memory>

#include "bench/baselines/cusparse.hpp"
#include "bench/baselines/spgemm.hpp"

namespace tulle::bench {

namespace {

constexpr auto none = CUSPARSE_OPERATION_NON_TRANSPOSE;

using MatrixOwner = std::unique_ptr<cusparseSpMatDescr, Destroyer<cusparseDestroySpMat>>;
using ProductOwner = std::unique_ptr<cusparseSpGEMMDescr, Destroyer<cusparseSpGEMM_destroyDescr>>;

template <class V>
struct Result {
    Buffer<int> row_begin, col;
    Buffer<V> value;
    MatrixOwner matrix;
    ProductOwner product;
    Buffer<unsigned char> kept[5];
};

template <class V>
class CusparseSpgemm {
public:
    CusparseSpgemm(SpgemmProblem<V>& problem, const CudaQueue& q, cusparseSpGEMMAlg_t algorithm)
        : problem_(problem),
          q_(q),
          algorithm_(algorithm)
    {
        require<ValueError>(problem.nonzeros() <= max_index, "more nonzeros than 32-bit offsets can count");
        handle_ = open_cusparse(q);
        const auto h = problem.host.view();
        const std::vector<int> begin(h.row_begin, h.row_begin + h.rows + 1);
        begin_ = to_queue(q, begin.data(), static_cast<offset_t>(begin.size()));
        a_ = matrix_of(h.nonzeros, begin_.data(), const_cast<index_t*>(problem.a.col), const_cast<V*>(problem.a.value));
    }

    void call()
    {
        open();
        std::size_t bytes = 0;
        const auto estimate = [&](void* room) {
            check(cusparseSpGEMM_workEstimation(handle_.get(), none, none, &one_, a_.get(), a_.get(), &zero_,
                                                c_.matrix.get(), cuda_type<V>, algorithm_, c_.product.get(), &bytes,
                                                room));
        };
        estimate(nullptr);
        const Buffer<unsigned char> first = room(bytes);
        estimate(const_cast<unsigned char*>(first.data()));
        Buffer<unsigned char> chunk;
        if (algorithm_ == CUSPARSE_SPGEMM_ALG2 || algorithm_ == CUSPARSE_SPGEMM_ALG3) chunk = estimate_memory(bytes);
        else compute_into(nullptr, bytes);
        const Buffer<unsigned char> second = room(bytes);
        compute_into(const_cast<unsigned char*>(second.data()), bytes);
        allocate();
        check(cusparseSpGEMM_copy(handle_.get(), none, none, &one_, a_.get(), a_.get(), &zero_, c_.matrix.get(),
                                  cuda_type<V>, algorithm_, c_.product.get()));
    }

    // The parts of SpGEMMreuse that are done once.
    void prepare_reuse()
    {
        open();
        std::size_t bytes[5]{};
        const auto estimate = [&](void* room) {
            check(cusparseSpGEMMreuse_workEstimation(handle_.get(), none, none, a_.get(), a_.get(), c_.matrix.get(),
                                                     algorithm_, c_.product.get(), bytes, room));
        };
        estimate(nullptr);
        c_.kept[0] = room(bytes[0]);
        estimate(c_.kept[0].data());
        const auto count = [&](void* b, void* c, void* d) {
            check(cusparseSpGEMMreuse_nnz(handle_.get(), none, none, a_.get(), a_.get(), c_.matrix.get(), algorithm_,
                                          c_.product.get(), bytes + 1, b, bytes + 2, c, bytes + 3, d));
        };
        count(nullptr, nullptr, nullptr);
        for (int k = 1; k < 4; ++k) c_.kept[k] = room(bytes[k]);
        count(c_.kept[1].data(), c_.kept[2].data(), c_.kept[3].data());
        c_.kept[0] = {}, c_.kept[1] = {};
        allocate();
        const auto copy_pattern = [&](void* room) {
            check(cusparseSpGEMMreuse_copy(handle_.get(), none, none, a_.get(), a_.get(), c_.matrix.get(), algorithm_,
                                           c_.product.get(), bytes + 4, room));
        };
        copy_pattern(nullptr);
        c_.kept[4] = room(bytes[4]);
        copy_pattern(c_.kept[4].data());
        c_.kept[2] = {};
    }

    void reuse()
    {
        check(cusparseSpGEMMreuse_compute(handle_.get(), none, none, &one_, a_.get(), a_.get(), &zero_, c_.matrix.get(),
                                          cuda_type<V>, algorithm_, c_.product.get()));
    }

    double worst_share() const
    {
        const auto begin = to_host<int>(problem_.ctx, c_.row_begin.span());
        const auto col = to_host<int>(problem_.ctx, c_.col.span());
        const auto value = to_host<V>(problem_.ctx, c_.value.span());
        if (col.size() != problem_.nonzeros()) return std::numeric_limits<double>::infinity();
        return problem_.worst_share(problem_.host.rows, begin.data(), col.data(), value.data());
    }

    std::size_t result_bytes() const { return c_.row_begin.bytes() + c_.col.bytes() + c_.value.bytes(); }

    void forget() { c_ = {}; }

private:
    Buffer<unsigned char> room(std::size_t bytes) const { return {q_, static_cast<offset_t>(bytes)}; }

    MatrixOwner matrix_of(offset_t nonzeros, int* begin, index_t* col, V* value) const
    {
        cusparseSpMatDescr_t matrix = nullptr;
        check(cusparseCreateCsr(&matrix, problem_.host.rows, problem_.host.cols, nonzeros, begin, col, value,
                                CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, cuda_type<V>));
        return MatrixOwner(matrix);
    }

    void open()
    {
        c_ = {};
        c_.row_begin = Buffer<int>(q_, offset_t{problem_.host.rows} + 1);
        c_.matrix = matrix_of(0, c_.row_begin.data(), nullptr, nullptr);
        cusparseSpGEMMDescr_t product = nullptr;
        check(cusparseSpGEMM_createDescr(&product));
        c_.product.reset(product);
    }

    void compute_into(void* room, std::size_t& bytes)
    {
        check(cusparseSpGEMM_compute(handle_.get(), none, none, &one_, a_.get(), a_.get(), &zero_, c_.matrix.get(),
                                     cuda_type<V>, algorithm_, c_.product.get(), &bytes, room));
    }

    // Algorithms 2 and 3 want to know how much of the products may be held at once.
    Buffer<unsigned char> estimate_memory(std::size_t& second)
    {
        constexpr float share = 0.2f;
        std::size_t third = 0;
        check(cusparseSpGEMM_estimateMemory(handle_.get(), none, none, &one_, a_.get(), a_.get(), &zero_,
                                            c_.matrix.get(), cuda_type<V>, algorithm_, c_.product.get(), share, &third,
                                            nullptr, nullptr));
        Buffer<unsigned char> chunk = room(third);
        check(cusparseSpGEMM_estimateMemory(handle_.get(), none, none, &one_, a_.get(), a_.get(), &zero_,
                                            c_.matrix.get(), cuda_type<V>, algorithm_, c_.product.get(), share, &third,
                                            chunk.data(), &second));
        return chunk;
    }

    void allocate()
    {
        std::int64_t rows = 0, cols = 0, nonzeros = 0;
        check(cusparseSpMatGetSize(c_.matrix.get(), &rows, &cols, &nonzeros));
        c_.col = Buffer<int>(q_, nonzeros);
        c_.value = Buffer<V>(q_, nonzeros);
        check(cusparseCsrSetPointers(c_.matrix.get(), c_.row_begin.data(), c_.col.data(), c_.value.data()));
    }

    SpgemmProblem<V>& problem_;
    CudaQueue q_;
    cusparseSpGEMMAlg_t algorithm_;
    CusparseHandle handle_;
    Buffer<int> begin_;
    MatrixOwner a_;
    Result<V> c_;
    V one_ = 1, zero_ = 0;
};

struct Variant {
    const char* name;
    cusparseSpGEMMAlg_t algorithm;
};
constexpr std::array variants{Variant{"cusparse", CUSPARSE_SPGEMM_DEFAULT},
                              Variant{"cusparse alg2", CUSPARSE_SPGEMM_ALG2}};

template <class V>
struct QueueOf {
    SpgemmProblem<V>& problem;
    std::vector<Multiplier> operator()(const CpuQueue&) const { return {}; }
    std::vector<Multiplier> operator()(const CudaQueue& q) const
    {
        std::vector<Multiplier> all;
        for (const Variant& v : variants) {
            auto one = std::make_shared<CusparseSpgemm<V>>(problem, q, v.algorithm);
            all.push_back({v.name, Role::baseline, [one] { one->call(); }, [one] { return one->worst_share(); },
                           [one] { one->forget(); }});
        }
        auto reuse = std::make_shared<CusparseSpgemm<V>>(problem, q, CUSPARSE_SPGEMM_DEFAULT);
        all.push_back({"cusparse reuse",
                       Role::baseline,
                       {},
                       [reuse] { return reuse->worst_share(); },
                       [reuse] { reuse->forget(); },
                       [reuse] { reuse->prepare_reuse(); },
                       [reuse] { reuse->reuse(); },
                       {},
                       [reuse] { return reuse->result_bytes(); }});
        return all;
    }
};

}  // namespace

template <class V>
std::vector<Multiplier> cusparse_spgemm(SpgemmProblem<V>& problem)
{
    return problem.ctx.run(QueueOf<V>{problem});
}

template std::vector<Multiplier> cusparse_spgemm(SpgemmProblem<float>&);
template std::vector<Multiplier> cusparse_spgemm(SpgemmProblem<double>&);

}  // namespace tulle::bench
