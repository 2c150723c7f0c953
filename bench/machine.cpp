// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "bench/machine.hpp"

#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <fstream>

#include "bench/commit.hpp"
#include "tulle/base/text.hpp"
#include "tulle/device/info.hpp"

namespace tulle::bench {
namespace {

std::string cpu_model()
{
    std::ifstream info("/proc/cpuinfo");
    for (std::string line; std::getline(info, line);)
        if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
    return "CPU of unknown model";
}

std::string gpu_model(int device)
{
    for (const GpuInfo& gpu : cuda_devices())
        if (gpu.device == device) return gpu.name;
    return "unknown GPU";
}

struct NameOf {
    std::string operator()(const CpuQueue& q) const { return concat(cpu_model(), ", ", q.threads, q.threads == 1 ? " thread" : " threads"); }
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
