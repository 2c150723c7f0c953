// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <vector>

#include "partition/cutting.hpp"
#include "prim/cpu/pieces.hpp"

namespace tulle::inline TULLE_ABI::partition {
namespace {

// Below this a thread more costs more than it saves: a pointer of a megabyte is written in 50 us.
constexpr offset_t entries_per_thread = offset_t{1} << 17;

offset_t local_at(offset_t at, const Part& part) { return std::clamp(at, part.begin, part.end) - part.begin; }

// to[j] = entry(j) for j < n.
template <class F>
void write_each(const CpuQueue& q, offset_t n, offset_t* to, const F& entry)
{
    prim::each_piece(q, prim::piece_per_thread(q, n, entries_per_thread), [&](offset_t, offset_t begin, offset_t end) {
        for (offset_t j = begin; j < end; ++j) to[j] = entry(j);
    });
}

}  // namespace

void write_pointer(const CpuQueue& q, const offset_t* line_begin, const Part& part, offset_t* local)
{
    write_each(q, offset_t{part.lines()} + 1, local, [=](offset_t j) { return local_at(line_begin[j], part); });
}

void write_pointers(const CpuQueue& q, const offset_t* line_begin, std::span<const Part> parts, offset_t* local)
{
    std::vector<offset_t> first{0};  // of each pointer among all
    for (const Part& part : parts) first.push_back(first.back() + part.lines() + 1);
    prim::each_piece(q, prim::piece_per_thread(q, first.back(), entries_per_thread),
                     [&](offset_t, offset_t begin, offset_t end) {
                         auto p =
                             static_cast<std::size_t>(prim::upper_bound(first.data(), std::ssize(first), begin) - 1);
                         for (offset_t t = begin; t < end; ++p)
                             for (; t < std::min(end, first[p + 1]); ++t)
                                 local[t] = local_at(line_begin[parts[p].first_line + (t - first[p])], parts[p]);
                     });
}

void find_pointer(const CpuQueue& q, const index_t* line, const Part& part, offset_t* local)
{
    write_each(q, offset_t{part.lines()} + 1, local, [=](offset_t j) {
        return j == part.lines() ? part.nonzeros()
                                 : prim::lower_bound(line, part.nonzeros(), static_cast<index_t>(part.first_line + j));
    });
}

void restore_pointer(const CpuQueue& q, const offset_t* local, const Part& part, offset_t* whole)
{
    const offset_t* owned = local + (part.head ? 1 : 0);
    write_each(q, part.owned(), whole, [=](offset_t j) { return owned[j] + part.begin; });
}

}  // namespace tulle::inline TULLE_ABI::partition
