// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "sptrsv/steps.hpp"

#include <algorithm>
#include <utility>

#include "tulle/memory.hpp"
#include "tulle/outline.hpp"
#include "tulle/text.hpp"
#include "tulle/trace.hpp"

namespace tulle::inline TULLE_ABI::sptrsv {
namespace {

// Seconds of a solve: the fastest of a few, after one to warm up.
template <class V>
double time_solve(const Context& ctx, const Prepared<V>& p, const V* b, V* x)
{
    constexpr int repeats = 5;
    double best = 0;
    for (int k = 0; k <= repeats; ++k) {
        ctx.synchronize();
        const double begin = trace::now();
        run(ctx, p, RhsView<V>{V(1), b, 1, 0, x, 1, 0, 1});
        ctx.synchronize();
        const double seconds = trace::now() - begin;
        if (k == 1 || (k > 1 && seconds < best)) best = seconds;
    }
    return best;
}

}  // namespace

template <class V>
void try_each(const Context& ctx, const WideView<V>& a, const Options& options, AnalysisState& known,
              const std::vector<Policy>& all, const Progress& progress, const std::type_identity_t<TrialCallback<V>>& f)
{
    Buffer<V> b = ctx.run([&](const auto& q) {
        Buffer<V> zeros(q, known.rows);
        fill_zero(q, zeros.data(), zeros.size());
        return zeros;
    });
    Buffer<V> x = ctx.run([&](const auto& q) { return Buffer<V>(q, known.rows); });
    std::vector<Policy> schemes = all;
    std::erase_if(schemes, [&](const Policy& s) { return !fits(s, known.rows, sizeof(V), limits_of(ctx)); });
    const double begin = trace::now();
    for (std::size_t k = 0; k < schemes.size() && (k == 0 || trace::now() - begin < options.seconds); ++k) {
        const double start = trace::now();
        Prepared<V> p = prepare(ctx, a, options, known, schemes[k]);
        ctx.synchronize();
        const double prepared = trace::now() - start;
        const double seconds = time_solve(ctx, p, std::as_const(b).data(), x.data());
        f(p, prepared, seconds);
        if (progress)
            progress(std::max(static_cast<double>(k + 1) / static_cast<double>(schemes.size()),
                              (trace::now() - begin) / options.seconds));
    }
}

template <class V>
std::vector<Trial> try_policies(const Context& all, const AnyView<V>& given, const Options& options,
                                const std::vector<Policy>& schemes, const Progress& progress)
{
    Buffer<offset_t> wide;
    const auto a = matrix::widened<WideView<V>>(all, given, wide);
    require_square(a);
    const Context ctx =
        all.for_work(as_rows(a).nonzeros + as_rows(a).rows);  // as Plan::make does, so that what is remembered is found
    const Limits limits = limits_of(ctx);
    for (const Policy& s : schemes) check_policy(s, limits);
    AnalysisState known = analyze_pattern(ctx, a, options);
    std::vector<Trial> trials;
    try_each(ctx, a, options, known, schemes, progress, [&](const Prepared<V>& p, double prepared, double seconds) {
        trials.push_back({p.policy, p.levels, prepared, seconds});
    });
    std::stable_sort(trials.begin(), trials.end(),
                     [](const Trial& x, const Trial& y) { return x.solve_seconds < y.solve_seconds; });
    if (!options.cache.empty() && !trials.empty())
        remember(options.cache, key_of(ctx, known, type_name<V>), trials.front().policy, trials.front().solve_seconds);
    return trials;
}

template void try_each(const Context&, const WideView<float>&, const Options&, AnalysisState&,
                       const std::vector<Policy>&, const Progress&, const TrialCallback<float>&);
template std::vector<Trial> try_policies(const Context&, const AnyView<float>&, const Options&,
                                         const std::vector<Policy>&, const Progress&);
template void try_each(const Context&, const WideView<double>&, const Options&, AnalysisState&,
                       const std::vector<Policy>&, const Progress&, const TrialCallback<double>&);
template std::vector<Trial> try_policies(const Context&, const AnyView<double>&, const Options&,
                                         const std::vector<Policy>&, const Progress&);

}  // namespace tulle::inline TULLE_ABI::sptrsv
