// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A vector in the memory of a context between guard words: whoever writes beside it is found.
#pragma once

#include <gtest/gtest.h>

#include <span>
#include <vector>

#include "tulle/context.hpp"
#include "tulle/memory.hpp"
#include "tulle/transfer.hpp"

namespace tulle::test {

template <class V>
class Guarded {
public:
    Guarded(const Context& ctx, const std::vector<V>& contents) : ctx_(ctx), size_(contents.size())
    {
        std::vector<V> padded(size_ + 2 * margin, guard);
        std::copy(contents.begin(), contents.end(), padded.begin() + margin);
        data_ = to_device<V>(ctx_, std::span<const V>(padded));
    }

    std::span<V> span() { return data_.span().subspan(margin, size_); }

    // The contents; the guards are checked.
    std::vector<V> take()
    {
        const auto all = to_host<V>(ctx_, std::span<const V>(data_.span()));
        for (std::size_t i = 0; i < margin; ++i) {
            EXPECT_EQ(all.data()[i], guard) << "something wrote " << margin - i << " entries before the vector";
            EXPECT_EQ(all.data()[margin + size_ + i], guard)
                << "something wrote " << i + 1 << " entries behind the vector";
        }
        return {all.data() + margin, all.data() + margin + size_};
    }

private:
    static constexpr std::size_t margin = 37;  // odd: the vector is not aligned to anything
    static constexpr V guard = V(-987654.0);
    Context ctx_;
    std::size_t size_;
    Buffer<V> data_;
};

}  // namespace tulle::test
