// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// How messages of ranks on GPUs travel: what TULLE_TRANSPORT asks for, or what all ranks turn out to have.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

#include "mpi/nccl.hpp"
#include "mpi/self_test.hpp"
#include "tulle/error.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::mpi {
namespace {

// Below, messages are staged: one copy takes all of them, while MPI and NCCL handle each by itself
// (docs/design/mpi.md).
constexpr std::size_t shortest_direct = std::size_t{1} << 16;
constexpr double test_seconds = 20, connect_seconds = 60;

struct Named {
    Way way;
    std::string_view name;
};
constexpr std::array all_ways{Named{Way::host, "host"}, Named{Way::nccl, "nccl"}, Named{Way::gpu_aware, "gpu-aware"},
                              Named{Way::staged, "staged"}};

// The ways of a backend, the preferred one first.
std::vector<Way> ways_of(Backend backend)
{
    if (backend == Backend::cpu) return {Way::host};
    return {Way::nccl, Way::gpu_aware, Way::staged};
}

// What TULLE_TRANSPORT asks for. A rank that is alone sends nothing, so that the ways of another backend do not matter.
std::optional<Way> wished_way(Backend backend, bool alone = false)
{
    const char* const wish = std::getenv("TULLE_TRANSPORT");
    if (!wish || std::string_view(wish) == "auto") return {};
    std::string possible = "auto";
    for (const Way way : ways_of(backend)) {
        if (to_text(way) == wish) return way;
        possible += concat(", ", to_text(way));
    }
    if (alone && std::any_of(all_ways.begin(), all_ways.end(), [&](const Named& n) { return n.name == wish; }))
        return {};
    throw ValueError(concat("TULLE_TRANSPORT is '", wish, "', which ranks on ",
                            backend == Backend::cpu ? "CPUs" : "GPUs", " do not have"),
                     concat("possible here: ", possible));
}

// Runs work on all ranks; empty, or what the lowest rank that failed says. Collective.
std::string why_not(const Cluster& cluster, const std::function<void()>& work)
{
    try {
        cluster.run_collective("choice of transport", work);
    } catch (const Error& e) {
        return e.message();
    }
    return {};
}

double limit_of(const Cluster& cluster, double seconds)
{
    const double deadline = cluster.state().deadline;
    return deadline > 0 ? std::min(seconds, deadline / 2) : seconds;
}

// Where a rank is.
struct Seat {
    std::array<char, 64> host{};
    std::array<char, 40> gpu{};
    bool operator==(const Seat&) const = default;
};

GpuInfo gpu_of(const Context& ctx)
{
    const int device = ctx.run([](const auto& q) { return q.place().device; });
    return cuda_devices().at(static_cast<std::size_t>(device));
}

Seat my_seat(const Cluster& cluster)
{
    Seat seat;
    gethostname(seat.host.data(), seat.host.size() - 1);
    std::strncpy(seat.gpu.data(), gpu_of(cluster.context()).uuid.c_str(), seat.gpu.size() - 1);
    return seat;
}

void require_own_gpu(const std::vector<Seat>& seats, int rank)
{
    const auto me = static_cast<std::size_t>(rank);
    for (std::size_t r = 0; r < seats.size(); ++r)
        require<DeviceError>(r == me || seats[r].gpu != seats[me].gpu,
                             [&] { return concat("NCCL needs a GPU for each rank, rank ", r, " has the same one"); });
}

void require_real_gpu(const GpuInfo& gpu)
{
    require<DeviceError>(!gpu.simulated || nccl_is_simulated(), "NCCL cannot use the simulated GPU");
}

// Connects the ranks by NCCL; empty, or why it cannot be. Collective.
std::string connect_nccl(const Cluster& cluster)
{
    Cluster::State& state = cluster.state();
    const GpuInfo gpu = gpu_of(state.ctx);
    const auto seats = all_gather(cluster, "choice of transport", my_seat(cluster));
    NcclId id{};
    const auto prepare = [&] {
        nccl_version();
        require_real_gpu(gpu);
        if (!nccl_shares_gpus()) require_own_gpu(seats, cluster.rank());
        if (cluster.rank() == 0) id = make_nccl_id();
    };
    if (std::string why = why_not(cluster, prepare); !why.empty()) return why;
    broadcast_bytes(cluster, "choice of transport", &id, sizeof id, 0);
    std::string why = why_not(cluster, [&] {
        state.nccl =
            NcclRanks::connect(id, cluster.rank(), cluster.ranks(), gpu.device, limit_of(cluster, connect_seconds));
    });
    if (why.empty())
        why = why_not(cluster, [&] {
            try_nccl(*state.nccl, state.ctx, cluster.rank(), cluster.ranks(), limit_of(cluster, test_seconds));
        });
    if (!why.empty()) state.nccl = nullptr;
    return why;
}

// Tries GPU-aware MPI, first in a child process of one rank of each host, then between ranks. Collective.
std::string try_gpu_aware(const Cluster& cluster)
{
    Transport& transport = *cluster.state().transport;
    const GpuInfo gpu = gpu_of(cluster.context());
    const auto seats = all_gather(cluster, "choice of transport", my_seat(cluster));
    const auto first = std::find_if(seats.begin(), seats.end(), [&](const Seat& seat) {
        return seat.host == seats[static_cast<std::size_t>(cluster.rank())].host;
    });
    const double seconds = limit_of(cluster, test_seconds);
    const auto in_child = [&] {
        if (first - seats.begin() != cluster.rank()) return;
        const std::string why = why_not_gpu_aware(transport.self_test_program(), gpu.device, transport.name(), seconds);
        require<DeviceError>(why.empty(), [&] { return why; });
    };
    if (std::string why = why_not(cluster, in_child); !why.empty()) return why;
    const int rank = cluster.rank(), ranks = cluster.ranks();
    return why_not(cluster, [&] {
        try_transfer(transport, cluster.context(), (rank + 1) % ranks, (rank + ranks - 1) % ranks, seconds);
    });
}

std::string try_way(const Cluster& cluster, Way way)
{
    if (way == Way::nccl) return connect_nccl(cluster);
    return way == Way::gpu_aware ? try_gpu_aware(cluster) : "";
}

std::string reason_for(Way way)
{
    if (way == Way::nccl) return concat("NCCL ", nccl_version(), ", a GPU for each rank");
    return way == Way::gpu_aware ? "MPI has passed the self-test with device memory" : "through page-locked memory";
}

void use(Cluster::State& state, Way way, std::string why)
{
    state.way = way;
    state.choice = {std::string(to_text(way)), std::move(why)};
}

void use_wish(const Cluster& cluster, Way wish)
{
    const std::string why = try_way(cluster, wish);
    require<ValueError>(
        why.empty(), [&] { return concat("TULLE_TRANSPORT is '", to_text(wish), "', which cannot be used: ", why); },
        "TULLE_TRANSPORT=auto takes what is there");
    cluster.state().forced = true;
    use(cluster.state(), wish, "TULLE_TRANSPORT asks for it");
}

// All ranks must ask for the same.
void require_one_wish(const Cluster& cluster, std::optional<Way> wish)
{
    const int mine = wish ? static_cast<int>(*wish) : -1;
    struct Range {
        int least, most;
    };
    const Range range = reduce(cluster, "choice of transport", Range{mine, mine}, [](const Range& a, const Range& b) {
        return Range{std::min(a.least, b.least), std::max(a.most, b.most)};
    });
    require<ValueError>(range.least == range.most, "TULLE_TRANSPORT is not the same on all ranks");
}

// Why a transport of GPUs cannot be used here; empty where it may be.
std::string why_not_here(Way way, const std::string& self_test)
{
    try {
        const std::string none = why_no_cuda();
        if (way == Way::nccl) nccl_version();
        require<DeviceError>(none.empty(), [&] { return none; });
        if (way == Way::nccl) require_real_gpu(cuda_devices().at(0));
    } catch (const Error& e) {
        return e.message();
    }
    return way == Way::gpu_aware ? why_not_gpu_aware(self_test, 0, "", test_seconds) : "";
}

}  // namespace

