// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Candidates: each is a method with a preconditioner; the first that can be made is set up.
#include <type_traits>

#include "solve/state.hpp"
#include "tulle/error.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::solve {
namespace {

template <class V>
std::unique_ptr<Iteration<V>> make_iteration(System<V>& system, const CsrView<V>& a, const Recipe& recipe,
                                             Method method)
{
    switch (method) {
    case Method::cg: return make_cg(system);
    case Method::pipelined_cg: return make_pipelined_cg(system);
    case Method::minres: return make_minres(system);
    case Method::bicgstab: return make_bicgstab(system);
    case Method::gmres: return make_gmres(system, recipe.restart, false);
    case Method::fgmres: return make_gmres(system, recipe.restart, true);
    case Method::chebyshev: return make_chebyshev(system, recipe.eigenvalues);
    case Method::refinement: break;
    }
    if constexpr (std::is_same_v<V, double>) return make_refinement(system, a, recipe);
    else throw ValueError("refinement computes residuals in double", "make a Plan<double>");
}

// Sets up the current candidate.
template <class V>
void set_up(PlanState<V>& s)
{
    const Choice& c = s.choice();
    s.recipe.method = c.method;
    s.recipe.preconditioner = c.preconditioner;
    const Preconditioner outside = c.method == Method::refinement ? Preconditioner(None{}) : c.preconditioner;
    s.blocks.forget();
    s.iteration.reset();
    s.block.reset();
    s.system->preconditioner.reset();
    s.system->preconditioner =
        make_preconditioner(s.ctx, s.a, s.system->product, outside,
                            Unknowns<V>{s.recipe.unknowns_per_node, std::as_const(s.system->near_null).view()});
    Recipe recipe = s.recipe;
    if (c.restart > 0) recipe.restart = c.restart;
    s.iteration = make_iteration(*s.system, s.a, recipe, c.method);
}

bool is_matched(const Choice& c)
{
    const auto* p = std::get_if<Incomplete>(&c.preconditioner);
    return p != nullptr && p->match;
}

}  // namespace

template <class V>
void set_up_first(PlanState<V>& s)
{
    bool singular = false;  // rows cannot be matched
    for (;; ++s.current) {
        if (singular && is_matched(s.choice()) && !s.is_last()) continue;
        try {
            return set_up(s);
        } catch (const ValueError& e) {
            if (!s.chosen || s.is_last()) throw;
            s.skipped += concat(s.skipped.empty() ? "" : "; ", to_text(s.choice().preconditioner),
                                " cannot be made: ", e.message());
        } catch (const OutOfMemory& e) {
            if (!s.chosen || s.is_last() || s.current == 0) throw;
            s.skipped += concat(s.skipped.empty() ? "" : "; ", to_text(s.choice().preconditioner),
                                " does not fit: ", e.message());
        }
        singular = singular || is_matched(s.choice());
    }
}

template void set_up_first(PlanState<float>&);
template void set_up_first(PlanState<double>&);

}  // namespace tulle::inline TULLE_ABI::solve
