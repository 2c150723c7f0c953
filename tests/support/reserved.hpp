// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Arrays of many GiB of which only a few entries are ever touched: vectors of 2^31 entries, dense matrices with a
// leading dimension of 2^30. On a CPU, and in the simulated GPU (simt/memory.cpp), pages that nobody touches take no
// memory; a real GPU must have room for all of it.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <span>
#include <vector>

#include "simt/sanitizers.hpp"
#include "tulle/context.hpp"
#include "tulle/dense.hpp"
#include "tulle/memory.hpp"
#include "tulle/version.hpp"
#ifdef TULLE_SIM
#include "simt/config.hpp"
#endif

namespace tulle::test {

// Simulated devices have room for reserved arrays while this lives.
class RoomToReserve {
public:
#ifdef TULLE_SIM
    RoomToReserve() : before_(simt::config())
    {
        simt::Config wide = before_;
        wide.bytes = std::size_t{1} << 42;
        simt::configure(wide);
    }
    ~RoomToReserve() { simt::configure(before_); }

private:
    simt::Config before_;
#else
    RoomToReserve() {}
    ~RoomToReserve() {}
#endif
};

// Why arrays of so many bytes cannot be reserved where the context works; empty if they can.
inline std::string why_not_reserved(const Context& ctx, std::size_t bytes)
{
    if (simt::under_tsan) return "indices are no race, and ThreadSanitizer keeps books of every page";
    if (ctx.backend() == Backend::cpu || build::simulated) return {};
    const std::size_t free = ctx.run([](const auto& q) { return free_bytes(q.place()); });
    return free > bytes + (std::size_t{1} << 30) ? ""
                                                 : "the GPU has no room for " + std::to_string(bytes >> 30) + " GiB";
}

// An array where a context works. Zero on a CPU; elsewhere what was not put there may be anything.
template <class V>
class Reserved {
public:
    Reserved(const Context& ctx, offset_t size) : ctx_(ctx), size_(size)
    {
        if (ctx.backend() == Backend::cpu) map();
        else ctx.run([&](const auto& q) { there_ = Buffer<V>(q, size); });
    }
    Reserved(const Reserved&) = delete;
    Reserved& operator=(const Reserved&) = delete;
    ~Reserved()
    {
        if (mapped_) munmap(mapped_, bytes());
    }

    V* data() { return mapped_ ? mapped_ : there_.data(); }
    std::span<V> span() { return {data(), static_cast<std::size_t>(size_)}; }
    std::size_t bytes() const { return static_cast<std::size_t>(size_) * sizeof(V); }
    void put(offset_t at, V value) { put(at, std::vector<V>{value}); }
    void put(offset_t at, const std::vector<V>& values)
    {
        const auto count = static_cast<offset_t>(values.size());
        ASSERT_TRUE(at >= 0 && at <= size_ - count) << at;
        ctx_.run([&](const auto& q) { upload(q, values.data(), data() + at, count); });
    }
    V get(offset_t at)
    {
        EXPECT_TRUE(at >= 0 && at < size_) << at;
        return ctx_.run([&](const auto& q) { return read_value(q, data() + at); });
    }

private:
    void map()
    {
        void* const room =
            mmap(nullptr, bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (room == MAP_FAILED) throw std::bad_alloc();
        mapped_ = static_cast<V*>(room);
    }

    Context ctx_;
    offset_t size_;
    V* mapped_ = nullptr;
    Buffer<V> there_;
};

// A dense matrix with a leading dimension so large that products of it exceed 32 bits; only its entries are touched,
// never what is between its lines.
template <class V>
class ReservedDense {
public:
    ReservedDense(const Context& ctx, index_t rows, index_t cols, Layout layout, offset_t leading)
        : view_{rows, cols, leading, layout, nullptr},
          data_(ctx, ((layout == Layout::row_major ? rows : cols) - 1) * leading +
                         (layout == Layout::row_major ? cols : rows))
    {
        view_.data = data_.data();
    }
    DenseView<V> view() const { return view_; }
    void put(index_t i, index_t j, V value) { data_.put(view_.at(i, j), value); }
    // Every entry, and zero between the lines: not for lines far apart.
    template <class ValueAt>
    void put_all(const ValueAt& value_at)
    {
        std::vector<V> all(data_.span().size(), V{});
        for (index_t i = 0; i < view_.rows; ++i)
            for (index_t j = 0; j < view_.cols; ++j) all[static_cast<std::size_t>(view_.at(i, j))] = value_at(i, j);
        data_.put(0, all);
    }
    V get(index_t i, index_t j) { return data_.get(view_.at(i, j)); }

private:
    DenseView<V> view_;
    Reserved<V> data_;
};

}  // namespace tulle::test
