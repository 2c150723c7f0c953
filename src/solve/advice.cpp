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

std::string advise(const Recipe& recipe, const Report& report, double make_seconds, offset_t& usual_iterations)
{
    if (!report.converged()) return {};
    const double seconds = report.iterate_seconds + report.verify_seconds;
    if (!report.note.empty())
        return concat("a recipe with ", to_text(*recipe.method), " and ", to_text(*recipe.preconditioner),
                      " begins with what converged here");
    if (usual_iterations < 0) {
        usual_iterations = report.iterations;
        return {};
    }
    const auto now = static_cast<double>(report.iterations), usual = static_cast<double>(usual_iterations);
    if (now < most_growth * usual + 5) return {};
    const double saved = seconds * (1 - usual / now);
    return concat(report.iterations, " iterations, ", usual_iterations, " in the first solve: a new plan takes ",
                  make_seconds, " s and may save ", saved, " s a solve");
}

}  // namespace tulle::inline TULLE_ABI::solve
