// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Intel MKL's inspector-executor interface with 32-bit indices. The functions for float and double have different
// names; they are overloads here.
#pragma once

#include <mkl_service.h>
#include <mkl_spblas.h>

#include <memory>
#include <type_traits>
#include <vector>

#include "bench/baselines/narrow_offsets.hpp"
#include "tulle/context.hpp"
#include "tulle/csr.hpp"
#include "tulle/error.hpp"
#include "tulle/text.hpp"

namespace tulle::bench::mkl {

static_assert(sizeof(MKL_INT) == sizeof(index_t));  // LP64

inline constexpr auto as_stored = SPARSE_OPERATION_NON_TRANSPOSE;
inline constexpr auto row_major = SPARSE_LAYOUT_ROW_MAJOR;
inline constexpr MKL_INT expected_calls = 1000;  // told to the optimisation, as to our own plans

inline void check(sparse_status_t status, const char* file = __builtin_FILE(), int line = __builtin_LINE())
{
    if (status != SPARSE_STATUS_SUCCESS)
        throw Error(concat(file, ":", line, ": MKL answers ", static_cast<int>(status)),
                    "see the values of sparse_status_t in mkl_spblas.h");
}

inline matrix_descr general() { return {SPARSE_MATRIX_TYPE_GENERAL, SPARSE_FILL_MODE_FULL, SPARSE_DIAG_NON_UNIT}; }
inline matrix_descr lower() { return {SPARSE_MATRIX_TYPE_TRIANGULAR, SPARSE_FILL_MODE_LOWER, SPARSE_DIAG_NON_UNIT}; }

// As many threads as the context has, no fewer when MKL thinks so.
inline int use_threads(const Context& ctx)
{
    mkl_set_dynamic(0);
    mkl_set_num_threads(ctx.host().threads);
    return ctx.host().threads;
}

struct Destroy {
    void operator()(sparse_matrix_t matrix) const { (void)mkl_sparse_destroy(matrix); }
};
using Handle = std::unique_ptr<std::remove_pointer_t<sparse_matrix_t>, Destroy>;

inline sparse_status_t create_csr(sparse_matrix_t* m, int rows, int cols, int* begin, int* col, float* value)
{
    return mkl_sparse_s_create_csr(m, SPARSE_INDEX_BASE_ZERO, rows, cols, begin, begin + 1, col, value);
}
inline sparse_status_t create_csr(sparse_matrix_t* m, int rows, int cols, int* begin, int* col, double* value)
{
    return mkl_sparse_d_create_csr(m, SPARSE_INDEX_BASE_ZERO, rows, cols, begin, begin + 1, col, value);
}

// Our matrix as MKL has it: columns and values are read where they are.
template <class V>
class Matrix {
public:
    void create(const CsrView<V>& a)
    {
        row_begin_ = narrow_offsets(a);
        create_again(a);
    }

    // Row offsets are those of the call before.
    void create_again(const CsrView<V>& a)
    {
        sparse_matrix_t made = nullptr;
        check(
            create_csr(&made, a.rows, a.cols, row_begin_.data(), const_cast<index_t*>(a.col), const_cast<V*>(a.value)));
        handle_.reset(made);
    }

    sparse_matrix_t get() const { return handle_.get(); }
    std::size_t bytes() const { return row_begin_.size() * sizeof(int); }

private:
    std::vector<int> row_begin_;
    Handle handle_;
};

}  // namespace tulle::bench::mkl
