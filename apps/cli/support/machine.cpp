// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "apps/cli/support/machine.hpp"

#include <sys/utsname.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <set>
#include <thread>

#include "tulle/memory.hpp"
#include "tulle/trace.hpp"

namespace tulle::cli {
namespace {

namespace fs = std::filesystem;

// The text after "key   :" in a file of such lines; empty if there is none.
std::string field(const char* file, const std::string& key)
{
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);)
        if (line.rfind(key, 0) == 0)
            if (const auto colon = line.find(':'); colon != line.npos && colon + 2 <= line.size())
                return line.substr(colon + 2);
    return "";
}

std::string first_line(const fs::path& file)
{
    std::ifstream in(file);
    std::string line;
    std::getline(in, line);
    return line;
}

std::string cpu_model()
{
    if (std::string name = field("/proc/cpuinfo", "model name"); !name.empty()) return name;
    utsname system{};
    return uname(&system) == 0 ? system.machine : "unknown";
}

// Threads of one core share package and core number.
int count_cores(int hardware_threads)
{
    std::set<std::string> cores;
    for (int cpu = 0; cpu < hardware_threads; ++cpu) {
        const fs::path topology = "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology";
        const std::string core = first_line(topology / "core_id");
        if (!core.empty()) cores.insert(first_line(topology / "physical_package_id") + ":" + core);
    }
    return cores.empty() ? hardware_threads : static_cast<int>(cores.size());
}

int count_numa_nodes()
{
    std::error_code none;
    int nodes = 0;
    for (const auto& entry : fs::directory_iterator("/sys/devices/system/node", none)) {
        const std::string name = entry.path().filename().string();
        nodes += name.size() > 4 && name.rfind("node", 0) == 0 && name.find_first_not_of("0123456789", 4) == name.npos;
    }
    return std::max(1, nodes);
}

std::size_t meminfo(const char* key)
{
    const std::string text = field("/proc/meminfo", key);
    const auto digits = text.find_first_of("0123456789");
    return digits == text.npos ? 0 : std::stoull(text.substr(digits)) * 1024;
}

std::size_t container_limit(std::size_t memory)
{
    for (const char* file : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"})
        if (const std::string text = first_line(file);
            !text.empty() && text.find_first_not_of("0123456789") == text.npos && text.size() < 19)
            if (const std::size_t limit = std::stoull(text); limit < memory) return limit;
    return 0;
}

double sum(const double* data, offset_t n, int threads)
{
    double total = 0;
#pragma omp parallel for simd num_threads(threads) reduction(+ : total) schedule(static)
    for (offset_t i = 0; i < n; ++i) total += data[i];
    return total;
}

}  // namespace

Machine inspect_machine()
{
    Machine here;
    here.cpu = cpu_model();
    here.hardware_threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    here.cores = count_cores(here.hardware_threads);
    here.usable_threads = available_threads();
    here.memory = meminfo("MemTotal");
    here.free_memory = meminfo("MemAvailable");
    here.memory_limit = container_limit(here.memory);
    here.numa_nodes = count_numa_nodes();
    return here;
}

void require_budget(const Context& host, offset_t entries, offset_t entry_bytes, const std::string& name)
{
    const auto bytes = static_cast<std::size_t>(checked_product(entries, entry_bytes, name));
    const std::size_t budget = host.memory().budget(Space::host), held = host.memory().live(Space::host),
                      left = budget - std::min(budget, held);
    if (bytes > left)
        throw OutOfMemory(concat("over budget on host memory: ", human_bytes(bytes), " needed for ", name, ", ",
                                 human_bytes(held), " held, budget ", human_bytes(budget)),
                          bytes, left, "raise the budget");
}

double read_bandwidth(const Context& ctx, std::size_t bytes)
{
    const CpuQueue q = ctx.host();
    const std::size_t held = std::min(bytes, free_bytes(q.place()) / 8);
    const CpuQueue own(q.threads);  // not counted against the user's budget
    Buffer<double> data(own, static_cast<offset_t>(held / sizeof(double)));
#pragma omp parallel for num_threads(q.threads) schedule(static)
    for (offset_t i = 0; i < data.size(); ++i) data.data()[i] = 1.0;
    double best = std::numeric_limits<double>::max();
    volatile double keep = 0;  // the sum must not be optimised away
    for (int round = 0; round < 5; ++round) {
        const double begin = trace::now();
        keep = keep + sum(data.data(), data.size(), q.threads);
        best = std::min(best, trace::now() - begin);
    }
    return static_cast<double>(data.bytes()) / best;
}

double copy_bandwidth(const Context& ctx)
{
    return ctx.run([&](const auto& q) {
        constexpr std::size_t plenty = std::size_t{256} << 20;
        const auto n = static_cast<offset_t>(std::min(plenty, free_bytes(q.place()) / 16) / sizeof(double));
        Buffer<double> from(q, n), to(q, n);
        fill_bytes(q, from.data(), 0, from.bytes());
        double best = std::numeric_limits<double>::max();
        for (int round = 0; round < 5; ++round) {
            ctx.synchronize();
            const double begin = trace::now();
            copy_bytes(q, from.data(), to.data(), from.bytes());
            ctx.synchronize();
            best = std::min(best, trace::now() - begin);
        }
        return 2 * static_cast<double>(from.bytes()) / best;
    });
}

}  // namespace tulle::cli
