// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// From a matrix to what a scheme's kernel works on: look, transform, arrange, fill. The parts of the story that sptrsv.cpp tells.
#pragma once

#include <variant>
#include <vector>

#include "sptrsv/steps.hpp"
#include "tulle/sptrsv.hpp"

namespace tulle::sptrsv {

// What one scheme works on.
template <class V>
struct Prepared {
    Scheme scheme;
    index_t levels = 0;
    Rows rows;                           // serial, levels, groups
    RowValues<V> row_values;
    ThreadPlan threads;                  // levels
    Tasks tasks;                         // tasks
    TaskValues<V> task_values;
    Shared<V> shared;
    Groups groups;                       // groups
    Flags<V> flags;
    Rows many;                           // more than one right-hand side on a GPU
    RowValues<V> many_values;
    Shared<V> many_shared;

    std::size_t bytes() const
    {
        return rows.bytes() + row_values.bytes() + groups.bytes() + flags.bytes() + tasks.bytes() + task_values.bytes() + shared.bytes() + many.bytes() + many_values.bytes() + many_shared.bytes();
    }
};

// What is known of a pattern, whatever the scheme.
struct Known {
    Triangle triangle;                   // on the host; where it was taken there, only its rows are counted until it is fetched
    Graph levels;                        // of each row alone, likewise
    Features features;
    std::vector<Graph> merged;           // those of the outlooks but the first, which is `levels`
    std::vector<Outlook> outlooks;
    Triangle there = {};                 // the triangle where the context works, if it was taken there
    Swept swept = {};                    // levels and chains of its rows, if they were found there
    bool wide = false;                   // levels are so wide that a GPU should make the plan by itself
};

// What was left where the context works, to the host.
void fetch_triangle(const Context& ctx, Known& known);
void fetch_sources(const Context& ctx, Known& known);
void fetch_levels(const Context& ctx, Known& known);

// AnyView once its offsets have 64 bits.
template <class V> using WideView = std::variant<CsrView<V>, CscView<V>>;

template <class V>
CsrView<V> as_rows(const WideView<V>& a)
{
    if (const auto* csc = std::get_if<CscView<V>>(&a)) return transposed(*csc);
    return std::get<CsrView<V>>(a);
}

template <class V> inline constexpr const char* type_name = sizeof(V) == 4 ? "f32" : "f64";

// The triangle, its levels and features.
template <class V> Known look_around(const Context& ctx, const WideView<V>& a, const Options& options);

// The graphs a GPU scheme could work on, beside the one without merging: chains, or those that are found on the host.
void look_at_chains(const Context& ctx, const Limits& limits, double expected_calls, Known& known);
void look_ahead(const Context& ctx, const Limits& limits, double expected_calls, Known& known);

// Values to their places; ValueError names the row of a zero on the diagonal.
template <class V> void fill_or_refuse(const Context& ctx, const V* value, Prepared<V>& p);

// Whether a scheme's tasks are made where the triangle is, and nothing of it comes to the host.
bool stays_there(const Known& known, const Options& options, const Scheme& scheme);

// What a scheme works on, values filled in.
template <class V> Prepared<V> prepare(const Context& ctx, const WideView<V>& a, const Options& options, Known& known, const Scheme& scheme);

// One solve, put on the context's queue.
template <class V> void run(const Context& ctx, const Prepared<V>& p, const Sides<V>& sides);

}  // namespace tulle::sptrsv
