// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Checks of a view without reading its arrays: sizes that are negative or do not fit, arrays that are missing or in
/// other memory.
///
/// Every public function begins with check_arrays() of every view it is given, whatever Options::checked says. An empty
/// array may be null; row_begin and col_begin are never empty, as they have an entry more than there are rows or
/// columns. Names in tulle::matrix are used inside the library.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "tulle/api.hpp"
#include "tulle/blocked_ell.hpp"
#include "tulle/context.hpp"
#include "tulle/coo.hpp"
#include "tulle/csr.hpp"
#include "tulle/dense.hpp"
#include "tulle/error.hpp"
#include "tulle/float16.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI {
namespace matrix {

/// Sizes and arrays of a view of any format.
struct Outline {
    /// A number of rows, columns or nonzeros.
    struct Size {
        const char* what;  ///< what is counted, for messages
        offset_t size;     ///< must not be negative
    };
    /// An array of the view.
    struct Array {
        const char* name;  ///< name of the field
        const void* data;  ///< must not be null unless the array is empty
        offset_t size;     ///< number of entries
    };
    std::array<Size, 3> sizes;             ///< rows, columns, nonzeros
    std::array<Array, 3> arrays;           ///< offsets or rows, indices, values
    const offset_t* wide = nullptr;        ///< offsets of 64 bits, for a look at the first and the last
    const std::int32_t* narrow = nullptr;  ///< offsets of 32 bits, for a look at the first and the last
    std::string problem = {};              ///< anything else that is wrong, in a sentence
};

/// Sizes and arrays of a CSR matrix.
template <class V>
Outline outline(const CsrView<V>& a)
{
    return {{{{"rows", a.rows}, {"columns", a.cols}, {"nonzeros", a.nonzeros}}},
            {{{"row_begin", a.row_begin, offset_t{a.rows} + 1},
              {"col", a.col, a.nonzeros},
              {"value", a.value, a.nonzeros}}},
            a.row_begin};
}

/// Sizes and arrays of a CSC matrix.
template <class V>
Outline outline(const CscView<V>& a)
{
    return {{{{"columns", a.cols}, {"rows", a.rows}, {"nonzeros", a.nonzeros}}},
            {{{"col_begin", a.col_begin, offset_t{a.cols} + 1},
              {"row", a.row, a.nonzeros},
              {"value", a.value, a.nonzeros}}},
            a.col_begin};
}

/// A sentence if offsets of 32 bits cannot count so many nonzeros; else empty.
/// @param nonzeros number of nonzeros.
inline std::string narrow_problem(offset_t nonzeros)
{
    if (nonzeros <= std::numeric_limits<std::int32_t>::max()) return {};
    return concat(nonzeros, " nonzeros are more than offsets of 32 bits can count");
}

/// Sizes and arrays of a CSR matrix with offsets of 32 bits.
template <class V>
Outline outline(const Csr32View<V>& a)
{
    Outline o = outline(with_offsets(a, nullptr));
    o.arrays[0].data = o.narrow = a.row_begin;
    o.problem = narrow_problem(a.nonzeros);
    return o;
}

/// Sizes and arrays of a CSC matrix with offsets of 32 bits.
template <class V>
Outline outline(const Csc32View<V>& a)
{
    Outline o = outline(with_offsets(a, nullptr));
    o.arrays[0].data = o.narrow = a.col_begin;
    o.problem = narrow_problem(a.nonzeros);
    return o;
}

/// Sizes and arrays of a COO matrix.
template <class V>
Outline outline(const CooView<V>& a)
{
    return {{{{"rows", a.rows}, {"columns", a.cols}, {"nonzeros", a.nonzeros}}},
            {{{"row", a.row, a.nonzeros}, {"col", a.col, a.nonzeros}, {"value", a.value, a.nonzeros}}}};
}

/// Sizes and arrays of a Blocked-ELL matrix.
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

/// What is wrong with sizes or arrays, in a sentence; else empty. Arrays are not read.
/// @param q the queue that will read the arrays.
/// @param o sizes and arrays of a view.
TULLE_API std::string outline_problem(const CpuQueue& q, const Outline& o);
/// What is wrong with sizes or arrays, in a sentence; else empty. Arrays are not read. On a GPU it asks the driver
/// where they are. Empty in a build without the CUDA backend.
/// @param q the queue that will read the arrays.
/// @param o sizes and arrays of a view.
TULLE_API std::string outline_problem(const CudaQueue& q, const Outline& o);

/// Throws what outline_problem() finds.
/// @param q the queue that will read the arrays.
/// @param o sizes and arrays of a view.
/// @throws ValueError if outline_problem() finds something.
template <class Queue>
void require_outline(const Queue& q, const Outline& o)
{
    const std::string problem = outline_problem(q, o);
    require<ValueError>(problem.empty(), problem);
}

/// Throws what outline_problem() finds; on the host it also checks the first and the last offset.
/// @param ctx where the arrays must be.
/// @param o sizes and arrays of a view.
/// @throws ValueError if outline_problem() finds something, or offsets do not begin at 0 and end at the number of
/// nonzeros.
TULLE_API void check_outline(const Context& ctx, const Outline& o);

/// Entries from the first of a dense matrix to one behind the last; -1 where 64 bits cannot count the bytes.
/// @param rows number of rows.
/// @param cols number of columns.
/// @param leading entries from the first of a row (or column) to the first of the next.
/// @param layout whether rows or columns are contiguous.
/// @param value_bytes bytes of an entry.
TULLE_API offset_t count_reach(index_t rows, index_t cols, offset_t leading, Layout layout, std::size_t value_bytes);

}  // namespace matrix

