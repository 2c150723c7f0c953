// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The paper's Select stage (section 4.5): which scheme, before any is tried.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/perceptron.hpp"
#include "sptrsv/analysis/prepare.hpp"
#include "sptrsv/select/cache.hpp"

namespace tulle::inline TULLE_ABI::sptrsv {

struct Selection {
    Choice choice;
    bool settled = false;   // by the caller, or by an earlier search: nothing is left to try
    CacheKey key = {};      // where a search's result is to be remembered
    std::string note = {};  // about the cache
};

// What this pattern is remembered by where the context works.
CacheKey key_of(const Context& ctx, const Triangle& triangle, std::string_view type);

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

}  // namespace tulle::inline TULLE_ABI::sptrsv
