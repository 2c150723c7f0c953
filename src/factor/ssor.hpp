// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Symmetric successive over-relaxation as a preconditioner: M = (D' + L) D'^-1 (D' + U), where D' is the diagonal of A
// over a weight and L and U are the triangles of A itself. Nothing is factorised, and M is positive definite wherever
// A is symmetric with a positive diagonal. By one thread of a CPU.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "factor/arrange.hpp"
#include "factor/sweeps.hpp"
#include "tulle/context.hpp"

namespace tulle::inline TULLE_ABI::factor {

// Keeps copies of all it needs; one thread at a time.
template <class V>
class Ssor {
public:
    // weight: above 0. order: not automatic. ValueError, with the row, where a diagonal entry is missing or cannot be
    // inverted; on a GPU.
    Ssor(const Context& ctx, const CsrView<V>& a, double weight, Order order);

    // z = M^-1 r.
    void apply(std::span<const V> r, std::span<V> z);
    // New values of the same pattern. ValueError as above: M is then not usable.
    void update_values(const CsrView<V>& a);
    std::size_t bytes() const;
    std::string describe() const;

    // Over the matrix in the order of the unknowns that load() and add() go to and come from.
    const Sweeps<V>& sweeps() const { return *sweeps_; }
    bool is_ordered() const { return arranged_.has_value(); }
    // Entries of a vector in that order.
    void load(const V* r, V* ordered) const;
    // x += what `ordered` has.
    void add(const V* ordered, V* x) const;

private:
    PatternView entries(const CsrView<V>& matrix) const;
    void fill(const CsrView<V>& a);

    Context ctx_;
    double weight_;
    Order order_;
    index_t rows_;
    std::optional<ArrangedMatrix<V>> arranged_;  // in place of A
    Pattern sorted_;                             // of a matrix whose rows are not; else empty
    Buffer<V> value_;                            // likewise
    Buffer<offset_t> diagonal_;                  // position of each diagonal entry; empty where `sorted_` has them
    std::optional<Sweeps<V>> sweeps_;
};

}  // namespace tulle::inline TULLE_ABI::factor
