// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The matrix that is factorised in place of A: B = P R A C Q, with permutations P and Q and diagonal matrices R and C.
//
//   match    rows that bring the largest product of magnitudes to the diagonal; R and C make those entries 1 and no
//            other one larger (Duff, Koster, SIAM J. Matrix Anal. Appl. 22(4), 2001, doi:10.1137/S0895479899358443)
//   order    rows and columns together (orders.hpp); an automatic one is chosen before (price_orders.hpp)
#pragma once

#include "tulle/csr.hpp"
#include "tulle/factor.hpp"
#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI::factor {

// Row i of B is row row[i] of A times row_scale[i], column j is column col[j] times col_scale[j]. On the host.
struct Arrangement {
    Buffer<index_t> row, col;
    Buffer<double> row_scale, col_scale;  // empty: ones
};

Buffer<index_t> inverse_of(const CpuQueue& q, const Buffer<index_t>& permutation);

// Row i becomes what row order[i] was, and column i what column order[i] was.
Arrangement reordered(const CpuQueue& q, const Arrangement& by, const Buffer<index_t>& order);

// ValueError with a row if `match` is asked for and A is structurally singular.
template <class V>
Arrangement arrange(const CpuQueue& q, const CsrView<V>& a, bool match, Order order);

// Entry i is scale[i] times entry index[i] of another array.
template <class V>
struct Gather {
    Buffer<offset_t> index;
    Buffer<V> scale;  // empty: ones, on a CPU
    std::size_t bytes() const { return index.bytes() + scale.bytes(); }
};

// B, with how its values, the entries of a right-hand side and those of a solution are gathered. In one memory.
template <class V>
struct ArrangedMatrix {
    index_t rows = 0;
    Buffer<offset_t> row_begin;
    Buffer<index_t> col;
    Buffer<V> value;
    Gather<V> from_matrix, from_rhs, to_solution;
    mutable Buffer<V> work;  // a right-hand side in the order of B

    CsrView<V> view() const { return {rows, rows, col.size(), row_begin.data(), col.data(), value.data(), true, true}; }
    std::size_t bytes() const
    {
        return row_begin.bytes() + col.bytes() + value.bytes() + work.bytes() + from_matrix.bytes() + from_rhs.bytes() +
               to_solution.bytes();
    }
};

// Levels of the lower triangle of B if its rows stood in the order of A again, after a matching that of the matched
// rows. On the host: b without its values, row[i] as in Arrangement. `symmetric`: the lower triangle stands for both.
template <class V>
index_t levels_before(const CpuQueue& q, const CsrView<V>& b, const offset_t* row, bool symmetric);

// B without its values, on the host; `a` too. `lower`: without the entries right of the diagonal.
template <class V>
ArrangedMatrix<V> make_arranged(const CpuQueue& q, const CsrView<V>& a, const Arrangement& by, bool lower = false);

// to[i] = scale[i] from[index[i]].
template <class V>
void gather(const CpuQueue& q, const Gather<V>& by, const V* from, V* to);
template <class V>
void gather(const CudaQueue& q, const Gather<V>& by, const V* from, V* to);

}  // namespace tulle::inline TULLE_ABI::factor
