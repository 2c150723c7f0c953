// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The part of a system that one rank or one member of a team has: its rows, what is done on its entries of vectors, and
// the preconditioner of its diagonal block. Methods on vectors in parts: methods.hpp.
#pragma once

#include <memory>
#include <span>

#include "solve/preconditioner.hpp"
#include "tulle/csr.hpp"
#include "tulle/memory.hpp"
#include "vector/local_dot.hpp"
#include "vector/vector.hpp"

namespace tulle::inline TULLE_ABI::solve::parts {

// Two vectors of a dot product.
template <class In>
struct VectorPair {
    In x, y;
};

// Consecutive rows on the host, and the column of the first diagonal entry. Offsets need not begin with 0.
template <class V>
struct Rows {
    CsrView<V> a;
    index_t diagonal;
};

// The diagonal block on the host, its columns numbered as its rows.
template <class V>
Csr<V> diagonal_block(const CpuQueue& q, const Rows<V>& rows);

template <class V>
class Part {
public:
    Part(const Context& context, index_t rows) : ctx(context), rows_(rows) {}

    index_t rows() const { return rows_; }
    std::span<const V> part(const V* x) const { return {x, static_cast<std::size_t>(rows_)}; }
    std::span<V> part(V* x) const { return {x, static_cast<std::size_t>(rows_)}; }

    // Makes the preconditioner of the diagonal block; without rows there is nothing to precondition.
    void set_up(const Rows<V>& rows, const Preconditioner& wanted, const Unknowns<V>& unknowns = {});
    // New values of the same pattern.
    void update_values(const Rows<V>& rows);
    std::size_t bytes() const;

    // z = M r.
    void precondition(const V* r, V* z) { preconditioner->apply(part(r), part(z)); }
    // y = alpha x + beta y; beta == 0: y is not read.
    void axpby(double alpha, const V* x, double beta, V* y) const
    {
        ctx.run([&](const auto& q) { vector::axpby(q, rows_, alpha, x, beta, y); });
    }
    void copy_vector(const V* from, V* to) const
    {
        ctx.run([&](const auto& q) { copy(q, from, to, rows_); });
    }
    void clear(V* x) const
    {
        ctx.run([&](const auto& q) { fill_zero(q, x, rows_); });
    }
    Buffer<V> make_vector() const
    {
        return ctx.run([&](const auto& q) { return Buffer<V>(q, rows_); });
    }
    vector::BinnedSum dot(const V* x, const V* y) const
    {
        return ctx.run([&](const auto& q) { return vector::local_dot(q, x, y, rows_); });
    }
    // Other signs for some entries, by the numbers of their rows in the whole matrix.
    void flip_signs(V* x, offset_t first_row, int attempt) const;

    Context ctx;
    std::unique_ptr<PreconditionerPlan<V>> preconditioner;

private:
    index_t rows_;
    bool diagonal_alone_ = false;
    Csr<V> block_;  // of the diagonal, in the memory of the context
    std::unique_ptr<spmv::Plan<V>> product_;
};

}  // namespace tulle::inline TULLE_ABI::solve::parts
