// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "bench/operations/roofline.hpp"

#include <algorithm>
#include <cstdint>

#include "bench/build.hpp"
#include "bench/cuda/roofline.hpp"
#include "bench/harness/machine.hpp"
#include "tulle/context.hpp"
#include "tulle/memory.hpp"
#include "tulle/text.hpp"

namespace tulle::bench {
namespace {

// Sums of eight words side by side keep the adders out of the way of the loads.
std::uint64_t sum_of(const std::uint64_t* data, offset_t begin, offset_t end)
{
    std::uint64_t sum[8] = {};
    for (; begin + 8 <= end; begin += 8)
        for (int k = 0; k < 8; ++k) sum[k] += data[begin + k];
    for (; begin < end; ++begin) sum[0] += data[begin];
    return sum[0] + sum[1] + sum[2] + sum[3] + sum[4] + sum[5] + sum[6] + sum[7];
}

std::uint64_t read_all(const CpuQueue& q, const std::uint64_t* data, offset_t words, std::uint64_t*)
{
    std::uint64_t total = 0;
#pragma omp parallel for num_threads(q.threads) schedule(static) reduction(+ : total)
    for (int t = 0; t < q.threads; ++t) total += sum_of(data, words * t / q.threads, words * (t + 1) / q.threads);
    return total;
}

void copy_all(const CpuQueue& q, const std::uint64_t* from, std::uint64_t* to, offset_t words)
{
#pragma omp parallel for num_threads(q.threads) schedule(static)
    for (offset_t i = 0; i < words; ++i) to[i] = from[i];
}

template <class Queue>
struct Array {
    Queue q;
    Buffer<std::uint64_t> data, sink;
};

template <class Queue>
std::shared_ptr<Array<Queue>> make_array(const Queue& q, std::size_t bytes)
{
    const auto words = static_cast<offset_t>(std::max<std::size_t>(bytes / sizeof(std::uint64_t), 2));
    auto array =
        std::make_shared<Array<Queue>>(Array<Queue>{q, Buffer<std::uint64_t>(q, words), Buffer<std::uint64_t>(q, 1)});
    fill_bytes(q, array->data.data(), 1, array->data.bytes());
    return array;
}

volatile std::uint64_t kept;  // the sum must be wanted by somebody, or nothing is read

std::string sized(const char* what, std::size_t bytes) { return concat(what, " ", human_bytes(bytes)); }

Limit limit_of(const Context& ctx, const Contender& contender, std::size_t bytes, const Wish& wish)
{
    const auto watch = make_stopwatch(ctx);
    const Measured measured = measure(*watch, {contender}, wish).front();
    const double seconds = measured.warm.median();
    return {contender.name, ctx.name(), seconds > 0 ? static_cast<double>(bytes) / seconds * 1e-9 : 0, seconds};
}

std::size_t cache_bytes(const Context& ctx)
{
    if (ctx.backend() == Backend::cpu) return last_level_cache_bytes();
    return cuda_devices().at(0).l2_bytes;
}

// An empty launch, back to back and inside a graph.
std::vector<Limit> launch_costs(const Context& ctx, Wish wish)
{
    wish.cold = true;
    return ctx.run([&](const auto& q) -> std::vector<Limit> {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(q)>, CpuQueue>) return {};
        else {
            const Contender empty{"empty kernel", Role::roofline, [] { return Prepared{}; },
                                  [q] { launch_nothing(q); }};
            const Measured measured = measure(*make_stopwatch(ctx), {empty}, wish).front();
            return {{"empty kernel, launches back to back", ctx.name(), 0, measured.warm.median()},
                    {"empty kernel, in a graph", ctx.name(), 0, measured.replayed.median()},
                    {"empty kernel, alone between two events", ctx.name(), 0, measured.cold.median()}};
        }
    });
}

}  // namespace

Contender reading(const Context& ctx, std::size_t bytes)
{
    return ctx.run([&](const auto& q) {
        auto array = make_array(q, bytes);
        return Contender{sized("read", bytes), Role::roofline, [] { return Prepared{}; },
                         [array] {
                             kept = read_all(array->q, array->data.data(), array->data.size(), array->sink.data());
                         }};
    });
}

Contender copying(const Context& ctx, std::size_t bytes)
{
    return ctx.run([&](const auto& q) {
        auto array = make_array(q, bytes);
        return Contender{sized("copy", bytes), Role::roofline, [] { return Prepared{}; },
                         [array] {
                             const offset_t half = array->data.size() / 2;
                             copy_all(array->q, array->data.data(), array->data.data() + half, half);
                         }};
    });
}

std::size_t beyond_caches(const Context& ctx)
{
    const Place place = ctx.run([](const auto& q) { return q.place(); });
    const std::size_t bytes =
        has_fast_baselines ? std::max(1_GiB, 4 * cache_bytes(ctx)) : 64_MiB;  // for tests, which compare no times
    return std::min(bytes, free_bytes(place) / 4);
}

double read_bandwidth(const Context& ctx, const Wish& wish)
{
    constexpr int most = 10;
    const std::size_t bytes = beyond_caches(ctx);
    const int samples = wish.repeat > 0 ? std::min(wish.repeat, most) : most;
    return limit_of(ctx, reading(ctx, bytes), bytes, {.repeat = samples}).gigabytes_per_second;
}

std::vector<Limit> limits(const Context& ctx, const Wish& wish)
{
    const std::size_t large = beyond_caches(ctx), cached = cache_bytes(ctx) / 2;
    std::vector<Limit> all{limit_of(ctx, reading(ctx, large), large, wish),
                           limit_of(ctx, copying(ctx, large), large, wish),
                           limit_of(ctx, reading(ctx, cached), cached, wish)};
    for (Limit& cost : launch_costs(ctx, wish)) all.push_back(cost);
    return all;
}

}  // namespace tulle::bench
