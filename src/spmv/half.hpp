// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Products with a matrix whose values are kept in 16 bits; vectors and sums are floats.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "spmv/steps.hpp"
#include "tulle/context.hpp"
#include "tulle/csr.hpp"
#include "tulle/float16.hpp"

namespace tulle::inline TULLE_ABI::spmv {

// The values are those of the matrix times one power of two, so that the largest is far from what overflows. A matrix
// whose rows are of very different size, or so uneven that rows are cut between threads, is left to Plan<float>.
// Arguments are not checked: this is for plans that have checked theirs.
template <class H>
class HalfPlan {
public:
    // None where 16 bits will not do. The pattern of `a` is used in place and must stay; its values are copied. Waits.
    static std::optional<HalfPlan> make(const Context& ctx, const CsrView<float>& a);
    // y = alpha A x + beta y, beta == 0: y is not read. Allocates nothing; asynchronous on a GPU. Sums are of the
    // values divided by the power of two, and are multiplied by it together with alpha: meant for alpha near one.
    void run(float alpha, std::span<const float> x, float beta, std::span<float> y) const;
    // New values of the same pattern; false: they do not fit, and the plan has to be replaced. Waits.
    bool update_values(const CsrView<float>& a);
    const Policy& policy() const { return policy_; }
    std::size_t bytes() const { return value_.bytes() + work_.bytes(); }

private:
    HalfPlan(const Context& ctx, const CsrView<float>& a, const Policy& policy, offset_t padded);

    Context ctx_;
    Policy policy_;
    CsrView<H> a_;     // the values are value_, or those of the slices
    Buffer<H> value_;  // rows
    float power_ = 1;  // what products are multiplied by
    offset_t padded_;  // places in slices
    Workspace<float, H> work_;
};

}  // namespace tulle::inline TULLE_ABI::spmv
