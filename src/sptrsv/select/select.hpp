// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The paper's Select stage (section 4.5): which policy, by prediction or model (select.cpp), from the cache (cache.cpp)
// or by timing candidates (search.cpp).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "model/perceptron.hpp"
#include "sptrsv/solve/solve.hpp"
#include "tulle/context.hpp"

namespace tulle::inline TULLE_ABI::sptrsv {

// --- Cache ---
//
// What a search found, remembered in a folder: a small file for each pattern, device and type. Files appear whole or
// not at all, so any number of processes may share a folder. A file that cannot be understood is never trusted, one
// that is not ours never replaced; nothing here throws because of files.

template <class V>
inline constexpr const char* type_name = sizeof(V) == 4 ? "f32" : "f64";

// The same for the same pattern in the order it is solved, whatever the number of threads.
std::uint64_t fingerprint(const CpuQueue& host, const Pattern& t, bool unit_diagonal);

struct CacheKey {
    std::uint64_t pattern = 0;
    std::string device, type;  // "NVIDIA H200", "f64"
};

struct Remembered {
    std::optional<Policy> policy = {};
    double seconds = 0;     // of a solve, as measured then
    std::string note = {};  // why a file was ignored
};
Remembered recall(const std::string& folder, const CacheKey& key, const Limits& limits);

// Returns why nothing could be written, or an empty text.
std::string remember(const std::string& folder, const CacheKey& key, const Policy& scheme, double seconds);

// Where the file of a key is.
std::string cache_file(const std::string& folder, const CacheKey& key);

// --- Choice ---

struct Selection {
    Choice choice;
    bool settled = false;   // by the caller, or by an earlier search: nothing is left to try
    CacheKey key = {};      // where a search's result is to be remembered
    std::string note = {};  // about the cache
};

// What this pattern is remembered by where the context works.
CacheKey key_of(const Context& ctx, AnalysisState& known, std::string_view type);

// The caller's scheme, else one remembered, else the model's, else the predicted best. `known` gets the estimates where
// they are needed.
Selection select(const Context& ctx, const Options& options, const Limits& limits, std::string_view type,
                 AnalysisState& known);

// A perceptron whose outputs are lines of schemes.
struct Learned {
    explicit Learned(model::Perceptron perceptron);
    model::Perceptron model;
    std::vector<std::optional<Policy>> schemes;  // none for a line that is not understood
};

// Pure. The scheme that a model thinks best, of those that work within the limits; none if there is no such.
std::optional<Choice> choose_learned(const Features& features, const Learned& learned, const Limits& limits);

// Pure. What was predicted, unless a model thinks it is not good enough and another is, whose nodes were looked at.
Choice overrule(const Choice& predicted, const Features& features, const Learned& learned, const Limits& limits,
                const std::vector<MergeEstimate>& looked_at);

// --- Search ---

// Sees a scheme with the seconds of its preparation and of a solve, and may take it.
template <class V>
using TrialCallback = std::function<void(Prepared<V>& p, double prepare_seconds, double solve_seconds)>;

// Tries schemes until options.seconds are over, the first in any case; those whose unknowns do not fit are left out.
template <class V>
void try_each(const Context& ctx, const WideView<V>& a, const Options& options, AnalysisState& known,
              const std::vector<Policy>& schemes, const Progress& progress,
              const std::type_identity_t<TrialCallback<V>>& f);

}  // namespace tulle::inline TULLE_ABI::sptrsv