/// Checks sizes and arrays of a view. On the host the first and the last offset are read, and nothing else.
/// @param ctx where the arrays must be.
/// @param a a view of any format.
/// @throws ValueError if a size is negative or too large, or an array is missing or not in the memory of the context.
template <class View>
void check_arrays(const Context& ctx, const View& a)
{
    matrix::check_outline(ctx, matrix::outline(a));
}

/// Checks sizes and arrays of one of several views.
/// @param ctx where the arrays must be.
/// @param any the view.
/// @throws ValueError as above.
template <class... Views>
void check_arrays(const Context& ctx, const std::variant<Views...>& any)
{
    std::visit([&](const auto& a) { check_arrays(ctx, a); }, any);
}

/// Checks a dense matrix.
/// @param a the matrix.
/// @param name its name, for the message.
/// @throws ShapeError if a size is negative or the leading dimension too small.
/// @throws ValueError if the array is null.
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

namespace tulle::inline TULLE_ABI::matrix {

/// Widens n offsets from 32 to 64 bits, both in the memory of the queue.
/// @param q the queue that does the work.
/// @param from n offsets of 32 bits.
/// @param n number of offsets.
/// @param to room for n offsets; must not overlap `from`.
TULLE_API void widen_offsets(const CpuQueue& q, const std::int32_t* from, offset_t n, offset_t* to);
/// Widens n offsets from 32 to 64 bits, both in the memory of the queue; asynchronous.
/// @param q the queue that does the work.
/// @param from n offsets of 32 bits.
/// @param n number of offsets.
/// @param to room for n offsets; must not overlap `from`.
TULLE_API void widen_offsets(const CudaQueue& q, const std::int32_t* from, offset_t n, offset_t* to);

/// Whether a view has offsets of 32 bits.
template <class View>
inline constexpr bool is_narrow = false;
/// Csr32View has.
template <class V>
inline constexpr bool is_narrow<Csr32View<V>> = true;
/// Csc32View has.
template <class V>
inline constexpr bool is_narrow<Csc32View<V>> = true;

/// The view with offsets of 64 bits, which are written to `wide`, in the memory of the context.
/// @param ctx where the arrays are and the work is done.
/// @param a a view with offsets of 32 bits, whose arrays were checked.
/// @param wide keeps the wider offsets; must live as long as the view is used.
/// @throws OutOfMemory if the budget or the device does not allow the wider offsets.
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

/// The view with offsets of 64 bits: as given, or widened. Sizes and arrays are checked first.
/// @tparam Wide a view, or a variant of views, without those of 32 bits.
/// @param ctx where the arrays are and the work is done.
/// @param a the view.
/// @param wide keeps the wider offsets; must live as long as the view is used.
/// @throws ValueError as check_arrays().
/// @throws OutOfMemory if the budget or the device does not allow the wider offsets.
template <class Wide, class View>
Wide widened(const Context& ctx, const View& a, Buffer<offset_t>& wide)
{
    check_arrays(ctx, a);
    if constexpr (is_narrow<View>) return widened_unchecked(ctx, a, wide);
    else return a;
}

/// One of several views with offsets of 64 bits: as given, or widened. Sizes and arrays are checked first.
/// @tparam Wide a variant of views without those of 32 bits.
/// @param ctx where the arrays are and the work is done.
/// @param any the view.
/// @param wide keeps the wider offsets; must live as long as the view is used.
/// @throws ValueError as check_arrays().
/// @throws OutOfMemory if the budget or the device does not allow the wider offsets.
template <class Wide, class... Views>
Wide widened(const Context& ctx, const std::variant<Views...>& any, Buffer<offset_t>& wide)
{
    return std::visit([&](const auto& a) { return widened<Wide>(ctx, a, wide); }, any);
}

/// As widened(), for new values of an unchanged pattern: offsets that were widened before (`kept`) are used again,
/// others are written to `fresh`.
/// @param ctx where the arrays are and the work is done.
/// @param any the view with the new values.
/// @param kept offsets that were widened before; empty: none.
/// @param fresh keeps offsets that are widened now.
/// @throws ValueError as check_arrays().
/// @throws OutOfMemory if the budget or the device does not allow the wider offsets.
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

/// The line of describe() about widened offsets; empty without any.
/// @param bytes bytes of the widened offsets; 0: none.
inline std::string widened_text(std::size_t bytes)
{
    return bytes == 0
               ? std::string()
               : concat("\n  offsets: given in 32 bits, widened to 64: ", human_bytes(bytes), " of what is kept");
}

}  // namespace tulle::inline TULLE_ABI::matrix

