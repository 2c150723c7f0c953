// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "partition/cutting.hpp"

#include <algorithm>

#include "device/cuda/kernel.cuh"

namespace tulle::inline TULLE_ABI::partition {
namespace {

// All: one thread per line.      grid: ceil(lines / 256)      every entry written once

__device__ offset_t clamped(offset_t at, const Part& part)
{
    return (at < part.begin ? part.begin : at > part.end ? part.end : at) - part.begin;
}

__global__ void write_pointer_kernel(const offset_t* line_begin, Part part, offset_t* local)
{
    const offset_t j = global_thread();
    if (j <= part.lines()) local[j] = clamped(line_begin[j], part);
}

// So many parts in one launch, with the kernel's arguments: a launch for each would take longer than the work.
constexpr int parts_at_once = 16;

struct PartTable {
    int count;
    Part part[parts_at_once];
    offset_t first[parts_at_once + 1];  // where each pointer begins among all
};

__global__ void write_pointers_kernel(const offset_t* __restrict__ line_begin, PartTable table,
                                      offset_t* __restrict__ local)
{
    const offset_t t = global_thread();
    if (t >= table.first[table.count]) return;
    int p = 0;
    while (t >= table.first[p + 1]) ++p;
    local[t] = clamped(line_begin[table.part[p].first_line + (t - table.first[p])], table.part[p]);
}

PartTable table_of(std::span<const Part> parts)
{
    PartTable table{};
    table.count = static_cast<int>(parts.size());
    for (std::size_t p = 0; p < parts.size(); ++p) {
        table.part[p] = parts[p];
        table.first[p + 1] = table.first[p] + parts[p].lines() + 1;
    }
    return table;
}

__global__ void find_pointer_kernel(const index_t* __restrict__ line, Part part, offset_t* __restrict__ local)
{
    const offset_t j = global_thread();
    if (j > part.lines()) return;
    local[j] = j == part.lines() ? part.nonzeros()
                                 : prim::lower_bound(line, part.nonzeros(), static_cast<index_t>(part.first_line + j));
}

__global__ void restore_pointer_kernel(const offset_t* __restrict__ owned, Part part, offset_t* __restrict__ whole)
{
    const offset_t j = global_thread();
    if (j < part.owned()) whole[j] = owned[j] + part.begin;
}

}  // namespace

void write_pointer(const CudaQueue& q, const offset_t* line_begin, const Part& part, offset_t* local)
{
    launch(q, one_thread_each(offset_t{part.lines()} + 1), write_pointer_kernel, line_begin, part, local);
}

void write_pointers(const CudaQueue& q, const offset_t* line_begin, std::span<const Part> parts, offset_t* local)
{
    while (!parts.empty()) {
        const auto some = parts.first(std::min(parts.size(), std::size_t{parts_at_once}));
        const PartTable table = table_of(some);
        const offset_t entries = table.first[table.count];
        launch(q, one_thread_each(entries), write_pointers_kernel, line_begin, table, local);
        local += entries;
        parts = parts.subspan(some.size());
    }
}

void find_pointer(const CudaQueue& q, const index_t* line, const Part& part, offset_t* local)
{
    launch(q, one_thread_each(offset_t{part.lines()} + 1), find_pointer_kernel, line, part, local);
}

void restore_pointer(const CudaQueue& q, const offset_t* local, const Part& part, offset_t* whole)
{
    launch(q, one_thread_each(part.owned()), restore_pointer_kernel, local + (part.head ? 1 : 0), part, whole);
}

}  // namespace tulle::inline TULLE_ABI::partition
