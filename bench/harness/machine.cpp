// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "bench/harness/machine.hpp"

#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <fstream>
#include <string_view>
#include <utility>

#include "bench/commit.hpp"
#include "tulle/context.hpp"
#include "tulle/text.hpp"

namespace tulle::bench {
namespace {

// The part numbers of ARM's own cores on servers, as the kernel gives them; it has no names.
constexpr std::pair<std::string_view, const char*> arm_cores[] = {{"0xd0c", "Neoverse N1"}, {"0xd40", "Neoverse V1"},
                                                                  {"0xd49", "Neoverse N2"}, {"0xd4f", "Neoverse V2"},
                                                                  {"0xd83", "Neoverse V3"}, {"0xd8e", "Neoverse N3"},
                                                                  {"0xd08", "Cortex-A72"},  {"0xd0b", "Cortex-A76"}};

std::string cpu_model()
{
    std::ifstream info("/proc/cpuinfo");
    const auto value_of = [](const std::string& line) {
        return line.size() > line.find(':') + 2 ? line.substr(line.find(':') + 2) : std::string();
    };
    std::string part;
    for (std::string line; std::getline(info, line);) {
        if (line.starts_with("model name")) return value_of(line);
        if (line.starts_with("CPU part")) part = value_of(line);
    }
    for (const auto& [number, name] : arm_cores)
        if (part == number) return concat("ARM ", name);
    return part.empty() ? "CPU of unknown model" : concat("CPU, part ", part);
}

std::string gpu_model(int device)
{
    for (const GpuInfo& gpu : cuda_devices())
        if (gpu.device == device) return gpu.name;
    return "unknown GPU";
}

struct NameOf {
    std::string operator()(const CpuQueue& q) const
    {
        return concat(cpu_model(), ", ", q.threads, q.threads == 1 ? " thread" : " threads");
    }
    std::string operator()(const CudaQueue& q) const { return gpu_model(q.device); }
};

}  // namespace

std::string device_name(const Context& ctx) { return ctx.run(NameOf{}); }

std::size_t last_level_cache_bytes()
{
    for (const int level : {_SC_LEVEL4_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE, _SC_LEVEL2_CACHE_SIZE})
        if (const long bytes = sysconf(level); bytes > 0) return static_cast<std::size_t>(bytes);
    return 32_MiB;
}

double load()
{
    double average = 0;
    return getloadavg(&average, 1) == 1 ? average : 0;
}

std::string commit()
{
    const char* given = std::getenv("TULLE_COMMIT");
    return given ? given : built_from_commit;
}

std::string today()
{
    const std::time_t now = std::time(nullptr);
    char room[32];
    return {room, std::strftime(room, sizeof room, "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&now))};
}

}  // namespace tulle::bench
