// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The one source of chance in the simulator: a seed gives the same run again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tulle/api.hpp"

namespace tulle::inline TULLE_ABI::simt {

// splitmix64: good enough to pick who runs next, and any seed will do.
class Random {
public:
    explicit Random(std::uint64_t seed = 1) : state_(seed) {}

    std::uint64_t operator()()
    {
        state_ += 0x9e3779b97f4a7c15u;
        std::uint64_t x = state_;
        x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
        x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
        return x ^ (x >> 31);
    }

    // A number below n; n > 0. (The modulo's bias does not matter here.)
    std::size_t below(std::size_t n) { return static_cast<std::size_t>((*this)() % n); }

    // True in `of_256` cases of 256.
    bool chance(unsigned of_256) { return ((*this)() >> 56) < of_256; }

private:
    std::uint64_t state_;
};

// What memory holds before anybody writes to it. Not all ones or zeros: these look like empty slots and finished flags.
inline void fill_with_garbage(void* data, std::size_t bytes, Random& random)
{
    char* to = static_cast<char*>(data);
    Random draw = random;  // in registers: `data` might hold the other, as far as the compiler knows
    for (; bytes >= 8; bytes -= 8, to += 8) {
        const std::uint64_t word = draw();
        std::memcpy(to, &word, 8);  // one instruction; with a size that varies, a call that sanitizers look at
    }
    if (bytes > 0) {
        const std::uint64_t word = draw();
        std::memcpy(to, &word, bytes);
    }
    random = draw;
}

// One seed out of several numbers.
inline std::uint64_t mix(std::uint64_t seed, std::uint64_t number)
{
    return Random(seed ^ (number * 0xd1342543de82ef95u + 1))();
}

}  // namespace tulle::inline TULLE_ABI::simt
