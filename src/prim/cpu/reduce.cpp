// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Reductions in an order that depends on n alone: pieces of a fixed size, each folded the same way, then the pieces in
// order. Any number of threads gives the same bits.
#include "prim/reduce.hpp"

#include <array>

#include "prim/cpu/pieces.hpp"
#include "prim/reduce_with.hpp"
#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI::prim {
namespace {

constexpr offset_t piece_size = 8192;  // fixed for ever: the rounding of every sum hangs on it
constexpr std::size_t lanes = 8;       // independent partial results, so that the fold vectorises

// first … last folded in `lanes` interleaved chains, which are then joined in order.
template <class R, class T, class F>
R fold(const T* first, const T* last, R start, F&& join)
{
    std::array<R, lanes> partial;
    partial.fill(start);
    for (; last - first >= static_cast<std::ptrdiff_t>(lanes); first += lanes)
        for (std::size_t lane = 0; lane < lanes; ++lane)
            partial[lane] = join(partial[lane], static_cast<R>(first[lane]));
    for (std::size_t lane = 0; first < last; ++lane, ++first)
        partial[lane] = join(partial[lane], static_cast<R>(*first));
    R result = partial[0];
    for (std::size_t lane = 1; lane < lanes; ++lane) result = join(result, partial[lane]);
    return result;
}

template <class R, class T, class F>
R reduce(const CpuQueue& q, const T* data, offset_t n, R start, const F& join)
{
    const Pieces pieces = pieces_of(n, piece_size);
    if (pieces.count <= 1) return fold(data, data + n, start, join);
    Buffer<R> of_piece(q, pieces.count);
    each_piece(q, pieces, [&](offset_t p, offset_t begin, offset_t end) {
        of_piece.data()[p] = fold(data + begin, data + end, start, join);
    });
    return fold(of_piece.data(), of_piece.data() + pieces.count, start, join);
}

}  // namespace

template <class T>
T sum(const CpuQueue& q, const T* data, offset_t n)
{
    return narrow_total<T>(reduce(q, data, n, Total<T>{0}, Plus{}));
}

template <class T>
T maximum(const CpuQueue& q, const T* data, offset_t n, T least)
{
    return reduce(q, data, n, least, Larger{});
}

template <class T>
T minimum(const CpuQueue& q, const T* data, offset_t n, T most)
{
    return reduce(q, data, n, most, Smaller{});
}

template index_t sum(const CpuQueue&, const index_t*, offset_t);
template offset_t sum(const CpuQueue&, const offset_t*, offset_t);
template float sum(const CpuQueue&, const float*, offset_t);
template double sum(const CpuQueue&, const double*, offset_t);
template index_t maximum(const CpuQueue&, const index_t*, offset_t, index_t);
template offset_t maximum(const CpuQueue&, const offset_t*, offset_t, offset_t);
template float maximum(const CpuQueue&, const float*, offset_t, float);
template double maximum(const CpuQueue&, const double*, offset_t, double);
template index_t minimum(const CpuQueue&, const index_t*, offset_t, index_t);
template offset_t minimum(const CpuQueue&, const offset_t*, offset_t, offset_t);
template float minimum(const CpuQueue&, const float*, offset_t, float);
template double minimum(const CpuQueue&, const double*, offset_t, double);

}  // namespace tulle::inline TULLE_ABI::prim
