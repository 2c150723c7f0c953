// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A pass on a CPU: pieces of a fixed size, in each of them interleaved partial sums, joined in a fixed order.
#pragma once

#include "prim/cpu/pieces.hpp"
#include "vector/pass.hpp"

namespace tulle::inline TULLE_ABI::vector {

inline constexpr int lanes_of_piece = 8;  // independent sums, so that additions overlap

// Sums of the entries begin … end, to sum[0] … sum[Op::sums - 1].
template <class Op>
void add_piece(const Op& op, offset_t begin, offset_t end, double* sum)
{
    double partial[Op::sums][lanes_of_piece] = {};
    const auto add = [&](offset_t i, int lane) {
        const Sums<Op::sums> share = work_at(op, i);
        for (int s = 0; s < Op::sums; ++s) partial[s][lane] += share.of[s];
    };
    offset_t i = begin;
    for (; i + lanes_of_piece <= end; i += lanes_of_piece)
        for (int lane = 0; lane < lanes_of_piece; ++lane) add(i + lane, lane);
    for (int lane = 0; i < end; ++i, ++lane) add(i, lane);
    for (int s = 0; s < Op::sums; ++s) {
        sum[s] = 0;
        for (int lane = 0; lane < lanes_of_piece; ++lane) sum[s] += partial[s][lane];
    }
}

template <class Op>
void pass(const CpuQueue& q, offset_t n, Op op, const PassSpace& space)
{
    const bool on = op.load();
    if constexpr (Op::sums == 0) {
        if (!on) return;
        prim::each_piece(q, prim::piece_per_thread(q, n), [&](offset_t, offset_t begin, offset_t end) {
            for (offset_t i = begin; i < end; ++i) work_at(op, i);
        });
    } else {
        const prim::Pieces pieces = prim::pieces_of(on ? n : 0, entries_of_piece);
        prim::each_piece(q, pieces, [&](offset_t p, offset_t begin, offset_t end) {
            add_piece(op, begin, end, space.partial + p * Op::sums);
        });
        double sum[Op::sums] = {};
        for (offset_t p = 0; p < pieces.count; ++p)
            for (int s = 0; s < Op::sums; ++s) sum[s] += space.partial[p * Op::sums + s];
        op.finish(on, sum);
    }
}

// finish() alone: scalars from scalars.
template <class Op>
void scalar_step(const CpuQueue&, Op op)
{
    op.finish(op.load(), nullptr);
}

}  // namespace tulle::inline TULLE_ABI::vector
