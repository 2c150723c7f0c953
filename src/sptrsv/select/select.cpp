// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "sptrsv/select/select.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "model/embedded.hpp"
#include "tulle/context.hpp"
#include "tulle/text.hpp"
#include "tulle/trace.hpp"

namespace tulle::inline TULLE_ABI::sptrsv {
namespace {

constexpr std::string_view no_model = "none";

using Model = std::shared_ptr<const Learned>;

Model parse_built_in(std::string_view name)
{
    const std::string_view text = model::embedded(name);
    return text.empty() ? nullptr : std::make_shared<const Learned>(model::Perceptron::parse(text, name));
}

// There is one for a GPU, and one that was learned from nothing but nodes that a GPU finds by itself; none for CPUs.
// Null if this build does not have it.
enum class About { cpu, cuda, cuda_there };
Model built_in(About about)
{
    static const Model cuda = parse_built_in("sptrsv_cuda"), cuda_there = parse_built_in("sptrsv_cuda_there");
    return about == About::cpu ? nullptr : about == About::cuda ? cuda : cuda_there;
}

// The caller's, or the one built in; null if there is none, or none is wanted.
Model model_for(const Options& options, About about)
{
    if (options.model == no_model) return nullptr;
    return options.model.empty() ? built_in(about)
                                 : std::make_shared<const Learned>(model::Perceptron::load(options.model));
}

struct Judged {
    Policy scheme;
    double worth;  // 0 to 1; from a half on it is thought to be good enough
};
constexpr double good_enough = 0.5;

// Those that work within the limits.
std::vector<Judged> judge(const Features& features, const Learned& learned, const Limits& limits)
{
    std::vector<double> values;
    for (const std::string& name : learned.model.features()) values.push_back(feature(features, name));
    const std::vector<double> worth = learned.model.judge(values);
    std::vector<Judged> all;
    for (std::size_t k = 0; k < worth.size(); ++k)
        if (const std::optional<Policy>& scheme = learned.schemes[k];
            scheme && works(*scheme, limits) && fits(*scheme, features.rows, sizeof(double), limits))
            all.push_back({*scheme, worth[k]});
    return all;
}

// Schemes that differ in the number of warps alone are taken for one.
bool is_like(const Policy& a, Policy b)
{
    b.warps = a.warps;
    return a == b;
}

bool was_looked_at(const Policy& s, const std::vector<MergeEstimate>& looked_at)
{
    return std::any_of(looked_at.begin(), looked_at.end(), [&](const MergeEstimate& o) {
        return o.merge == s.merge && (s.merge == Merge::none || o.rows == s.rows);
    });
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

CacheKey key_of(const Context& ctx, const Triangle& triangle, std::string_view type)
{
    return {fingerprint(ctx.host(), triangle), device_of(ctx), std::string(type)};
}

Learned::Learned(model::Perceptron perceptron) : model(std::move(perceptron))
{
    for (const std::string& line : model.outputs()) schemes.push_back(parse_scheme(line));
}

std::optional<Choice> choose_learned(const Features& features, const Learned& learned, const Limits& limits)
{
    const std::vector<Judged> judged = judge(features, learned, limits);
    if (judged.empty()) return std::nullopt;
    const Judged& best = *std::max_element(judged.begin(), judged.end(),
                                           [](const Judged& a, const Judged& b) { return a.worth < b.worth; });
    return Choice{best.scheme, 0,
                  concat("the learned model judges it ", fixed(best.worth, 2), ", the most of ", judged.size(),
                         " schemes")};
}

Choice overrule(const Choice& predicted, const Features& features, const Learned& learned, const Limits& limits,
                const std::vector<MergeEstimate>& looked_at)
{
    double most = 0, most_like = 0;
    Policy best;
    for (const Judged& one : judge(features, learned, limits)) {
        if (is_like(predicted.scheme, one.scheme)) most_like = std::max(most_like, one.worth);
        if (one.worth <= most || !was_looked_at(one.scheme, looked_at)) continue;
        most = one.worth;
        best = one.scheme;
    }
    if (most_like >= good_enough || most < good_enough) return predicted;
    return {best, 0,
            concat("the learned model judges it ", fixed(most, 2), ", and ", fixed(most_like, 2),
                   " what was predicted to be the fastest: ", to_text(predicted.scheme))};
}

Selection select(const Context& ctx, const Options& options, const Limits& limits, std::string_view type,
                 AnalysisState& known)
{
    const trace::Phase phase{"select"};
    if (options.force) return {.choice = {*options.force, 0, "asked for by the caller"}, .settled = true};
    Selection selected;
    if (!options.cache.empty()) {
        selected.key = key_of(ctx, known.triangle, type);
        const Remembered found = recall(options.cache, selected.key, limits);
        if (found.scheme)
            return {.choice = {*found.scheme, found.seconds, "the fastest of an earlier search"},
                    .settled = true,
                    .key = selected.key,
                    .note = "remembered"};
        selected.note = found.note.empty() ? "nothing remembered" : found.note;
    }
    if (known.wide) {
        look_at_chains(ctx, limits, options.expected_calls, known);
        selected.choice = choose(known.features, known.estimates, limits);
        index_t fewest = known.features.levels;
        for (const MergeEstimate& o : known.estimates) fewest = std::min(fewest, o.levels);
        if (!host_merge_pays(known.features, fewest, selected.choice.seconds, options.expected_calls)) {
            if (const Model model = model_for(options, About::cuda_there))
                selected.choice = overrule(selected.choice, known.features, *model, limits, known.estimates);
            return selected;
        }
    }
    const bool may_cluster = limits.backend == Backend::cpu || clusters_pay(known.features, options.expected_calls);
    if (const Model model =
            may_cluster ? model_for(options, limits.backend == Backend::cpu ? About::cpu : About::cuda) : nullptr)
        if (const std::optional<Choice> learned = choose_learned(known.features, *model, limits)) {
            selected.choice = *learned;
            return selected;
        }
    evaluate_merges(ctx, limits, options.expected_calls, known);
    selected.choice = choose(known.features, known.estimates, limits);
    if (selected.choice.scheme.kernel == Kernel::levels) {  // the same bits, but not on a machine that others use
        Limits now = limits;
        now.handover = measure_handover(limits.threads);
        selected.choice = choose(known.features, known.estimates, now);
    }
    return selected;
}

}  // namespace tulle::inline TULLE_ABI::sptrsv
