// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What can be told of a view without looking through its arrays: sizes that are negative or do not fit, arrays that are
// missing or in other memory.
//
// Every public function begins with check_arrays() of every view it is given, whatever Options::checked says. An empty
// array may be null; row_begin and col_begin are never empty, as they have an entry more than there are rows or
// columns.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "tulle/api.hpp"
#include "tulle/blocked_ell.hpp"
#include "tulle/context.hpp"
#include "tulle/coo.hpp"
#include "tulle/csr.hpp"
#include "tulle/dense.hpp"
#include "tulle/error.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI {
namespace matrix {

struct Outline {
    struct Size {
        const char* what;
        offset_t size;  // must not be negative
    };
    struct Array {
        const char* name;
        const void* data;  // must not be null unless it is empty
        offset_t size;
    };
    std::array<Size, 3> sizes;
    std::array<Array, 3> arrays;
    const offset_t* wide = nullptr;        // offsets, for their first and last one; of 64 bits …
    const std::int32_t* narrow = nullptr;  // … or of 32
    std::string problem = {};              // anything else, in a sentence
};

template <class V>
Outline outline(const CsrView<V>& a)
{
    return {{{{"rows", a.rows}, {"columns", a.cols}, {"nonzeros", a.nonzeros}}},
            {{{"row_begin", a.row_begin, offset_t{a.rows} + 1},
              {"col", a.col, a.nonzeros},
              {"value", a.value, a.nonzeros}}},
            a.row_begin};
}

template <class V>
Outline outline(const CscView<V>& a)
{
    return {{{{"columns", a.cols}, {"rows", a.rows}, {"nonzeros", a.nonzeros}}},
            {{{"col_begin", a.col_begin, offset_t{a.cols} + 1},
              {"row", a.row, a.nonzeros},
              {"value", a.value, a.nonzeros}}},
            a.col_begin};
}

inline std::string narrow_problem(offset_t nonzeros)
{
    if (nonzeros <= std::numeric_limits<std::int32_t>::max()) return {};
    return concat(nonzeros, " nonzeros are more than offsets of 32 bits can count");
}

template <class V>
Outline outline(const Csr32View<V>& a)
{
    Outline o = outline(with_offsets(a, nullptr));
    o.arrays[0].data = o.narrow = a.row_begin;
    o.problem = narrow_problem(a.nonzeros);
    return o;
}

template <class V>
Outline outline(const Csc32View<V>& a)
{
    Outline o = outline(with_offsets(a, nullptr));
    o.arrays[0].data = o.narrow = a.col_begin;
    o.problem = narrow_problem(a.nonzeros);
    return o;
}

template <class V>
Outline outline(const CooView<V>& a)
{
    return {{{{"rows", a.rows}, {"columns", a.cols}, {"nonzeros", a.nonzeros}}},
            {{{"row", a.row, a.nonzeros}, {"col", a.col, a.nonzeros}, {"value", a.value, a.nonzeros}}}};
}

template <class V>
Outline outline(const BlockedEllView<V>& a)
{
    Outline o{{{{"rows", a.rows}, {"columns", a.cols}, {"blocks in a block row", a.width}}}, {}};
    if (a.rows < 0 || a.cols < 0 || a.width < 0) return o;
    if (a.block <= 0) {
        o.problem = concat("blocks of ", a.block, " x ", a.block, " entries cannot be");
        return o;
    }
    offset_t values = 0;
    if (__builtin_mul_overflow(a.slots(), offset_t{a.block} * a.block, &values))
        o.problem =
            concat(a.slots(), " blocks of ", a.block, " x ", a.block, " values are more than 64 bits can count");
    else o.arrays = {{{"block_col", a.block_col, a.slots()}, {"value", a.value, values}, {}}};
    return o;
}

// What is wrong with it, in a sentence, or nothing.
TULLE_API std::string outline_problem(const CpuQueue& q, const Outline& o);
TULLE_API std::string outline_problem(const CudaQueue& q, const Outline& o);

// ValueError with that sentence.
template <class Queue>
void require_outline(const Queue& q, const Outline& o)
{
    const std::string problem = outline_problem(q, o);
    require<ValueError>(problem.empty(), problem);
}

// … and the ends of the offsets, where that takes no waiting: on the host.
TULLE_API void check_outline(const Context& ctx, const Outline& o);

// Entries from the first of a dense matrix to one behind the last; -1 where 64 bits cannot count the bytes.
TULLE_API offset_t count_reach(index_t rows, index_t cols, offset_t leading, Layout layout, std::size_t value_bytes);

}  // namespace matrix

// ValueError where sizes or arrays cannot be those of a matrix where the context works. No array is looked into but for
// the ends of offsets.
template <class View>
void check_arrays(const Context& ctx, const View& a)
{
    matrix::check_outline(ctx, matrix::outline(a));
}

template <class... Views>
void check_arrays(const Context& ctx, const std::variant<Views...>& any)
{
    std::visit([&](const auto& a) { check_arrays(ctx, a); }, any);
}

// A dense matrix: sizes, leading dimension, data that are missing. ShapeError or ValueError names the matrix.
template <class V>
void check_dense(const DenseView<V>& a, std::string_view name)
{
    require(a.rows >= 0 && a.cols >= 0,
            [&] { return concat(name, " cannot have ", a.rows, " rows and ", a.cols, " columns"); });
    const index_t line = a.layout == Layout::row_major ? a.cols : a.rows;
    require(a.leading >= line, [&] {
        return concat("the leading dimension of ", name, " is ", a.leading, ", but its ",
                      a.layout == Layout::row_major ? "rows have " : "columns have ", line, " entries");
    });
    const offset_t reach = matrix::count_reach(a.rows, a.cols, a.leading, a.layout, sizeof(V));
    require(reach >= 0, [&] {
        return concat(name, " of ", a.rows, " x ", a.cols, " with a leading dimension of ", a.leading,
                      " has more bytes than 64 bits can count");
    });
    require<ValueError>(a.data || reach == 0, [&] {
        return concat(name, " is null, but must have ", reach, reach == 1 ? " entry" : " entries");
    });
}

}  // namespace tulle::inline TULLE_ABI

// Offsets of 32 bits widened to 64, once for a plan or a call.

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
