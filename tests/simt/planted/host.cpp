// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Mistakes of the host: devices, streams, and how long memory lives.
#include <optional>

#include "simt/planted/planted.hpp"

namespace tulle::test {
namespace {

constexpr offset_t n = 300;

__global__ void set_all(int* out, int value)
{
    const offset_t i = global_thread();
    if (i < n) out[i] = value;
}

struct View {
    index_t size;
    const int* from;
    bool sorted;
};

__global__ void copy_view(int* out, View in)
{
    const offset_t i = global_thread();
    if (i < in.size) out[i] = in.from[i];
}

const std::vector<int> fives(n, 5);

const Plant wrong_device("wrong_device", [](bool broken) {
    DeviceArray<int> in(fives, broken ? 1 : 0);
    return results_of<int>(n, one_thread_each(n), copy_view, View{n, in.data(), true}) == fives;
});

const Plant host_pointer_in_a_view("host_pointer_in_a_view", [](bool broken) {
    DeviceArray<int> in(fives);
    return results_of<int>(n, one_thread_each(n), copy_view, View{n, broken ? fives.data() : in.data(), true}) == fives;
});

// One stream writes, another reads: only an event puts them in order.
const Plant missing_event("missing_event", [](bool broken) {
    DeviceArray<int> data(std::vector<int>(n, 0), cuda::open_queue(0)),
        out(std::vector<int>(n, 0), cuda::open_queue(0));
    cudaEvent_t written = nullptr;
    cuda::check(cudaEventCreateWithFlags(&written, cudaEventDisableTiming));
    launch(data.queue(), one_thread_each(n), set_all, data.data(), 5);
    cuda::check(cudaEventRecord(written, data.queue().stream));
    if (!broken) cuda::check(cudaStreamWaitEvent(out.queue().stream, written));
    launch(out.queue(), one_thread_each(n), copy_view, out.data(), View{n, data.data(), true});
    cuda::check(cudaEventDestroy(written));
    return out.to_host() == fives;
});

// Memory is given back on a stream that does not wait for the one that still reads it.
const Plant early_free("early_free", [](bool broken) {
    DeviceArray<int> out(std::vector<int>(n, 0), cuda::open_queue(0));
    std::optional<DeviceArray<int>> in(std::in_place, fives, cuda::open_queue(0));
    launch(out.queue(), one_thread_each(n), copy_view, out.data(), View{n, in->data(), true});
    if (!broken) synchronize(out.queue());
    in.reset();
    return out.to_host() == fives;
});

const Plant use_after_free("use_after_free", [](bool broken) {
    const CudaQueue q = cuda::open_queue(0);
    Buffer<int> out(q, n);
    const int* kept = nullptr;
    Buffer<int> other = to_queue(q, fives.data(), n);
    {
        const Buffer<int> in = to_queue(q, fives.data(), n);
        kept = broken ? in.data() : other.data();
    }
    launch(q, one_thread_each(n), copy_view, out.data(), View{n, kept, true});
    std::vector<int> got(n);
    download(q, out.data(), got.data(), n);
    return got == fives;
});

const Plant double_free("double_free", [](bool broken) {
    const CudaQueue q = cuda::open_queue(0);
    void* data = nullptr;
    cuda::check(cudaMallocAsync(&data, 100, q.stream));
    for (int i = 0; i < (broken ? 2 : 1); ++i) (void)cudaFreeAsync(data, q.stream);
    synchronize(q);
    return true;
});

// The allocation is ordered on one stream, the use on another.
const Plant used_before_allocated("used_before_allocated", [](bool broken) {
    const CudaQueue q = cuda::open_queue(0), other = cuda::open_queue(0);
    Buffer<int> out(q, n);
    if (!broken) synchronize(q);
    launch(other, one_thread_each(n), set_all, out.data(), 5);
    synchronize(other);
    std::vector<int> got(n);
    download(q, out.data(), got.data(), n);
    return got == fives;
});

const Plant copy_too_long("copy_too_long", [](bool broken) {
    const CudaQueue q = cuda::open_queue(0);
    Buffer<int> out(q, broken ? n - 1 : n);
    upload(q, fives.data(), out.data(), n);
    return read_value(q, out.data() + n - 1) == 5;
});

const Plant copy_past_a_page("copy_past_a_page", [](bool broken) {
    const CudaQueue q = cuda::open_queue(0);
    const Buffer<int> in = to_queue(q, fives.data(), n);
    void* page = nullptr;
    cuda::check(cudaMallocHost(&page, (broken ? n - 1 : n) * sizeof(int)));
    cuda::check(cudaMemcpyAsync(page, in.data(), in.bytes(), cudaMemcpyDeviceToHost, q.stream));
    synchronize(q);
    const bool right = static_cast<const int*>(page)[n - 2] == 5;
    return cudaFreeHost(page) == cudaSuccess && right;
});

// All entries one place up, where a copy may begin at either end.
const Plant copy_onto_itself("copy_onto_itself", [](bool broken) {
    const CudaQueue q = cuda::open_queue(0);
    Buffer<int> data(q, 2 * n);
    upload(q, fives.data(), data.data(), n);
    copy(q, data.data(), data.data() + (broken ? 1 : n), n);
    return read_value(q, data.data() + n) == 5;
});

const Plant host_reads_device_memory("host_reads_device_memory", [](bool broken) {
    const CudaQueue q = cuda::open_queue(0);
    const Buffer<int> in = to_queue(q, fives.data(), n);
    return (broken ? in.data()[7] : read_value(q, in.data() + 7)) == 5;
});

const Plant result_not_waited_for("result_not_waited_for", [](bool broken) {
    const CudaQueue q = cuda::open_queue(0);
    Buffer<int> out(q, n);
    std::vector<int> got(n, 0);
    launch(q, one_thread_each(n), set_all, out.data(), 5);
    cuda::check(cudaMemcpyAsync(got.data(), out.data(), out.bytes(), cudaMemcpyDeviceToHost, q.stream));
    if (!broken) synchronize(q);
    const bool right = got == fives;
    synchronize(q);
    return right;
});

const Plant last_device_not_waited_for("last_device_not_waited_for", [](bool broken) {
    constexpr int devices = 4;
    std::vector<DeviceArray<int>> parts;
    std::vector<int> got(n * devices, 0);
    for (int d = 0; d < devices; ++d) {
        parts.emplace_back(static_cast<std::size_t>(n), d);
        const CudaQueue& q = parts.back().queue();
        launch(q, one_thread_each(n), set_all, parts.back().data(), 5);
        const cuda::DeviceGuard guard(d);
        cuda::check(cudaMemcpyAsync(got.data() + n * d, parts.back().data(), n * sizeof(int), cudaMemcpyDeviceToHost,
                                    q.stream));
    }
    for (int d = 0; d < devices - (broken ? 1 : 0); ++d) synchronize(parts[static_cast<std::size_t>(d)].queue());
    const bool right = got == std::vector<int>(n * devices, 5);
    for (const auto& part : parts) synchronize(part.queue());
    return right;
});

const Plant source_changed_before_copy("source_changed_before_copy", [](bool broken) {
    const CudaQueue q = cuda::open_queue(0);
    Buffer<int> out(q, n);
    std::vector<int> source = fives, got(n);
    cuda::check(cudaMemcpyAsync(out.data(), source.data(), out.bytes(), cudaMemcpyHostToDevice, q.stream));
    if (!broken) synchronize(q);
    source.assign(n, 6);
    download(q, out.data(), got.data(), n);
    return got == fives;
});

}  // namespace
}  // namespace tulle::test
