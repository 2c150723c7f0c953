// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "simt/memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "simt/sanitizers.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::simt {
namespace {

constexpr std::size_t alignment = 256;  // what cudaMalloc promises, and it shall not be more
constexpr std::size_t red_zone = 256;
constexpr std::size_t too_large_to_close = std::size_t{16} << 20;
constexpr unsigned char red = 0xa5, dead = 0xdd;
constexpr std::size_t quarantine_bytes = std::size_t{64} << 20, quarantine_blocks = 4096;

// Blocks from this size on are reserved, not filled: pages that nobody touches take no memory. More than a device
// usually has (Config::bytes), so that only tests of huge indices and strides meet them. Garbage stands at both ends
// alone, the rest is zero, and there is no quarantine: late use is a crash.
constexpr std::size_t reserved_from = std::size_t{2} << 30, filled_of_reserved = 4096;

std::size_t room_for(std::size_t bytes)
{
    return (red_zone + bytes + red_zone + 2 * alignment - 1) / (2 * alignment) * (2 * alignment);
}
static_assert(red_zone == alignment, "a block begins that far behind a multiple of twice the alignment");

bool all_are(const char* data, std::size_t bytes, unsigned char value)
{
    return std::all_of(data, data + bytes, [&](char c) { return static_cast<unsigned char>(c) == value; });
}

char* reserve(std::size_t bytes)
{
    void* const room = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return room == MAP_FAILED ? nullptr : static_cast<char*>(room);
}

void fill_ends(char* data, std::size_t bytes, Random& random)
{
    if (bytes < reserved_from) return fill_with_garbage(data, bytes, random);
    fill_with_garbage(data, filled_of_reserved, random);
    fill_with_garbage(data + bytes - filled_of_reserved, filled_of_reserved, random);
}

}  // namespace

char* DeviceMemory::allocate(int device, std::size_t bytes, Allocation::State state, Random& random)
{
    char* const room = bytes < reserved_from ? static_cast<char*>(std::aligned_alloc(2 * alignment, room_for(bytes)))
                                             : reserve(room_for(bytes));
    if (!room) return nullptr;
    char* const data = room + red_zone;
    fill_ends(data, bytes, random);
    std::memset(room, red, red_zone);
    std::memset(data + bytes, red, red_zone);
    poison(room, red_zone);
    poison(data + bytes, red_zone);
    blocks_[data] = {bytes, device, state};
    used_[device] += bytes;
    if (state == Allocation::State::live) come_alive(data);
    else if (bytes <= too_large_to_close) poison(data, bytes);
    return data;
}

void DeviceMemory::come_alive(char* data)
{
    Allocation& block = blocks_.at(data);
    block.state = Allocation::State::live;
    if (!under_asan || block.device == host_memory || block.bytes > too_large_to_close) return;
    of_devices_[data] = block.bytes;
    (is_open_ ? unpoison : poison)(data, block.bytes);
}

void DeviceMemory::open()
{
    is_open_ = true;
    for (const auto& [data, bytes] : of_devices_) unpoison(data, bytes);
}

void DeviceMemory::close()
{
    is_open_ = false;
    for (const auto& [data, bytes] : of_devices_) poison(data, bytes);
}

std::string DeviceMemory::release(char* data)
{
    const auto found = blocks_.find(data);
    if (found == blocks_.end()) return "freed memory that is not the start of a device array";
    Allocation& block = found->second;
    if (block.state == Allocation::State::freed) return "freed twice";
    std::string wrong = red_zones_of(data);
    block.state = Allocation::State::freed;
    used_[block.device] -= block.bytes;
    of_devices_.erase(data);
    if (block.bytes >= reserved_from) {
        give_back_reserved(data);
        return wrong;
    }
    unpoison(data, block.bytes);
    std::memset(data, dead, block.bytes);
    poison(data, block.bytes);
    quarantine_.push_back(data);
    quarantined_bytes_ += block.bytes;
    while (quarantined_bytes_ > quarantine_bytes || quarantine_.size() > quarantine_blocks) {
        const std::string late = give_up_oldest();
        if (wrong.empty()) wrong = late;
    }
    return wrong;
}

void DeviceMemory::give_back_reserved(char* data)
{
    const std::size_t bytes = blocks_.at(data).bytes;
    blocks_.erase(data);
    unpoison(data - red_zone, red_zone);
    unpoison(data + bytes, red_zone);
    munmap(data - red_zone, room_for(bytes));
}

std::string DeviceMemory::give_up_oldest()
{
    char* const data = quarantine_.front();
    quarantine_.pop_front();
    const std::size_t bytes = blocks_.at(data).bytes;
    quarantined_bytes_ -= bytes;
    blocks_.erase(data);
    unpoison(data - red_zone, red_zone + bytes + red_zone);
    const bool touched = !all_are(data, bytes, dead);
    std::free(data - red_zone);
    return touched ? concat("freed device memory of ", bytes, " bytes was written to") : std::string();
}

// AddressSanitizer watches the red zones itself, and would object to our looking.
std::string DeviceMemory::red_zones_of(const void* pointer) const
{
    if (under_asan) return {};
    const auto found = block_of(pointer);
    if (found == blocks_.end()) return {};
    const auto& [data, block] = *found;
    if (!all_are(data - red_zone, red_zone, red))
        return concat("wrote before the start of a device array of ", block.bytes, " bytes");
    if (!all_are(data + block.bytes, red_zone, red))
        return concat("wrote past the end of a device array of ", block.bytes, " bytes");
    return {};
}

DeviceMemory::Blocks::const_iterator DeviceMemory::block_of(const void* pointer) const
{
    const char* const p = static_cast<const char*>(pointer);
    auto found = blocks_.upper_bound(p);
    if (found == blocks_.begin()) return blocks_.end();
    --found;
    return p <= found->first + found->second.bytes ? found : blocks_.end();
}

const Allocation* DeviceMemory::find(const void* pointer, std::size_t* offset) const
{
    const auto found = block_of(pointer);
    if (found == blocks_.end()) return nullptr;
    if (offset) *offset = static_cast<std::size_t>(static_cast<const char*>(pointer) - found->first);
    return &found->second;
}

const Allocation* DeviceMemory::starting_at(const void* pointer) const
{
    const auto found = blocks_.find(static_cast<const char*>(pointer));
    return found == blocks_.end() ? nullptr : &found->second;
}

std::size_t DeviceMemory::used(int device) const
{
    const auto found = used_.find(device);
    return found == used_.end() ? 0 : found->second;
}

}  // namespace tulle::inline TULLE_ABI::simt
