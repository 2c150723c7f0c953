// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Lines dealt to threads in pieces of like work; each line is added up in four sums side by side.
#include <array>

#include "prim/cpu/pieces.hpp"
#include "prim/merge_path.hpp"
#include "spmv/team/steps.hpp"

namespace tulle::inline TULLE_ABI::spmv {
namespace {

template <class V>
V dot(const CsrView<V>& a, offset_t begin, offset_t end, const V* x)
{
    std::array<V, 4> sum{};
    offset_t k = begin;
    for (; k + 4 <= end; k += 4)
        for (std::size_t s = 0; s < 4; ++s)
            sum[s] += a.value[k + static_cast<offset_t>(s)] * x[a.col[k + static_cast<offset_t>(s)]];
    for (; k < end; ++k) sum[0] += a.value[k] * x[a.col[k]];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

}  // namespace

template <class V>
void multiply_lines(const CpuQueue& q, const CsrView<V>& a, int, const Vectors<V>& v)
{
    const offset_t steps = prim::steps_per_part(a.rows, a.nonzeros, q.threads), all = a.rows + a.nonzeros;
    prim::each_thread(q, [&](int t) {
        const auto line_at = [&](offset_t part) {
            return prim::merge_point(a.row_begin, a.rows, a.nonzeros, std::min(all, part * steps)).row;
        };
        const offset_t last = line_at(t + 1);
        for (offset_t i = line_at(t); i < last; ++i)
            v.y[i] = scaled(v.alpha, dot(a, a.row_begin[i], a.row_begin[i + 1], v.x), v.beta, v.y + i);
    });
}

template void multiply_lines(const CpuQueue&, const CsrView<float>&, int, const Vectors<float>&);
template void multiply_lines(const CpuQueue&, const CsrView<double>&, int, const Vectors<double>&);

}  // namespace tulle::inline TULLE_ABI::spmv
