// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What is made on the host for a matrix that may lie on a GPU: its pattern comes down, what was made goes up. On a CPU
// nothing moves.
#pragma once

#include <utility>

#include "tulle/memory.hpp"
#include "tulle/spmm.hpp"

namespace tulle::inline TULLE_ABI::spmm {

// An array of a queue's memory, on the host.
template <class T, class Queue>
Buffer<T> fetch(const Queue& q, const CpuQueue& host, const T* from, offset_t n)
{
    Buffer<T> here(host, n);
    download(q, from, here.data(), n);
    return here;
}

// An array made on the host, where the queue works.
template <class T>
Buffer<T> lift(const CpuQueue&, Buffer<T>&& here)
{
    return std::move(here);
}
template <class T>
Buffer<T> lift(const CudaQueue& q, Buffer<T>&& here)
{
    return to_queue(q, here.data(), here.size());
}

// The pattern on the host.
class HostPattern {
public:
    HostPattern(const CpuQueue&, const CpuQueue&, const Pattern& a) : view_(a) {}
    HostPattern(const CudaQueue& q, const CpuQueue& host, const Pattern& a)
        : view_(a),
          row_begin_(fetch(q, host, a.row_begin, offset_t{a.rows} + 1)),
          col_(fetch(q, host, a.col, a.nonzeros))
    {
        view_.row_begin = row_begin_.data();
        view_.col = col_.data();
    }
    const Pattern& view() const { return view_; }

private:
    Pattern view_;
    Buffer<offset_t> row_begin_;
    Buffer<index_t> col_;
};

}  // namespace tulle::inline TULLE_ABI::spmm
