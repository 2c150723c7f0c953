// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "tulle/sptrsv.hpp"

#include <algorithm>

#include "sptrsv/analysis.hpp"
#include "sptrsv/fitted_costs.hpp"
#include "tulle/context.hpp"
#include "tulle/outline.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::sptrsv {
namespace {

// Seconds. Analysis: fitted_costs.hpp. Copies from and to plain host memory: assumed, not measured.
constexpr double copy_start = 10e-6;
constexpr double copy_bandwidth = 10e9;

double copy_seconds(double bytes) { return copy_start + bytes / copy_bandwidth; }

CostEstimate price_on_cpu(const Features& f, const Limits& limits, const Work& work)
{
    return {static_cast<double>(f.nonzeros) * fitted::cpu_prepare_entry + f.rows * fitted::cpu_prepare_row,
            choose(f, {}, limits).seconds * work.right_hand_sides};
}

CostEstimate price_on_gpu(const Features& f, const std::vector<MergeEstimate>& estimates, const Limits& limits,
                          const Work& work)
{
    const auto entries = static_cast<double>(f.nonzeros), value = static_cast<double>(work.value_bytes);
    const double alone = work.right_hand_sides == 1 ? choose(f, estimates, limits).seconds
                                                    : choose_many(f, estimates, limits, work.right_hand_sides).seconds;
    return {fitted::gpu_prepare + entries * fitted::gpu_prepare_entry + f.levels * fitted::gpu_prepare_level +
                copy_seconds(entries * (value + sizeof(index_t))),
            alone + 2 * copy_seconds(value * f.rows * work.right_hand_sides)};
}

std::string milliseconds(double seconds) { return concat(fixed(seconds * 1e3, 2), " ms"); }

// The host's triangle, as far as it must be looked at to decide.
template <class V>
Placement look_and_place(const Context& host, const WideView<V>& a, const Options& options, const Limits& gpu)
{
    const Limits cpu = limits_of(host);
    const Work work{options.expected_calls, options.right_hand_sides, sizeof(V)};
    AnalysisState known = analyze_pattern(host, a, options);
    const Placement hopeful = place(known.features, best_estimates(known.features), cpu, gpu, work);
    if (hopeful.backend == Backend::cpu) return hopeful;
    evaluate_merges(host, gpu, options.expected_calls, known);
    return place(known.features, known.estimates, cpu, gpu, work);
}

}  // namespace

std::vector<MergeEstimate> best_estimates(const Features& f)
{
    const index_t levels = std::max<index_t>(1, f.levels / most_rows);
    return {{Merge::none, 1, f.levels, f.levels}, {Merge::critical, most_rows, levels, levels}};
}

Placement place(const Features& features, const std::vector<MergeEstimate>& estimates, const Limits& cpu,
                const Limits& gpu, const Work& work)
{
    Placement p{.backend = Backend::cpu,
                .cpu = price_on_cpu(features, cpu, work),
                .gpu = price_on_gpu(features, estimates, gpu, work),
                .why = {}};
    const double here = p.cpu.total(work.calls), there = p.gpu.total(work.calls);
    if (there < here) p.backend = Backend::cuda;
    p.why = concat(p.backend == Backend::cpu ? "on the CPU: " : "on the GPU: ", fixed(work.calls, 0),
                   work.calls == 1 ? " solve" : " solves", " with analysis should take ", milliseconds(here),
                   " on the CPU, and with copies ", milliseconds(there), " on the GPU");
    return p;
}

template <class V>
ContextChoice best_context(const AnyView<V>& given, const Options& options, int threads, int device)
{
    const Context host = Context::cpu(threads);
    Buffer<offset_t> wide;
    const auto on_host = matrix::widened<WideView<V>>(host, given, wide);
    require_square(on_host);
    if (const std::string why = why_no_cuda(); !why.empty())
        return {host, {.backend = Backend::cpu, .cpu = {}, .gpu = {}, .why = concat("on the CPU: ", why)}};
    const Context gpu = Context::cuda(device);
    const Placement placement = look_and_place(host, on_host, options, limits_of(gpu));
    return {placement.backend == Backend::cpu ? host : gpu, placement};
}

template ContextChoice best_context(const AnyView<float>&, const Options&, int, int);
template ContextChoice best_context(const AnyView<double>&, const Options&, int, int);

}  // namespace tulle::inline TULLE_ABI::sptrsv
