// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "tulle/partition/steps.hpp"
#include "tulle/prim/cpu/pieces.hpp"

namespace tulle::partition {
namespace {

// to[j] = entry(j) for j < n.
template <class F>
void write_each(const CpuQueue& q, offset_t n, offset_t* to, const F& entry)
{
    prim::each_piece(q, prim::piece_per_thread(q, n), [&](offset_t, offset_t begin, offset_t end) {
        for (offset_t j = begin; j < end; ++j) to[j] = entry(j);
    });
}

}  // namespace

void write_pointer(const CpuQueue& q, const offset_t* line_begin, const Part& part, offset_t* local)
{
    write_each(q, offset_t{part.lines()} + 1, local, [=](offset_t j) { return std::clamp(line_begin[j], part.begin, part.end) - part.begin; });
}

void write_pointers(const CpuQueue& q, const offset_t* line_begin, std::span<const Part> parts, offset_t* local)
{
    for (const Part& part : parts) {
        write_pointer(q, line_begin + part.first_line, part, local);
        local += part.lines() + 1;
    }
}

void find_pointer(const CpuQueue& q, const index_t* line, const Part& part, offset_t* local)
{
    write_each(q, offset_t{part.lines()} + 1, local,
               [=](offset_t j) { return j == part.lines() ? part.nonzeros() : prim::lower_bound(line, part.nonzeros(), static_cast<index_t>(part.first_line + j)); });
}

void restore_pointer(const CpuQueue& q, const offset_t* local, const Part& part, offset_t* whole)
{
    const offset_t* owned = local + (part.head ? 1 : 0);
    write_each(q, part.owned(), whole, [=](offset_t j) { return owned[j] + part.begin; });
}

}  // namespace tulle::partition
