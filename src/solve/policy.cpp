// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What is chosen where a recipe leaves it open.
#include "solve/policy.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::solve {
namespace {

// Below so many rows the diagonal is as good.
constexpr index_t least_multigrid = 1000;

// On a CPU, setup and iterations of multigrid took as long as 160 to 190 iterations with IC(0) on large systems, and as
// 220 to 380 on small ones, whose factors stay in the cache (docs/design/solve.md, "What comes first").
constexpr index_t small_system = 20'000, large_system = 300'000;
constexpr offset_t multigrid_cost = 160, multigrid_cost_small = 800;

// Factors with fill-in, in reverse Cuthill-McKee order: what they cost, in iterations with IC(0) of short rows or
// ILU(0), and the iterations before the fall of the residual tells how many are left (docs/design/solve.md, "What comes
// first").
constexpr Incomplete filled_factors{.kind = factor::Kind::iluk,
                                    .level = 1,
                                    .most_fill = 4,
                                    .order = factor::Order::rcm};
constexpr offset_t filled_cost = 100, filled_look = 40, filled_cost_general = 64, filled_look_general = 20;
constexpr offset_t short_rows = 8;

// Factors of unknowns that come in no order are weak: where most values are far from the diagonal, reverse
// Cuthill-McKee order took a third to two thirds of the iterations (docs/design/solve.md, "What comes first").
constexpr double scattered = 0.5, scattered_short = 0.25;
constexpr index_t least_ordered = 400;

// In symmetric matrices with short rows the order costs little beside the iterations it may save.
factor::Order order_for(const Features& f)
{
    const bool is_short = f.symmetric && f.nonzeros <= short_rows * f.rows;
    const bool found =
        f.backend == Backend::cpu && f.rows >= least_ordered && f.spread >= (is_short ? scattered_short : scattered);
    return found ? factor::Order::rcm : factor::Order::natural;
}

// What smooths multigrid in place of a smoother of its own; null: nothing does.
const Preconditioner* nested_smoother(const Preconditioner& p)
{
    const auto* multigrid = std::get_if<Amg>(&p);
    if (multigrid == nullptr || multigrid->smooth_by.empty()) return nullptr;
    const auto& smoother = multigrid->smooth_by.recipe().preconditioner;
    return smoother ? &*smoother : nullptr;
}

// Not so are factors that are unsymmetric where A is symmetric, also inside fixed steps.
bool is_symmetric_smoother(const Preconditioner& p)
{
    if (const auto* nested = std::get_if<Nested>(&p); nested && !nested->empty()) {
        const auto& inside = nested->recipe().preconditioner;
        return !inside || (is_symmetric_smoother(*inside) && is_symmetric(*inside));
    }
    const auto* factors = std::get_if<Incomplete>(&p);
    return factors == nullptr || (factors->kind != factor::Kind::ilut && !factors->match);
}

bool needs_positive_definite(Method m)
{
    return m == Method::cg || m == Method::pipelined_cg || m == Method::chebyshev || m == Method::minres;
}

bool is_positive(const Features& f) { return f.missing_diagonal == 0 && f.negative_diagonal == 0; }

Preconditioner simple_preconditioner(const Features& f)
{
    return is_positive(f) ? Preconditioner(Jacobi{}) : Preconditioner(None{});
}

// For a method that the recipe names.
Preconditioner usual_preconditioner(const Features& f, Method method)
{
    if (f.symmetric && is_positive(f) && f.rows >= least_multigrid && needs_positive_definite(method)) return Amg{};
    if (f.missing_diagonal == 0 && !needs_positive_definite(method)) return Incomplete{};
    return simple_preconditioner(f);
}

constexpr int long_restart = 100;

// Rows matched to columns, so that zeros on the diagonal and bad scales do not matter; SciPy's drop and fill.
constexpr Incomplete matched_factors{
    .kind = factor::Kind::ilut, .drop = 1e-4, .fill = 10, .match = true, .order = factor::Order::rcm};

// As many entries as some seconds of work and about a gigabyte allow: a complete factorisation of small matrices.
Incomplete strong_factors(const Features& f)
{
    const double rows = std::max(1.0, static_cast<double>(f.rows));
    const double mean = std::max(1.0, static_cast<double>(f.nonzeros) / rows);
    const double entries = std::min({rows, std::sqrt(1e9 / rows), 5e7 / rows});
    Incomplete p = matched_factors;
    p.drop = 1e-8;
    p.fill = std::clamp(std::ceil(2 * entries / mean), matched_factors.fill, 1e6);
    return p;
}

// Nearly all values beside the diagonal are negative: multigrid with constants as its near-null space does its best.
bool is_diffusion(const Features& f)
{
    const offset_t beside = f.nonzeros - f.rows, positive = f.positive_values - f.rows;
    return 10 * positive <= beside;
}

// Where multigrid comes first: its setup is not priced, or its few iterations are sure to be worth it.
bool begins_with_multigrid(const Features& f, const Recipe& recipe)
{
    if (f.backend != Backend::cpu || recipe.unknowns_per_node > 1 || f.near_null_space) return true;
    return f.rows >= large_system && is_diffusion(f);
}

// After the first candidate, whose factors have no fill-in. What comes next is priced as before. cost 0: after a
// failure.
void add_filled(std::vector<Choice>& all, offset_t cost, offset_t look)
{
    Choice filled = all.front();
    filled.preconditioner = filled_factors;
    filled.why = "factors with fill-in, where the first were too weak";
    all.front().next_cost = cost;
    all.front().next_look = look;
    if (cost > 0)
        all.front().why += concat(", factors with fill-in where more than ", cost, " iterations are expected");
    all.insert(all.begin() + 1, std::move(filled));
}

// What fill-in would have changed goes to the diagonal, where that leaves the factors positive: in rows that are
// dominant, with no positive values beside the diagonal. Grids take half of the iterations (docs/design/solve.md, "What
// comes first").
constexpr double relaxed = 0.97;

bool takes_relaxed(const Features& f)
{
    return f.backend == Backend::cpu && f.dominant_rows == f.rows && f.positive_values == f.rows &&
           order_for(f) == factor::Order::natural;
}

Incomplete usual_factors(const Features& f)
{
    if (takes_relaxed(f)) return {.kind = factor::Kind::ilu0, .relax = relaxed};
    return {.kind = factor::Kind::ic0, .order = order_for(f)};
}

// Sweeps over the matrix itself take more iterations than IC(0), but no factorisation and no product: half of an
// iteration. Not where IC(0) leaves out next to nothing of the fill-in, which sweeps leave out entirely, nor where an
// order helps IC(0) alone: in matrices with short rows (docs/design/solve.md, "What comes first").
constexpr double least_fill_in = 0.15;
constexpr offset_t most_swept = 500'000;          // entries of A: by one thread
constexpr offset_t multigrid_cost_swept = 1'500;  // as above, in iterations of two sweeps

bool takes_sweeps(const Features& f)
{
    const bool short_and_ordered = order_for(f) != factor::Order::natural && f.nonzeros <= short_rows * f.rows;
    return f.backend == Backend::cpu && f.rows <= small_system && f.nonzeros <= most_swept &&
           f.fill_in >= least_fill_in && !takes_relaxed(f) && !short_and_ordered;
}

// Where no row is coupled much more strongly than others, as on meshes, a larger weight takes fewer iterations; not
// where few are needed anyway.
constexpr double least_coupling = 0.3, even_coupling = 0.9, even_weight = 1.4;

Ssor usual_sweeps(const Features& f)
{
    Ssor sweeps{.order = order_for(f)};
    if (f.mean_coupling >= least_coupling && f.most_coupling <= even_coupling) sweeps.weight = even_weight;
    return sweeps;
}

std::vector<Choice> for_positive_definite(const Features& f, const Recipe& recipe)
{
    const Preconditioner multigrid = f.rows >= least_multigrid ? Preconditioner(Amg{}) : Preconditioner(Jacobi{});
    const Preconditioner factors = usual_factors(f);
    std::vector<Choice> all{{Method::cg, multigrid, 0, "symmetric with a positive diagonal"},
                            {Method::cg, factors, 0, "incomplete factors where the first was too weak"},
                            {Method::minres, Jacobi{}, 0, "symmetric, perhaps not positive definite"},
                            {Method::gmres, matched_factors, 0, "factors with fill-in"}};
    if (begins_with_multigrid(f, recipe)) return all;
    const bool swept = takes_sweeps(f);
    Choice cheap{Method::cg, swept ? Preconditioner(usual_sweeps(f)) : factors, 0,
                 "symmetric with a positive diagonal: a cheap setup first"};
    all.front().why = "more iterations were expected than multigrid is worth";
    if (is_diffusion(f) && f.rows >= least_multigrid) {
        cheap.next_cost = swept ? multigrid_cost_swept : f.rows < small_system ? multigrid_cost_small : multigrid_cost;
        cheap.next_look = cheap.next_cost / 8;
        cheap.why += concat(", multigrid where more than ", cheap.next_cost, " iterations are expected");
    } else if (swept) std::swap(all[0], all[1]);
    else all.erase(all.begin() + 1);  // tried to its end
    all.insert(all.begin(), std::move(cheap));
    // After an order, and where it is on the diagonal, fill-in saves less than it costs.
    const bool weak = !swept && order_for(f) == factor::Order::natural && !takes_relaxed(f);
    if (weak && f.rows >= least_multigrid && f.rows < small_system && f.nonzeros <= short_rows * f.rows)
        add_filled(all, filled_cost, filled_look);
    return all;
}

std::vector<Choice> for_symmetric()
{
    return {{Method::minres, None{}, 0, "symmetric, but not with a positive diagonal"},
            {Method::gmres, matched_factors, 0, "factors with fill-in, rows matched to columns"}};
}

std::vector<Choice> for_general(const Features& f)
{
    if (f.missing_diagonal > 0)
        return {{Method::bicgstab, matched_factors, 0,
                 "not symmetric, zeros on the diagonal: rows are matched to columns"}};
    const Incomplete factors{.order = order_for(f)};
    std::vector<Choice> all{{Method::bicgstab, factors, 0, "not symmetric"},
                            {Method::gmres, factors, 0, "not symmetric, bicgstab failed"},
                            {Method::gmres, matched_factors, 0, "factors with fill-in, rows matched to columns"}};
    if (f.backend == Backend::cpu && f.rows >= least_multigrid)
        add_filled(all, factors.order == factor::Order::rcm ? filled_cost_general : 0, filled_look_general);
    return all;
}

// Each method once, with the preconditioner that the recipe names.
void keep_methods(std::vector<Choice>& all, const Preconditioner& p)
{
    std::vector<Choice> kept;
    for (Choice& c : all) {
        const bool known = std::any_of(kept.begin(), kept.end(), [&](const Choice& k) { return k.method == c.method; });
        if (known) continue;
        c.preconditioner = p;
        c.next_cost = 0;
        c.why = kept.empty() ? "the recipe names the preconditioner" : "the method before failed";
        kept.push_back(std::move(c));
    }
    all = std::move(kept);
}

}  // namespace

