// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// cuSPARSE: every format and algorithm it offers for y = A x, so that "the best of cuSPARSE" is what it says. Matrices
// are converted on the host before the clock runs; offsets are 32 bits wide, since cuSPARSE refuses 64-bit offsets
// together with 32-bit columns.
#include <array>
#include <memory>

#include "bench/baselines/cusparse.hpp"
#include "bench/baselines/sparse_formats.hpp"
#include "bench/baselines/spmv.hpp"
#include "tulle/trace.hpp"

namespace tulle::bench {

namespace {

enum class Layout { csr, coo, csc, sell, bsr };

struct Variant {
    const char* name;
    Layout layout;
    cusparseSpMVAlg_t algorithm;
    bool preprocess = false;
    int block = 0;  // bsr: rows of a block; sell: rows of a slice
};

constexpr std::array variants{
    Variant{"cusparse csr", Layout::csr, CUSPARSE_SPMV_ALG_DEFAULT},
    Variant{"cusparse csr alg1", Layout::csr, CUSPARSE_SPMV_CSR_ALG1},
    Variant{"cusparse csr alg1 pre", Layout::csr, CUSPARSE_SPMV_CSR_ALG1, true},
    Variant{"cusparse csr alg2", Layout::csr, CUSPARSE_SPMV_CSR_ALG2},
    Variant{"cusparse csr alg2 pre", Layout::csr, CUSPARSE_SPMV_CSR_ALG2, true},
    Variant{"cusparse coo alg1", Layout::coo, CUSPARSE_SPMV_COO_ALG1},
    Variant{"cusparse coo alg2", Layout::coo, CUSPARSE_SPMV_COO_ALG2},
    Variant{"cusparse csc", Layout::csc, CUSPARSE_SPMV_ALG_DEFAULT},
    Variant{"cusparse sell32", Layout::sell, CUSPARSE_SPMV_SELL_ALG1, false, 32},
    Variant{"cusparse bsr2", Layout::bsr, CUSPARSE_SPMV_BSR_ALG1, false, 2},
    Variant{"cusparse bsr3", Layout::bsr, CUSPARSE_SPMV_BSR_ALG1, false, 3},
    Variant{"cusparse bsr4", Layout::bsr, CUSPARSE_SPMV_BSR_ALG1, false, 4},
    Variant{"cusparse bsr6", Layout::bsr, CUSPARSE_SPMV_BSR_ALG1, false, 6},
};

// Blocks at least this full, or the format is not meant for the matrix; a slice format may not pad beyond this many
// entries per nonzero.
constexpr double least_block_fill = 0.7;
constexpr double most_slice_padding = 16.0;

constexpr auto index32 = CUSPARSE_INDEX_32I;
constexpr auto base0 = CUSPARSE_INDEX_BASE_ZERO;

using MatrixOwner = std::unique_ptr<const cusparseSpMatDescr, Destroyer<cusparseDestroySpMat>>;
using VectorOwner = std::unique_ptr<const cusparseDnVecDescr, Destroyer<cusparseDestroyDnVec>>;

CusparseHandle make_handle(const CudaQueue& q)
{
    const trace::Phase phase{"handle"};
    return open_cusparse(q);
}

std::string version_of(cusparseHandle_t handle)
{
    int number = 0;
    check(cusparseGetVersion(handle, &number));
    return concat("version ", number / 1000, ".", number / 100 % 10, ".", number % 100);
}

// One variant on one matrix.
template <class V>
class CusparseSpmv {
public:
    CusparseSpmv(SpmvProblem<V>& problem, const CudaQueue& q, Variant variant)
        : problem_(problem),
          q_(q),
          variant_(variant)
    {}

    Prepared prepare()
    {
        handle_ = make_handle(q_);
        {
            const trace::Phase phase{"convert"};
            convert();
        }
        make_vectors();
        const trace::Phase phase{"analyse"};
        std::size_t bytes = 0;
        check(cusparseSpMV_bufferSize(handle_.get(), none_, &one_, matrix_.get(), x_.get(), &zero_, y_, cuda_type<V>,
                                      variant_.algorithm, &bytes));
        work_ = Buffer<unsigned char>(q_, static_cast<offset_t>(bytes));
        if (variant_.preprocess)
            check(cusparseSpMV_preprocess(handle_.get(), none_, &one_, matrix_.get(), x_.get(), &zero_, y_,
                                          cuda_type<V>, variant_.algorithm, work_.data()));
        return {version_of(handle_.get()), begin_.bytes() + index_.bytes() + value_.bytes() + work_.bytes()};
    }

    void run()
    {
        check(cusparseSpMV(handle_.get(), none_, &one_, matrix_.get(), x_.get(), &zero_, y_, cuda_type<V>,
                           variant_.algorithm, work_.data()));
    }

private:
    void convert()
    {
        require<ValueError>(problem_.host.nonzeros() <= max_index, "more nonzeros than 32-bit offsets can count");
        switch (variant_.layout) {
        case Layout::csr: return convert_csr();
        case Layout::coo: return convert_coo();
        case Layout::csc: return convert_csc();
        case Layout::sell: return convert_sell();
        case Layout::bsr: return convert_bsr();
        }
    }

