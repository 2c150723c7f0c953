// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The products of a row of C, added where it is known that they fall: at the columns of an array, or at places in the
// row itself.
#pragma once

#include "base/vector.hpp"
#include "spgemm/adaptive/cpu/relations.hpp"
#include "tulle/csr.hpp"

namespace tulle::inline TULLE_ABI::spgemm {

// sum[at[l]] += factor[0] value[0][l], += factor[1] value[1][l], …: rows of B with equal columns, a load and a store
// for all of them. Columns ascend; four without gaps are added side by side.
template <int Rows, class At, class V>
void add_lists(const V* factor, const V* const* value, const At* at, offset_t n, V* sum)
{
    constexpr int wide = 4;
    const auto added = [&]<int Count>(const V* before, offset_t l) __attribute__((always_inline))
    {
        auto all = simd::load<Count>(before);
        for (int r = 0; r < Rows; ++r) all += factor[r] * simd::load<Count>(value[r] + l);
        return all;
    };
    offset_t l = 0;
    for (; l + wide <= n; l += wide) {
        V* const to = sum + at[l];
        if (at[l + wide - 1] - at[l] == wide - 1) {
            simd::store(to, added.template operator()<wide>(to, l));
            continue;
        }
        V one[wide];  // all are loaded before the first is stored: none is another
        for (int i = 0; i < wide; ++i) one[i] = added.template operator()<1>(sum + at[l + i], l + i)[0];
        for (int i = 0; i < wide; ++i) sum[at[l + i]] = one[i];
    }
    for (; l < n; ++l) sum[at[l]] = added.template operator()<1>(sum + at[l], l)[0];
}

// Adds all products of a row of C in the order of A's nonzeros. at(row of B, first product) tells where those of a row
// of B fall.
template <class V, class At>
void add_all(const CsrView<V>& a, const CsrView<V>& b, const unsigned char* relations_b, index_t row, const At& at,
             V* sum)
{
    constexpr int most = 3;
    const offset_t end = a.row_begin[row + 1];
    offset_t product = 0;
    for (offset_t k = a.row_begin[row]; k < end;) {
        const index_t j = a.col[k];
        const offset_t begin = b.row_begin[j], n = b.row_begin[j + 1] - begin;
        int rows = 1;
        while (relations_b && rows < most && k + rows < end && a.col[k + rows] == j + rows &&
               relations_b[j + rows] == equal_pattern)
            ++rows;
        const V* const value[most] = {b.value + begin, b.value + begin + n, b.value + begin + 2 * n};
        if (rows == 1) add_lists<1>(a.value + k, value, at(j, product), n, sum);
        else if (rows == 2) add_lists<2>(a.value + k, value, at(j, product), n, sum);
        else add_lists<3>(a.value + k, value, at(j, product), n, sum);
        product += rows * n;
        k += rows;
    }
}

}  // namespace tulle::inline TULLE_ABI::spgemm
