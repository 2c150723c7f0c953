// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The products of every entry of C, one behind the other: kept by plans that may spend memory on refills, where
// products seldom meet. A refill goes through the list, reads two numbers for each product, adds, and writes: no row
// and no column is looked at, nothing is searched.
//
// A product is the number of A's nonzero in the high half of 64 bits and that of B's in the low half; the last one of
// an entry is negative. Those of an entry stand in the order of A's nonzeros, which is the order of the additions
// everywhere.
#pragma once

#include <cstdint>
#include <limits>

#include "spgemm/steps.hpp"
#include "tulle/csr.hpp"

namespace tulle::inline TULLE_ABI::spgemm {

struct ProductList {
    Buffer<offset_t> product;
    Buffer<offset_t> begin;  // CPU: (rows + 1) products before each row; GPU: the entry of every listed_step-th product
    bool known = false;      // list_products() has been here

    std::size_t bytes() const { return product.bytes() + begin.bytes(); }
};

inline constexpr offset_t listed_at_once = offset_t{1} << 24;  // 16 bytes each while they are sorted
inline constexpr offset_t listed_step =
    512;  // products for a warp (reasoned: 16 at a lane; 4000 warps for the smallest products that take time)

constexpr offset_t listed(offset_t of_a, offset_t of_b) { return of_a << 32 | of_b; }
constexpr offset_t as_last(offset_t product) { return product | std::numeric_limits<offset_t>::min(); }
constexpr bool is_last(offset_t product) { return product < 0; }
constexpr offset_t of_a(offset_t product) { return (product >> 32) & 0x7fffffff; }
constexpr offset_t of_b(offset_t product) { return product & 0xffffffff; }

// Room for all products, exactly. After group_rows() for all rows. May wait.
template <class V>
ProductList reserve_list(const CpuQueue& q, const CsrView<V>& a, const CsrView<V>& b, const Workspace& work);
template <class V>
ProductList reserve_list(const CudaQueue& q, const CsrView<V>& a, const CsrView<V>& b, const Workspace& work);

// Lists the products of a C whose columns are there; on a GPU they must ascend, and rows with together at most
// `at_once` products, or one, are sorted at a time. Waits.
template <class V>
void list_products(const CpuQueue& q, const CsrView<V>& a, const CsrView<V>& b, const Workspace& work,
                   const RowRange<V>& c, ProductList& list);
template <class V>
void list_products(const CudaQueue& q, const CsrView<V>& a, const CsrView<V>& b, const Workspace& work,
                   const RowRange<V>& c, ProductList& list, offset_t at_once = listed_at_once);

// What list_products() holds while it works, for a C of so many rows and columns and an A with so many nonzeros.
std::size_t list_bytes_for(const CpuQueue& q, const Workspace& work, index_t rows, index_t cols, offset_t nonzeros_a);
std::size_t list_bytes_for(const CudaQueue& q, const Workspace& work, index_t rows, index_t cols, offset_t nonzeros_a);

// The values of C, with the bits that fill() gives them.
template <class V>
void add_listed(const CpuQueue& q, const CsrView<V>& a, const CsrView<V>& b, const ProductList& list,
                const RowRange<V>& c);
template <class V>
void add_listed(const CudaQueue& q, const CsrView<V>& a, const CsrView<V>& b, const ProductList& list,
                const RowRange<V>& c);

}  // namespace tulle::inline TULLE_ABI::spgemm
