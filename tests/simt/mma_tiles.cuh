// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// One warp multiplies one tile with each wrapper of mma.cuh. The layouts are written out again here, from the PTX manual's formulas, so
// that a mistake in fragment:: does not cancel out.
#pragma once

#include "tulle/device/cuda/mma.cuh"

namespace tulle::test {

// A is M x K, B is K x N, D is M x N, all by rows.
static __global__ void tile_f64(const double* a, const double* b, double* d)    // 8 x 8, k = 4
{
    const int group = static_cast<int>(threadIdx.x) / 4, member = static_cast<int>(threadIdx.x) % 4;
    double sums[2] = {d[group * 8 + member * 2], d[group * 8 + member * 2 + 1]};
    mma_m8n8k4(sums, a[group * 4 + member], b[member * 8 + group]);
    d[group * 8 + member * 2] = sums[0];
    d[group * 8 + member * 2 + 1] = sums[1];
}

__device__ inline void load_sums(const float* d, float (&sums)[4], int group, int member)
{
    for (int i = 0; i < 4; ++i) sums[i] = d[(group + (i < 2 ? 0 : 8)) * 8 + member * 2 + (i & 1)];
}

__device__ inline void store_sums(float* d, const float (&sums)[4], int group, int member)
{
    for (int i = 0; i < 4; ++i) d[(group + (i < 2 ? 0 : 8)) * 8 + member * 2 + (i & 1)] = sums[i];
}

template <Half H>
__global__ void tile_half_k8(const float* a, const float* b, float* d)
{
    const int group = static_cast<int>(threadIdx.x) / 4, member = static_cast<int>(threadIdx.x) % 4;
    const float* upper = a + group * 8 + member * 2;
    const float* lower = a + (group + 8) * 8 + member * 2;
    const std::uint32_t a_registers[2] = {pack<H>(upper[0], upper[1]), pack<H>(lower[0], lower[1])};
    const std::uint32_t b_registers[1] = {pack<H>(b[(member * 2) * 8 + group], b[(member * 2 + 1) * 8 + group])};
    float sums[4];
    load_sums(d, sums, group, member);
    mma_m16n8k8<H>(sums, a_registers, b_registers);
    store_sums(d, sums, group, member);
}

template <Half H>
__global__ void tile_half_k16(const float* a, const float* b, float* d)
{
    const int group = static_cast<int>(threadIdx.x) / 4, member = static_cast<int>(threadIdx.x) % 4;
    const float* upper = a + group * 16 + member * 2;
    const float* lower = a + (group + 8) * 16 + member * 2;
    const float* left = b + (member * 2) * 8 + group;
    const std::uint32_t a_registers[4] = {pack<H>(upper[0], upper[1]), pack<H>(lower[0], lower[1]), pack<H>(upper[8], upper[9]),
                                          pack<H>(lower[8], lower[9])};
    const std::uint32_t b_registers[2] = {pack<H>(left[0], left[8]), pack<H>(left[8 * 8], left[9 * 8])};
    float sums[4];
    load_sums(d, sums, group, member);
    mma_m16n8k16<H>(sums, a_registers, b_registers);
    store_sums(d, sums, group, member);
}

static __global__ void tile_tf32(const float* a, const float* b, float* d)
{
    const int group = static_cast<int>(threadIdx.x) / 4, member = static_cast<int>(threadIdx.x) % 4;
    const float* upper = a + group * 8 + member;
    const float* lower = a + (group + 8) * 8 + member;
    const std::uint32_t a_registers[4] = {to_tf32(upper[0]), to_tf32(lower[0]), to_tf32(upper[4]), to_tf32(lower[4])};
    const std::uint32_t b_registers[2] = {to_tf32(b[member * 8 + group]), to_tf32(b[(member + 4) * 8 + group])};
    float sums[4];
    load_sums(d, sums, group, member);
    mma_m16n8k8_tf32(sums, a_registers, b_registers);
    store_sums(d, sums, group, member);
}

// Rounded values as floats, to compare the conversions of the two machines bit by bit: three bit patterns for each number.
static __global__ void round_all(const float* in, std::uint32_t* out, int n)
{
    const int i = static_cast<int>(global_thread());
    if (i >= n) return;
    out[i * 3 + 0] = pack<Half::f16>(in[i], -in[i]);
    out[i * 3 + 1] = pack<Half::bf16>(in[i], -in[i]);
    out[i * 3 + 2] = to_tf32(in[i]);
}

}  // namespace tulle::test
