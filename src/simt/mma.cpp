// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What a tensor core computes. It is much arithmetic, so it stands here, where it is optimised also beside kernels that
// are not.
#include <string>

#include "device/cuda/mma.cuh"

namespace tulle::inline TULLE_ABI::simt {
namespace {

template <Half H>
float from_half(std::uint32_t bits)
{
    return H == Half::f16 ? from_f16(bits) : from_bf16(bits);
}

// The i-th 16-bit value in registers.
template <Half H>
float half_at(const std::uint32_t* registers, int i)
{
    return from_half<H>(registers[i / 2] >> (i % 2 * 16) & 0xffffu);
}

// The hardware ignores the low 13 bits.
inline float from_tf32(std::uint32_t bits) { return std::bit_cast<float>(bits & ~0x1fffu); }

// A lane's part of a product: its registers, and its sums in place.
struct Fragments {
    const void* a;
    const void* b;
    void* d;
};

// D += A B for a shape given by its numbers of rows, columns and products, and by who holds what.
template <int M, int N, int K, class Load>
std::string multiply_tile(const Exchange& all, const Load& load)
{
    if (all.lanes != 0xffffffffu) return "mma by a warp with exited lanes";
    double a[M][K] = {}, b[K][N] = {}, d[M][N] = {};
    for (int lane = 0; lane < 32; ++lane) load.gather(all.at<Fragments>(lane), lane, a, b, d);
    for (int i = 0; i < M; ++i)
        for (int j = 0; j < N; ++j)
            for (int k = 0; k < K; ++k) d[i][j] += a[i][k] * b[k][j];
    for (int lane = 0; lane < 32; ++lane) load.scatter(all.at<Fragments>(lane), lane, d);
    return {};
}

template <int M, int N>
void gather_sums(const Fragments& f, int lane, double (&d)[M][N])
{
    for (int i = 0; i < 4; ++i) {
        const auto at = fragment::d16x8(lane, i);
        d[at.row][at.col] = static_cast<const float*>(f.d)[i];
    }
}

template <int M, int N>
void scatter_sums(const Fragments& f, int lane, const double (&d)[M][N])
{
    for (int i = 0; i < 4; ++i) {
        const auto at = fragment::d16x8(lane, i);
        static_cast<float*>(f.d)[i] = static_cast<float>(d[at.row][at.col]);
    }
}

}  // namespace

template <Half H, int K>
struct HalfTile {
    void gather(const Fragments& f, int lane, double (&a)[16][K], double (&b)[K][8], double (&d)[16][8]) const
    {
        for (int i = 0; i < K / 2; ++i) {
            const auto at = fragment::a16(lane, i);
            a[at.row][at.col] = half_at<H>(static_cast<const std::uint32_t*>(f.a), i);
        }
        for (int i = 0; i < K / 4; ++i) {
            const auto at = fragment::b16(lane, i);
            b[at.row][at.col] = half_at<H>(static_cast<const std::uint32_t*>(f.b), i);
        }
        gather_sums(f, lane, d);
    }
    void scatter(const Fragments& f, int lane, const double (&d)[16][8]) const { scatter_sums(f, lane, d); }
};

struct Tf32Tile {
    void gather(const Fragments& f, int lane, double (&a)[16][8], double (&b)[8][8], double (&d)[16][8]) const
    {
        for (int i = 0; i < 4; ++i) {
            const auto at = fragment::a32(lane, i);
            a[at.row][at.col] = from_tf32(static_cast<const std::uint32_t*>(f.a)[i]);
        }
        for (int i = 0; i < 2; ++i) {
            const auto at = fragment::b32(lane, i);
            b[at.row][at.col] = from_tf32(static_cast<const std::uint32_t*>(f.b)[i]);
        }
        gather_sums(f, lane, d);
    }
    void scatter(const Fragments& f, int lane, const double (&d)[16][8]) const { scatter_sums(f, lane, d); }
};

struct DoubleTile {
    void gather(const Fragments& f, int lane, double (&a)[8][4], double (&b)[4][8], double (&d)[8][8]) const
    {
        const auto at_a = fragment::a64(lane), at_b = fragment::b64(lane);
        a[at_a.row][at_a.col] = *static_cast<const double*>(f.a);
        b[at_b.row][at_b.col] = *static_cast<const double*>(f.b);
        for (int i = 0; i < 2; ++i) {
            const auto at = fragment::d8x8(lane, i);
            d[at.row][at.col] = static_cast<const double*>(f.d)[i];
        }
    }
    void scatter(const Fragments& f, int lane, const double (&d)[8][8]) const
    {
        for (int i = 0; i < 2; ++i) {
            const auto at = fragment::d8x8(lane, i);
            static_cast<double*>(f.d)[i] = d[at.row][at.col];
        }
    }
};

template <int M, int N, int K, class Tile>
void mma(const void* a, const void* b, void* d, const Where& at)
{
    Fragments mine{a, b, d};
    meet_in_warp(
        0xffffffffu, &mine, [](const Exchange& all) { return multiply_tile<M, N, K>(all, Tile{}); }, at);
}

template void mma<8, 8, 4, DoubleTile>(const void*, const void*, void*, const Where&);
template void mma<16, 8, 8, Tf32Tile>(const void*, const void*, void*, const Where&);
template void mma<16, 8, 8, HalfTile<Half::f16, 8>>(const void*, const void*, void*, const Where&);
template void mma<16, 8, 8, HalfTile<Half::bf16, 8>>(const void*, const void*, void*, const Where&);
template void mma<16, 8, 16, HalfTile<Half::f16, 16>>(const void*, const void*, void*, const Where&);
template void mma<16, 8, 16, HalfTile<Half::bf16, 16>>(const void*, const void*, void*, const Where&);

}  // namespace tulle::inline TULLE_ABI::simt
