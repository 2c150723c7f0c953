// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Owns an array in the memory of one queue. Moves, never copies; not initialised.
#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

#include "tulle/error.hpp"
#include "tulle/queue.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI {

template <class T>
class Buffer {
    static_assert(std::is_trivially_copyable_v<T>);

public:
    Buffer() = default;

    template <class Queue>
    Buffer(const Queue& q, offset_t size) : Buffer(q.memory, q.place(), size)
    {}

    Buffer(std::shared_ptr<Memory> memory, Place place, offset_t size)
        : memory_(std::move(memory)),
          place_(place),
          size_(size)
    {
        require<ValueError>(size >= 0 && static_cast<std::size_t>(size) <=
                                             std::numeric_limits<std::size_t>::max() / 2 / sizeof(T),
                            [&] {
                                return concat("an array of ", size, " entries of ", sizeof(T), " bytes cannot exist");
                            });
        data_ = static_cast<T*>(memory_->allocate(place_, bytes()));
    }

    Buffer(Buffer&& other) noexcept { swap(other); }
    Buffer& operator=(Buffer&& other) noexcept
    {
        Buffer(std::move(other)).swap(*this);
        return *this;
    }
    ~Buffer()
    {
        if (data_) memory_->release(place_, data_, bytes());
    }

    T* data() { return data_; }
    const T* data() const { return data_; }
    offset_t size() const { return size_; }
    std::size_t bytes() const { return static_cast<std::size_t>(size_) * sizeof(T); }
    bool empty() const { return size_ == 0; }
    std::span<T> span() & { return {data_, static_cast<std::size_t>(size_)}; }
    std::span<const T> span() const& { return {data_, static_cast<std::size_t>(size_)}; }
    std::span<const T> span() const&& = delete;  // a temporary is gone before its span: give it a name
    const Place& place() const { return place_; }

private:
    void swap(Buffer& other) noexcept
    {
        std::swap(memory_, other.memory_);
        std::swap(place_, other.place_);
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
    }

    std::shared_ptr<Memory> memory_;
    Place place_;
    T* data_ = nullptr;
    offset_t size_ = 0;
};

}  // namespace tulle::inline TULLE_ABI
