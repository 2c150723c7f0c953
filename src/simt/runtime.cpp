// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "simt/runtime.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iostream>

#include "base/compute.hpp"
#include "simt/fault.hpp"
#include "simt/machine.hpp"
#include "simt/observer.hpp"
#include "tulle/error.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::simt {
namespace {

thread_local std::string why_last_call_failed;
thread_local cudaError_t last_error = cudaSuccess;
void (*launch_observer)(const Launch& launch) = nullptr;

std::uint64_t number_from(const char* name, std::uint64_t otherwise)
{
    const char* const text = std::getenv(name);
    if (!text) return otherwise;
    char* end = nullptr;
    const std::uint64_t number = std::strtoull(text, &end, 10);
    require<ValueError>(end != text && *end == '\0', [&] { return concat(name, "=", text, " is not a number"); });
    return number;
}

const char* text_of(Order order)
{
    return order == Order::ascending ? "ascending" : order == Order::descending ? "descending" : "random";
}

Order order_from(const char* name, Order otherwise)
{
    const char* const text = std::getenv(name);
    if (!text) return otherwise;
    for (const Order order : {Order::ascending, Order::descending, Order::random})
        if (std::string(text) == text_of(order)) return order;
    throw ValueError(concat(name, "=", text, " is neither ascending, descending nor random"));
}

std::string name_of(int device)
{
    return device == host_memory ? "page-locked host memory" : concat("device ", device);
}

}  // namespace

Config config_from_environment()
{
    Config c;
    c.seed = number_from("TULLE_SIM_SEED", c.seed);
    c.order = order_from("TULLE_SIM_ORDER", c.order);
    c.resident = static_cast<unsigned>(number_from("TULLE_SIM_RESIDENT", c.resident));
    c.multiprocessors = static_cast<unsigned>(number_from("TULLE_SIM_MULTIPROCESSORS", c.multiprocessors));
    c.devices = static_cast<int>(number_from("TULLE_SIM_DEVICES", static_cast<std::uint64_t>(c.devices)));
    if (const char* bytes = std::getenv("TULLE_SIM_BYTES")) c.bytes = parse_bytes(bytes);
    c.compute = static_cast<int>(number_from("TULLE_SIM_COMPUTE", static_cast<std::uint64_t>(c.compute)));
    require<ValueError>(c.resident > 0 && c.multiprocessors > 0,
                        "TULLE_SIM_RESIDENT and TULLE_SIM_MULTIPROCESSORS must be at least 1");
    require<ValueError>(std::find(supported_computes.begin(), supported_computes.end(), c.compute) !=
                            supported_computes.end(),
                        "TULLE_SIM_COMPUTE must be 80, 86, 89, 90, 100 or 120");
    return c;
}

Runtime::Runtime()
    : config(config_from_environment()),
      devices(static_cast<std::size_t>(config.devices)),
      random(config.seed)
{
    explain_crashes();
}

Runtime& Runtime::get()
{
    static Runtime* const runtime = new Runtime;  // never destroyed: static objects may still free their memory
    return *runtime;
}

std::string replay(const Config& c)
{
    return concat("TULLE_SIM_SEED=", c.seed, " TULLE_SIM_ORDER=", text_of(c.order), " TULLE_SIM_RESIDENT=", c.resident,
                  c.multiprocessors == Config().multiprocessors
                      ? ""
                      : concat(" TULLE_SIM_MULTIPROCESSORS=", c.multiprocessors),
                  " replays it");
}

const Config& config() { return Runtime::get().config; }

void configure(const Config& c)
{
    Runtime& runtime = Runtime::get();
    const std::lock_guard lock(runtime.mutex);
    require<ValueError>(c.resident > 0 && c.multiprocessors > 0 && c.devices >= 0,
                        "at least one block must be resident, and no device count is negative");
    runtime.config = c;
    if (static_cast<std::size_t>(c.devices) > runtime.devices.size())
        runtime.devices.resize(static_cast<std::size_t>(c.devices));
    runtime.random = Random(c.seed);
    for (Device& device : runtime.devices) device.streams = 0;
    for (auto& stream : runtime.streams) stream->launches = 0;
}

std::string last_fault() { return why_last_call_failed; }

cudaError_t fail(cudaError_t error, const std::string& why)
{
    last_error = error;
    why_last_call_failed = why;
    return error;
}

cudaError_t report(int device)
{
    std::string& fault = Runtime::get().devices[static_cast<std::size_t>(device)].fault;
    if (fault.empty()) return cudaSuccess;
    return fail(cudaErrorLaunchFailure, std::exchange(fault, {}));
}

cudaError_t take_last_error() { return std::exchange(last_error, cudaSuccess); }
cudaError_t peek_last_error() { return last_error; }

// ---- streams ----

CUstream_st* Runtime::open_stream(int device)
{
    auto stream = std::make_unique<CUstream_st>();
    stream->device = device;
    stream->number = devices[static_cast<std::size_t>(device)].streams++;
    stream->identity = new_identity();
    streams.push_back(std::move(stream));
    return streams.back().get();
}

