// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The two factors of a product as the steps want them: checked, by rows, B sorted and without duplicates.
#pragma once

#include <string_view>

#include "tulle/base/trace.hpp"
#include "tulle/matrix/arrange.hpp"
#include "tulle/matrix/convert.hpp"
#include "tulle/matrix/convert_steps.hpp"
#include "tulle/matrix/validate.hpp"
#include "tulle/spgemm/spgemm.hpp"

namespace tulle::spgemm {

// One of the two factors as the steps want it: the caller's arrays, or a copy of our own and where its values came from.
template <class V>
struct Factor {
    CsrView<V> given;
    Csr<V> copy;
    Buffer<offset_t> source;
    bool copied = false, summed = false;      // summed: duplicates were added up, so new values need a new copy

    CsrView<V> view() const { return copied ? copy.view() : given; }
    std::size_t bytes() const { return copy.bytes() + source.bytes(); }
};

template <class V>
Factor<V> arrange(const Context& ctx, const CsrView<V>& given, Op op, bool sorted_and_unique)
{
    Factor<V> f{.given = given, .copy = {}, .source = {}};
    if (op == Op::transpose) {
        f.copy = tulle::transpose(ctx, given, &f.source);
        f.copied = true;
    }
    if (!sorted_and_unique || (f.view().sorted && f.view().unique)) return f;
    f.copy = f.view().unique ? sort_rows(ctx, f.view()) : sum_duplicates(ctx, f.view());
    f.copied = f.summed = true;
    return f;
}

// New numbers for a factor whose pattern stays.
template <class V>
void renew(const Context& ctx, Factor<V>& f, const CsrView<V>& given, Op op, bool sorted_and_unique)
{
    if (f.summed) {
        f = arrange(ctx, given, op, sorted_and_unique);
        return;
    }
    f.given = given;
    if (f.copied) ctx.run([&](const auto& q) { matrix::gather(q, given.value, f.source.data(), f.copy.nonzeros(), f.copy.value.data()); });
}

template <class V>
void require_same_shape(const CsrView<V>& was, const CsrView<V>& is, std::string_view name)
{
    require<PlanMismatch>(was.rows == is.rows && was.cols == is.cols && was.nonzeros == is.nonzeros, [&] {
        return concat("the plan is for ", name, " of ", was.rows, " x ", was.cols, " with ", was.nonzeros, " nonzeros, the new one is ",
                      is.rows, " x ", is.cols, " with ", is.nonzeros);
    });
}

template <class V>
void check_factors(const Context& ctx, const CsrView<V>& a, const CsrView<V>& b, const Options& options)
{
    const index_t inner_a = options.op_a == Op::none ? a.cols : a.rows, inner_b = options.op_b == Op::none ? b.rows : b.cols;
    require(inner_a == inner_b, [&] { return concat("op(A) has ", inner_a, " columns, but op(B) has ", inner_b, " rows"); });
    if (!options.checked) return;
    const trace::Phase phase{"validate"};
    check(ctx, a);
    if (a.col != b.col || a.row_begin != b.row_begin || a.rows != b.rows) check(ctx, b);
}

}  // namespace tulle::spgemm
