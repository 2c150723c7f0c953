// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The steps of DeltaSPARSE, once per queue.
#pragma once

#include "spgemm/deltasparse/groups.hpp"
#include "spgemm/steps.hpp"

namespace tulle::inline TULLE_ABI::spgemm::delta {

// Rows of a group: those of a list, or neighbours from `first` on.
struct Rows {
    const offset_t* list;
    index_t first;
    offset_t count;

    constexpr index_t operator[](offset_t k) const
    {
        return list ? static_cast<index_t>(list[k]) : first + static_cast<index_t>(k);
    }
};

enum class Phase { count, fill };

// What the number of a row's group follows from: products[k] or nonzeros[k] of row first + k, and for filling whether
// it collided.
struct Sizes {
    Phase phase;
    const offset_t* size;
    const unsigned char* collided;
    index_t first;
    offset_t rows;
    index_t cols;
    int dense_share;  // Rules::dense_share

    constexpr int group(offset_t k) const
    {
        return phase == Phase::count ? counting_group(size[k], cols, dense_share)
                                     : filling_group(size[k], cols, dense_share, collided[first + k] != 0);
    }
};

// size[k] = row_begin[k + 1] - row_begin[k].
void find_sizes(const CpuQueue& q, const offset_t* row_begin, offset_t rows, offset_t* size);
void find_sizes(const CudaQueue& q, const offset_t* row_begin, offset_t rows, offset_t* size);

// group[k] = that of row first + k, order[k] = that row.
void classify(const CpuQueue& q, const Sizes& sizes, std::uint32_t* group, offset_t* order);
void classify(const CudaQueue& q, const Sizes& sizes, std::uint32_t* group, offset_t* order);

// Nonzeros of the rows of a group (counted from 1), bad rows included, which are marked.
template <class V>
void count_group(const CpuQueue& q, const CsrView<V>& a, const CsrView<V>& b, int group, const Rows& rows,
                 offset_t* count, unsigned char* collided);
template <class V>
void count_group(const CudaQueue& q, const CsrView<V>& a, const CsrView<V>& b, int group, const Rows& rows,
                 offset_t* count, unsigned char* collided);

// Columns of a row in ascending order: by counting up to so many, by digits beyond; or in whatever order they come.
struct Sorting {
    bool wanted = true;
    int by_counting = 0;  // Rules::count_sorted
};

// Columns and values of the rows of a group.
template <class V>
void fill_group(const CpuQueue& q, const CsrView<V>& a, const CsrView<V>& b, int group, const Rows& rows,
                const RowRange<V>& c, const Sorting& sorting);
template <class V>
void fill_group(const CudaQueue& q, const CsrView<V>& a, const CsrView<V>& b, int group, const Rows& rows,
                const RowRange<V>& c, const Sorting& sorting);

// What fill_group() holds while it works.
std::size_t fill_bytes_for(const CpuQueue& q, std::size_t value_bytes);
std::size_t fill_bytes_for(const CudaQueue& q, std::size_t value_bytes);

}  // namespace tulle::inline TULLE_ABI::spgemm::delta
