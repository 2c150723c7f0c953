// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Between global memory, shared memory and fragments without a detour through registers: copies of 16, 8 or 4 bytes
// that go on while a kernel computes (cp.async), and 8 x 8 matrices of 16-bit numbers as mma wants them (ldmatrix).
//
//     SharedAddress                    of something in shared memory, to which bytes can be added
//     copy_async(to, from)             16 bytes from global to shared memory; copy_async<8>, copy_async<4>: fewer,
//                                      through the L1
//     end_copy_group()                 what this thread has asked for since the last group
//     wait_for_copies<n>()             until this thread's groups are there, but the n newest; others see them after a
//                                      barrier
//     load_transposed(to, row)         lane l gives row l % 8 of matrix l / 8; of matrix m it gets entries (2 (l % 4) +
//                                      {0, 1}, l / 4): two B fragments
//     load_matrices(to, row)           the same, but it gets entries (l / 4, 2 (l % 4) + {0, 1}): an A fragment, or
//                                      from the columns of B two B fragments
#pragma once

#include <cstdint>

#include "device/cuda/kernel.cuh"

#ifdef TULLE_SIM
#include "simt/copies.hpp"
#else
namespace tulle::inline TULLE_ABI {

struct SharedAddress {
    std::uint32_t at;

    SharedAddress() = default;
    __device__ explicit SharedAddress(const void* pointer)
        : at(static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer)))
    {}
    __device__ SharedAddress operator+(int bytes) const
    {
        SharedAddress sum;
        sum.at = at + static_cast<std::uint32_t>(bytes);
        return sum;
    }
};

template <int Bytes = 16>
__device__ inline void copy_async(SharedAddress to, const void* from)
{
    static_assert(Bytes == 4 || Bytes == 8 || Bytes == 16);
    if constexpr (Bytes == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to.at), "l"(from) : "memory");
    else asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(to.at), "l"(from), "n"(Bytes) : "memory");
}

__device__ inline void end_copy_group() { asm volatile("cp.async.commit_group;" ::: "memory"); }

template <int NewestLeft>
__device__ inline void wait_for_copies()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(NewestLeft) : "memory");
}

__device__ inline void load_transposed(std::uint32_t (&to)[4], SharedAddress row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(row.at)
                 : "memory");
}

__device__ inline void load_matrices(std::uint32_t (&to)[4], SharedAddress row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(row.at)
                 : "memory");
}

}  // namespace tulle::inline TULLE_ABI
#endif
