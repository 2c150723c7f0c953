// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// NCCL by its functions' names. Calls that wait for other ranks run in a thread, so that the wait has an end: to
// connect, and the first exchange of a plan.
#include "mpi/nccl.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <string_view>
#include <thread>
#include <type_traits>
#include <utility>

#include "base/loaded_library.hpp"
#include "device/cuda_devices.hpp"
#include "mpi/self_test.hpp"
#include "tulle/error.hpp"
#include "tulle/text.hpp"
#include "tulle/version.hpp"

namespace tulle::inline TULLE_ABI::mpi {
namespace {

using NcclClock = std::chrono::steady_clock;

constexpr int nccl_success = 0, nccl_in_progress = 7, nccl_bytes = 0;  // results; the type of one byte
constexpr int oldest_nccl = 2700;                                      // ncclSend and ncclRecv came with 2.7

// Versions were counted differently before 2.9.
std::string version_text(int version)
{
    const int major = version < 10000 ? 1000 : 10000;
    return concat(version / major, ".", version % major / 100, ".", version % 100);
}

struct Nccl {
    int (*get_version)(int* version) = nullptr;
    int (*get_unique_id)(NcclId* id) = nullptr;
    int (*comm_init_rank)(void** comm, int ranks, NcclId id, int rank) = nullptr;
    int (*comm_destroy)(void* comm) = nullptr;
    int (*comm_abort)(void* comm) = nullptr;
    int (*comm_get_async_error)(void* comm, int* result) = nullptr;
    int (*group_start)() = nullptr;
    int (*group_end)() = nullptr;
    int (*send)(const void* data, std::size_t count, int type, int peer, void* comm, CUstream_st* stream) = nullptr;
    int (*recv)(void* data, std::size_t count, int type, int peer, void* comm, CUstream_st* stream) = nullptr;
    const char* (*get_error_string)(int result) = nullptr;
    const char* (*get_last_error)(void* comm) = nullptr;  // since 2.13
    int version = 0;
    bool simulated = false;

