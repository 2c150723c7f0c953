// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// In another order than the CPU's: from run to run the same bits, but not those of the CPU.
#include "prim/reduce.hpp"

#include <array>
#include <cstddef>

#include "prim/reduce_with.hpp"
#include "prim/sim/twin.hpp"
#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI::prim {
namespace {

// Entries by turns in `chains`, which are joined from both ends towards the middle.
template <class R, class T, class F>
R fold_in_chains(const T* data, offset_t n, R start, F join)
{
    constexpr std::size_t chains = 32;
    std::array<R, chains> partial;
    partial.fill(start);
    for (offset_t i = 0; i < n; ++i) {
        R& mine = partial[static_cast<std::size_t>(i) % chains];
        mine = join(mine, static_cast<R>(data[i]));
    }
    for (std::size_t left = chains; left > 1; left /= 2)
        for (std::size_t k = 0; k < left / 2; ++k) partial[k] = join(partial[k], partial[left - 1 - k]);
    return partial[0];
}

template <class R, class T, class F>
R reduce(const CudaQueue& q, const T* data, offset_t n, R start, F join)
{
    Buffer<R> result(q, 1);
    R* const to = result.data();
    run_twin(q, "reduce", {data, to}, [=] { *to = fold_in_chains(data, n, start, join); });
    return read_value(q, to);
}

}  // namespace

template <class T>
T sum(const CudaQueue& q, const T* data, offset_t n)
{
    return narrow_total<T>(reduce(q, data, n, Total<T>{0}, Plus{}));
}

template <class T>
T maximum(const CudaQueue& q, const T* data, offset_t n, T least)
{
    return reduce(q, data, n, least, Larger{});
}

template <class T>
T minimum(const CudaQueue& q, const T* data, offset_t n, T most)
{
    return reduce(q, data, n, most, Smaller{});
}

template index_t sum(const CudaQueue&, const index_t*, offset_t);
template offset_t sum(const CudaQueue&, const offset_t*, offset_t);
template float sum(const CudaQueue&, const float*, offset_t);
template double sum(const CudaQueue&, const double*, offset_t);
template index_t maximum(const CudaQueue&, const index_t*, offset_t, index_t);
template offset_t maximum(const CudaQueue&, const offset_t*, offset_t, offset_t);
template float maximum(const CudaQueue&, const float*, offset_t, float);
template double maximum(const CudaQueue&, const double*, offset_t, double);
template index_t minimum(const CudaQueue&, const index_t*, offset_t, index_t);
template offset_t minimum(const CudaQueue&, const offset_t*, offset_t, offset_t);
template float minimum(const CudaQueue&, const float*, offset_t, float);
template double minimum(const CudaQueue&, const double*, offset_t, double);

}  // namespace tulle::inline TULLE_ABI::prim