std::string_view to_text(Way way)
{
    return std::find_if(all_ways.begin(), all_ways.end(), [&](const Named& named) { return named.way == way; })->name;
}

void choose_way(const Cluster& cluster)
{
    Cluster::State& state = cluster.state();
    const Backend backend = state.ctx.backend();
    const bool alone = cluster.ranks() == 1;
    const std::optional<Way> wish = wished_way(backend, alone);
    if (backend == Backend::cpu)
        return use(state, Way::host, wish ? "TULLE_TRANSPORT asks for it" : "ranks work on CPUs");
    if (alone && wish != Way::nccl) return use(state, Way::staged, "one rank sends nothing");
    require_one_wish(cluster, wish);
    if (wish) return use_wish(cluster, *wish);
    std::string reasons;
    for (const Way way : {Way::nccl, Way::gpu_aware}) {
        const std::string why = try_way(cluster, way);
        if (why.empty())
            return use(state, way,
                       concat(reason_for(way), "; staged below ", human_bytes(shortest_direct), " a message", reasons));
        reasons += concat("; ", to_text(way), ": ", why);
    }
    use(state, Way::staged, reasons.substr(2));
}

Way way_of(const Cluster& cluster, Backend backend, std::size_t longest)
{
    const Cluster::State& state = cluster.state();
    if (backend == Backend::cpu) return Way::host;
    const bool direct = state.way == Way::nccl || state.way == Way::gpu_aware;
    return direct && !state.forced && longest < shortest_direct ? Way::staged : state.way;
}

std::vector<TransportState> transports(Backend backend, const std::string& self_test)
{
    wished_way(backend);  // is it possible?
    if (backend == Backend::cpu) return {{"host", true, "ranks work on CPUs"}};
    std::vector<TransportState> all;
    for (const Way way : ways_of(backend)) {
        const std::string why = why_not_here(way, self_test);
        all.push_back({std::string(to_text(way)), why.empty(), why.empty() ? reason_for(way) : why});
    }
    return all;
}

}  // namespace tulle::inline TULLE_ABI::mpi