    std::string text_of(int result) const
    {
        const char* const more = get_last_error ? get_last_error(nullptr) : nullptr;
        return concat("NCCL: ", get_error_string(result), more && *more ? concat(" (", more, ")") : "");
    }
    void check(int result) const
    {
        require<DeviceError>(result == nccl_success, [&] { return text_of(result); });
    }
};

LoadedLibrary load_nccl()
{
    return LoadedLibrary::load("NCCL", "version 2.7 or newer is needed", "TULLE_NCCL", {"libnccl.so.2"}, "libnccl2");
}

Nccl find_all(const LoadedLibrary& library)
{
    Nccl nccl;
    library.find("ncclGetVersion", nccl.get_version);
    library.find("ncclGetUniqueId", nccl.get_unique_id);
    library.find("ncclCommInitRank", nccl.comm_init_rank);
    library.find("ncclCommDestroy", nccl.comm_destroy);
    library.find("ncclCommAbort", nccl.comm_abort);
    library.find("ncclCommGetAsyncError", nccl.comm_get_async_error);
    library.find("ncclGroupStart", nccl.group_start);
    library.find("ncclGroupEnd", nccl.group_end);
    library.find("ncclSend", nccl.send);
    library.find("ncclRecv", nccl.recv);
    library.find("ncclGetErrorString", nccl.get_error_string);
    nccl.get_last_error = reinterpret_cast<const char* (*)(void*)>(dlsym(library.handle, "ncclGetLastError"));
    nccl.simulated = dlsym(library.handle, "tulleSimulatedNccl") != nullptr;  // tests have one
    nccl.check(nccl.get_version(&nccl.version));
    return nccl;
}

// Loaded once; what cannot be loaded is tried again.
const Nccl& the_nccl()
{
    static const Nccl nccl = find_all(load_nccl());
    return nccl;
}

// Runs f in a thread; its exception is thrown here. False if it has not come back in time: then the thread goes on, and
// what it uses must outlive it.
bool run_within(double seconds, const std::function<void()>& f)
{
    struct Shared {
        std::mutex mutex;
        std::condition_variable ended;
        bool done = false;
        std::exception_ptr thrown;
    };
    const auto shared = std::make_shared<Shared>();
    std::thread([shared, f] {
        std::exception_ptr thrown;
        try {
            f();
        } catch (...) {
            thrown = std::current_exception();
        }
        const std::lock_guard lock(shared->mutex);
        shared->thrown = thrown;
        shared->done = true;
        shared->ended.notify_all();
    }).detach();
    std::unique_lock lock(shared->mutex);
    if (!shared->ended.wait_for(lock, std::chrono::duration<double>(seconds), [&] { return shared->done; }))
        return false;
    if (shared->thrown) std::rethrow_exception(shared->thrown);
    return true;
}

// With the device current; where there are no GPUs nobody asks for it.
void with_device([[maybe_unused]] int device, [[maybe_unused]] const std::function<void()>& f)
{
    if constexpr (build::has_cuda) on_device(device, f);
}

// Polls until the GPU has passed the mark; Error if NCCL reports one. False when the time is over.
bool wait_for_mark(const NcclRanks& nccl, [[maybe_unused]] const Mark& mark, double seconds)
{
    const auto begin = NcclClock::now();
    for (;;) {
        if constexpr (build::has_cuda)
            if (mark.is_passed()) return true;
        const double waited = std::chrono::duration<double>(NcclClock::now() - begin).count();
        if (seconds > 0 && waited > seconds) return false;
        if (waited < 1e-3) continue;
        const std::string fault = nccl.fault();
        require<DeviceError>(fault.empty(), [&] { return fault; });
        std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
}

std::shared_ptr<Mark> make_mark([[maybe_unused]] int device)
{
    if constexpr (build::has_cuda) return std::make_shared<Mark>(device);
    else return nullptr;
}

void set_mark([[maybe_unused]] Mark& mark, [[maybe_unused]] CUstream_st* stream)
{
    if constexpr (build::has_cuda) mark.set(stream);
}

}  // namespace

std::string nccl_version()
{
    const int version = the_nccl().version;
    require<NotBuilt>(
        version >= oldest_nccl, [&] { return concat("NCCL ", version_text(version), " is too old"); },
        "version 2.7 or newer is needed");
    return version_text(version);
}

bool nccl_is_simulated() { return the_nccl().simulated; }

bool nccl_shares_gpus()
{
    constexpr int first = 23000;
    const char* const wish = std::getenv("NCCL_MULTI_RANK_GPU_ENABLE");
    return the_nccl().version >= first && wish && std::string_view(wish) == "1";
}

NcclId make_nccl_id()
{
    NcclId id{};
    the_nccl().check(the_nccl().get_unique_id(&id));
    return id;
}

std::shared_ptr<NcclRanks> NcclRanks::connect(const NcclId& id, int rank, int ranks, int device, double seconds)
{
    const auto comm = std::make_shared<void*>(nullptr);
    const bool done = run_within(seconds, [=] {
        with_device(device, [&] { the_nccl().check(the_nccl().comm_init_rank(comm.get(), ranks, id, rank)); });
    });
    require<DeviceError>(done, [&] { return concat("NCCL has not connected the ranks in ", fixed(seconds, 1), " s"); });
    return std::shared_ptr<NcclRanks>(new NcclRanks(*comm, device));
}

NcclRanks::NcclRanks(void* comm, int device) : comm_(comm), device_(device)
{
    if constexpr (build::has_cuda) stream_ = open_urgent_stream(device);
}

NcclRanks::~NcclRanks()
{
    try {
        if (comm_) with_device(device_, [&] { (void)the_nccl().comm_destroy(comm_); });
    } catch (const Error&) {  // the GPU is gone
    }
}

void NcclRanks::give_up()
{
    with_device(device_, [&] { (void)the_nccl().comm_abort(std::exchange(comm_, nullptr)); });
}

void NcclRanks::come_after([[maybe_unused]] CUstream_st* earlier) const
{
    if constexpr (build::has_cuda) cuda::order_streams(device_, earlier, stream());
}

void NcclRanks::exchange(const std::vector<Message>& messages) const
{
    const Nccl& nccl = the_nccl();
    with_device(device_, [&] {
        nccl.check(nccl.group_start());
        for (const Message& m : messages)
            nccl.check(m.sends ? nccl.send(m.data, m.bytes, nccl_bytes, m.peer, comm_, stream())
                               : nccl.recv(m.data, m.bytes, nccl_bytes, m.peer, comm_, stream()));
        nccl.check(nccl.group_end());
    });
}

std::string NcclRanks::fault() const
{
    int state = nccl_success;
    const int asked = the_nccl().comm_get_async_error(comm_, &state);
    const int result = asked != nccl_success ? asked : state;
    return result == nccl_success || result == nccl_in_progress ? "" : the_nccl().text_of(result);
}

NcclMessages::NcclMessages(const Cluster& cluster) : cluster_(cluster), mark_(make_mark(cluster.state().nccl->device()))
{}

void NcclMessages::add_send(const void* data, std::size_t bytes, int to)
{
    all_.push_back({const_cast<void*>(data), bytes, to, true});
}

void NcclMessages::add_receive(void* data, std::size_t bytes, int from) { all_.push_back({data, bytes, from, false}); }

// "ranks 0, 2"
std::string NcclMessages::peers() const
{
    std::vector<int> ranks;
    for (const NcclRanks::Message& m : all_) ranks.push_back(m.peer);
    std::sort(ranks.begin(), ranks.end());
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    std::string text = ranks.size() == 1 ? "rank " : "ranks ";
    for (std::size_t k = 0; k < ranks.size(); ++k) text += concat(k > 0 ? ", " : "", ranks[k]);
    return text;
}

void NcclMessages::start(std::string_view phase, CUstream_st* stream)
{
    Cluster::State& state = cluster_.state();
    if (all_.empty()) return;
    try {
        const auto send = [nccl = state.nccl, messages = all_] { nccl->exchange(messages); };
        state.nccl->come_after(stream);
        if (connected_ || state.deadline <= 0) send();
        else if (!run_within(state.deadline, send))
            end_job(cluster_, phase,
                    concat("NCCL has not connected ", peers(), " in ", fixed(state.deadline, 1), " s"));
        connected_ = true;
        set_mark(*mark_, state.nccl->stream());
    } catch (const Error& e) {
        end_job(cluster_, phase, e.message());
    }
    for (const NcclRanks::Message& m : all_) {
        if (!m.sends) continue;
        ++state.sent.messages;
        state.sent.bytes += m.bytes;
    }
}

void NcclMessages::finish(std::string_view phase)
{
    const Cluster::State& state = cluster_.state();
    if (all_.empty()) return;
    try {
        if (wait_for_mark(*state.nccl, *mark_, state.deadline)) return;
    } catch (const Error& e) {
        end_job(cluster_, phase, e.message());
    }
    end_job(cluster_, phase, concat("messages of NCCL with ", peers(), " take ", fixed(state.deadline, 1), " s"));
}

void try_nccl(NcclRanks& nccl, const Context& ctx, int rank, int ranks, double seconds)
{
    constexpr std::size_t bytes = std::size_t{1} << 18;
    const int from = (rank + ranks - 1) % ranks, to = (rank + 1) % ranks;
    const auto mine = trial_numbers(rank, bytes), expected = trial_numbers(from, bytes);
    std::vector<unsigned char> got(bytes);
    const std::shared_ptr<Mark> mark = make_mark(nccl.device());
    const auto try_on = [&](const CudaQueue& q) {
        Buffer<unsigned char> out(q.memory, plain_place(q), std::ssize(mine)), in(q.memory, plain_place(q), out.size());
        upload(q, mine.data(), out.data(), out.size());
        const std::vector<NcclRanks::Message> both{{out.data(), bytes, to, true}, {in.data(), bytes, from, false}};
        nccl.come_after(q.stream);
        const bool began = run_within(seconds, [&nccl, both] { nccl.exchange(both); });
        if (began) set_mark(*mark, nccl.stream());
        const bool came = began && wait_for_mark(nccl, *mark, seconds);
        if (!came) nccl.give_up();  // or memory could not be released
        require<DeviceError>(came, [&] { return concat("NCCL brought nothing from rank ", from); });
        download(q, in.data(), got.data(), in.size());
    };
    ctx.run([&](const auto& q) {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(q)>, CudaQueue>) try_on(q);
    });
    require<DeviceError>(got == expected, [&] { return concat("NCCL brought other data from rank ", from); });
}

}  // namespace tulle::inline TULLE_ABI::mpi
