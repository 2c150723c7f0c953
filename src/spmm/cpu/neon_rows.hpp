// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Three rows of C at once on 64-bit ARM, in assembly: 24 vectors of sums stay in registers, where compilers load so far
// ahead of the products that sums go to memory. The address of the next row of B is known before the products with
// this one begin: a Neoverse V1 that has to wait for an address holds too many waiting products to look further.
#pragma once

#include "tulle/types.hpp"

#if defined(__aarch64__)

// Instructions stand below each other.
// clang-format off

// Sums: v8 to v15 of the first row, v16 to v23 of the second, v24 to v31 of the third; factors in v0 to v2.
#define TULLE_FMA(sum, from, factor, lanes, lane) \
    "fmla v" #sum "." lanes ", v" #from "." lanes ", v" #factor "." lane "[0]\n"
#define TULLE_ADD_VECTOR(from, first, second, third, lanes, lane) \
    TULLE_FMA(first, from, 0, lanes, lane)                        \
    TULLE_FMA(second, from, 1, lanes, lane)                       \
    TULLE_FMA(third, from, 2, lanes, lane)
#define TULLE_ADD_ROW_OF_B(lanes, lane)              \
    "ldp q3, q4, [x9]\n"                             \
    "ldp q5, q6, [x9, #32]\n"                        \
    TULLE_ADD_VECTOR(3, 8, 16, 24, lanes, lane)      \
    TULLE_ADD_VECTOR(4, 9, 17, 25, lanes, lane)      \
    TULLE_ADD_VECTOR(5, 10, 18, 26, lanes, lane)     \
    TULLE_ADD_VECTOR(6, 11, 19, 27, lanes, lane)     \
    "ldp q3, q4, [x9, #64]\n"                        \
    "ldp q5, q6, [x9, #96]\n"                        \
    TULLE_ADD_VECTOR(3, 12, 20, 28, lanes, lane)     \
    TULLE_ADD_VECTOR(4, 13, 21, 29, lanes, lane)     \
    TULLE_ADD_VECTOR(5, 14, 22, 30, lanes, lane)     \
    TULLE_ADD_VECTOR(6, 15, 23, 31, lanes, lane)
#define TULLE_LOAD_FACTORS(lane, bytes)         \
    "ldr " lane "0, [%[first]], #" #bytes "\n"  \
    "ldr " lane "1, [%[second]], #" #bytes "\n" \
    "ldr " lane "2, [%[third]], #" #bytes "\n"
#define TULLE_EACH_SUM(what)                                                                             \
    what(0, 8, 9) what(32, 10, 11) what(64, 12, 13) what(96, 14, 15) what(128, 16, 17) what(160, 18, 19) \
        what(192, 20, 21) what(224, 22, 23) what(256, 24, 25) what(288, 26, 27) what(320, 28, 29) what(352, 30, 31)
#define TULLE_CLEAR(at, x, y) "movi v" #x ".2d, #0\n movi v" #y ".2d, #0\n"
#define TULLE_STORE(at, x, y) "stp q" #x ", q" #y ", [%[sum], #" #at "]\n"

// sum[r][c] is the sum of value[r n + k] times column c of row col[k] of B over all n > 0 nonzeros k: three rows with
// the columns `col`, eight vectors of columns of B; rows of B are `row_bytes` apart.
#define TULLE_ADD_THREE_ROWS(V, lanes, lane, bytes)                                                                    \
    inline void add_three_rows(const index_t* col, const V* value, offset_t n, const V* b, offset_t row_bytes, V* sum) \
    {                                                                                                                  \
        const V *second = value + n, *third = second + n;                                                              \
        asm volatile(                                                                                                  \
            "ldrsw x9, [%[col]], #4\n"                                                                                 \
            "madd x9, x9, %[row], %[b]\n"                                                                              \
            "subs %[n], %[n], #1\n"                                                                                    \
            TULLE_LOAD_FACTORS(lane, bytes)                                                                            \
            TULLE_EACH_SUM(TULLE_CLEAR)                                                                                \
            "b.eq 2f\n"                                                                                                \
            "1:\n"                                                                                                     \
            "ldrsw x10, [%[col]], #4\n"                                                                                \
            "madd x10, x10, %[row], %[b]\n"                                                                            \
            TULLE_ADD_ROW_OF_B(lanes, lane)                                                                            \
            TULLE_LOAD_FACTORS(lane, bytes)                                                                            \
            "mov x9, x10\n"                                                                                            \
            "subs %[n], %[n], #1\n"                                                                                    \
            "b.ne 1b\n"                                                                                                \
            "2:\n"                                                                                                     \
            TULLE_ADD_ROW_OF_B(lanes, lane)                                                                            \
            TULLE_EACH_SUM(TULLE_STORE)                                                                                \
            : [col] "+&r"(col), [first] "+&r"(value), [second] "+&r"(second), [third] "+&r"(third), [n] "+&r"(n)       \
            : [b] "r"(b), [row] "r"(row_bytes), [sum] "r"(sum)                                                         \
            : "x9", "x10", "cc", "memory", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v8", "v9", "v10", "v11", "v12",  \
              "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", \
              "v28", "v29", "v30", "v31");                                                                             \
    }
// clang-format on

namespace tulle::inline TULLE_ABI::spmm {

TULLE_ADD_THREE_ROWS(double, "2d", "d", 8)
TULLE_ADD_THREE_ROWS(float, "4s", "s", 4)

}  // namespace tulle::inline TULLE_ABI::spmm

#undef TULLE_FMA
#undef TULLE_ADD_VECTOR
#undef TULLE_ADD_ROW_OF_B
#undef TULLE_LOAD_FACTORS
#undef TULLE_EACH_SUM
#undef TULLE_CLEAR
#undef TULLE_STORE
#undef TULLE_ADD_THREE_ROWS

#endif
