// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "device/host_memory.hpp"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <sstream>
#include <string_view>

#include "device/fork_locks.hpp"
#include "device/medium_blocks.hpp"
#include "tulle/error.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::host {
namespace {

constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();
constexpr std::size_t no_limit = std::size_t{1} << 60;  // cgroup v1 writes a huge number where there is none
constexpr std::size_t left_to_others =
    32;  // one part in so many: MemAvailable is an estimate, and small blocks are not looked at
constexpr std::size_t samples = 64;  // pages of a block that are looked at

std::atomic<std::size_t> small_bytes = 0;  // allocated in small blocks since the limits were read

// Never destroyed: buffers may be released after everything else at the end of a program.
std::string& folder()
{
    static auto* const name = new std::string;
    return *name;
}

std::map<const void*, std::size_t>& large_blocks()
{
    static auto* const blocks = new std::map<const void*, std::size_t>;
    return *blocks;
}

std::size_t page_bytes() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

std::size_t minus(std::size_t a, std::size_t b) { return a - std::min(a, b); }

std::string read_text(const std::string& path)
{
    std::ifstream file(path);
    std::ostringstream text;
    if (file) text << file.rdbuf();
    return text.str();
}

std::optional<std::size_t> number_in(std::string_view text)
{
    std::size_t number = 0;
    text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
    if (std::from_chars(text.data(), text.data() + text.size(), number).ec != std::errc()) return {};
    return number;
}

// The number behind a name that begins a line.
std::optional<std::size_t> number_of(const std::string& text, std::string_view name)
{
    for (std::size_t at = 0; (at = text.find(name, at)) != std::string::npos; at += name.size())
        if (at == 0 || text[at - 1] == '\n') return number_in(std::string_view(text).substr(at + name.size()));
    return {};
}

void keep_least(Room& least, std::size_t bytes, const std::string& limit)
{
    if (bytes < least.bytes) least = {bytes, limit};
}

// ---- the machine

void look_at_machine(Room& least)
{
    const std::string info = read_text(folder() + "/proc/meminfo");
    const std::optional<std::size_t> free = number_of(info, "MemAvailable:"), swap = number_of(info, "SwapFree:");
    if (!free) return;
    keep_least(least, (*free + swap.value_or(0)) << 10,
               swap.value_or(0) > 0 ? "physical memory and swap" : "physical memory");
}

// ---- control groups

struct GroupFiles {
    const char *limit, *used, *inactive, *active;
};
constexpr GroupFiles version_1{"/memory.limit_in_bytes", "/memory.usage_in_bytes", "total_inactive_file ",
                               "total_active_file "};
constexpr GroupFiles version_2{"/memory.max", "/memory.current", "inactive_file ", "active_file "};

void look_at_group(Room& least, const std::string& group, const GroupFiles& files, const std::string& name)
{
    const std::optional<std::size_t> limit = number_in(read_text(group + files.limit)),
                                     used = number_in(read_text(group + files.used));
    if (!limit || !used || *limit >= no_limit) return;
    const std::string stat = read_text(group + "/memory.stat");
    const std::size_t caches = number_of(stat, files.inactive).value_or(0) + number_of(stat, files.active).value_or(0);
    keep_least(least, minus(*limit, minus(*used, caches)),
               concat("the memory limit of cgroup ", name.empty() ? "/" : name));
}

// A group and all above it: each may have a limit.
void look_at_groups(Room& least, const std::string& mount, std::string path, const GroupFiles& files)
{
    while (path.ends_with('/')) path.pop_back();
    for (;; path.resize(path.rfind('/'))) {
        look_at_group(least, mount + path, files, path);
        if (path.empty() || path.find('/') == std::string::npos) return;
    }
}

// Lines of /proc/self/cgroup are number:controllers:path; version 2 has no controllers.
void look_at_cgroups(Room& least)
{
    std::istringstream lines(read_text(folder() + "/proc/self/cgroup"));
    const std::string mount = folder() + "/sys/fs/cgroup";
    for (std::string line; std::getline(lines, line);) {
        const std::size_t first = line.find(':'), second = line.find(':', first + 1);
        if (first == std::string::npos || second == std::string::npos) continue;
        const std::string controllers = concat(",", line.substr(first + 1, second - first - 1), ","),
                          path = line.substr(second + 1);
        if (controllers == ",,") {
            look_at_groups(least, mount, path, version_2);
            look_at_groups(least, mount + "/unified", path, version_2);
        } else if (controllers.find(",memory,") != std::string::npos) {
            look_at_groups(least, mount + "/memory", path, version_1);
        }
    }
}

// ---- the process

void look_at_process(Room& least)
{
    rlimit space{}, data{};
    getrlimit(RLIMIT_AS, &space);
    getrlimit(RLIMIT_DATA, &data);
    if (space.rlim_cur == RLIM_INFINITY && data.rlim_cur == RLIM_INFINITY) return;
    std::istringstream statm(read_text("/proc/self/statm"));
    std::size_t pages[6] = {};
    for (std::size_t& n : pages) statm >> n;
    if (space.rlim_cur != RLIM_INFINITY)
        keep_least(least, minus(space.rlim_cur, pages[0] * page_bytes()), "the limit of address space (ulimit -v)");
    if (data.rlim_cur != RLIM_INFINITY)
        keep_least(least, minus(data.rlim_cur, pages[5] * page_bytes()), "the limit of data (ulimit -d)");
}

// ---- blocks of ours

// By evenly spaced pages. What cannot be asked for counts as touched.
std::size_t untouched_bytes(const void* data, std::size_t bytes)
{
    const std::size_t page = page_bytes(), begin = (reinterpret_cast<std::size_t>(data) + page - 1) / page * page,
                      pages = bytes / page;
    std::size_t absent = 0;
    for (std::size_t s = 0; s < samples; ++s) {
        unsigned char resident = 1;
        const std::size_t at = begin + (2 * s + 1) * pages / (2 * samples) * page;
        if (mincore(reinterpret_cast<void*>(at), 1, &resident) == 0 && (resident & 1) == 0) ++absent;
    }
    return bytes / samples * absent;
}

Room available_locked()
{
    small_bytes = 0;
    Room least{unlimited, "nothing"};
    look_at_machine(least);
    look_at_cgroups(least);
    std::size_t untouched = 0;
    for (const auto& [data, bytes] : large_blocks()) untouched += untouched_bytes(data, bytes);
    if (least.bytes != unlimited && untouched > 0)
        least = {minus(least.bytes, untouched),
                 concat(least.limit, ", less ", human_bytes(untouched), " that are allocated but not yet used")};
    look_at_process(least);
    if (least.bytes != unlimited) least.bytes -= least.bytes / left_to_others;
    return least;
}

// Of any size: aligned_alloc wants a multiple of the alignment.
void* take(std::size_t bytes, std::size_t alignment)
{
    if (is_medium(bytes)) return take_medium(bytes);
    void* data = nullptr;
    return posix_memalign(&data, alignment, bytes) == 0 ? data : nullptr;
}

void require_room_locked(const std::string& what, std::size_t bytes)
{
    const Room room = available_locked();
    if (bytes <= room.bytes) return;
    throw OutOfMemory(concat("out of memory on ", what, ": ", human_bytes(bytes), " needed, ", human_bytes(room.bytes),
                             " available (", room.limit, ")"),
                      bytes, room.bytes,
                      "free other data, work with a smaller matrix, or in chunks where the operation can");
}

}  // namespace

