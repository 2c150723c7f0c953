// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The sparse triangular solve, from a matrix to x.
//
//   look        the triangle in the order it is solved, as a pattern on the GPU (look.cpp, cuda/extract_triangle.cu)
//               or, with Analysis::host and on CPUs, on the host
//               (triangle.cpp); its levels and features (cuda/sweep.cu, graph.cpp)
//   transform   rows merged into nodes: clusters, or the paper's consecutive merges (graph.cpp)
//   select      a scheme: the caller's, a remembered one, by a model or by prediction (select.cpp, cache.cpp,
//               policy.cpp), or by trying (search.cpp)
//   arrange     what the scheme's kernel works on: rows for the CPU and for many right-hand sides, tasks for the GPU
//               (prepare.cpp, rows.cpp, tasks.cpp)
//   fill        values to their places, divided by the diagonal
//   solve       one kernel (solve.cpp)
//
// The four stages are those of AG-SpTRSV (Hu et al., TACO 21(4):70, doi:10.1145/3674911); docs/design/sptrsv.md says
// where each lives.
#include "tulle/sptrsv.hpp"

#include <utility>
#include <vector>

#include "base/plural.hpp"
#include "sptrsv/plan_state.hpp"
#include "sptrsv/select/search.hpp"
#include "sptrsv/select/select.hpp"
#include "tulle/outline.hpp"
#include "tulle/text.hpp"
#include "tulle/trace.hpp"

namespace tulle::inline TULLE_ABI::sptrsv {

template <class V>
Plan<V>::Plan(std::unique_ptr<State> state) : state_(std::move(state))
{}
template <class V>
Plan<V>::Plan(Plan&&) noexcept = default;
template <class V>
Plan<V>& Plan<V>::operator=(Plan&&) noexcept = default;
template <class V>
Plan<V>::~Plan() = default;

template <class V>
Plan<V> Plan<V>::make(const Context& all, const AnyView<V>& given, const Options& options)
{
    Buffer<offset_t> wide;
    const auto a = matrix::widened<WideView<V>>(all, given, wide);
    require_square(a);
    const Context ctx = all.for_work(as_rows(a).nonzeros + as_rows(a).rows);
    const Limits limits = limits_of(ctx);
    if (options.force) check_policy(*options.force, limits);
    AnalysisState known = analyze_pattern(ctx, a, options);
    const Selection selected = select(ctx, options, limits, type_name<V>, known);
    auto state = std::make_unique<State>(State{.ctx = ctx,
                                               .options = options,
                                               .narrow = !wide.empty(),
                                               .format = a.index(),
                                               .nonzeros = as_rows(a).nonzeros,
                                               .features = known.features,
                                               .limits = limits,
                                               .choice = selected.choice,
                                               .note = selected.note,
                                               .prepared = {}});
    if (selected.settled || options.effort == Effort::model) {
        state->prepared = prepare(ctx, a, options, known, selected.choice.scheme);
        return Plan(std::move(state));
    }
    std::vector<Policy> schemes{selected.choice.scheme};
    for (const Policy& s : candidates(limits))
        if (s != selected.choice.scheme) schemes.push_back(s);
    double best = 0;
    try_each(ctx, a, options, known, schemes, {}, [&](Prepared<V>& p, double, double seconds) {
        if (best != 0 && seconds >= best) return;
        best = seconds;
        state->choice = {p.scheme, seconds, "the fastest of those tried"};
        state->prepared = std::move(p);
    });
    if (!options.cache.empty()) {
        const std::string why_not = remember(options.cache, selected.key, state->choice.scheme, best);
        state->note = why_not.empty() ? "remembered from now on" : why_not;
    }
    return Plan(std::move(state));
}

template <class V>
const Policy& Plan<V>::scheme() const
{
    return state_->prepared.scheme;
}
template <class V>
const Features& Plan<V>::features() const
{
    return state_->features;
}
template <class V>
index_t Plan<V>::levels() const
{
    return state_->prepared.levels;
}
template <class V>
std::size_t Plan<V>::bytes() const
{
    return state_->prepared.bytes();
}
template <class V>
index_t Plan<V>::rows() const
{
    return state_->features.rows;
}

template <class V>
std::string Plan<V>::describe() const
{
    const State& s = *state_;
    const Features& f = s.features;
    std::string text =
        concat("sptrsv on ", s.ctx.name(), ": ", f.rows, plural(f.rows, " row, ", " rows, "), f.nonzeros,
               plural(f.nonzeros, " entry, ", " entries, "), s.options.uplo == Uplo::lower ? "lower" : "upper",
               s.options.op == Op::transpose ? " transposed" : "", s.options.unit_diagonal ? ", unit diagonal" : "",
               sizeof(V) == 4 ? ", float" : ", double", "\n  graph:  ", f.levels,
               plural(f.levels, " level, ", " levels, "), fixed(f.level_mean, 1), " entries each; ", levels(),
               " one after the other with this scheme", "\n  chosen: ", to_text(scheme()),
               "\n  why:    ", s.choice.why);
    if (!s.note.empty()) text += concat("\n  cache:  ", s.note);
    if (s.choice.seconds > 0)
        text += concat(s.options.effort == Effort::search ? "\n  took:   " : "\n  should take: ",
                       fixed(s.choice.seconds * 1e6, 1), " us");
    if (s.narrow) text += "\n  offsets: given in 32 bits, widened to 64 while the plan was made; none are kept";
    return text + concat("\n  order:  the same bits every time\n  keeps:  ", human_bytes(bytes()));
}

template class Plan<float>;
template class Plan<double>;

}  // namespace tulle::inline TULLE_ABI::sptrsv
