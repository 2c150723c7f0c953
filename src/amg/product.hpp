// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The product with a matrix of a hierarchy, whose values a cycle reads in the type of the vectors or in 16 bits.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <variant>

#include "spmv/half.hpp"
#include "tulle/amg.hpp"
#include "tulle/spmv.hpp"

namespace tulle::inline TULLE_ABI::amg {

// 16 bits where they are asked for and hold the values (spmv/half.hpp).
template <class V>
class Product {
public:
    Product(const Context& ctx, const CsrView<V>& a, Storage storage)
        : ctx_(ctx),
          storage_(storage),
          plan_(make(ctx, a, storage))
    {}

    void run(V alpha, std::span<const V> x, V beta, std::span<V> y) const
    {
        std::visit([&](const auto& plan) { plan.run(alpha, x, beta, y); }, plan_);
    }
    void run(std::span<const V> x, std::span<V> y) const { run(V(1), x, V(0), y); }

    // Chooses anew whether 16 bits do: as a product made from these values.
    void update_values(const CsrView<V>& a)
    {
        if (storage_ == Storage::full) return std::get<spmv::Plan<V>>(plan_).update_values(a);
        const bool fits = std::visit([&](auto& plan) { return update(plan, a); }, plan_);
        if (!fits) plan_ = make(ctx_, a, storage_);
    }

    // In the type of the vectors, until there are new values.
    void use_full(const CsrView<V>& a)
    {
        if (!full()) plan_ = spmv::Plan<V>::make(ctx_, a, {.checked = false});
    }

    // The plan in the type of the vectors; null: the values are in 16 bits.
    const spmv::Plan<V>* full() const { return std::get_if<spmv::Plan<V>>(&plan_); }
    std::size_t bytes() const
    {
        return std::visit([](const auto& plan) { return plan.bytes(); }, plan_);
    }

private:
    using Any = std::conditional_t<std::is_same_v<V, float>,
                                   std::variant<spmv::Plan<V>, spmv::HalfPlan<Float16>, spmv::HalfPlan<Bfloat16>>,
                                   std::variant<spmv::Plan<V>>>;

    static Any make(const Context& ctx, const CsrView<V>& a, Storage storage)
    {
        if constexpr (std::is_same_v<V, float>) {
            if (storage == Storage::f16)
                if (auto half = spmv::HalfPlan<Float16>::make(ctx, a)) return std::move(*half);
            if (storage == Storage::bf16)
                if (auto half = spmv::HalfPlan<Bfloat16>::make(ctx, a)) return std::move(*half);
        }
        return spmv::Plan<V>::make(ctx, a, {.checked = false});
    }
    // False: another plan is needed, or may be.
    static bool update(spmv::Plan<V>&, const CsrView<V>&) { return false; }
    template <class H>
    static bool update(spmv::HalfPlan<H>& plan, const CsrView<V>& a)
    {
        return plan.update_values(a);
    }

    Context ctx_;
    Storage storage_;
    Any plan_;
};

}  // namespace tulle::inline TULLE_ABI::amg