CUstream_st* Runtime::stream_of(CUstream_st* stream, int device)
{
    if (!stream) {
        CUstream_st*& own = devices[static_cast<std::size_t>(device)].default_stream;
        if (!own) own = open_stream(device);
        return own;
    }
    for (const auto& s : streams)
        if (s.get() == stream) return s->destroyed ? nullptr : stream;
    return nullptr;
}

void Runtime::enqueue(CUstream_st& stream, Work work)
{
    if (stream.capture) {
        if (work.body) stream.capture->nodes.push_back(std::move(work.body));
        stream.unjoined = true;
        return;
    }
    work.enqueued = std::make_unique<Token>();
    work.enqueued->release();
    stream.work.push_back(std::move(work));
}

bool Runtime::breaks_capture(const char* call, int device, const CUstream_st* only)
{
    for (const auto& stream : streams) {
        if (!stream->capture || stream->device != device || (only && only != stream.get())) continue;
        stream->capture->broken = concat(call, " while a stream of device ", device, " is captured");
        fail(cudaErrorStreamCaptureUnsupported, stream->capture->broken);
        return true;
    }
    return false;
}

bool Runtime::step()
{
    std::vector<CUstream_st*> could;
    for (const auto& stream : streams)
        if (!stream->work.empty() && (!stream->work.front().after || stream->work.front().after->done))
            could.push_back(stream.get());
    if (could.empty()) return false;
    CUstream_st& stream = *could[random.below(could.size())];
    perform(stream);
    if (stream.destroyed && stream.work.empty()) {
        end_identity(stream.identity);
        std::erase_if(streams, [&](const auto& s) { return s.get() == &stream; });
    }
    return true;
}

// Whether what comes next on the stream may begin before a kernel that is about to run. ThreadSanitizer has not names
// enough for the threads of two kernels.
static bool may_overlap(const CUstream_st& stream)
{
    if (under_tsan || stream.work.empty()) return false;
    const Work& next = stream.work.front();
    return next.launch && next.launch->early && !next.after;
}

// In the eyes of ThreadSanitizer the stream does it, not the host thread that happens to wait.
void Runtime::perform(CUstream_st& stream)
{
    void* const host = current_identity();
    become(stream.identity);
    {
        const Quiet quiet;
        const Work work = take(stream);
        if (work.launch && may_overlap(stream) && random.chance(128)) {
            const Work next = take(stream);
            next.launch->earlier = work.body;
            run_work(stream, next);
            next.launch->earlier = {};
        } else run_work(stream, work);
        stream.progress.release();
    }
    become(host);
}

Work Runtime::take(CUstream_st& stream)
{
    Work work = std::move(stream.work.front());
    stream.work.pop_front();
    work.enqueued->acquire();
    if (work.after) work.after->reached.acquire();
    return work;
}

void Runtime::run_work(CUstream_st& stream, const Work& work)
{
    std::string& fault = devices[static_cast<std::size_t>(stream.device)].fault;
    if (!work.body || (!work.always && !fault.empty())) return;
    memory.open();
    try {
        work.body();
    } catch (const Fault& e) {
        if (fault.empty()) fault = e.what();
    }
    memory.close();
}

void Runtime::drain(CUstream_st& stream)
{
    run_until([&] { return stream.work.empty(); });
    stream.progress.acquire();
}

void Runtime::drain_device(int device)
{
    run_until([&] {
        for (const auto& stream : streams)
            if (stream->device == device && !stream->work.empty()) return false;
        return true;
    });
    for (const auto& stream : streams)
        if (stream->device == device) stream->progress.acquire();
}

// ---- rules ----

std::string Runtime::problem_with(const void* pointer, int device) const
{
    if (!pointer) return {};
    const Allocation* const block = memory.find(pointer);
    if (!block) return "plain host memory";
    if (block->state == Allocation::State::freed)
        return concat("memory of ", name_of(block->device), " that has been freed");
    if (block->state == Allocation::State::promised) return "memory that another stream will only allocate later";
    if (block->device == host_memory || block->device == device) return {};
    if (devices[static_cast<std::size_t>(device)].peers.contains(block->device)) return {};
    return concat("memory of ", name_of(block->device), " without peer access");
}

std::string Runtime::problem_with(const void* pointer, std::size_t bytes, int device) const
{
    if (std::string wrong = problem_with(pointer, device); !wrong.empty()) return wrong;
    std::size_t offset = 0;
    const Allocation* const block = memory.find(pointer, &offset);
    if (block && bytes <= block->bytes - offset) return {};
    return concat(bytes, " bytes from byte ", offset, " of an array of ", block ? block->bytes : 0);
}

void Runtime::fault(const std::string& what) const { throw Fault(concat(what, " (", replay(config), ")")); }

