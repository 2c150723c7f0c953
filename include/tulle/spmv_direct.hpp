// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// SpMV without a plan for matrices that were looked through before: nothing waits, nothing is kept.
/// @code
/// const auto policy = tulle::spmv::direct_policy<double>(ctx, A.view());            // checks the matrix, once
/// tulle::spmv::multiply_direct(ctx, A.view(), policy, 1.0, x.span(), 0.0, y.span());
/// @endcode
#pragma once

#include <span>

#include "tulle/api.hpp"
#include "tulle/context.hpp"
#include "tulle/csr.hpp"
#include "tulle/spmv.hpp"

namespace tulle::inline TULLE_ABI::spmv {

/// Looks through a matrix by rows and selects what multiply_direct() does for it; waits for the result.
/// @param ctx where the arrays are and the work is done.
/// @param a the matrix; its values are not read.
/// @return the kernel rows or split, and its lanes.
/// @throws ValueError if the matrix is not valid.
template <class M>
TULLE_API Policy direct_policy(const Context& ctx, const AnyCsr<M>& a);

/// y = alpha A x + beta y with a policy of direct_policy(). On a GPU nothing waits; the rows kernel is one launch that
/// reads offsets of 32 and of 64 bits and allocates nothing. Its results are right for any valid matrix, whatever the
/// policy was made from; offsets and columns outside the matrix are left out. The split kernel needs a valid matrix.
/// @param ctx where the arrays are and the work is done.
/// @param a the matrix.
/// @param policy of direct_policy(), for this matrix or one like it.
/// @param alpha 0: neither A nor x is read.
/// @param x a.cols entries in the memory of the context.
/// @param beta 0: y is not read.
/// @param y a.rows entries in the memory of the context; must not overlap x.
/// @throws ShapeError if x or y has the wrong size.
/// @throws ValueError if x and y overlap or are null, or the policy has another kernel; DeviceError if they are in
/// other memory.
template <class V, class M>
TULLE_API void multiply_direct(const Context& ctx, const AnyCsr<M>& a, const Policy& policy, V alpha,
                               std::span<const V> x, V beta, std::span<V> y);

}  // namespace tulle::inline TULLE_ABI::spmv
