// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "matrix/convert_steps.hpp"

#include "prim/cpu/pieces.hpp"

namespace tulle::inline TULLE_ABI::matrix {
namespace {

// to[k] = entry(k) for all k < n.
template <class T, class F>
void write_each(const CpuQueue& q, offset_t n, T* to, const F& entry)
{
    prim::each_piece(q, prim::piece_per_thread(q, n), [&](offset_t, offset_t begin, offset_t end) {
        for (offset_t k = begin; k < end; ++k) to[k] = entry(k);
    });
}

}  // namespace

template <class T, class At>
void gather(const CpuQueue& q, const T* from, const At* at, offset_t n, T* to)
{
    write_each(q, n, to, [=](offset_t k) { return from[at[k]]; });
}

void divide(const CpuQueue& q, const index_t* from, offset_t n, index_t by, index_t* to)
{
    write_each(q, n, to, [=](offset_t k) { return from[k] / by; });
}

template void gather(const CpuQueue&, const index_t*, const index_t*, offset_t, index_t*);
template void gather(const CpuQueue&, const index_t*, const offset_t*, offset_t, index_t*);
template void gather(const CpuQueue&, const offset_t*, const offset_t*, offset_t, offset_t*);
template void gather(const CpuQueue&, const float*, const offset_t*, offset_t, float*);
template void gather(const CpuQueue&, const double*, const offset_t*, offset_t, double*);

}  // namespace tulle::inline TULLE_ABI::matrix
