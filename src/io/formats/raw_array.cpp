// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "io/formats/raw_array.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "base/math.hpp"
#include "io/chunks.hpp"
#include "io/text.hpp"
#include "prim/search.hpp"

namespace tulle::inline TULLE_ABI::io {
namespace {

constexpr offset_t chunk_entries = offset_t{1} << 16;

template <class F>
decltype(auto) with_type(Number type, F&& f)
{
    switch (type) {
    case Number::b1:
    case Number::u1: return f(std::uint8_t{});
    case Number::i1: return f(std::int8_t{});
    case Number::i2: return f(std::int16_t{});
    case Number::u2: return f(std::uint16_t{});
    case Number::i4: return f(std::int32_t{});
    case Number::u4: return f(std::uint32_t{});
    case Number::i8: return f(std::int64_t{});
    case Number::u8: return f(std::uint64_t{});
    case Number::f4: return f(float{});
    case Number::f8: break;
    }
    return f(double{});
}

template <class S>
S load(const RawArray& from, offset_t k)
{
    std::array<char, sizeof(S)> bytes;
    std::memcpy(bytes.data(), from.data + k * static_cast<offset_t>(sizeof(S)), sizeof(S));
    if (from.order != std::endian::native) std::reverse(bytes.begin(), bytes.end());
    return std::bit_cast<S>(bytes);
}

template <class S>
[[noreturn]] void fail(const RawArray& from, offset_t k, S value, const std::string& what)
{
    from.source->fail(from.data + k * static_cast<offset_t>(sizeof(S)),
                      concat(from.name, "[", k, "] = ", value, " ", what));
}

// each(k) for all entries, on all threads; the failure at the lowest k counts.
template <class F>
void for_each_entry(const CpuQueue& q, offset_t n, F&& each)
{
    for_each_chunk(q, ceil_div(n, chunk_entries), {}, [&](offset_t c) {
        for (offset_t k = c * chunk_entries; k < std::min(n, (c + 1) * chunk_entries); ++k) each(k);
    });
}

template <class S, class V>
bool is_rounded(S number)
{
    if constexpr (std::is_integral_v<S> && std::numeric_limits<S>::digits > std::numeric_limits<V>::digits)
        return !holds_exactly<V>(number);
    return false;
}

// Where an entry stands, as `place` tells it.
template <class F>
Occurrences found_at(const ArrayLoss& lost, F&& place)
{
    Occurrences found{.count = lost.count};
    if (found.count > 0) place(lost.first.load(), found);
    return found;
}

}  // namespace

void ArrayLoss::add(offset_t k)
{
    ++count;
    for (offset_t known = first; k < known && !first.compare_exchange_weak(known, k);) {}
}

template <class V>
void report_losses(const Csr<V>& a, const ArrayLosses& lost, FileInfo& info)
{
    const auto place = [&](offset_t k, Occurrences& found) {
        found.row = static_cast<index_t>(prim::upper_bound(a.row_begin.data(), offset_t{a.rows} + 1, k) - 1);
        found.col = a.col.data()[k];
    };
    info.underflowed = found_at(lost.underflowed, place);
    info.rounded = found_at(lost.rounded, place);
}

template <class V>
void report_losses(const CooView<V>& a, const ArrayLosses& lost, FileInfo& info)
{
    const auto place = [&](offset_t k, Occurrences& found) {
        found.row = a.row[k];
        found.col = a.col[k];
    };
    info.underflowed = found_at(lost.underflowed, place);
    info.rounded = found_at(lost.rounded, place);
}

std::size_t size_of(Number type)
{
    return with_type(type, [](auto sample) { return sizeof(sample); });
}

bool is_integer(Number type) { return type != Number::f4 && type != Number::f8 && type != Number::b1; }

template <class T>
Buffer<T> take_integers(const CpuQueue& q, const RawArray& from, offset_t low, offset_t high)
{
    if (!is_integer(from.type)) from.source->fail(from.data, from.name + " must hold whole numbers");
    Buffer<T> to(q, from.size);
    with_type(from.type, [&](auto sample) {
        using S = decltype(sample);
        if constexpr (std::is_integral_v<S>)
            for_each_entry(q, from.size, [&](offset_t k) {
                const S number = load<S>(from, k);
                if (std::cmp_less(number, low) || std::cmp_greater(number, high))
                    fail(from, k, number, concat("is outside ", low, " … ", high));
                to.data()[k] = static_cast<T>(number);
            });
    });
    return to;
}

template <class V>
Buffer<V> take_values(const CpuQueue& q, const RawArray& from, ArrayLosses& lost)
{
    Buffer<V> to(q, from.size);
    with_type(from.type, [&](auto sample) {
        using S = decltype(sample);
        for_each_entry(q, from.size, [&](offset_t k) {
            const S number = load<S>(from, k);
            if constexpr (std::is_same_v<S, double> && std::is_same_v<V, float>)
                if (std::isfinite(number) && std::abs(number) > double{std::numeric_limits<float>::max()})
                    fail(from, k, number, "does not fit float");
            to.data()[k] = static_cast<V>(number);
            if (to.data()[k] == V(0) && number != S(0)) [[unlikely]]
                lost.underflowed.add(k);
            if (is_rounded<S, V>(number)) [[unlikely]]
                lost.rounded.add(k);
        });
    });
    return to;
}

Buffer<offset_t> take_offsets(const CpuQueue& q, const RawArray& from, offset_t nonzeros)
{
    Buffer<offset_t> to = take_integers<offset_t>(q, from, 0, nonzeros);
    const offset_t* offset = to.data();
    const auto at = [&](offset_t k) { return from.data + k * static_cast<offset_t>(size_of(from.type)); };
    if (offset[0] != 0) from.source->fail(at(0), concat(from.name, " begins with ", offset[0], ", not with 0"));
    for_each_entry(q, from.size - 1, [&](offset_t k) {
        if (offset[k + 1] < offset[k])
            from.source->fail(at(k + 1), concat(from.name, "[", k + 1, "] = ", offset[k + 1], " is below ", offset[k],
                                                " before it"));
    });
    const offset_t last = from.size - 1;
    if (offset[last] != nonzeros)
        from.source->fail(at(last),
                          concat(from.name, " ends with ", offset[last], ", but there are ", nonzeros, " entries"));
    return to;
}

template Buffer<index_t> take_integers(const CpuQueue&, const RawArray&, offset_t, offset_t);
template Buffer<offset_t> take_integers(const CpuQueue&, const RawArray&, offset_t, offset_t);
template Buffer<float> take_values(const CpuQueue&, const RawArray&, ArrayLosses&);
template Buffer<double> take_values(const CpuQueue&, const RawArray&, ArrayLosses&);
template void report_losses(const Csr<float>&, const ArrayLosses&, FileInfo&);
template void report_losses(const Csr<double>&, const ArrayLosses&, FileInfo&);
template void report_losses(const CooView<float>&, const ArrayLosses&, FileInfo&);
template void report_losses(const CooView<double>&, const ArrayLosses&, FileInfo&);

}  // namespace tulle::inline TULLE_ABI::io
