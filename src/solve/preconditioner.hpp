// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What every preconditioner offers to the methods.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "amg/level_smoother.hpp"
#include "factor/ssor.hpp"
#include "solve/steps.hpp"
#include "tulle/context.hpp"
#include "tulle/csr.hpp"
#include "tulle/solve.hpp"
#include "tulle/spmv.hpp"

namespace tulle::inline TULLE_ABI::solve {

// z = M r, where M is close to the inverse of A. Made for one matrix; vectors are in the memory of the context and the
// work is put on its queue. Those that are the same operator every time can smooth a level of multigrid.
template <class V>
class PreconditionerPlan : public amg::LevelSmoother<V> {
public:
    // Before the first iteration: the norm that residuals begin with.
    virtual void begin(double) {}
    // Whether apply() waits for its result: it cannot be captured.
    virtual bool waits() const { return false; }
    // Iterations of a solver inside, so far.
    virtual offset_t inner_iterations() const { return 0; }
    // M is the identity: methods take r for z.
    virtual bool is_identity() const { return false; }
    // The diagonal of M where it is nothing else: methods multiply by it in passes of their own.
    virtual const V* inverse_diagonal() const { return nullptr; }
    // M where conjugate gradients need no product with A beside its sweeps.
    virtual const factor::Ssor<V>* split() const { return nullptr; }
    // Products with A in one application, for descriptions.
    virtual double products() const { return 0; }
};

// How cycles read their matrices.
constexpr amg::Storage storage_of(Precision p)
{
    if (p == Precision::in_f16) return amg::Storage::f16;
    return p == Precision::in_bf16 ? amg::Storage::bf16 : amg::Storage::full;
}

// The options of a hierarchy as a recipe has them, but for its storage.
amg::Options amg_options(const Amg& p, index_t unknowns_per_node);

// What a caller knows of the unknowns; multigrid uses it.
template <class V>
struct Unknowns {
    index_t per_node = 1;
    DenseView<const V> near_null = {};  // row-major without gaps, in the memory of the context; no columns: not known
};

// inner.cpp: a solver of its own.
template <class V>
std::unique_ptr<PreconditionerPlan<V>> make_inner(const Context& ctx, const CsrView<V>& a, const Nested& nested,
                                                  const Unknowns<V>& unknowns);

// Makes the preconditioner of a recipe. `product` must outlive it.
template <class V>
std::unique_ptr<PreconditionerPlan<V>> make_preconditioner(const Context& ctx, const CsrView<V>& a,
                                                           const spmv::Plan<V>& product,
                                                           const Preconditioner& preconditioner,
                                                           const Unknowns<V>& unknowns = {});

}  // namespace tulle::inline TULLE_ABI::solve