Room available()
{
    const std::lock_guard lock(fork_safe_mutex(Guards::blocks));
    return available_locked();
}

void require_room(const std::string& what, std::size_t bytes)
{
    if (bytes < large_block) return;
    const std::lock_guard lock(fork_safe_mutex(Guards::blocks));
    require_room_locked(what, bytes);
}

void* allocate(std::size_t bytes, std::size_t alignment)
{
    if (bytes < large_block && small_bytes.fetch_add(bytes) + bytes < large_block) return take(bytes, alignment);
    const std::lock_guard lock(fork_safe_mutex(Guards::blocks));
    require_room_locked("host memory", bytes);
    void* data = take(bytes, alignment);
    if (data && bytes >= large_block) large_blocks().emplace(data, bytes);
    return data;
}

void release(void* data, std::size_t bytes) noexcept
{
    if (bytes >= large_block) {
        const std::lock_guard lock(fork_safe_mutex(Guards::blocks));
        large_blocks().erase(data);
    }
    if (is_medium(bytes)) give_medium(data, bytes);
    else std::free(data);
}

void read_limits_below(const std::string& where)
{
    const std::lock_guard lock(fork_safe_mutex(Guards::blocks));
    folder() = where;
}

}  // namespace tulle::inline TULLE_ABI::host
