// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// One product of a sparse with a dense matrix on one backend or team: prepared, done once for its result, then timed.
// For run, explain and demo.
#pragma once

#include <string>
#include <type_traits>
#include <vector>

#include "apps/cli/verbs/operations/measured.hpp"
#include "apps/cli/verbs/operations/spmm.hpp"
#include "tulle/error.hpp"
#include "tulle/text.hpp"

namespace tulle::cli {

template <class V>
using ResultOf = std::conditional_t<sizeof(V) == 2, float, V>;
template <class V>
using LoadedAs = std::conditional_t<sizeof(V) == 8, double, float>;

// The matrix as it is loaded, with a report of what the conversion to V will lose unless its rows are scaled.
template <class V>
Loaded<LoadedAs<V>> load_for(const Session& session, const Context& host, Source source, bool scaled = false)
{
    source.narrow = scaled                        ? io::Narrow::no
                    : std::is_same_v<V, Float16>  ? io::Narrow::f16
                    : std::is_same_v<V, Bfloat16> ? io::Narrow::bf16
                                                  : io::Narrow::no;
    return load<LoadedAs<V>>(session, host, source);
}

// The product on the host, with numbers as they are stored.
template <class V>
struct DenseProblem {
    CsrView<LoadedAs<V>> a;
    std::vector<V> value, b;
    std::vector<ResultOf<V>> c;
    index_t rows = 0, cols = 0;         // of op(A)
    std::vector<float> row_scale = {};  // powers of two of the rows of op(A); empty: none
    offset_t zeroed = 0;                // values that are too small beside the largest of their row

    CsrView<V> matrix() const
    {
        return {a.rows, a.cols, a.nonzeros, a.row_begin, a.col, value.data(), a.sorted, a.unique};
    }
};

// B and C from the seed, within the budget of `host`; rows of A are scaled as the options say.
template <class V>
DenseProblem<V> make_problem(const Context& host, const CsrView<LoadedAs<V>>& a, const SpmmOptions& options);

// Warns of values that became zero though rows were scaled; FormatError where nothing may be lost.
template <class V>
void report_zeroed(const Session& session, const Source& source, const DenseProblem<V>& problem)
{
    if (problem.zeroed == 0) return;
    const std::string message =
        concat(source.text, ": ", grouped(problem.zeroed),
               problem.zeroed == 1 ? " value is too small beside the largest one of its row and became zero"
                                   : " values are too small beside the largest ones of their rows and became zero");
    require<FormatError>(!source.strict, message, "use a wider --type, or not --strict");
    session.console.say("warning: " + message);
    session.warnings->push_back({"underflow", message, {.count = problem.zeroed}});
}

struct DenseResult : Measured {
    std::size_t bytes = 0;
    bool tensor = false;  // products were those of tensor cores
};

template <class V>
DenseResult measure_product(const Context& ctx, const DenseProblem<V>& problem, const SpmmOptions& options);

// The same on a team, with A, B and C on the host: what moves to and from GPUs is timed too.
template <class V>
DenseResult measure_on_team(const Session& session, const Context& like, const DenseProblem<V>& problem,
                            const SpmmOptions& options);

// What run spmm and run sddmm print of their results: a table below a heading, or one JSON object.
struct DenseReport {
    std::string heading;
    Json about;        // of the product
    double flops = 0;  // of one run
};
void report(const Session& session, const std::vector<DenseResult>& results, DenseReport what);

// work(V()) for the type of A and B that the options name; tf32 is float.
template <class Work>
void with_type(const std::string& type, const Work& work)
{
    if (type == "f16") return work(Float16());
    if (type == "bf16") return work(Bfloat16());
    type == "f64" ? work(double()) : work(float());
}

}  // namespace tulle::cli