// Checks of arguments by the compiler: a usual mistake gives one readable error. Each function says what is wrong by
// static_assert and returns whether the call can be compiled further.

namespace tulle::inline TULLE_ABI::detail {

template <class T>
inline constexpr bool is_owner = false;
template <class V>
inline constexpr bool is_owner<Csr<V>> = true;
template <class V>
inline constexpr bool is_owner<Csc<V>> = true;
template <class V>
inline constexpr bool is_owner<Coo<V>> = true;
template <class V>
inline constexpr bool is_owner<BlockedEll<V>> = true;
template <class V>
inline constexpr bool is_owner<Dense<V>> = true;

template <class T>
inline constexpr bool is_sparse_view = false;
template <class V>
inline constexpr bool is_sparse_view<CsrView<V>> = true;
template <class V>
inline constexpr bool is_sparse_view<CscView<V>> = true;
template <class V>
inline constexpr bool is_sparse_view<CooView<V>> = true;
template <class V>
inline constexpr bool is_sparse_view<BlockedEllView<V>> = true;
template <class V>
inline constexpr bool is_sparse_view<Csr32View<V>> = true;
template <class V>
inline constexpr bool is_sparse_view<Csc32View<V>> = true;

template <class V>
inline constexpr bool is_half = std::is_same_v<V, Float16> || std::is_same_v<V, Bfloat16>;
template <class V>
inline constexpr bool is_value = std::is_same_v<V, float> || std::is_same_v<V, double>;

// `halves`: 16-bit types are allowed, too.
template <class V, bool halves = false>
constexpr bool check_value()
{
    constexpr bool good = is_value<V> || (halves && is_half<V>);
    static_assert(good, "tulle: value types are float, double (SpMM also Float16, Bfloat16)");
    return good;
}

// In class bodies; always true, so that nothing follows the readable error.
template <class V>
constexpr bool require_value()
{
    check_value<V>();
    return true;
}

// The same for V of A and B and C of C in a product with dense matrices.
template <class V, class C>
constexpr bool require_dense_values()
{
    if constexpr (check_value<V, true>())
        static_assert(std::is_same_v<V, C> || (is_half<V> && std::is_same_v<C, float>),
                      "tulle: C must have the value type of A and B, or float with Float16 and Bfloat16");
    return true;
}

template <class... Arguments>
constexpr bool check_views()
{
    constexpr bool good = !(is_owner<std::remove_cvref_t<Arguments>> || ...);
    static_assert(good, "tulle: operations take views: pass A.view() instead of A");
    return good;
}

// Any: the views that an operation takes, of value type V.
template <class View, class V, class Any, bool halves = false>
constexpr bool check_matrix()
{
    if constexpr (!check_views<View>()) return false;
    else if constexpr (!check_value<V, halves>()) return false;
    else {
        constexpr bool good = std::convertible_to<const View&, Any>;
        static_assert(good || !is_sparse_view<View>, "tulle: this operation does not take matrices of this format");
        static_assert(good || is_sparse_view<View>, "tulle: the matrix must be a view, such as tulle::CsrView<double>");
        return good;
    }
}

// Both factors of a sparse product.
template <class A, class B, class V>
constexpr bool check_factors()
{
    if constexpr (!check_views<A, B>()) return false;
    else if constexpr (!check_matrix<A, V, AnyCsr<V>>()) return false;
    else {
        constexpr bool good = std::convertible_to<const B&, AnyCsr<V>>;
        static_assert(good, "tulle: A and B must be CSR matrices of the same value type: all float or all double");
        return good;
    }
}

template <class View, class X, class Y>
concept TakesVectors = requires
{
    requires std::convertible_to<X, std::span<const typename ValueOf<View>::type>>;
    requires std::convertible_to<Y, std::span<typename ValueOf<View>::type>>;
};

// Says why a matrix and vectors cannot be used together.
template <class View, class X, class Y>
constexpr void explain_vectors()
{
    if constexpr (!is_sparse_view<View> && !is_owner<View>)
        static_assert(is_sparse_view<View>, "tulle: the matrix must be a view, such as tulle::CsrView<double>");
    else if constexpr (check_views<View>() && check_value<typename ValueOf<View>::type>())
        static_assert(TakesVectors<View, X, Y>,
                      "tulle: vectors must be spans of the value type of the matrix: all float or all double");
}

template <class T>
inline constexpr bool is_dense_view = false;
template <class V>
inline constexpr bool is_dense_view<DenseView<V>> = true;

template <class View, class B, class C>
concept TakesDense = is_dense_view<std::remove_cvref_t<C>> && requires
{
    requires std::convertible_to<B, DenseView<const typename ValueOf<View>::type>>;
};

// Says why a sparse matrix and dense ones cannot be used together.
template <class View, class B, class C>
constexpr void explain_dense()
{
    if constexpr (!is_sparse_view<View> && !is_owner<View>)
        static_assert(is_sparse_view<View>, "tulle: the matrix must be a view, such as tulle::CsrView<double>");
    else if constexpr (check_views<View, B, C>() && check_value<typename ValueOf<View>::type, true>())
        static_assert(TakesDense<View, B, C>,
                      "tulle: A and B must have the same value type, and be given as views: DenseView<const V>");
}

}  // namespace tulle::inline TULLE_ABI::detail
