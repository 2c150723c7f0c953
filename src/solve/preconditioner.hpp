// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What every preconditioner offers to the methods.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "solve/steps.hpp"
#include "tulle/context.hpp"
#include "tulle/csr.hpp"
#include "tulle/solve.hpp"
#include "tulle/spmv.hpp"

namespace tulle::inline TULLE_ABI::solve {

// z = M r, where M is close to the inverse of A. Made for one matrix; vectors are in the memory of the context and the
// work is put on its queue.
template <class V>
class PreconditionerPlan {
public:
    PreconditionerPlan() = default;
    PreconditionerPlan(const PreconditionerPlan&) = delete;
    PreconditionerPlan& operator=(const PreconditionerPlan&) = delete;
    virtual ~PreconditionerPlan() = default;

    // Before the first iteration: the norm that residuals begin with.
    virtual void begin(double) {}
    virtual void apply(std::span<const V> r, std::span<V> z) = 0;
    // New values of the same pattern; the product has them already.
    virtual void update_values(const CsrView<V>& a) = 0;
    virtual std::size_t bytes() const = 0;
    virtual std::string describe() const = 0;

    // M is the identity: methods take r for z.
    virtual bool is_identity() const { return false; }
    // The diagonal of M where it is nothing else: methods multiply by it in passes of their own.
    virtual const V* inverse_diagonal() const { return nullptr; }
    // Products with A in one application, for descriptions.
    virtual double products() const { return 0; }
};

// The options of a hierarchy as a recipe has them.
amg::Options amg_options(const Amg& p, index_t unknowns_per_node);

// What a caller knows of the unknowns; multigrid uses it.
template <class V>
struct Unknowns {
    index_t per_node = 1;
    DenseView<const V> near_null = {};  // row-major without gaps, in the memory of the context; no columns: not known
};

// Makes the preconditioner of a recipe. `product` must outlive it.
template <class V>
std::unique_ptr<PreconditionerPlan<V>> make_preconditioner(const Context& ctx, const CsrView<V>& a,
                                                           const spmv::Plan<V>& product,
                                                           const Preconditioner& preconditioner,
                                                           const Unknowns<V>& unknowns = {});

}  // namespace tulle::inline TULLE_ABI::solve
