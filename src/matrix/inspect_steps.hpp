// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The steps of validate() and features(), once per backend. Results are numbers on the host, so the steps wait; all of
// them are integers or positions, so they do not depend on the order of the work.
#pragma once

#include <array>

#include "matrix/inspect_checks.hpp"
#include "tulle/csr.hpp"
#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI::inspect {

// The smallest k < n where the check is true; n if there is none.
template <class Check>
offset_t first_where(const CpuQueue& q, const Check& check, offset_t n);
template <class Check>
offset_t first_where(const CudaQueue& q, const Check& check, offset_t n);

// How many k < n there are where the check is true.
template <class Check>
offset_t count_where(const CpuQueue& q, const Check& check, offset_t n);
template <class Check>
offset_t count_where(const CudaQueue& q, const Check& check, offset_t n);

// key_at[k] = key(k), position[k] = k for k < n.
template <class Key>
void write_keys(const CpuQueue& q, const Key& key, offset_t n, std::uint64_t* key_at, offset_t* position);
template <class Key>
void write_keys(const CudaQueue& q, const Key& key, offset_t n, std::uint64_t* key_at, offset_t* position);

// Sums over row lengths. Squares are those of the distance from `middle`, in two halves of 32 bits that cannot
// overflow.
struct LengthSums {
    offset_t shortest = max_offset, longest = 0;
    offset_t squares_low = 0, squares_high = 0;
    std::array<offset_t, 64> by_bits{};  // rows whose length has this many bits
};
LengthSums add_lengths(const CpuQueue& q, const offset_t* row_begin, index_t rows, offset_t middle);
LengthSums add_lengths(const CudaQueue& q, const offset_t* row_begin, index_t rows, offset_t middle);

// Sums over entries (i, j).
struct EntrySums {
    offset_t below = 0, above = 0;  // largest i - j and j - i
    offset_t diagonal = 0;          // entries with i = j
    offset_t products = 0;          // sum of the lengths of rows j; only if the matrix is square
};
EntrySums add_entries(const CpuQueue& q, const offset_t* row_begin, const index_t* col, index_t rows, index_t cols);
EntrySums add_entries(const CudaQueue& q, const offset_t* row_begin, const index_t* col, index_t rows, index_t cols);

// Off-diagonal entries (i, j) of `a` for which `mirror`, a transposed, has an entry (i, j) too; and those where it has
// the same value. Rows of both are sorted. Among entries at the same position the first is compared with the first, the
// second with the second, …
struct MirrorSums {
    offset_t found = 0, equal = 0;
};
template <class V>
MirrorSums count_mirrored(const CpuQueue& q, const CsrView<V>& a, const CsrView<V>& mirror);
template <class V>
MirrorSums count_mirrored(const CudaQueue& q, const CsrView<V>& a, const CsrView<V>& mirror);

// level[i] = 1 + the largest level[j] of entries (i, j) with j < i, or 1 if there is none.
void find_levels(const CpuQueue& q, const offset_t* row_begin, const index_t* col, index_t rows, index_t* level);
void find_levels(const CudaQueue& q, const offset_t* row_begin, const index_t* col, index_t rows, index_t* level);

}  // namespace tulle::inline TULLE_ABI::inspect
