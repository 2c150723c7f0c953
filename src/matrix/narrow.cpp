// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Values of 16 bits.
//
//   exponents    the smallest and largest of each row of op(A), where the matrix is
//   powers       of the rows that need one, on the host: the largest exponent becomes the highest that is of use
//   values       divided by the power of their row and rounded; what is lost is counted
#include "tulle/narrow.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "base/enumerators.hpp"
#include "base/suggest.hpp"
#include "matrix/entries.hpp"
#include "matrix/narrow_steps.hpp"
#include "tulle/error.hpp"
#include "tulle/outline.hpp"
#include "tulle/text.hpp"
#include "tulle/validate.hpp"

namespace tulle::inline TULLE_ABI {
namespace matrix {
namespace {

// Exponents of powers that float has as normal numbers: then they are exact, and so is the division by them.
constexpr int lowest_power = -126, highest_power = 127;

// The exponent of a row's power.
template <class V>
int power_of(int least, int most, Scaling scaling)
{
    using Range = HalfRange<V>;
    const bool fits = least >= Range::least && most <= Range::most;
    if (most == no_most || scaling == Scaling::off || (scaling == Scaling::automatic && fits)) return 0;
    return std::clamp(most - Range::target, lowest_power, highest_power);
}

// Powers of all lines on the host; none if all are 1.
template <class V, class Queue, class From>
std::vector<float> find_powers(const Queue& q, const From* value, const index_t* line, offset_t n, index_t lines,
                               Scaling scaling)
{
    if (scaling == Scaling::off) return {};
    std::vector<int> least(static_cast<std::size_t>(lines), no_least), most(static_cast<std::size_t>(lines), no_most);
    Buffer<int> low = to_queue(q, least.data(), lines), high = to_queue(q, most.data(), lines);
    find_exponents<V>(q, value, line, n, low.data(), high.data());
    download(q, std::as_const(low).data(), least.data(), lines);
    download(q, std::as_const(high).data(), most.data(), lines);
    std::vector<float> power(least.size());
    std::transform(least.begin(), least.end(), most.begin(), power.begin(),
                   [&](int a, int b) { return std::ldexp(1.0f, power_of<V>(a, b, scaling)); });
    const bool needless = std::all_of(power.begin(), power.end(), [](float p) { return p == 1; });
    return needless ? std::vector<float>{} : power;
}

template <class V, class Queue, class From>
Narrowed<V> narrow_on(const Queue& q, const CsrView<From>& a, const NarrowOptions& options)
{
    const bool by_columns = options.op == Op::transpose, off = options.scaling == Scaling::off;
    const Buffer<index_t> row = by_columns || off ? Buffer<index_t>(q, 0) : rows_of(q, a);
    const index_t* line = by_columns ? a.col : row.data();
    const std::vector<float> power =
        find_powers<V>(q, a.value, line, a.nonzeros, by_columns ? a.cols : a.rows, options.scaling);
    Narrowed<V> result{.value = Buffer<V>(q, a.nonzeros), .row_scale = {}};
    if (!power.empty()) result.row_scale = to_queue(q, power.data(), std::ssize(power));
    result.scaled = static_cast<index_t>(std::count_if(power.begin(), power.end(), [](float p) { return p != 1; }));
    const Losses none;
    Buffer<Losses> losses = to_queue(q, &none, 1);
    narrow_values(q, a.value, line, std::as_const(result.row_scale).data(), a.nonzeros, result.value.data(),
                  losses.data());
    const Losses found = read_value(q, losses.data());
    result.overflowed = static_cast<offset_t>(found.overflowed);
    result.subnormal = static_cast<offset_t>(found.subnormal);
    result.zeroed = static_cast<offset_t>(found.zeroed);
    return result;
}

}  // namespace
}  // namespace matrix

namespace {

constexpr std::array<const char*, 3> scaling_names{"off", "auto", "rows"};

}  // namespace

std::string to_text(Scaling scaling) { return name_in(scaling_names, scaling); }

Scaling parse_scaling(std::string_view name)
{
    const auto found = std::find(scaling_names.begin(), scaling_names.end(), name);
    require<ValueError>(
        found != scaling_names.end(), [&] { return concat("there is no scaling '", name, "'"); },
        one_of_hint(name, scaling_names));
    return static_cast<Scaling>(found - scaling_names.begin());
}

template <class V, class From>
Narrowed<V> detail::narrow_csr(const Context& ctx, const AnyCsr<From>& given, const NarrowOptions& options)
{
    require_enumerator(options.op, Op::transpose, "op");
    require_enumerator(options.scaling, Scaling::rows, "scaling");
    Buffer<offset_t> wide;
    const auto a = matrix::widened<CsrView<From>>(ctx, given, wide);
    if (options.checked) check(ctx, a);
    return ctx.run([&](const auto& q) { return matrix::narrow_on<V>(q, a, options); });
}

template Narrowed<Float16> detail::narrow_csr(const Context&, const AnyCsr<float>&, const NarrowOptions&);
template Narrowed<Float16> detail::narrow_csr(const Context&, const AnyCsr<double>&, const NarrowOptions&);
template Narrowed<Bfloat16> detail::narrow_csr(const Context&, const AnyCsr<float>&, const NarrowOptions&);
template Narrowed<Bfloat16> detail::narrow_csr(const Context&, const AnyCsr<double>&, const NarrowOptions&);

}  // namespace tulle::inline TULLE_ABI
