// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What is refused of a recipe, and of those inside it.
#include <cmath>
#include <string_view>
#include <variant>

#include "base/enumerators.hpp"
#include "solve/policy.hpp"
#include "tulle/error.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::solve {
namespace {

void check_number(bool ok, std::string_view what) { require<ValueError>(ok, what); }

void check_numbers(const Recipe& r)
{
    check_number(!r.stop.relative || (*r.stop.relative >= 0 && std::isfinite(*r.stop.relative)),
                 "stop.relative must be 0 or more");
    check_number(r.stop.absolute >= 0 && std::isfinite(r.stop.absolute), "stop.absolute must be 0 or more");
    check_number(r.stop.iterations >= 0, "stop.iterations must be 0 or more");
    check_number(r.stop.seconds >= 0, "stop.seconds must be 0 or more");
    check_number(r.stop.stagnation >= 0, "stop.stagnation must be 0 or more");
    check_number(r.stop.divergence > 1, "stop.divergence must be above 1");
    check_number(r.restart >= 1 && r.restart <= 1000, "restart must be 1 to 1000");
    check_number(r.check_every >= 0, "check_every must be 0 or more");
    check_number(r.eigenvalues.lowest >= 0 && r.eigenvalues.highest >= 0, "eigenvalues must be 0 or more");
    check_number(r.inner.relative > 0 && r.inner.relative < 1, "inner.relative must be above 0 and below 1");
    check_number(r.inner.method != Method::refinement, "inner.method cannot be refinement again");
}

void check_enumerators(const Recipe& r)
{
    if (r.method) require_enumerator(*r.method, Method::refinement, "method");
    if (r.inner.method) require_enumerator(*r.inner.method, Method::refinement, "inner.method");
    require_enumerator(r.graphs, Graphs::never, "graphs");
}

void check_preconditioner(const Preconditioner& p, bool is_double, int depth);

void check_depth(int depth)
{
    require<ValueError>(
        depth <= most_nested, [] { return concat("recipes are nested more than ", most_nested, " deep"); },
        "leave the innermost out");
}

void check_smoother(const Recipe& r, bool is_double, int depth)
{
    check_depth(depth);
    require<ValueError>(!r.method && r.preconditioner, "a smoother of multigrid is a preconditioner without a method",
                        "name the preconditioner of smooth_by alone");
    check_preconditioner(*r.preconditioner, is_double, depth);
    require<ValueError>(
        !std::holds_alternative<None>(*r.preconditioner) && !is_flexible(*r.preconditioner),
        [&] {
            return concat(to_text(*r.preconditioner),
                          " cannot smooth the levels of multigrid: it must do something, and the same every time");
        },
        "use jacobi, chebyshev, ic0, fsai or another preconditioner, or fixed steps: solve[chebyshev,jacobi,0,4]");
}

void check_inner(const Nested& nested, bool is_double, int depth)
{
    require<ValueError>(!nested.empty(), "the inner solver has no recipe", "make Nested from a recipe");
    check_depth(depth);
    require<ValueError>(!nested.recipe().guess, "an inner solver begins at zero and takes no first guess",
                        "leave guess of the inner recipe at false");
    require<ValueError>(
        nested.recipe().stop.relative.value_or(0) < 1 && nested.recipe().stop.iterations > 0,
        "an inner solver must make a step",
        "its relative residual must be below 1 and its iterations above 0, as in solve[cg,amg,0.01,20]");
    check_recipe(nested.recipe(), is_double, depth);
}

void check_enumerators(const Preconditioner& p)
{
    if (const auto* multigrid = std::get_if<Amg>(&p)) {
        require_enumerator(multigrid->smoother, amg::Smoother::gauss_seidel, "smoother");
        require_enumerator(multigrid->cycle, amg::Cycle::k, "cycle");
        require_enumerator(multigrid->precision, Precision::in_bf16, "precision");
        require_enumerator(multigrid->coarsening, amg::Coarsening::classical, "coarsening");
    }
    if (const auto* factors = std::get_if<Incomplete>(&p)) {
        require_enumerator(factors->kind, factor::Kind::ilut, "kind");
        require_enumerator(factors->order, factor::Order::automatic, "order");
    }
    if (const auto* ssor = std::get_if<Ssor>(&p)) require_enumerator(ssor->order, factor::Order::automatic, "order");
}

void check_preconditioner(const Preconditioner& p, bool is_double, int depth)
{
    check_enumerators(p);
    if (const auto* blocks = std::get_if<BlockJacobi>(&p))
        check_number(blocks->rows >= 1 && blocks->rows <= 32, "blocks must have 1 to 32 rows");
    if (const auto* c = std::get_if<Chebyshev>(&p))
        check_number(c->degree >= 1 && c->degree <= 100 && c->ratio > 1 && c->highest >= 0,
                     "the degree of a Chebyshev polynomial must be 1 to 100, its ratio above 1, its highest eigenvalue "
                     "0 or more");
    if (const auto* multigrid = std::get_if<Amg>(&p); multigrid && !multigrid->smooth_by.empty())
        check_smoother(multigrid->smooth_by.recipe(), is_double, depth + 1);
    if (const auto* nested = std::get_if<Nested>(&p)) check_inner(*nested, is_double, depth + 1);
}

// What changes from step to step is for methods that allow it.
void check_flexible(const Recipe& r)
{
    if (!is_flexible(*r.preconditioner)) return;
    const bool multigrid = std::holds_alternative<Amg>(*r.preconditioner);
    const char* what =
        multigrid ? "the K-cycle changes from step to step" : "an inner solver changes from step to step";
    const char* otherwise = multigrid ? "use fgmres, or the V- or the W-cycle" : "use fgmres around it";
    const bool inside = r.method == Method::refinement;
    const auto& method = inside ? r.inner.method : r.method;
    require<ValueError>(!method || method == Method::fgmres, what, otherwise);
}

// What is not symmetric is for methods that do not rely on it.
void check_symmetric(const Recipe& r)
{
    const auto& method = r.method == Method::refinement ? r.inner.method : r.method;
    require<ValueError>(
        !method || is_symmetric(*r.preconditioner) || !needs_symmetric(*method),
        [&] { return concat(to_text(*r.preconditioner), " is not symmetric, as ", to_text(*method), " needs it"); },
        "use gmres, fgmres or bicgstab, or another smoother");
}

}  // namespace

void check_recipe(const Recipe& r, bool is_double, int depth)
{
    check_enumerators(r);
    check_numbers(r);
    require<ValueError>(r.method != Method::refinement || is_double, "refinement computes residuals in double",
                        "make a Plan<double>");
    if (!r.preconditioner) return;
    check_preconditioner(*r.preconditioner, is_double, depth);
    check_flexible(r);
    check_symmetric(r);
}

}  // namespace tulle::inline TULLE_ABI::solve
