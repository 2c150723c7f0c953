// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A candidate set up on one device.
#include <type_traits>

#include "solve/candidates.hpp"
#include "solve/state.hpp"
#include "tulle/error.hpp"

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
    s.blocks = BlockGraphs(has_graphs(s), s.system->preconditioner->waits());
    Recipe recipe = s.recipe;
    if (c.restart > 0) recipe.restart = c.restart;
    s.iteration = make_iteration(*s.system, s.a, recipe, c.method);
}

}  // namespace

template <class V>
void set_up_first(PlanState<V>& s)
{
    set_up_in_turn(s, [](PlanState<V>& state) { set_up(state); });
}

template void set_up_first(PlanState<float>&);
template void set_up_first(PlanState<double>&);

}  // namespace tulle::inline TULLE_ABI::solve
