// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Small matrix products by a whole warp: D += A B on tensor cores, with the fragment layouts of the PTX manual
// (mma.sync).
//
//     double      m8n8k4          A 8x4    B 4x8     D 8x8      1 + 1 values and 2 sums a lane
//     double      m16n8k8         A 16x8   B 8x8     D 16x8     4 + 2 values and 4 sums; before sm_90 by m8n8k4
//     double      m16n8k16        A 16x16  B 16x8    D 16x8     8 + 4 values and 4 sums; likewise
//     f16, bf16   m16n8k8         A 16x8   B 8x8     D 16x8     2 + 1 registers of two values, 4 sums
//     f16, bf16   m16n8k16        A 16x16  B 16x8    D 16x8     4 + 2 registers of two values, 4 sums
//     tf32        m16n8k8         A 16x8   B 8x8     D 16x8     4 + 2 values, 4 sums
//
// Which entry a lane's i-th value is, with group = lane / 4 and member = lane % 4, is what fragment:: says. All 32
// lanes must call. The simulator has a plain body for each (simt/mma.hpp); its sums are rounded once, a tensor core's
// rather more often.
#pragma once

#include <cstdint>

#include "device/cuda/kernel.cuh"

namespace tulle::inline TULLE_ABI {

namespace fragment {

struct Entry {
    int row, col;
};

// 16-bit inputs: value i of a lane's A (4 values for k = 8, 8 for k = 16) and B (2 and 4), two to a register, the lower
// half first.
constexpr Entry a16(int lane, int i) { return {lane / 4 + (i / 2 % 2) * 8, lane % 4 * 2 + i % 2 + i / 4 * 8}; }
constexpr Entry b16(int lane, int i) { return {lane % 4 * 2 + i % 2 + i / 2 * 8, lane / 4}; }

// tf32 inputs.
constexpr Entry a32(int lane, int i) { return {lane / 4 + i % 2 * 8, lane % 4 + i / 2 * 4}; }
constexpr Entry b32(int lane, int i) { return {lane % 4 + i * 4, lane / 4}; }

// Sums of the m16n8 shapes.
constexpr Entry d16x8(int lane, int i) { return {lane / 4 + i / 2 * 8, lane % 4 * 2 + i % 2}; }

// Doubles.
constexpr Entry a64(int lane) { return {lane / 4, lane % 4}; }
constexpr Entry b64(int lane) { return {lane % 4, lane / 4}; }
constexpr Entry d8x8(int lane, int i) { return {lane / 4, lane % 4 * 2 + i}; }

}  // namespace fragment

enum class Half { f16, bf16 };  // which 16 bits

}  // namespace tulle::inline TULLE_ABI

#ifdef TULLE_SIM
#include "simt/mma.hpp"  // the same functions, as warp collectives
#else
namespace tulle::inline TULLE_ABI {

// Two numbers rounded to 16 bits each, as mma wants them.
template <Half H>
__device__ inline std::uint32_t pack(float low, float high)
{
    std::uint32_t both;
    if constexpr (H == Half::f16) asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
    else asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
    return both;
}

// A number rounded to the 10 fraction bits of tf32; ties go away from zero.
__device__ inline std::uint32_t to_tf32(float value)
{
    std::uint32_t bits;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(value));
    return bits;
}

__device__ inline void mma_m8n8k4(double (&d)[2], double a, double b)
{
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
                 : "+d"(d[0]), "+d"(d[1])
                 : "d"(a), "d"(b));
}

template <int Parts>
__device__ inline void mma_m16n8_in_parts(double (&d)[4], const double (&a)[Parts][2], const double (&b)[Parts])
{
    double upper[2] = {d[0], d[1]}, lower[2] = {d[2], d[3]};
    for (int i = 0; i < Parts; ++i) {
        mma_m8n8k4(upper, a[i][0], b[i]);
        mma_m8n8k4(lower, a[i][1], b[i]);
    }
    d[0] = upper[0], d[1] = upper[1], d[2] = lower[0], d[3] = lower[1];
}

// A is given in parts of four columns, B in parts of four rows: two of them, or four.
__device__ inline void mma_m16n8k8(double (&d)[4], const double (&a)[2][2], const double (&b)[2])
{
#if __CUDA_ARCH__ >= 900
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3])
        : "d"(a[0][0]), "d"(a[0][1]), "d"(a[1][0]), "d"(a[1][1]), "d"(b[0]), "d"(b[1]));
#else
    mma_m16n8_in_parts(d, a, b);
#endif
}
__device__ inline void mma_m16n8k16(double (&d)[4], const double (&a)[4][2], const double (&b)[4])
{
#if __CUDA_ARCH__ >= 900
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5,%6,%7,%8,%9,%10,%11}, "
                 "{%12,%13,%14,%15}, {%0,%1,%2,%3};"
                 : "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3])
                 : "d"(a[0][0]), "d"(a[0][1]), "d"(a[1][0]), "d"(a[1][1]), "d"(a[2][0]), "d"(a[2][1]), "d"(a[3][0]),
                   "d"(a[3][1]), "d"(b[0]), "d"(b[1]), "d"(b[2]), "d"(b[3]));
#else
    mma_m16n8_in_parts(d, a, b);
#endif
}

template <Half H>
__device__ inline void mma_m16n8k8(float (&d)[4], const std::uint32_t (&a)[2], const std::uint32_t (&b)[1])
{
    if constexpr (H == Half::f16)
        asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                     : "r"(a[0]), "r"(a[1]), "r"(b[0]));
    else
        asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                     : "r"(a[0]), "r"(a[1]), "r"(b[0]));
}

template <Half H>
__device__ inline void mma_m16n8k16(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2])
{
    if constexpr (H == Half::f16)
        asm volatile(
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    else
        asm volatile(
            "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

__device__ inline void mma_m16n8k8_tf32(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2])
{
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

}  // namespace tulle::inline TULLE_ABI
#endif
