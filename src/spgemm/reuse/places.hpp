// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Where every product of a row of C falls in that row: kept by plans that may spend memory on refills. A refill then
// reads a number of A, a number of B and a place, and adds: no column is looked at, nothing is searched or sorted.
//
// Places follow each other in the order of the additions: A's nonzeros, and for each the row of B. They are 16 bits
// wide in rows of C with up to narrow_limit nonzeros and 32 bits, at an even place, in longer ones. On a GPU, rows that
// are one scaled row of B have none, rows of equal pattern that are filled together share the first one's, and rows of
// B that equal their predecessor share its. On a CPU, rows whose pattern follows from the row before share its.
#pragma once

#include <cstdint>
#include <vector>

#include "spgemm/steps.hpp"
#include "tulle/csr.hpp"

namespace tulle::inline TULLE_ABI::spgemm {

inline constexpr offset_t narrow_limit = 65536;

struct Places {
    Buffer<offset_t>
        begin;  // (rows + 1) the places of row i are within begin[i] … begin[i + 1], CPU: from begin[i], of:
    Buffer<std::uint16_t> half;  // halves of 32 bits
    bool single = false;         // CPU: each row of B has one nonzero
    bool has_runs = false;       // CPU: rows of B equal the ones before
    Buffer<offset_t> windows;    // GPU: (long rows + 1) windows before each of them, in the order of the list
    offset_t all_windows = 0;
    std::vector<offset_t> longest;  // GPU: nonzeros of the longest row of C in each group that is filled
    bool known = false;             // place_products() has been here

    std::size_t bytes() const { return begin.bytes() + half.bytes() + windows.bytes(); }
};

constexpr bool is_wide(offset_t nonzeros) { return nonzeros > narrow_limit; }

// Halves that a row takes: one more where its places must begin at an even one.
constexpr offset_t halves_for(offset_t places, offset_t nonzeros)
{
    return places == 0 ? 0 : is_wide(nonzeros) ? 2 * places + 1 : places;
}
constexpr offset_t first_half(offset_t begin, offset_t nonzeros)
{
    return is_wide(nonzeros) ? begin + begin % 2 : begin;
}

// Room for the places of all rows, exactly. After group_rows() for all of them. May wait.
template <class V>
Places reserve_places(const CpuQueue& q, const CsrView<V>& a, const CsrView<V>& b, const Workspace& work,
                      const offset_t* row_begin);
template <class V>
Places reserve_places(const CudaQueue& q, const CsrView<V>& a, const CsrView<V>& b, const Workspace& work,
                      const offset_t* row_begin);

// Finds them in a C whose columns are there; on a GPU they must ascend.
template <class V>
void place_products(const CpuQueue& q, const CsrView<V>& a, const CsrView<V>& b, const Workspace& work,
                    const RowRange<V>& c, Places& places);
template <class V>
void place_products(const CudaQueue& q, const CsrView<V>& a, const CsrView<V>& b, const Workspace& work,
                    const RowRange<V>& c, Places& places);

// What place_products() holds while it works, for rows of C with so many columns.
std::size_t place_bytes_for(const CpuQueue& q, index_t cols);
std::size_t place_bytes_for(const CudaQueue& q, index_t cols);

// The values of C, with the bits that fill() gives them.
template <class V>
void add_placed(const CpuQueue& q, const CsrView<V>& a, const CsrView<V>& b, const Workspace& work,
                const Places& places, const RowRange<V>& c);
template <class V>
void add_placed(const CudaQueue& q, const CsrView<V>& a, const CsrView<V>& b, const Workspace& work,
                const Places& places, const RowRange<V>& c);

}  // namespace tulle::inline TULLE_ABI::spgemm
