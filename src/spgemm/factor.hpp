// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The two factors of a product as the steps want them: checked, by rows, B sorted and without duplicates.
#pragma once

#include <string_view>
#include <utility>
#include <variant>

#include "matrix/convert_steps.hpp"
#include "matrix/plan_checks.hpp"
#include "tulle/convert.hpp"
#include "tulle/outline.hpp"
#include "tulle/spgemm.hpp"
#include "tulle/trace.hpp"
#include "tulle/validate.hpp"

namespace tulle::inline TULLE_ABI::spgemm {

// The two factors with offsets of 64 bits, which are ours where the caller's have 32: once, where both are the same.
template <class V>
struct Wide {
    CsrView<V> a, b;
    Buffer<offset_t> offsets_a, offsets_b;

    std::size_t bytes() const { return offsets_a.bytes() + offsets_b.bytes(); }
};

template <class V>
Wide<V> widen(const Context& ctx, const AnyCsr<V>& a, const AnyCsr<V>& b)
{
    Wide<V> w{};
    w.a = matrix::widened<CsrView<V>>(ctx, a, w.offsets_a);
    const auto *narrow_a = std::get_if<Csr32View<V>>(&a), *narrow_b = std::get_if<Csr32View<V>>(&b);
    const bool same =
        narrow_a && narrow_b && narrow_a->row_begin == narrow_b->row_begin && narrow_a->rows == narrow_b->rows;
    w.b = same ? matrix::renewed<CsrView<V>>(ctx, b, w.offsets_a, w.offsets_b)
               : matrix::widened<CsrView<V>>(ctx, b, w.offsets_b);
    return w;
}

// New numbers for the same patterns; offsets that were widened before are used again.
template <class V>
void renew(const Context& ctx, Wide<V>& w, const AnyCsr<V>& a, const AnyCsr<V>& b)
{
    Wide<V> now{};
    now.a = matrix::renewed<CsrView<V>>(ctx, a, w.offsets_a, now.offsets_a);
    now.b = matrix::renewed<CsrView<V>>(ctx, b, w.offsets_b, now.offsets_b);
    matrix::require_same_size(matrix::size_of(w.a), matrix::size_of(now.a), "A");
    matrix::require_same_size(matrix::size_of(w.b), matrix::size_of(now.b), "B");
    if (now.offsets_a.empty()) now.offsets_a = std::move(w.offsets_a);
    if (now.offsets_b.empty()) now.offsets_b = std::move(w.offsets_b);
    w = std::move(now);
}

// One of the two factors as the steps want it: the caller's arrays, or a copy of our own and where its values came
// from.
template <class V>
struct Factor {
    CsrView<V> given;
    Csr<V> copy;
    Buffer<offset_t> source;
    bool copied = false, summed = false;  // summed: duplicates were added up, so new values need a new copy

    CsrView<V> view() const { return copied ? copy.view() : given; }
    std::size_t bytes() const { return copy.bytes() + source.bytes(); }
};

// `renewable`: new values may come, see renew().
template <class V>
Factor<V> arrange(const Context& ctx, const CsrView<V>& given, Op op, bool sorted_and_unique, bool renewable = true)
{
    Factor<V> f{.given = given, .copy = {}, .source = {}};
    if (op == Op::transpose) {
        f.copy = tulle::transpose(ctx, given, renewable ? &f.source : nullptr);
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
    if (f.copied)
        ctx.run([&](const auto& q) {
            matrix::gather(q, given.value, f.source.data(), f.copy.nonzeros(), f.copy.value.data());
        });
}

// policy.cpp: ValueError where an option is out of range.
void check_options(const Options& options);

template <class V>
void check_factors(const Context& ctx, const CsrView<V>& a, const CsrView<V>& b, const Options& options)
{
    check_options(options);
    const index_t inner_a = options.op_a == Op::none ? a.cols : a.rows,
                  inner_b = options.op_b == Op::none ? b.rows : b.cols;
    require(inner_a == inner_b,
            [&] { return concat("op(A) has ", inner_a, " columns, but op(B) has ", inner_b, " rows"); });
    if (!options.checked) return;
    const trace::Phase phase{"validate"};
    check(ctx, a);
    if (a.col != b.col || a.row_begin != b.row_begin || a.rows != b.rows) check(ctx, b);
}

}  // namespace tulle::inline TULLE_ABI::spgemm
