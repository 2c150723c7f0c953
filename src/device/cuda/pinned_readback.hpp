// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A few numbers that a kernel leaves for the host: page-locked memory that both see, made once and lent out. No copy,
// one wait.
//
//     PinnedReadback<Totals> box(q);
//     launch(q, …, box.there());              // the kernel writes *there
//     const Totals& found = box.wait();       // for everything that q was given
#pragma once

#include <cstddef>
#include <type_traits>

#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI::cuda {

// Page-locked memory of one page, borrowed.
class Page {
public:
    static constexpr std::size_t bytes = 4096;

    explicit Page(const CudaQueue& q);
    ~Page();  // waits, if nobody has: a kernel may still be writing
    Page(const Page&) = delete;
    Page& operator=(const Page&) = delete;
    void* data() const { return data_; }
    void wait();

private:
    const CudaQueue& queue_;
    void* data_;
    bool waited_ = false;
};

template <class T>
class PinnedReadback {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= Page::bytes);

public:
    explicit PinnedReadback(const CudaQueue& q) : page_(q) {}
    T* there() const { return static_cast<T*>(page_.data()); }
    const T& wait()
    {
        page_.wait();
        return *there();
    }

private:
    Page page_;
};

}  // namespace tulle::inline TULLE_ABI::cuda
