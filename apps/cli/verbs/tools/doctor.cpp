// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// tulle doctor: what was built, what hardware is there, what is not used and why.
#include <fmt/format.h>

#include "apps/cli/picture/canvas.hpp"
#include "apps/cli/support/json.hpp"
#include "apps/cli/support/layout.hpp"
#include "apps/cli/support/machine.hpp"
#include "apps/cli/support/programs.hpp"
#include "apps/cli/support/progress.hpp"
#include "apps/cli/verbs.hpp"
#include "cli/built.hpp"
#include "tulle/cluster.hpp"
#include "tulle/context.hpp"
#include "tulle/error.hpp"
#include "tulle/text.hpp"
#include "tulle/version.hpp"

namespace tulle::cli {
namespace {

struct Unused {
    std::string what, why;
};

std::string cuda_text()
{
    if (!build::has_cuda) return "not built";
    if (build::simulated) return "built for the simulated GPU (tests only)";
    return concat("built for compute capability ", build::cuda_architectures);
}

std::string openmp_text() { return fmt::format("OpenMP {}", built::openmp); }

std::string yes_no(bool yes) { return yes ? "yes" : "no"; }

// What messages of ranks on a backend can travel by, the preferred one first, or why they cannot as TULLE_TRANSPORT
// asks.
std::string transport_text(Backend backend)
{
    std::string text;
    try {
        const std::string program = find_program("tulle-mpi");
        for (const mpi::TransportState& t : mpi::transports(backend, program.empty() ? "tulle-mpi" : program))
            text += fmt::format("{}{}: {} ({})", text.empty() ? "" : "; ", t.name, yes_no(t.usable), t.why);
    } catch (const ValueError& e) {
        return fmt::format("{}; {}", e.message(), e.hint());
    }
    return text;
}

Facts rank_facts()
{
    Facts facts{.title = "several ranks", .items = {}};
    const std::string program = find_program("tulle-mpi");
    facts.add("mpirun tulle", program.empty() ? "not built" : program);
    facts.add("transport, CPUs", transport_text(Backend::cpu));
    if (build::has_cuda) facts.add("transport, GPUs", transport_text(Backend::cuda));
    return facts;
}

Facts build_facts()
{
    Facts facts{.title = fmt::format("tulle {}", build::version), .items = {}};
    facts.add("compiler", built::compiler);
    facts.add("CPU backend", openmp_text());
    facts.add("CUDA backend", cuda_text());
    facts.add("reads .gz / .xz", fmt::format("{} / {}", yes_no(built::reads_gz), yes_no(built::reads_xz)));
    facts.add("pictures", picture::can_draw() ? "PNG, SVG, PDF" : "not built");
    facts.add("benchmarks", find_bench().empty() ? "not built" : find_bench());
    return facts;
}

std::size_t free_bytes_of(const GpuInfo& gpu) { return free_bytes({.space = Space::device, .device = gpu.device}); }

std::string gpu_text(const GpuInfo& gpu)
{
    return fmt::format("{}, sm_{}{}, {} multiprocessors, {} ({} free)", gpu.name, gpu.major, gpu.minor,
                       gpu.multiprocessors, human_bytes(gpu.bytes), human_bytes(free_bytes_of(gpu)));
}

Facts hardware_facts(const Machine& here, const std::vector<GpuInfo>& gpus, double bandwidth)
{
    Facts facts{.title = "hardware", .items = {}};
    facts.add("CPU", fmt::format("{}, {}, {}", here.cpu, counted(here.cores, "core", "cores"),
                                 counted(here.hardware_threads, "thread", "threads")));
    facts.add("memory", fmt::format("{}, {} available", human_bytes(here.memory), human_bytes(here.free_memory)));
    if (bandwidth > 0)
        facts.add("read bandwidth",
                  fmt::format("{} with {}", rate_text(bandwidth), counted(here.usable_threads, "thread", "threads")));
    facts.add("NUMA nodes", std::to_string(here.numa_nodes));
    for (const GpuInfo& gpu : gpus) facts.add(fmt::format("GPU {}", gpu.device), gpu_text(gpu));
    if (gpus.empty()) facts.add("GPU", "none that can be used");
    return facts;
}

std::vector<Unused> what_is_not_used(const Machine& here)
{
    std::vector<Unused> all;
    if (const std::string why = why_no_cuda(); !why.empty()) all.push_back({"CUDA", why});
    if (here.usable_threads < here.hardware_threads)
        all.push_back({"CPU threads", fmt::format("{} of {} may be used (OMP_NUM_THREADS or the process's affinity)",
                                                  here.usable_threads, here.hardware_threads)});
    if (here.memory_limit > 0)
        all.push_back({"memory", fmt::format("this container may use {} of {}", human_bytes(here.memory_limit),
                                             human_bytes(here.memory))});
    if (here.numa_nodes > 1)
        all.push_back({"NUMA", "memory is placed by first touch only; threads are not bound (set OMP_PROC_BIND=true)"});
    if (!built::reads_gz)
        all.push_back({".gz files", "zlib was not found when tulle was configured (Debian: zlib1g-dev)"});
    if (!built::reads_xz)
        all.push_back({".xz files", "liblzma was not found when tulle was configured (Debian: liblzma-dev)"});
    if (!picture::can_draw())
        all.push_back({"pictures", "Cairo was not found when tulle was configured (Debian: libcairo2-dev)"});
    if (find_bench().empty())
        all.push_back({"benchmarks", "tulle-bench is not beside this program (configure with -DTULLE_BUILD_BENCH=ON)"});
    return all;
}

Json to_json(const Machine& here, const std::vector<GpuInfo>& gpus, const std::vector<Unused>& unused, double bandwidth)
{
    Json gpu_list = Json::array(), unused_list = Json::array();
    for (const GpuInfo& g : gpus)
        gpu_list.push_back({{"device", g.device},
                            {"name", g.name},
                            {"compute_capability", fmt::format("{}.{}", g.major, g.minor)},
                            {"multiprocessors", g.multiprocessors},
                            {"bytes", g.bytes},
                            {"free_bytes", free_bytes_of(g)},
                            {"l2_bytes", g.l2_bytes},
                            {"simulated", g.simulated}});
    for (const Unused& u : unused) unused_list.push_back({{"what", u.what}, {"why", u.why}});
    return {{"version", build::version},
            {"build",
             {{"compiler", built::compiler},
              {"openmp", built::openmp},
              {"cuda", build::has_cuda},
              {"simulated", build::simulated},
              {"cuda_architectures", build::cuda_architectures},
              {"gz", built::reads_gz},
              {"xz", built::reads_xz},
              {"pictures", picture::can_draw()},
              {"bench", find_bench().empty() ? Json() : Json(find_bench())}}},
            {"hardware",
             {{"cpu", here.cpu},
              {"cores", here.cores},
              {"threads", here.hardware_threads},
              {"usable_threads", here.usable_threads},
              {"memory", here.memory},
              {"free_memory", here.free_memory},
              {"memory_limit", here.memory_limit > 0 ? Json(here.memory_limit) : Json()},
              {"numa_nodes", here.numa_nodes},
              {"read_bandwidth", bandwidth > 0 ? Json(bandwidth) : Json()},
              {"gpus", gpu_list}}},
            {"transport",
             {{"cpu", transport_text(Backend::cpu)},
              {"cuda", build::has_cuda ? Json(transport_text(Backend::cuda)) : Json()}}},
            {"not_used", unused_list}};
}

}  // namespace

void doctor(const Session& session, const DoctorOptions& options)
{
    const Machine here = inspect_machine();
    const std::vector<GpuInfo> gpus = cuda_devices();
    const std::vector<Unused> unused = what_is_not_used(here);
    double bandwidth = 0;
    if (options.measure) {
        const Activity work(session.console, "measuring memory");
        bandwidth = read_bandwidth(session.host());
    }
    if (session.settings.json) return print(session, to_json(here, gpus, unused, bandwidth));
    Facts rest{.title = "not used", .items = {}};
    for (const Unused& u : unused) rest.add(u.what, u.why);
    if (unused.empty()) rest.add("nothing", "everything that is there is used");
    const Console& console = session.console;
    console.print(build_facts().text(console) + "\n" + hardware_facts(here, gpus, bandwidth).text(console) + "\n" +
                  rank_facts().text(console) + "\n" + rest.text(console));
}

}  // namespace tulle::cli
