// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Shuffles, votes, matches and reductions: every lane leaves its value, and the last one to come works out what each of
// them gets.
#include "simt/warp.hpp"

#include <algorithm>
#include <functional>
#include <string>

#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::simt {
namespace {

// One lane's part of a shuffle.
struct Shuffle {
    std::uint64_t value;
    int source;
    std::uint64_t result;
};

std::string resolve_shuffle(const Exchange& all)
{
    for (int lane = 0; lane < 32; ++lane) {
        if (!all.has(lane)) continue;
        auto& part = all.at<Shuffle>(lane);
        if (!all.has(part.source))
            return concat("lane ", lane, " shuffles from lane ", part.source,
                          ", which has exited or is not in the mask");
        part.result = all.at<Shuffle>(part.source).value;
    }
    return {};
}

template <class T, class R>
struct Part {
    T value;
    R result;
};

// All lanes get the same.
template <class T, class R, R (*function)(const Exchange&)>
R together(unsigned mask, T value, const Where& at)
{
    Part<T, R> mine{value, R{}};
    const Resolve resolve = [](const Exchange& all) {
        const R result = function(all);
        for (int lane = 0; lane < 32; ++lane)
            if (all.has(lane)) all.at<Part<T, R>>(lane).result = result;
        return std::string();
    };
    meet_in_warp(mask, &mine, resolve, at);
    return mine.result;
}

// A part starts with its value.
template <class T, class F>
unsigned lanes_where(const Exchange& all, F&& holds)
{
    unsigned lanes = 0;
    for (int lane = 0; lane < 32; ++lane)
        if (all.has(lane) && holds(all.at<T>(lane))) lanes |= 1u << lane;
    return lanes;
}

unsigned lanes_that_hold(const Exchange& all)
{
    return lanes_where<bool>(all, [](bool holds) { return holds; });
}

std::string resolve_match(const Exchange& all)
{
    for (int lane = 0; lane < 32; ++lane) {
        if (!all.has(lane)) continue;
        auto& part = all.at<Part<std::uint64_t, unsigned>>(lane);
        part.result = lanes_where<std::uint64_t>(all, [&](std::uint64_t value) { return value == part.value; });
    }
    return {};
}

template <class T, class F>
T fold(const Exchange& all)
{
    T total{};
    bool first = true;
    for (int lane = 0; lane < 32; ++lane)
        if (all.has(lane)) {
            total = first ? all.at<T>(lane) : F()(total, all.at<T>(lane));
            first = false;
        }
    return total;
}

struct Add {  // wraps as on the GPU
    unsigned operator()(unsigned a, unsigned b) const { return a + b; }
    int operator()(int a, int b) const { return static_cast<int>(static_cast<unsigned>(a) + static_cast<unsigned>(b)); }
};
struct Smaller {
    template <class T>
    T operator()(T a, T b) const
    {
        return std::min(a, b);
    }
};
struct Larger {
    template <class T>
    T operator()(T a, T b) const
    {
        return std::max(a, b);
    }
};

template <class F, class T>
T reduce(unsigned mask, T value, const Where& at)
{
    return together<T, T, fold<T, F>>(mask, value, at);
}

}  // namespace

std::uint64_t shuffle_bits(unsigned mask, std::uint64_t bits, int source, const Where& at)
{
    Shuffle mine{bits, source, bits};
    meet_in_warp(mask, &mine, resolve_shuffle, at);
    return mine.result;
}

unsigned ballot(unsigned mask, bool holds, const Where& at)
{
    return together<bool, unsigned, lanes_that_hold>(mask, holds, at);
}

unsigned match_bits(unsigned mask, std::uint64_t bits, const Where& at)
{
    Part<std::uint64_t, unsigned> mine{bits, 0};
    meet_in_warp(mask, &mine, resolve_match, at);
    return mine.result;
}

template <class T>
T reduce_add(unsigned mask, T value, const Where& at)
{
    return reduce<Add>(mask, value, at);
}
template <class T>
T reduce_min(unsigned mask, T value, const Where& at)
{
    return reduce<Smaller>(mask, value, at);
}
template <class T>
T reduce_max(unsigned mask, T value, const Where& at)
{
    return reduce<Larger>(mask, value, at);
}
unsigned reduce_and(unsigned mask, unsigned value, const Where& at) { return reduce<std::bit_and<>>(mask, value, at); }
unsigned reduce_or(unsigned mask, unsigned value, const Where& at) { return reduce<std::bit_or<>>(mask, value, at); }
unsigned reduce_xor(unsigned mask, unsigned value, const Where& at) { return reduce<std::bit_xor<>>(mask, value, at); }

template int reduce_add(unsigned, int, const Where&);
template int reduce_min(unsigned, int, const Where&);
template int reduce_max(unsigned, int, const Where&);
template unsigned reduce_add(unsigned, unsigned, const Where&);
template unsigned reduce_min(unsigned, unsigned, const Where&);
template unsigned reduce_max(unsigned, unsigned, const Where&);

}  // namespace tulle::inline TULLE_ABI::simt
