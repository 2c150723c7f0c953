// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Neighbouring rows with the same columns, as unknowns of one node of a finite element mesh have them, two to four
// together: a slice of lanes reads their columns and entries of x once and multiplies them with the values of all rows.
// The values stay where the caller has them.
#include "device/cuda/kernel.cuh"

#include "base/constant.hpp"
#include "spmv/cuda/dots.cuh"

namespace tulle::inline TULLE_ABI::spmv {
namespace {

constexpr int threads_per_block = 256;

// Columns a lane has in flight at once, and whether its loads go past the L1: measured, see docs/design/spmv.md.
constexpr int columns_at_once(int lanes) { return lanes == 32 ? 2 : 4; }
template <int Lanes, class T>
__device__ T load(const T* from)
{
    if constexpr (Lanes == 32) return load_streaming(from);
    else return *from;
}

// Adds this lane's share of each row of the group to sum[0 … Most). (The promises of __restrict__ let the compiler
// place the loads; it then needs half the registers, and twice the warps fit.)
template <int Lanes, int Most, class V, class M>
__device__ void add_group(const RowGroup& group, int lane, const index_t* __restrict__ col, const M* __restrict__ value,
                          const V* __restrict__ x, V (&sum)[Most])
{
    constexpr int ahead = columns_at_once(Lanes);
    const int length = group.length(), rows = group.rows();
    for (int k = lane; k < length; k += Lanes * ahead) {
        V a[ahead][Most];  // (columns, rows)
        index_t c[ahead];
#pragma unroll
        for (int u = 0; u < ahead; ++u) {
            const bool here = k + u * Lanes < length;
            c[u] = here ? load<Lanes>(col + k + u * Lanes) : 0;
#pragma unroll
            for (int i = 0; i < Most; ++i)
                a[u][i] = here && i < rows ? static_cast<V>(load<Lanes>(value + k + u * Lanes + i * length)) : V(0);
        }
#pragma unroll
        for (int u = 0; u < ahead; ++u) {
            const V xc = k + u * Lanes < length ? __ldg(x + c[u]) : V(0);
#pragma unroll
            for (int i = 0; i < Most; ++i) sum[i] += a[u][i] * xc;
        }
    }
}

// One slice of lanes per group.
//   grid: ceil(groups * Lanes / threads)      shared memory: none      y: every row written once
template <int Lanes, int Most, bool WithDots, class V, class M>
__global__ void __launch_bounds__(threads_per_block)
    multiply_groups_kernel(offset_t groups, const RowGroup* group, const index_t* col, const M* value, Vectors<V> v)
{
    const int lane = static_cast<int>(threadIdx.x) % Lanes;
    const offset_t g = global_thread() / Lanes;
    const RowGroup mine = g < groups ? group[g] : RowGroup{0, 0, 0};
    wait_for_earlier_kernels();
    V sum[Most] = {};
    add_group<Lanes, Most>(mine, lane, col + mine.begin, value + mine.begin, v.x, sum);
    Written<WithDots, V> written;
#pragma unroll
    for (int i = 0; i < Most; ++i) {
        const V whole = slice_sum<Lanes>(sum[i]);
        if (i < mine.rows() && lane == i) written.put(v, offset_t{mine.row} + i, whole);
    }
    finish<threads_per_block>(written, v.dots);
}

}  // namespace

template <class V, class M>
void multiply_groups(const CudaQueue& q, const CsrView<M>& a, int lanes, const Groups& groups, const Vectors<V>& v)
{
    with_constant<8, 16, 32>(lanes, [&](auto n) {
        with_constant<2, 3, 4>(groups.most, [&](auto most) {
            const LaunchShape shape = one_thread_each(groups.group.size() * n(), threads_per_block, v.early);
            const auto go = [&](auto with_dots) {
                launch(q, shape, multiply_groups_kernel<n(), most(), with_dots(), V, M>, groups.group.size(),
                       groups.group.data(), a.col, a.value, v);
            };
            with_or_without_dots<V, M>(v, go);
        });
    });
}

template void multiply_groups(const CudaQueue&, const CsrView<float>&, int, const Groups&, const Vectors<float>&);
template void multiply_groups(const CudaQueue&, const CsrView<double>&, int, const Groups&, const Vectors<double>&);
template void multiply_groups(const CudaQueue&, const CsrView<float>&, int, const Groups&, const Vectors<double>&);

}  // namespace tulle::inline TULLE_ABI::spmv
