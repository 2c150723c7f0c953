// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// One pass over the entries of vectors: updates and dot products together, scalars in the memory of the queue.
//
// An operation of a pass is a small struct, written once for hosts and kernels:
//
//     static constexpr int sums = 2;                          sums that the pass makes
//     constexpr bool load();                                  reads scalars; false: the entries are left alone
//     constexpr Sums<sums> at(offset_t i) const;              the work at entry i, and its share of each sum
//     constexpr void finish(bool on, const double* sum) const;      once, after all entries, with what load() returned
//
// An operation that writes what it reads, where a GPU must have more loads in flight, has two parts instead of at(i):
//
//     constexpr Loaded fetch(offset_t i) const;               what entry i needs
//     constexpr Sums<sums> at(offset_t i, const Loaded& loaded) const;
//
// Without sums, at() returns nothing and there is no finish(). A GPU begins a pass without sums at the end, where the
// pass before has touched entries last, and one with sums where the operation says so:
//
//     static constexpr bool from_end = true;
//
// Sums are taken in double in an order that depends on n alone: the same bits every time, on a CPU for any number of
// threads. finish() writes scalars that later passes load, so that no number has to travel to the host.
#pragma once

#include <algorithm>
#include <cmath>

#include "base/math.hpp"
#include "tulle/memory.hpp"
#include "tulle/types.hpp"

namespace tulle::inline TULLE_ABI::vector {

constexpr bool is_finite(double x) { return x - x == 0; }

// Square roots of sums that rounding may have made negative.
template <class T = double>
constexpr T root(T x)
{
    return x > 0 ? std::sqrt(x) : x;
}

// Shares of one entry.
template <int Count>
struct Sums {
    double of[Count];
};

inline constexpr int most_sums = 8;

template <class Op>
concept Fetches = requires(const Op& op, offset_t i)
{
    op.at(i, op.fetch(i));
};

template <class Op>
constexpr bool begins_at_end()
{
    if constexpr (requires { Op::from_end; }) return Op::from_end;
    else return Op::sums == 0;
}

// The work at entry i.
template <class Op>
constexpr auto work_at(const Op& op, offset_t i)
{
    if constexpr (Fetches<Op>) return op.at(i, op.fetch(i));
    else return op.at(i);
}

// Partial sums: those of pieces of so many entries on a CPU, those of blocks on a GPU.
inline constexpr offset_t entries_of_piece = 4096;
inline constexpr int threads_of_block = 256, entries_of_thread = 4;
inline constexpr offset_t most_blocks = 1024;  // about what a large GPU holds at once

constexpr offset_t blocks_for(offset_t n)
{
    return std::clamp(ceil_div(n, offset_t{threads_of_block} * entries_of_thread), offset_t{1}, most_blocks);
}

constexpr offset_t partials_for(offset_t n)
{
    return most_sums * std::max(ceil_div(n, entries_of_piece), blocks_for(n));
}

struct PassSpace {
    double* partial;
    int* arrived;
};

// Room for the partial sums of passes over up to n entries, one pass at a time.
class PassBuffer {
public:
    PassBuffer() = default;
    template <class Queue>
    PassBuffer(const Queue& q, offset_t n) : partial_(q, partials_for(n)),
                                             arrived_(q, 1)
    {
        fill_zero(q, arrived_.data(), 1);
    }
    PassSpace space() { return {partial_.data(), arrived_.data()}; }
    std::size_t bytes() const { return partial_.bytes() + arrived_.bytes(); }

private:
    Buffer<double> partial_;
    Buffer<int> arrived_;
};

}  // namespace tulle::inline TULLE_ABI::vector
