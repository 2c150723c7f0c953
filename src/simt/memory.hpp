// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The memories of the virtual devices. Every block lies between red zones, starts as garbage, and when freed is kept
// back, poisoned, so that late use of it is seen: by AddressSanitizer at the access, elsewhere by what the bytes hold
// when the block is given up.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "simt/random.hpp"

namespace tulle::inline TULLE_ABI::simt {

inline constexpr int host_memory = -1;  // page-locked host memory, in place of a device number

struct Allocation {
    std::size_t bytes = 0;
    int device = host_memory;
    enum class State {
        promised,
        live,
        freed
    } state = State::live;  // promised: its stream has not come to the allocation yet
};

class DeviceMemory {
public:
    char* allocate(int device, std::size_t bytes, Allocation::State state, Random& random);
    void come_alive(char* data);

    // Whether a stream's work is done, which may use the memory of devices. The host may not: AddressSanitizer sees who
    // does it all the same.
    void open();
    void close();

    // Text about what is wrong, empty when nothing is.
    std::string release(char* data);
    std::string red_zones_of(const void* pointer) const;

    // The block a pointer points into, or just behind the end of; null for plain host memory.
    const Allocation* find(const void* pointer, std::size_t* offset = nullptr) const;
    const Allocation* starting_at(const void* pointer) const;

    std::size_t used(int device) const;

private:
    using Blocks = std::map<const char*, Allocation>;
    Blocks::const_iterator block_of(const void* pointer) const;
    std::string give_up_oldest();
    void give_back_reserved(char* data);

    Blocks blocks_;
    std::deque<char*> quarantine_;
    std::size_t quarantined_bytes_ = 0;
    std::map<int, std::size_t> used_;
    std::map<char*, std::size_t>
        of_devices_;  // live ones with their bytes, for AddressSanitizer; not the largest, which take too long to close
    bool is_open_ = false;
};

}  // namespace tulle::inline TULLE_ABI::simt
