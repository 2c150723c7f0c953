// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The plain bodies of device/cuda/copies.cuh. Bytes arrive when the copy is asked for or when it is waited for, as
// chance has it: a kernel that reads too early finds garbage, one that asks too early overwrites what others still
// read.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>

#include "simt/launch.hpp"
#include "simt/sanitizers.hpp"

namespace tulle::inline TULLE_ABI {
namespace simt {

inline void perform(const Copy& copy) { std::memcpy(copy.to, copy.from, copy.bytes); }

// A lane's part of four 8 x 8 matrices: the address of one row of eight numbers, and what it gets.
struct MatrixRow {
    const std::uint16_t* row;
    std::uint32_t* to;
};

#ifdef __clang__  // one lane works for all of them: ThreadSanitizer has seen each look at its own row
#pragma clang attribute push(__attribute__((no_sanitize("thread"))), apply_to = function)
#endif
template <bool Transposed>
std::string load_all_matrices(const Exchange& all)
{
    if (all.lanes != 0xffffffffu) return "matrices loaded by a warp with exited lanes";
    for (int lane = 0; lane < 32; ++lane)
        for (int m = 0; m < 4; ++m) {
            const auto number = [&](int i) {
                return std::uint32_t{
                    all.at<MatrixRow>(m * 8 + (Transposed ? i : lane / 4)).row[Transposed ? lane / 4 : i]};
            };
            all.at<MatrixRow>(lane).to[m] = number(lane % 4 * 2) | number(lane % 4 * 2 + 1) << 16;
        }
    return {};
}
#ifdef __clang__
#pragma clang attribute pop
#endif

inline void look_at_row(const std::uint16_t* row)
{
    if (!under_tsan) return;
    for (int i = 0; i < 8; i += 4) static_cast<void>(*reinterpret_cast<const volatile std::uint64_t*>(row + i));
}

template <bool Transposed>
void load_my_matrices(std::uint32_t (&to)[4], const unsigned char* row, const Where& at)
{
    MatrixRow mine{reinterpret_cast<const std::uint16_t*>(row), to};
    look_at_row(mine.row);
    meet_in_warp(0xffffffffu, &mine, load_all_matrices<Transposed>, at);
}

}  // namespace simt

struct SharedAddress {
    const unsigned char* at = nullptr;

    SharedAddress() = default;
    explicit SharedAddress(const void* pointer) : at(static_cast<const unsigned char*>(pointer)) {}
    SharedAddress operator+(int bytes) const { return SharedAddress(at + bytes); }
};

template <int Bytes = 16>
void copy_async(SharedAddress to, const void* from, const char* file = __builtin_FILE(), int line = __builtin_LINE())
{
    const simt::Copy copy{const_cast<unsigned char*>(to.at), from, Bytes};
    if (!simt::put_off(copy, {file, line})) simt::perform(copy);
}

inline void end_copy_group() { simt::end_group(); }

template <int NewestLeft>
void wait_for_copies()
{
    simt::Copy copy;
    while (simt::next_due(NewestLeft, copy)) simt::perform(copy);
}

inline void load_transposed(std::uint32_t (&to)[4], SharedAddress row, const char* file = __builtin_FILE(),
                            int line = __builtin_LINE())
{
    simt::load_my_matrices<true>(to, row.at, {file, line});
}

inline void load_matrices(std::uint32_t (&to)[4], SharedAddress row, const char* file = __builtin_FILE(),
                          int line = __builtin_LINE())
{
    simt::load_my_matrices<false>(to, row.at, {file, line});
}

}  // namespace tulle::inline TULLE_ABI
