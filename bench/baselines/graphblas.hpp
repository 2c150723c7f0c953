// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// SuiteSparse:GraphBLAS: its header, its answers, its objects.
#pragma once

#include <math.h>

#include <complex>
#include <memory>
#include <type_traits>

extern "C" {  // it does not say so itself; what it includes of C++ stands above
#include <GraphBLAS.h>
}

#include "tulle/error.hpp"
#include "tulle/text.hpp"

namespace tulle::bench::graphblas {

inline void check(GrB_Info info, const char* file = __builtin_FILE(), int line = __builtin_LINE())
{
    if (info != GrB_SUCCESS)
        throw Error(concat(file, ":", line, ": GraphBLAS answers ", static_cast<int>(info)),
                    "see the GrB_Info values in GraphBLAS.h");
}

// The library is started once in a process.
inline void start(int threads)
{
    static const bool started = [] {
        check(GrB_init(GrB_NONBLOCKING));
        return true;
    }();
    (void)started;
    check(GxB_Global_Option_set(GxB_GLOBAL_NTHREADS, threads));
}

struct Destroy {
    void operator()(GrB_Matrix matrix) const { (void)GrB_Matrix_free(&matrix); }
    void operator()(GrB_Vector vector) const { (void)GrB_Vector_free(&vector); }
};
using Matrix = std::unique_ptr<std::remove_pointer_t<GrB_Matrix>, Destroy>;
using Vector = std::unique_ptr<std::remove_pointer_t<GrB_Vector>, Destroy>;

inline Matrix new_matrix(GrB_Type type, GrB_Index n)
{
    GrB_Matrix matrix = nullptr;
    check(GrB_Matrix_new(&matrix, type, n, n));
    return Matrix(matrix);
}

inline Vector new_vector(GrB_Type type, GrB_Index n)
{
    GrB_Vector vector = nullptr;
    check(GrB_Vector_new(&vector, type, n));
    return Vector(vector);
}

}  // namespace tulle::bench::graphblas