bool makes_fixed_steps(const Recipe& r)
{
    return r.method == Method::chebyshev && r.stop.relative == 0 && r.stop.absolute == 0 &&
           r.stop.seconds == std::numeric_limits<double>::infinity();
}

bool is_flexible(const Preconditioner& p)
{
    if (const auto* nested = std::get_if<Nested>(&p)) return nested->empty() || !makes_fixed_steps(nested->recipe());
    const auto* multigrid = std::get_if<Amg>(&p);
    return multigrid != nullptr && multigrid->cycle == amg::Cycle::k;
}

bool is_symmetric(const Preconditioner& p)
{
    const Preconditioner* const smoother = nested_smoother(p);
    return smoother == nullptr || (is_symmetric_smoother(*smoother) && is_symmetric(*smoother));
}

bool needs_symmetric(Method m) { return needs_positive_definite(m); }

bool minimises_residual(Method m) { return m == Method::minres || m == Method::gmres || m == Method::fgmres; }

bool has_inner_solver(const Preconditioner& p)
{
    const Preconditioner* const smoother = nested_smoother(p);
    return std::holds_alternative<Nested>(p) || (smoother != nullptr && has_inner_solver(*smoother));
}

std::vector<Choice> candidates(const Features& f, const Recipe& recipe)
{
    if (recipe.method) {
        Choice one{*recipe.method, usual_preconditioner(f, *recipe.method), 0, "the recipe names the method"};
        if (recipe.preconditioner) {
            one.preconditioner = *recipe.preconditioner;
            return {one};
        }
        const Choice other{*recipe.method, simple_preconditioner(f), 0, "the recipe names the method"};
        return other.preconditioner == one.preconditioner ? std::vector{one} : std::vector{one, other};
    }
    if (recipe.preconditioner && is_flexible(*recipe.preconditioner))
        return {
            {Method::fgmres, *recipe.preconditioner, recipe.restart, "the preconditioner changes from step to step"}};
    if (recipe.preconditioner && !is_symmetric(*recipe.preconditioner))
        return {{Method::bicgstab, *recipe.preconditioner, recipe.restart, "the preconditioner is not symmetric"},
                {Method::gmres, *recipe.preconditioner, recipe.restart, "bicgstab failed"}};
    std::vector<Choice> all = is_positive(f) && f.symmetric ? for_positive_definite(f, recipe)
                              : f.symmetric                 ? for_symmetric()
                                                            : for_general(f);
    all.push_back({Method::gmres, strong_factors(f), long_restart, "almost complete factors, and a longer restart"});
    all.push_back({f.symmetric ? Method::minres : Method::gmres, simple_preconditioner(f), 0, "nothing else is left"});
    if (recipe.preconditioner) keep_methods(all, *recipe.preconditioner);
    for (Choice& c : all) c.restart = std::max(c.restart, recipe.restart);
    return all;
}

Choice choose(const Features& f, const Recipe& recipe) { return candidates(f, recipe).front(); }

}  // namespace tulle::inline TULLE_ABI::solve
