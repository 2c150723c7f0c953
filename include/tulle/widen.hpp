// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Offsets of 32 bits widened to 64, once for a plan or a call.
#pragma once

#include <cstdint>
#include <utility>
#include <variant>

#include "tulle/api.hpp"
#include "tulle/csr32.hpp"
#include "tulle/outline.hpp"

namespace tulle::inline TULLE_ABI::matrix {

// n offsets of 64 bits from as many of 32.
TULLE_API void widen_offsets(const CpuQueue& q, const std::int32_t* from, offset_t n, offset_t* to);
TULLE_API void widen_offsets(const CudaQueue& q, const std::int32_t* from, offset_t n, offset_t* to);

template <class View>
inline constexpr bool is_narrow = false;
template <class V>
inline constexpr bool is_narrow<Csr32View<V>> = true;
template <class V>
inline constexpr bool is_narrow<Csc32View<V>> = true;

// A view with offsets of 64 bits, which are written to `wide`, where the context works.
template <class View>
auto widened_unchecked(const Context& ctx, const View& a, Buffer<offset_t>& wide)
{
    const Outline o = outline(a);
    ctx.run([&](const auto& q) {
        wide = Buffer<offset_t>(q, o.arrays[0].size);
        widen_offsets(q, o.narrow, wide.size(), wide.data());
    });
    return with_offsets(a, std::as_const(wide).data());
}

// A view, or one of several, with offsets of 64 bits: as given, or widened. Sizes and arrays are checked first,
// whatever the view. `Wide` is a view, or one of several, without the narrow ones.
template <class Wide, class View>
Wide widened(const Context& ctx, const View& a, Buffer<offset_t>& wide)
{
    check_arrays(ctx, a);
    if constexpr (is_narrow<View>) return widened_unchecked(ctx, a, wide);
    else return a;
}

template <class Wide, class... Views>
Wide widened(const Context& ctx, const std::variant<Views...>& any, Buffer<offset_t>& wide)
{
    return std::visit([&](const auto& a) { return widened<Wide>(ctx, a, wide); }, any);
}

// The same for new values of a pattern that stays: offsets that were widened before (`kept`) are used again, others are
// written to `fresh`.
template <class Wide, class... Views>
Wide renewed(const Context& ctx, const std::variant<Views...>& any, const Buffer<offset_t>& kept,
             Buffer<offset_t>& fresh)
{
    return std::visit(
        [&]<class View>(const View& a) -> Wide {
            if constexpr (is_narrow<View>) {
                check_arrays(ctx, a);
                if (!kept.empty()) return with_offsets(a, kept.data());
            }
            return widened<Wide>(ctx, a, fresh);
        },
        any);
}

// What describe() says of them.
inline std::string widened_text(std::size_t bytes)
{
    return bytes == 0
               ? std::string()
               : concat("\n  offsets: given in 32 bits, widened to 64: ", human_bytes(bytes), " of what is kept");
}

}  // namespace tulle::inline TULLE_ABI::matrix
