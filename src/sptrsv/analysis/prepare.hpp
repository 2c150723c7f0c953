// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// From a matrix to what a scheme's kernel works on: look, transform, arrange, fill. The parts of the story that
// sptrsv.cpp tells.
#pragma once

#include <variant>
#include <vector>

#include "sptrsv/steps.hpp"
#include "tulle/sptrsv.hpp"

namespace tulle::inline TULLE_ABI::sptrsv {

// What one scheme works on.
template <class V>
struct Prepared {
    Policy scheme;
    index_t levels = 0;
    Rows rows;  // serial, levels, groups
    RowValues<V> row_values;
    ThreadPlan threads;  // levels
    Tasks tasks;         // tasks
    TaskValues<V> task_values;
    SolveScratch<V> shared;
    Groups groups;  // groups
    Flags<V> flags;
    Rows many;  // more than one right-hand side on a GPU
    RowValues<V> many_values;
    SolveScratch<V> many_shared;

    std::size_t bytes() const
    {
        return rows.bytes() + row_values.bytes() + groups.bytes() + flags.bytes() + tasks.bytes() +
               task_values.bytes() + shared.bytes() + many.bytes() + many_values.bytes() + many_shared.bytes();
    }
};

// What is known of a pattern, whatever the scheme.
struct AnalysisState {
    Triangle triangle;  // on the host; where it was taken there, only its rows are counted until it is fetched
    Graph levels;       // of each row alone, likewise
    Features features;
    std::vector<Graph> merged;  // those of the estimates but the first, which is `levels`
    std::vector<MergeEstimate> estimates;
    Triangle there = {};       // the triangle where the context works, if it was taken there
    LevelAnalysis swept = {};  // levels and chains of its rows, if they were found there
    bool wide = false;         // levels are so wide that a GPU should make the plan by itself
};

// What was left where the context works, to the host.
void fetch_triangle(const Context& ctx, AnalysisState& known);
void fetch_sources(const Context& ctx, AnalysisState& known);
void fetch_levels(const Context& ctx, AnalysisState& known);

// AnyView once its offsets have 64 bits.
template <class V>
using WideView = std::variant<CsrView<V>, CscView<V>>;

template <class V>
CsrView<V> as_rows(const WideView<V>& a)
{
    if (const auto* csc = std::get_if<CscView<V>>(&a)) return transposed(*csc);
    return std::get<CsrView<V>>(a);
}

template <class V>
inline constexpr const char* type_name = sizeof(V) == 4 ? "f32" : "f64";

// The triangle, its levels and features.
template <class V>
AnalysisState analyze_pattern(const Context& ctx, const WideView<V>& a, const Options& options);

// The graphs a GPU scheme could work on, beside the one without merging: chains, or those that are found on the host.
void look_at_chains(const Context& ctx, const Limits& limits, double expected_calls, AnalysisState& known);
void evaluate_merges(const Context& ctx, const Limits& limits, double expected_calls, AnalysisState& known);

// Values to their places; ValueError names the row of a zero on the diagonal.
template <class V>
void set_values(const Context& ctx, const V* value, Prepared<V>& p);

// Whether a scheme's tasks are made where the triangle is, and nothing of it comes to the host.
bool is_device_resident(const AnalysisState& known, const Options& options, const Policy& scheme);

// What a scheme works on, values filled in.
template <class V>
Prepared<V> prepare(const Context& ctx, const WideView<V>& a, const Options& options, AnalysisState& known,
                    const Policy& scheme);

// One solve, put on the context's queue.
template <class V>
void run(const Context& ctx, const Prepared<V>& p, const RhsView<V>& sides);

}  // namespace tulle::inline TULLE_ABI::sptrsv
