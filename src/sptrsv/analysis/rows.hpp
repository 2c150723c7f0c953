// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A triangle row after row in the order it is solved, with every row divided by its diagonal: what the CPU, the kernel
// for many right-hand sides and the paper's kernels work on.
#pragma once

#include "sptrsv/analysis/triangle.hpp"
#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI::sptrsv {

struct Rows {
    index_t rows = 0;
    Buffer<index_t> row;  // of op(A), for each row in the order of solving
    Buffer<offset_t> begin;
    Buffer<index_t> col;  // unknowns: rows of op(A), or places in the order of solving
    Buffer<offset_t> source;
    Buffer<offset_t> diagonal;  // empty for a unit diagonal

    offset_t nonzeros() const { return col.size(); }
    std::size_t bytes() const { return row.bytes() + begin.bytes() + col.bytes() + source.bytes() + diagonal.bytes(); }
};

enum class Unknowns { by_row, by_place };

// `order` lists the triangle's rows as they are to be solved, null: as they are. On the host.
Rows make_rows(const CpuQueue& host, const Triangle& t, const index_t* order, Unknowns unknowns);

}  // namespace tulle::inline TULLE_ABI::sptrsv