void Runtime::run_launch(CUstream_st& stream, Launch& launch)
{
    launch.device = stream.device;
    launch.number = stream.launches++;
    const auto name = [&](const PointerArgument& p) {
        return concat(name_of(launch), ", argument ", p.argument, ": ");
    };
    for (const PointerArgument& p : launch.pointers)
        if (const std::string wrong = problem_with(p.pointer, stream.device); !wrong.empty())
            fault(concat(name(p), "points to ", wrong, ", on device ", stream.device));
    machine().run(launch, config,
                  mix(mix(mix(config.seed, static_cast<std::uint64_t>(stream.device)), stream.number), launch.number));
    for (const PointerArgument& p : launch.pointers)
        if (const std::string wrong = memory.red_zones_of(p.pointer); !wrong.empty()) fault(concat(name(p), wrong));
}

// ---- launches and tasks ----

void observe_launches(void (*observer)(const Launch& launch)) { launch_observer = observer; }

cudaError_t enqueue_launch(CUstream_st* handle, Launch launch)
{
    Runtime& runtime = Runtime::get();
    const std::lock_guard lock(runtime.mutex);
    int device = 0;
    cudaGetDevice(&device);
    CUstream_st* const stream = runtime.stream_of(handle, device);
    if (!stream || stream->device != device)
        return fail(cudaErrorInvalidResourceHandle,
                    concat(name_of(launch), ": the stream is not of the current device ", device));
    if (launch.threads == 0 || launch.threads > 1024 || launch.blocks == 0 ||
        launch.shared_bytes > block_bytes_of(runtime.config.compute))
        return fail(cudaErrorInvalidConfiguration,
                    concat(name_of(launch), ": ", launch.blocks, " blocks of ", launch.threads, " threads with ",
                           launch.shared_bytes, " bytes of shared memory cannot be started"));
    if (launch.cluster == 0 || launch.cluster > static_cast<unsigned>(cluster_blocks_of(runtime.config.compute)) ||
        launch.blocks % launch.cluster != 0)
        return fail(cudaErrorInvalidConfiguration, concat(name_of(launch), ": ", launch.blocks,
                                                          " blocks cannot be started in clusters of ", launch.cluster));
    if (launch.early && runtime.config.compute < 90)
        return fail(cudaErrorInvalidConfiguration,
                    concat(name_of(launch), ": this GPU begins no kernel before the one ahead of it has ended"));
    if (launch_observer) launch_observer(launch);
    auto kept = std::make_shared<Launch>(std::move(launch));
    runtime.enqueue(*stream, {.body = [&runtime, stream, kept] { runtime.run_launch(*stream, *kept); },
                              .after = {},
                              .enqueued = {},
                              .launch = kept});
    return cudaSuccess;
}

void add_pointer(const void* pointer, int argument, std::vector<PointerArgument>& found)
{
    found.push_back({pointer, argument});
}

std::vector<PointerArgument> pointers_of(const Call& call)
{
    std::vector<PointerArgument> found;
    for (std::size_t i = 0; i < call.count; ++i)
        if (call.arguments[i].find_pointers)
            call.arguments[i].find_pointers(call.arguments[i].value, static_cast<int>(i) + 1, found);
    return found;
}

cudaError_t enqueue_call(CUstream_st* stream, const Grid& grid, const Call& call)
{
    struct Room {
        alignas(16) std::byte bytes[16];
    };
    struct Kept {
        std::vector<std::vector<Room>> copies;
        std::vector<const void*> value;
    };
    const auto kept = std::make_shared<Kept>();
    for (std::size_t i = 0; i < call.count; ++i) {
        const Argument& argument = call.arguments[i];
        kept->copies.emplace_back((argument.bytes + sizeof(Room) - 1) / sizeof(Room));
        std::memcpy(kept->copies.back().data(), argument.value, argument.bytes);
        kept->value.push_back(kept->copies.back().data());
    }
    Launch launch;
    launch.kernel = call.kernel;
    launch.blocks = grid.blocks;
    launch.threads = grid.threads;
    launch.cluster = grid.cluster;
    launch.shared_bytes = grid.shared_bytes;
    launch.early = grid.early;
    launch.pointers = pointers_of(call);
    launch.body = [kernel = call.kernel, run = call.run, kept] { run(kernel, kept->value.data()); };
    return enqueue_launch(stream, std::move(launch));
}

cudaError_t enqueue_task(CUstream_st* stream, const char* name, const std::vector<const void*>& pointers,
                         std::function<void()> task)
{
    Launch launch;
    launch.task = name;
    launch.blocks = launch.threads = 1;
    for (const void* pointer : pointers)
        launch.pointers.push_back({pointer, static_cast<int>(launch.pointers.size()) + 1});
    launch.body = std::move(task);
    return enqueue_launch(stream, std::move(launch));
}

bool flip_coin()
{
    Runtime& runtime = Runtime::get();
    const std::lock_guard lock(runtime.mutex);
    return runtime.random.chance(128);
}

}  // namespace tulle::inline TULLE_ABI::simt
