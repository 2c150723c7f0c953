// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A factorised sparse approximate inverse of a symmetric positive definite matrix (Kolotilina, Yeremin 1993,
// doi:10.1137/0614004): A^-1 is about G^T G, with G on the pattern of the lower triangle of A such that G A G^T has a
// diagonal of ones and the Frobenius norm of I - G L, A = L L^T, is the smallest possible.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "factor/steps.hpp"
#include "tulle/spmv.hpp"

namespace tulle::inline TULLE_ABI::factor {

// Keeps copies of all it needs; one thread at a time.
template <class V>
class Fsai {
public:
    // ValueError, with the row, where a diagonal entry is missing or the matrix of a row is not positive definite.
    Fsai(const Context& ctx, const CsrView<V>& a);

    // z = G^T (G r): two products. On a GPU asynchronous.
    void apply(std::span<const V> r, std::span<V> z);
    // New values of the same pattern. ValueError as above: G is then not usable.
    void update_values(const CsrView<V>& a);
    CsrView<V> factor() const { return g_.view(); }
    std::size_t bytes() const;
    std::string describe() const;

private:
    PatternView entries() const;
    void fill(const CsrView<V>& a);

    Context ctx_;
    Pattern lower_;           // of A
    offset_t shortened_ = 0;  // rows of G with fewer entries than those of A
    Csr<V> g_, transposed_;
    Buffer<offset_t> source_;  // position in G of each entry of its transpose
    Buffer<V> work_;
    std::optional<spmv::Plan<V>> first_, second_;
};

}  // namespace tulle::inline TULLE_ABI::factor
