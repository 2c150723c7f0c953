// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// How many lanes of a warp go through a row: a few where rows are short, so that most lanes have an entry.
#pragma once

#include "base/constant.hpp"
#include "sptrsv/schedule/tasks.hpp"

namespace tulle::inline TULLE_ABI::sptrsv {

// f(lanes), a constant; nonzeros may be unknown: max_offset.
template <class F>
void with_lanes_of_rows(index_t rows, offset_t nonzeros, F&& f)
{
    const offset_t mean = nonzeros / (rows > 0 ? rows : 1);
    with_constant<4, 8, lanes>(mean <= 2 ? 4 : mean <= 16 ? 8 : lanes, f);
}

}  // namespace tulle::inline TULLE_ABI::sptrsv
