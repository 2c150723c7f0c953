// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// SuiteSparse:GraphBLAS: the product over plus and times, by rows, until C is sorted and complete; as many threads as
// ours. Its indices are 64 bits wide.
#include <vector>

#include "bench/baselines/graphblas.hpp"
#include "bench/baselines/spgemm.hpp"

namespace tulle::bench {
namespace {

using namespace graphblas;

template <class V>
class GraphblasSpgemm {
public:
    explicit GraphblasSpgemm(SpgemmProblem<V>& problem) : problem_(problem)
    {
        start(problem.ctx.host().threads);
        const CsrView<V> a = problem.host.view();
        const std::vector<GrB_Index> begin(a.row_begin, a.row_begin + a.rows + 1), col(a.col, a.col + a.nonzeros);
        GrB_Matrix matrix = nullptr;
        check(import_from(&matrix, begin, col, a.value));
        a_.reset(matrix);
        check(GrB_Matrix_wait(a_.get(), GrB_MATERIALIZE));
    }

    void call()
    {
        const auto n = static_cast<GrB_Index>(problem_.host.rows);
        GrB_Matrix matrix = nullptr;
        check(GrB_Matrix_new(&matrix, type(), n, n));
        c_.reset(matrix);
        check(GxB_Matrix_Option_set(matrix, GxB_FORMAT, GxB_BY_ROW));
        check(GxB_Matrix_Option_set(matrix, GxB_SPARSITY_CONTROL, GxB_SPARSE));
        check(GrB_mxm(matrix, nullptr, nullptr, semiring(), a_.get(), a_.get(), nullptr));
        check(GrB_Matrix_wait(matrix, GrB_MATERIALIZE));
    }

    double worst_share() const
    {
        GrB_Index begins = 0, cols = 0, values = 0;
        check(GrB_Matrix_exportSize(&begins, &cols, &values, GrB_CSR_FORMAT, c_.get()));
        std::vector<GrB_Index> begin(begins), wide(cols);
        std::vector<V> value(values);
        check(export_to(begin, wide, value));
        const std::vector<index_t> col(wide.begin(), wide.end());
        return problem_.worst_share(problem_.host.rows, begin.data(), col.data(), value.data());
    }

    void forget() { c_.reset(); }

private:
    static constexpr bool is_float = sizeof(V) == 4;
    static GrB_Type type() { return is_float ? GrB_FP32 : GrB_FP64; }
    static GrB_Semiring semiring() { return is_float ? GrB_PLUS_TIMES_SEMIRING_FP32 : GrB_PLUS_TIMES_SEMIRING_FP64; }

    GrB_Info import_from(GrB_Matrix* matrix, const std::vector<GrB_Index>& begin, const std::vector<GrB_Index>& col,
                         const V* value) const
    {
        const auto rows = static_cast<GrB_Index>(problem_.host.rows), cols = static_cast<GrB_Index>(problem_.host.cols);
        if constexpr (is_float)
            return GrB_Matrix_import_FP32(matrix, type(), rows, cols, begin.data(), col.data(), value, begin.size(),
                                          col.size(), col.size(), GrB_CSR_FORMAT);
        else
            return GrB_Matrix_import_FP64(matrix, type(), rows, cols, begin.data(), col.data(), value, begin.size(),
                                          col.size(), col.size(), GrB_CSR_FORMAT);
    }

    GrB_Info export_to(std::vector<GrB_Index>& begin, std::vector<GrB_Index>& col, std::vector<V>& value) const
    {
        GrB_Index begins = begin.size(), cols = col.size(), values = value.size();
        if constexpr (is_float)
            return GrB_Matrix_export_FP32(begin.data(), col.data(), value.data(), &begins, &cols, &values,
                                          GrB_CSR_FORMAT, c_.get());
        else
            return GrB_Matrix_export_FP64(begin.data(), col.data(), value.data(), &begins, &cols, &values,
                                          GrB_CSR_FORMAT, c_.get());
    }

    SpgemmProblem<V>& problem_;
    Matrix a_, c_;
};

}  // namespace

template <class V>
std::vector<Multiplier> graphblas_spgemm(SpgemmProblem<V>& problem)
{
    auto one = std::make_shared<GraphblasSpgemm<V>>(problem);
    return {{"graphblas", Role::baseline, [one] { one->call(); }, [one] { return one->worst_share(); },
             [one] { one->forget(); }}};
}

template std::vector<Multiplier> graphblas_spgemm(SpgemmProblem<float>&);
template std::vector<Multiplier> graphblas_spgemm(SpgemmProblem<double>&);

}  // namespace tulle::bench