    // CSR and COO read the columns and values of the problem where they are.
    void convert_csr()
    {
        upload(narrowed(problem_.host.row_begin.span()), begin_);
        const CsrView<V>& a = problem_.a;
        adopt([&](auto* made) {
            return cusparseCreateConstCsr(made, a.rows, a.cols, a.nonzeros, begin_.data(), a.col, a.value, index32,
                                          index32, base0, cuda_type<V>);
        });
    }

    void convert_coo()
    {
        upload(rows_of_entries(problem_.host.view()), index_);
        const CsrView<V>& a = problem_.a;
        adopt([&](auto* made) {
            return cusparseCreateConstCoo(made, a.rows, a.cols, a.nonzeros, index_.data(), a.col, a.value, index32,
                                          base0, cuda_type<V>);
        });
    }

    void convert_csc()
    {
        const Csc<V> c = to_csc(Context::cpu(), problem_.host.view());
        upload(narrowed(c.col_begin.span()), begin_);
        index_ = to_queue(q_, c.row.data(), c.row.size());
        value_ = to_queue(q_, c.value.data(), c.value.size());
        adopt([&](auto* made) {
            return cusparseCreateConstCsc(made, c.rows, c.cols, c.nonzeros(), begin_.data(), index_.data(),
                                          value_.data(), index32, index32, base0, cuda_type<V>);
        });
    }

    void convert_sell()
    {
        const offset_t entries = sell_entries(problem_.host.view(), variant_.block);
        require<ValueError>(
            static_cast<double>(entries) <= most_slice_padding * static_cast<double>(problem_.host.nonzeros()), [&] {
                return concat("slices would hold ", entries, " entries for ", problem_.host.nonzeros(), " nonzeros");
            });
        const SlicedEll<V> s = to_sell(problem_.host.view(), variant_.block);
        take(s.begin, s.col, s.value);
        const CsrView<V>& a = problem_.a;
        adopt([&](auto* made) {
            return cusparseCreateConstSlicedEll(made, a.rows, a.cols, a.nonzeros, value_.size(), variant_.block,
                                                begin_.data(), index_.data(), value_.data(), index32, index32, base0,
                                                cuda_type<V>);
        });
    }

    void convert_bsr()
    {
        const BlockRows<V> b = to_block_rows(problem_.host.view(), variant_.block);
        take(b.begin, b.col, b.value);
        const index_t side = variant_.block;
        adopt([&](auto* made) {
            return cusparseCreateConstBsr(made, problem_.a.rows / side, problem_.a.cols / side, index_.size(), side,
                                          side, begin_.data(), index_.data(), value_.data(), index32, index32, base0,
                                          cuda_type<V>, CUSPARSE_ORDER_ROW);
        });
    }

    template <class T>
    void upload(const std::vector<T>& from, Buffer<T>& to)
    {
        to = to_queue(q_, from.data(), std::ssize(from));
    }

    void take(const std::vector<index_t>& begin, const std::vector<index_t>& index, const std::vector<V>& value)
    {
        upload(begin, begin_);
        upload(index, index_);
        upload(value, value_);
    }

    template <class Create>
    void adopt(const Create& create)
    {
        cusparseConstSpMatDescr_t made = nullptr;
        check(create(&made));
        matrix_.reset(made);
    }

    void make_vectors()
    {
        cusparseConstDnVecDescr_t x = nullptr;
        check(cusparseCreateConstDnVec(&x, problem_.x.size(), problem_.x.data(), cuda_type<V>));
        x_.reset(x);
        check(cusparseCreateDnVec(&y_, problem_.y.size(), problem_.y.data(), cuda_type<V>));
        y_owner_.reset(y_);
    }

    static constexpr auto none_ = CUSPARSE_OPERATION_NON_TRANSPOSE;
    static constexpr V one_ = 1, zero_ = 0;

    SpmvProblem<V>& problem_;
    CudaQueue q_;
    Variant variant_;
    CusparseHandle handle_;
    Buffer<index_t> begin_, index_;
    Buffer<V> value_;
    Buffer<unsigned char> work_;
    MatrixOwner matrix_;
    VectorOwner x_, y_owner_;
    cusparseDnVecDescr_t y_ = nullptr;
};

template <class V>
bool makes_sense(const CsrView<V>& a, const Variant& variant)
{
    return variant.layout != Layout::bsr || block_fill(a, variant.block) >= least_block_fill;
}

}  // namespace

template <class V>
std::vector<Contender> cusparse_spmv(SpmvProblem<V>& problem)
{
    std::vector<Contender> all;
    const auto add = [&](const CudaQueue& q, const Variant& variant) {
        auto peer = std::make_shared<CusparseSpmv<V>>(problem, q, variant);
        all.push_back({variant.name, Role::baseline, [peer] { return peer->prepare(); }, [peer] { peer->run(); },
                       [&problem] { return problem.download_y(); }});
    };
    problem.ctx.run([&](const auto& q) {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(q)>, CudaQueue>)
            for (const Variant& variant : variants)
                if (makes_sense(problem.host.view(), variant)) add(q, variant);
    });
    return all;
}

template std::vector<Contender> cusparse_spmv(SpmvProblem<float>&);
template std::vector<Contender> cusparse_spmv(SpmvProblem<double>&);

}  // namespace tulle::bench
