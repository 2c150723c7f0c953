// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "tulle/sptrsv/select.hpp"

#include <algorithm>

#include "tulle/base/text.hpp"
#include "tulle/base/trace.hpp"
#include "tulle/device/info.hpp"
#include "tulle/model/embedded.hpp"

namespace tulle::sptrsv {
namespace {

constexpr std::string_view no_model = "none";

std::optional<model::Perceptron> parse_built_in(std::string_view name)
{
    const std::string_view text = model::embedded(name);
    if (text.empty()) return std::nullopt;
    return model::Perceptron::parse(text, name);
}

// Null if this build has none for the backend.
const model::Perceptron* built_in(Backend backend)
{
    static const std::optional<model::Perceptron> cpu = parse_built_in("sptrsv_cpu"), cuda = parse_built_in("sptrsv_cuda");
    const auto& model = backend == Backend::cpu ? cpu : cuda;
    return model ? &*model : nullptr;
}

std::optional<Choice> ask_model(const Options& options, const Limits& limits, const Features& features)
{
    if (options.model == no_model) return std::nullopt;
    if (!options.model.empty()) return choose_learned(features, model::Perceptron::load(options.model), limits);
    const model::Perceptron* model = built_in(limits.backend);
    return model ? choose_learned(features, *model, limits) : std::nullopt;
}

std::string device_of(const Context& ctx)
{
    return ctx.run([&](const auto& q) {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(q)>, CudaQueue>)
            for (const GpuInfo& gpu : cuda_devices())
                if (gpu.device == q.device) return gpu.name;
        (void)q;
        return ctx.name();
    });
}

}  // namespace

CacheKey key_of(const Context& ctx, const Triangle& triangle, std::string_view type) { return {fingerprint(ctx.host(), triangle), device_of(ctx), std::string(type)}; }

std::optional<Choice> choose_learned(const Features& features, const model::Perceptron& model, const Limits& limits)
{
    std::vector<double> values;
    for (const std::string& name : model.features()) values.push_back(feature(features, name));
    const std::vector<double> judged = model.judge(values);
    std::optional<Choice> best;
    double most = -1;
    for (std::size_t k = 0; k < judged.size(); ++k) {
        if (!(judged[k] > most)) continue;
        const std::optional<Scheme> scheme = parse_scheme(model.outputs()[k]);
        if (!scheme || !works(*scheme, limits) || !fits(*scheme, features.rows, sizeof(double), limits)) continue;
        most = judged[k];
        best = Choice{*scheme, 0, concat("the learned model judges it ", fixed(most, 2), ", the most of ", judged.size(), " schemes")};
    }
    return best;
}

Selection select(const Context& ctx, const Options& options, const Limits& limits, std::string_view type, Known& known)
{
    const trace::Phase phase{"select"};
    if (options.force) return {.choice = {*options.force, 0, "asked for by the caller"}, .settled = true};
    Selection selected;
    if (!options.cache.empty()) {
        selected.key = key_of(ctx, known.triangle, type);
        const Remembered found = recall(options.cache, selected.key, limits);
        if (found.scheme) return {.choice = {*found.scheme, found.seconds, "the fastest of an earlier search"}, .settled = true, .key = selected.key, .note = "remembered"};
        selected.note = found.note.empty() ? "nothing remembered" : found.note;
    }
    if (known.wide) {
        look_at_chains(ctx, limits, options.expected_calls, known);
        selected.choice = choose(known.features, known.outlooks, limits);
        index_t fewest = known.features.levels;
        for (const Outlook& o : known.outlooks) fewest = std::min(fewest, o.levels);
        if (!worth_more(known.features, fewest, selected.choice.seconds, options.expected_calls)) return selected;
    }
    const bool may_cluster = limits.backend == Backend::cpu || worth_clusters(known.features, options.expected_calls);
    if (may_cluster)
        if (const std::optional<Choice> learned = ask_model(options, limits, known.features)) {
            selected.choice = *learned;
            return selected;
        }
    look_ahead(ctx, limits, options.expected_calls, known);
    selected.choice = choose(known.features, known.outlooks, limits);
    return selected;
}

}  // namespace tulle::sptrsv
