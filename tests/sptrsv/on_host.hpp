// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What tests of the steps around a solve share: a queue on the host, a triangle's pattern there, and the limits of a
// large GPU.
#pragma once

#include "sptrsv/analysis.hpp"
#include "sptrsv/triangles.hpp"
#include "tulle/memory.hpp"
#include "tulle/sptrsv.hpp"

namespace tulle::inline TULLE_ABI::sptrsv {

inline const CpuQueue host_queue(2);
inline constexpr Limits gpu{.backend = Backend::cuda, .threads = 1, .multiprocessors = 132};

inline Triangle triangle_of(const test::HostCsr<double>& a)
{
    return make_triangle(host_queue, {.rows = a.rows, .row_begin = a.row_begin.data(), .col = a.col.data()});
}

}  // namespace tulle::inline TULLE_ABI::sptrsv
