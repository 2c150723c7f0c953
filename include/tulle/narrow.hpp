// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Values of 16 bits from values of 32 or 64 bits, with a power of two for each row so that none overflows.
///
/// Float16 holds numbers up to 65504 and loses digits below 2^-14. narrow() divides a row by a power of two, which is
/// exact, where a value of the row would become infinite, subnormal or zero, so that its largest value is between 2^15
/// and 65504. SpMM multiplies the rows of C by these powers when it writes them (spmm::Options::row_scale).
/// @code
/// const auto h = tulle::narrow<tulle::Float16>(ctx, A.view());  // A in float or double
/// auto plan = tulle::spmm::Plan<tulle::Float16, float>::make(ctx, h.view(A.view()),
///                                                            {.n = 128, .row_scale = h.row_scale.span()});
/// @endcode
/// A value below 2^-29 of the largest one of its row is subnormal after scaling too. Its rounding error is at most
/// 2^-40 of that largest value, which is less than the sums in float lose. Narrowed counts such values.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "tulle/api.hpp"
#include "tulle/context.hpp"
#include "tulle/csr.hpp"
#include "tulle/float16.hpp"
#include "tulle/memory.hpp"
#include "tulle/types.hpp"

namespace tulle::inline TULLE_ABI {

/// Which rows narrow() divides by a power of two.
enum class Scaling {
    off,        ///< none
    automatic,  ///< those with a value that would become infinite, subnormal or zero
    rows,       ///< all: the largest value of a row is then in 2^15 … 65504 (Float16) or 1 … 2 (Bfloat16)
};

/// Name of a scaling: "off", "auto", "rows".
TULLE_API std::string to_text(Scaling scaling);
/// The scaling of that name.
/// @throws ValueError (with the names) if there is none.
TULLE_API Scaling parse_scaling(std::string_view name);

/// Options of narrow().
struct NarrowOptions {
    Scaling scaling = Scaling::automatic;  ///< which rows are scaled
    Op op = Op::none;                      ///< the product that follows; transpose: columns of A, the rows of op(A)
    bool checked = true;                   ///< validate the matrix first
};

/// Values of 16 bits, and what was done to get them. Arrays are in the memory of the context.
template <class V>
struct Narrowed {
    Buffer<V> value;          ///< of each nonzero, in the order of the matrix
    Buffer<float> row_scale;  ///< power of two of each row of op(A); empty: all are 1
    index_t scaled = 0;       ///< rows of op(A) whose power is not 1
    offset_t overflowed = 0;  ///< finite values that are infinite
    offset_t subnormal = 0;   ///< values other than zero that have fewer digits, being subnormal
    offset_t zeroed = 0;      ///< values other than zero that are zero

    /// Bytes of both arrays.
    std::size_t bytes() const { return value.bytes() + row_scale.bytes(); }
    /// The matrix `a` with these values instead of its own; valid while this and the arrays of `a` live.
    template <template <class> class View, class From>
    View<V> view(const View<From>& a) const
    {
        return {a.rows, a.cols, a.nonzeros, a.row_begin, a.col, value.data(), a.sorted, a.unique};
    }
};

/// Used inside the library.
namespace detail {
/// narrow() for both kinds of offsets.
template <class V, class From>
TULLE_API Narrowed<V> narrow_csr(const Context& ctx, const AnyCsr<From>& a, const NarrowOptions& options);
}  // namespace detail

/// Rounds the values of a matrix to 16 bits, to nearest, ties to even, after a division of rows by powers of two. The
/// same matrix gives the same values on every backend. Waits.
/// @tparam V Float16 or Bfloat16.
/// @param ctx where the arrays are and the work is done.
/// @param a a matrix of float or double: CsrView or Csr32View.
/// @param options see NarrowOptions.
/// @throws ValueError if the matrix is not valid; OutOfMemory if the result does not fit.
template <class V, class View>
Narrowed<V> narrow(const Context& ctx, const View& a, const NarrowOptions& options = {})
{
    using From = typename ValueOf<View>::type;
    static_assert(std::is_same_v<V, Float16> || std::is_same_v<V, Bfloat16>, "narrow() rounds to Float16 or Bfloat16");
    static_assert(std::is_same_v<From, float> || std::is_same_v<From, double>, "narrow() takes float or double");
    return detail::narrow_csr<V, From>(ctx, AnyCsr<From>(a), options);
}

}  // namespace tulle::inline TULLE_ABI
