// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What plans for one device and for teams do with their arguments: check them, and transpose the
// matrix where that is asked for.
#pragma once

#include <utility>

#include "device/cuda_devices.hpp"
#include "device/placed.hpp"
#include "matrix/convert_steps.hpp"
#include "matrix/dense_checks.hpp"
#include "spmm/steps.hpp"
#include "tulle/context.hpp"
#include "tulle/spmm.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::spmm {

// Columns of B that a plan has room for at once, whatever is expected.
inline constexpr index_t most_columns = 1024;

// policy.cpp: ValueError where an option is out of range.
void check_options(const Options& options, std::size_t value_bytes);

template <class V>
inline constexpr bool is_half = sizeof(V) == 2;

// What choose() may count on where the context works.
inline Limits limits_of(const Context& ctx)
{
    Limits limits{ctx.backend()};
    if (ctx.backend() == Backend::cpu) return limits;
    const cuda::DeviceLimits device = cuda::device_limits(ctx);
    limits.multiprocessors = device.multiprocessors;
    limits.clusters = device.cluster_blocks > 1;
    limits.double_tensor = device.compute == 80 || device.compute == 90 || device.compute == 100;
    return limits;
}

using matrix::check_matrix;
using matrix::type_name;

// A transposed, by rows: entries by their columns, stably.
template <class V>
Csr<V> transpose_rows(const Context& ctx, const CsrView<V>& a, Buffer<offset_t>& source)
{
    return ctx.run([&](const auto& q) {
        matrix::Groups by_col = matrix::group(q, a.col, a.nonzeros, a.cols);
        Buffer<index_t> row(q, a.nonzeros);
        matrix::expand_rows(q, a.row_begin, a.rows, a.nonzeros, row.data());
        Csr<V> t{.rows = a.cols,
                 .cols = a.rows,
                 .row_begin = std::move(by_col.begin),
                 .col = Buffer<index_t>(q, a.nonzeros),
                 .value = Buffer<V>(q, a.nonzeros),
                 .unique = a.unique};
        matrix::gather(q, row.data(), by_col.source.data(), a.nonzeros, t.col.data());
        carry_values(q, a.value, by_col.source.data(), a.nonzeros, t.value.data());
        source = std::move(by_col.source);
        return t;
    });
}

using matrix::reach;
using matrix::require_shape;

// Of an op(A) of rows x cols; addresses found to be where the context works are kept in known_b and known_c.
template <class V, class C>
void require_operands(const Context& ctx, index_t rows, index_t cols, const DenseView<const V>& b,
                      const DenseView<C>& c, const void*& known_b, const void*& known_c)
{
    require<ValueError>(b.cols >= 0, [&] { return concat("B cannot have ", b.cols, " columns"); });
    require_shape(b, cols, b.cols, "B");
    require_shape(c, rows, b.cols, "C");
    const auto [b_begin, b_end] = reach(b);
    const auto [c_begin, c_end] = reach(c);
    require<ValueError>(b_end <= c_begin || c_end <= b_begin || b_begin == b_end || c_begin == c_end, "B and C overlap",
                        "give C memory of its own");
    require_placed(ctx, b.data, b_end - b_begin, known_b, "B");
    require_placed(ctx, c.data, c_end - c_begin, known_c, "C");
}

}  // namespace tulle::inline TULLE_ABI::spmm
