// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "spmv/half.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>
#include <vector>

#include "matrix/entries.hpp"
#include "matrix/narrow_steps.hpp"
#include "prim/scale.hpp"
#include "spmv/at_once.hpp"
#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI::spmv {
namespace {

// The largest value of the matrix gets the exponent `target`, the largest of any row one that is at most `spread`
// below: what is subnormal then is rounded by 2^-21 of the largest of its row at most.
template <class H>
struct Fit {
    static constexpr int target = 14, spread = 18;
};
template <>
struct Fit<Bfloat16> {  // has the range of float: powers alone have to stay in it
    static constexpr int target = 0, spread = 100;
};
constexpr int lowest_exponent = -100, highest_power = 127;  // powers beyond are not exact in every product

// The exponent of the power that values are divided by.
template <class H, class Queue>
std::optional<int> find_exponent(const Queue& q, const CsrView<float>& a, const index_t* row)
{
    const auto rows = static_cast<std::size_t>(a.rows);
    std::vector<int> most(rows, matrix::no_most);
    Buffer<int> low(q, a.rows), high = to_queue(q, most.data(), a.rows);
    fill_zero(q, low.data(), a.rows);
    matrix::find_exponents<H>(q, a.value, row, a.nonzeros, low.data(), high.data());
    download(q, std::as_const(high).data(), most.data(), a.rows);
    std::erase(most, matrix::no_most);
    if (most.empty()) return 0;
    const auto [least, largest] = std::minmax_element(most.begin(), most.end());
    const int power = *largest - Fit<H>::target;
    if (*largest - *least > Fit<H>::spread || *least < lowest_exponent || power > highest_power) return std::nullopt;
    return power;
}

// The values, and what they were divided by; none where they do not fit.
template <class H>
std::optional<float> narrow_all(const Context& ctx, const CsrView<float>& a, Buffer<H>& value)
{
    return ctx.run([&](const auto& q) -> std::optional<float> {
        const Buffer<index_t> row = matrix::rows_of(q, a);
        const auto exponent = find_exponent<H>(q, a, row.data());
        if (!exponent) return std::nullopt;
        const float power = std::ldexp(1.0f, *exponent);
        const std::vector<float> powers(static_cast<std::size_t>(a.rows), power);
        const Buffer<float> scale = to_queue(q, powers.data(), a.rows);
        const matrix::Losses none;
        Buffer<matrix::Losses> losses = to_queue(q, &none, 1);
        value = Buffer<H>(q, a.nonzeros);
        matrix::narrow_values(q, a.value, row.data(), scale.data(), a.nonzeros, value.data(), losses.data());
        synchronize(q);
        return power;
    });
}

// Vectors of a CPU convert many values at once: slices where these are hardly padded, else rows. None: rows would have
// to be cut.
std::optional<Policy> policy_for(const Features& f, const Limits& limits)
{
    Features once = f;
    once.reused = false;
    Policy rows = choose(once, limits).policy, best = choose(f, limits).policy;
    if (rows.kernel != Kernel::rows) return std::nullopt;
    if (limits.backend == Backend::cpu && slices_to_try(f.row) == Slices::in_order)
        best = {.kernel = Kernel::sell, .lanes = 8};
    if (best.kernel == Kernel::sell) return best;
    if (limits.backend == Backend::cpu) rows.lanes = 8;
    Policy narrow = rows;
    narrow.narrow = true;
    const auto all = candidates(f, limits);
    return std::find(all.begin(), all.end(), narrow) != all.end() ? narrow : rows;
}

}  // namespace

template <class H>
HalfPlan<H>::HalfPlan(const Context& ctx, const CsrView<float>& a, const Policy& policy, offset_t padded)
    : ctx_(ctx),
      policy_(policy),
      a_{a.rows, a.cols, a.nonzeros, a.row_begin, a.col, nullptr, a.sorted, a.unique},
      padded_(padded)
{}

template <class H>
std::optional<HalfPlan<H>> HalfPlan<H>::make(const Context& all, const CsrView<float>& a)
{
    const offset_t work = times_sooner * (a.nonzeros + std::max(a.rows, a.cols));
    const Context ctx = all.for_work(work);
    Features f{.format = Format::csr, .deterministic = true, .reused = true};
    f.row = ctx.run([&](const auto& q) {
        RowFeatures row = survey(q, a, false).row;
        row.largest_part = largest_part(q, a);
        return row;
    });
    const auto policy = policy_for(f, {.backend = ctx.backend(), .threads = ctx.host().threads});
    if (!policy) return std::nullopt;
    HalfPlan plan(ctx, a, *policy, f.row.padded);
    if (!plan.update_values(a)) return std::nullopt;
    if (policy->kernel == Kernel::rows)
        ctx.run([&](const auto& q) {
            plan.work_.point = make_parts(q, a);
            if (policy->narrow) plan.work_.narrow = make_narrow(q, a);
        });
    return plan;
}

template <class H>
bool HalfPlan<H>::update_values(const CsrView<float>& a)
{
    const auto power = narrow_all(ctx_, a, value_);
    if (!power) return false;
    power_ = *power;
    a_.row_begin = a.row_begin;
    a_.col = a.col;
    a_.value = value_.data();
    if (policy_.kernel != Kernel::sell) return true;
    ctx_.run([&](const auto& q) {
        if (work_.sell.slice_begin.empty()) work_.sell = make_sell(q, a_, policy_.sort, padded_);
        else fill_sell(q, a_, work_.sell);
        synchronize(q);
    });
    value_ = {};
    a_.value = nullptr;
    return true;
}

template <class H>
void HalfPlan<H>::run(float alpha, std::span<const float> x, float beta, std::span<float> y) const
{
    if (a_.rows == 0) return;
    const Vectors<float> v{alpha * power_, x.data(), beta, y.data()};
    ctx_.run([&](const auto& q) {
        if (alpha == 0) prim::scale(q, v.y, a_.rows, beta);
        else if (policy_.kernel == Kernel::sell) multiply_sell(q, a_, policy_.lanes, work_.sell, v);
        else multiply_rows(q, a_, policy_.lanes, work_, v);
    });
}

template class HalfPlan<Float16>;
template class HalfPlan<Bfloat16>;

}  // namespace tulle::inline TULLE_ABI::spmv
