// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "tulle/memory.hpp"

#include <algorithm>

namespace tulle::inline TULLE_ABI {
namespace {

constexpr std::size_t slice = std::size_t{1} << 20;  // a thread's piece: large enough that its start does not show

template <class F>
void in_slices(const CpuQueue& q, std::size_t bytes, F&& work)
{
    if (q.threads == 1 || bytes <= slice) return bytes > 0 ? work(0, bytes) : void();
    const auto slices = static_cast<offset_t>((bytes + slice - 1) / slice);
#pragma omp parallel for num_threads(q.threads) schedule(static)
    for (offset_t s = 0; s < slices; ++s) {
        const std::size_t begin = static_cast<std::size_t>(s) * slice;
        work(begin, std::min(slice, bytes - begin));
    }
}

}  // namespace

void copy_bytes(const CpuQueue& q, const void* from, void* to, std::size_t bytes)
{
    in_slices(q, bytes, [&](std::size_t at, std::size_t n) {
        std::memcpy(static_cast<char*>(to) + at, static_cast<const char*>(from) + at, n);
    });
}

void upload_bytes(const CpuQueue& q, const void* host, void* to, std::size_t bytes) { copy_bytes(q, host, to, bytes); }

void download_bytes(const CpuQueue& q, const void* from, void* host, std::size_t bytes)
{
    copy_bytes(q, from, host, bytes);
}

void fill_bytes(const CpuQueue& q, void* to, unsigned char value, std::size_t bytes)
{
    in_slices(q, bytes, [&](std::size_t at, std::size_t n) { std::memset(static_cast<char*>(to) + at, value, n); });
}

}  // namespace tulle::inline TULLE_ABI
