// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Advice after a solve: candidates that need not be tried again, or a new setup for values that have changed since
// make().
#include "solve/state.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::solve {
namespace {

constexpr double most_growth = 1.5;  // of iterations since the first solve, before a new setup is advised

}  // namespace

template <class V>
std::string advise(PlanState<V>& s, const Report& report)
{
    if (!report.converged()) return {};
    const double seconds = report.iterate_seconds + report.verify_seconds;
    if (!report.note.empty())
        return concat("a recipe with ", to_text(*s.recipe.method), " and ", to_text(*s.recipe.preconditioner),
                      " begins with what converged here");
    if (s.usual_iterations < 0) {
        s.usual_iterations = report.iterations;
        return {};
    }
    const auto now = static_cast<double>(report.iterations), usual = static_cast<double>(s.usual_iterations);
    if (now < most_growth * usual + 5) return {};
    const double saved = seconds * (1 - usual / now);
    return concat(report.iterations, " iterations, ", s.usual_iterations, " in the first solve: a new plan takes ",
                  s.make_seconds, " s and may save ", saved, " s a solve");
}

template std::string advise(PlanState<float>&, const Report&);
template std::string advise(PlanState<double>&, const Report&);

}  // namespace tulle::inline TULLE_ABI::solve
