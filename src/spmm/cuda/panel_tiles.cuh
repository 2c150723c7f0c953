// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// How the numbers of a tile lie in the lanes of a warp, and how lanes multiply and add them up, for each type.
#pragma once

#include "spmm/cuda/operands.cuh"

#include <type_traits>

#include "device/cuda/mma.cuh"
#include "spmm/panels.hpp"

namespace tulle::inline TULLE_ABI::spmm {

// How numbers lie in words, and the product, for each type.
template <class V>
struct Tile {  // 16 bits
    static constexpr Half half = std::is_same_v<V, Float16> ? Half::f16 : Half::bf16;
    __device__ static constexpr fragment::Entry place(int lane, int i) { return fragment::a16(lane, i); }
    __device__ static std::uint32_t word(std::uint32_t stored) { return stored; }
    __device__ static void multiply(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2])
    {
        mma_m16n8k16<half>(d, a, b);
    }
    __device__ static float factor(V value) { return widen(value); }
    // The column, among those of the block, of a lane's c-th sum in a row of the t-th eight.
    __device__ static constexpr int column(int t, int lane, int c) { return t * 8 + lane % 4 * 2 + c; }
    // Where a row of B has its pieces: shuffled, so that eight rows of a matrix lie in different banks.
    template <int Pieces>
    __device__ static int piece(int row, int piece)
    {
        return Pieces == 4 ? piece ^ (row / 2 % 4) : piece ^ (row % 8);
    }
};

template <>
struct Tile<float> {  // tf32
    __device__ static constexpr fragment::Entry place(int lane, int i) { return fragment::a32(lane, i); }
    __device__ static std::uint32_t word(std::uint32_t stored) { return to_tf32(__builtin_bit_cast(float, stored)); }
    __device__ static void multiply(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2])
    {
        mma_m16n8k8_tf32(d, a, b);
    }
    __device__ static float factor(float value) { return __builtin_bit_cast(float, to_tf32(value)); }
    // Eights are every fourth column of 32, so that a lane reads what it needs for four of them at once.
    __device__ static constexpr int column(int t, int lane, int c)
    {
        return t / 4 * 32 + (lane % 4 * 2 + c) * 4 + t % 4;
    }
    template <int Pieces>
    __device__ static int piece(int row, int piece)
    {
        return piece ^ (row % 4 * 2);
    }
};

// In place of float: its products have nearly the accuracy of float. A number is the sum of a big tf32 number, itself
// rounded, and a small one, what is left; big * big is added up beside small * big + big * small. The small one is kept
// 2^13 times as large, so that it is subnormal for subnormal numbers only. Where that overflows, for numbers from 2^126
// on, sums are not finite and added up again. Integers round a number, in less time than a conversion takes: what is
// left has at most 12 bits, of which 11 stay, and a NaN, which its big part may lose, is in the small one.
struct Split {
    float value;
};
constexpr float small_scale = 0x1p13f;

template <>
struct Tile<Split> : Tile<float> {
    static constexpr std::uint32_t beyond = 0x1fff;  // bits that tf32 does not have
    __device__ static std::uint32_t word(std::uint32_t stored) { return (stored + (beyond + 1) / 2) & ~beyond; }
    __device__ static std::uint32_t small(std::uint32_t stored)
    {
        const float left = __builtin_bit_cast(float, stored) - __builtin_bit_cast(float, word(stored));
        return __builtin_bit_cast(std::uint32_t, left * small_scale) & ~beyond;
    }
    __device__ static float factor(Split number) { return number.value; }
};

template <>
struct Tile<double> {
    __device__ static constexpr fragment::Entry place(int lane, int i) { return fragment::a32(lane, i); }
    __device__ static double factor(double value) { return value; }
    // Eights are every other column of 16.
    __device__ static constexpr int column(int t, int lane, int c)
    {
        return t / 2 * 16 + (lane % 4 * 2 + c) * 2 + t % 2;
    }
    template <int Pieces>
    __device__ static int piece(int row, int piece)
    {
        return piece ^ (row % 4 * 2);
    }
};

// The sums of a lane: four in every eight columns.
template <class V, int Columns>
struct Sums {
    Sum<V> value[Columns / 8][4] = {};
    __device__ void settle() {}
};
template <int Columns>
struct Sums<Split, Columns> {
    float value[Columns / 8][4] = {}, small[Columns / 8][4] = {};  // the small ones apart, until all is multiplied
    __device__ void settle()
    {
#pragma unroll
        for (int t = 0; t < Columns / 8; ++t)
            for (int i = 0; i < 4; ++i) value[t][i] += small[t][i] * (1 / small_scale);
    }
};

// make_panels() and mma agree on which lane has what.
template <class V>
constexpr bool places_agree()
{
    for (int lane = 0; lane < 32; ++lane)
        for (int i = 0; i < values_per_lane<V>; ++i) {
            const fragment::Entry at = sizeof(V) == 2 ? fragment::a16(lane, i) : fragment::a32(lane, i);
            const LanePlace place = lane_place<V>(at.row, at.col);
            if (place.lane != lane || place.value != i) return false;
        }
    return true;
}
static_assert(places_agree<Float16>() && places_agree<Bfloat16>() && places_agree<float>() && places_agree<double>());

// Four numbers of A, or of B, split.
struct SplitFour {
    std::uint32_t big[4], small[4];

    __device__ explicit SplitFour(const Piece& piece)
    {
#pragma unroll
        for (int i = 0; i < 4; ++i)
            big[i] = Tile<Split>::word(piece.word[i]), small[i] = Tile<Split>::small(piece.word[i]);
    }
};

}  // namespace tulle::inline TULLE_ABI::spmm
