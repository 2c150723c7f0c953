// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Reciprocals of the diagonal, formed once per set of values: solving multiplies.
#pragma once

#include "device/cuda/kernel.cuh"
#include "device/cuda/pinned_readback.hpp"
#include "sptrsv/steps.hpp"
#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI::sptrsv {

constexpr int fill_threads = 256;

// diagonal null: ones. first_zero: beyond all rows before, the first row with a zero after.
template <class V>
__device__ V reciprocal_of(const offset_t* diagonal, offset_t i, const V* value, unsigned* first_zero)
{
    const V d = diagonal ? value[diagonal[i]] : V(1);
    if (d == V(0) && first_zero) atomicMin(first_zero, static_cast<unsigned>(i));
    return V(1) / d;
}

// Where kernels tell of zeros. They are rare, so that nobody minds how far away that is.
class FirstZero {
public:
    explicit FirstZero(const CudaQueue& q) : queue_(q), box_(q) { *box_.there() = ~0u; }
    unsigned* there() const { return box_.there(); }

    // The row of op(A) with the first zero in the order of solving, or -1.
    index_t wait(const Buffer<index_t>& row)
    {
        const unsigned first = box_.wait();
        return first < static_cast<unsigned>(row.size()) ? read_value(queue_, row.data() + first) : -1;
    }

private:
    const CudaQueue& queue_;
    cuda::PinnedReadback<unsigned> box_;
};

}  // namespace tulle::inline TULLE_ABI::sptrsv
