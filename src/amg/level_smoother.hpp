// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Smoothers from a module above: a preconditioner for each level.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "tulle/amg.hpp"
#include "tulle/spmv.hpp"

namespace tulle::inline TULLE_ABI::amg {

// z = M r for the matrix of one level: M is close to the inverse, symmetric and positive definite for methods that need
// a symmetric cycle. Vectors are in the memory of the context and the work is put on its queue.
template <class V>
class LevelSmoother {
public:
    LevelSmoother() = default;
    LevelSmoother(const LevelSmoother&) = delete;
    LevelSmoother& operator=(const LevelSmoother&) = delete;
    virtual ~LevelSmoother() = default;

    virtual void apply(std::span<const V> r, std::span<V> z) = 0;
    // New values of the same pattern; the product has them already.
    virtual void update_values(const CsrView<V>& a) = 0;
    virtual std::size_t bytes() const = 0;
    virtual std::string describe() const = 0;
    // Whether it goes on multiplying with the product that it was made with.
    virtual bool keeps_product() const { return false; }
};

// Makes the smoother of a level from its matrix, which outlives it, and the product with it: so does that one where
// keeps_product().
template <class V>
using MakeSmoother =
    std::function<std::unique_ptr<LevelSmoother<V>>(const Context&, const CsrView<V>&, const spmv::Plan<V>&)>;

struct PlanAccess {
    // Plan::make() with such smoothers in place of Options::smoother; that one is for levels whose diagonal has zeros.
    template <class V>
    static Plan<V> make(const Context& ctx, const AnyCsr<V>& a, const Options& options,
                        const DenseView<const V>& near_null_space, MakeSmoother<V> smoother);
};

}  // namespace tulle::inline TULLE_ABI::amg
