// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Arrays for the tests of prim: random ones, ones in a queue's memory with guard words behind them, and the sizes that
// hurt.
#pragma once

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "support/backends.hpp"
#include "tulle/memory.hpp"

namespace tulle::test {

inline const std::vector<offset_t> sizes{0, 1, 2, 31, 32, 33, 63, 64, 65, 1023, 1024, 1025, 100000};

template <class T, class Random>
std::vector<T> random_integers(offset_t n, T low, T high, Random& random)
{
    std::uniform_int_distribution<T> draw(low, high);
    std::vector<T> all(static_cast<std::size_t>(n));
    for (T& one : all) one = draw(random);
    return all;
}

// n entries in a queue's memory, first holding `contents` (or nothing known), followed by guard words.
template <class T, class Queue>
class Guarded {
public:
    Guarded(const Queue& q, offset_t n)
        : q_(q),
          n_(n),
          all_(to_queue(q, std::vector<T>(static_cast<std::size_t>(n) + guards, mark()).data(), n + guards))
    {}
    // The contents arrive in the queue's order, and nobody waits for them: what reads them must respect that order.
    Guarded(const Queue& q, const std::vector<T>& contents) : Guarded(q, std::ssize(contents))
    {
        const Buffer<T> staged = to_queue(q, contents.data(), n_);
        copy(q, staged.data(), all_.data(), n_);
    }

    T* data() { return all_.data(); }
    // The contents; the guard words are looked at on the way.
    std::vector<T> get() const
    {
        std::vector<T> here(static_cast<std::size_t>(n_) + guards);
        download(q_, all_.data(), here.data(), n_ + guards);
        for (offset_t g = n_; g < n_ + guards; ++g)
            EXPECT_EQ(here[static_cast<std::size_t>(g)], mark()) << "entry " << g << " behind an array of " << n_;
        here.resize(static_cast<std::size_t>(n_));
        return here;
    }

private:
    static constexpr offset_t guards = 5;
    static constexpr T mark() { return static_cast<T>(0x5a5a5a5a5a5a5a5aLL); }

    const Queue& q_;
    offset_t n_;
    Buffer<T> all_;
};

template <class Queue, class T>
Guarded<T, Queue> guarded(const Queue& q, const std::vector<T>& contents)
{
    return Guarded<T, Queue>(q, contents);
}

// CPU contexts with these numbers of threads must agree bit for bit.
inline const std::vector<int> thread_counts{1, 2, 3, 5, 8};

}  // namespace tulle::test
