// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Names, and what is chosen where a recipe leaves it open.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "solve/policy.hpp"
#include "tulle/error.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::solve {
namespace {

struct Named {
    Method method;
    const char* name;
};
constexpr std::array names{Named{Method::cg, "cg"},
                           Named{Method::pipelined_cg, "pipelined-cg"},
                           Named{Method::minres, "minres"},
                           Named{Method::bicgstab, "bicgstab"},
                           Named{Method::gmres, "gmres"},
                           Named{Method::fgmres, "fgmres"},
                           Named{Method::chebyshev, "chebyshev"},
                           Named{Method::refinement, "refinement"}};

// The number after the colon of "block-jacobi:4"; `otherwise` without one.
int parameter_of(std::string_view text, std::string_view rest, int otherwise)
{
    if (rest.empty()) return otherwise;
    int number = 0;
    const auto [end, fault] = std::from_chars(rest.data() + 1, rest.data() + rest.size(), number);
    require<ValueError>(
        fault == std::errc{} && end == rest.data() + rest.size() && number > 0,
        [&] { return concat("'", text, "' has no whole number above 0 after the colon"); },
        "write it as block-jacobi:4, chebyshev:3 or iluk:1");
    return number;
}

struct SmootherSuffix {
    amg::Smoother smoother;
    std::string_view suffix;
};
constexpr std::array smoother_suffixes{SmootherSuffix{amg::Smoother::l1_jacobi, "+l1-jacobi"},
                                       SmootherSuffix{amg::Smoother::jacobi, "+jacobi"},
                                       SmootherSuffix{amg::Smoother::gauss_seidel, "+gauss-seidel"}};

// Behind "amg"; nothing for the usual one.
std::string_view suffix_of(amg::Smoother smoother)
{
    for (const SmootherSuffix& s : smoother_suffixes)
        if (s.smoother == smoother) return s.suffix;
    return "";
}

struct PreconditionerText {
    std::string operator()(const None&) const { return "none"; }
    std::string operator()(const Jacobi&) const { return "jacobi"; }
    std::string operator()(const BlockJacobi& p) const { return concat("block-jacobi:", p.rows); }
    std::string operator()(const Chebyshev& p) const { return concat("chebyshev:", p.degree); }
    std::string operator()(const Incomplete& p) const
    {
        std::string text = factor::to_text(p.kind);
        if (p.kind == factor::Kind::iluk) text += concat(":", p.level);
        const bool usual = p.drop == Incomplete{}.drop && p.fill == Incomplete{}.fill;
        if (p.kind == factor::Kind::ilut && !usual) text += concat(":", p.drop, ":", p.fill);
        if (p.match) text += "+match";
        return p.order == factor::Order::rcm ? text + "+rcm" : text;
    }
    std::string operator()(const Fsai&) const { return "fsai"; }
    std::string operator()(const Amg& p) const
    {
        const std::string text = p.precision == Precision::as_matrix  ? "amg:double"
                                 : p.precision == Precision::in_float ? "amg:float"
                                                                      : "amg";
        return concat(text, p.coarsening == amg::Coarsening::classical ? "+classical" : "",
                      p.cycle == amg::Cycle::w   ? "+w"
                      : p.cycle == amg::Cycle::k ? "+k"
                                                 : "",
                      suffix_of(p.smoother));
    }
};

double number_of(std::string_view text, std::string_view digits)
{
    double number = 0;
    const auto [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    require<ValueError>(
        fault == std::errc{} && end == digits.data() + digits.size() && number >= 0,
        [&] { return concat("'", text, "' has no number from 0 on after a colon"); }, "write it as ilut:1e-4:10");
    return number;
}

// "ilut" or "ilut:DROP:FILL".
Incomplete parse_ilut(std::string_view text, std::string_view rest)
{
    Incomplete p{.kind = factor::Kind::ilut};
    if (rest.empty()) return p;
    const std::size_t colon = std::min(rest.find(':', 1), rest.size());
    p.drop = number_of(text, rest.substr(1, colon - 1));
    if (colon < rest.size()) p.fill = number_of(text, rest.substr(colon + 1));
    return p;
}

// A factorisation, without what stands behind a plus sign.
std::optional<Incomplete> parse_incomplete(std::string_view text)
{
    const std::size_t colon = std::min(text.find(':'), text.size());
    const std::string_view name = text.substr(0, colon), rest = text.substr(colon);
    if (text == "ilu0") return Incomplete{.kind = factor::Kind::ilu0};
    if (text == "ic0") return Incomplete{.kind = factor::Kind::ic0};
    if (name == "ilut") return parse_ilut(text, rest);
    if (name == "iluk") return Incomplete{.kind = factor::Kind::iluk, .level = parameter_of(text, rest, 1)};
    return std::nullopt;
}

// A factorisation with "+match" and "+rcm".
std::optional<Incomplete> parse_arranged(std::string_view text)
{
    bool match = false, rcm = false;
    while (true) {
        if (!rcm && text.ends_with("+rcm")) rcm = true, text.remove_suffix(4);
        else if (!match && text.ends_with("+match")) match = true, text.remove_suffix(6);
        else break;
    }
    std::optional<Incomplete> p = parse_incomplete(text);
    if (p) {
        p->match = match;
        p->order = rcm ? factor::Order::rcm : factor::Order::natural;
    }
    return p;
}

// "amg", "amg:float" or "amg:double", with "+classical", "+w" or "+k", and a smoother in this order.
std::optional<Amg> parse_amg(std::string_view text)
{
    Amg p;
    for (const SmootherSuffix& s : smoother_suffixes)
        if (text.ends_with(s.suffix)) {
            p.smoother = s.smoother;
            text.remove_suffix(s.suffix.size());
            break;
        }
    if (text.ends_with("+w") || text.ends_with("+k")) {
        p.cycle = text.ends_with("+w") ? amg::Cycle::w : amg::Cycle::k;
        text.remove_suffix(2);
    }
    if (constexpr std::string_view classical = "+classical"; text.ends_with(classical)) {
        p.coarsening = amg::Coarsening::classical;
        text.remove_suffix(classical.size());
    }
    if (text == "amg:double") p.precision = Precision::as_matrix;
    else if (text == "amg:float") p.precision = Precision::in_float;
    else if (text != "amg") return std::nullopt;
    return p;
}

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
constexpr double scattered = 0.5;

factor::Order order_for(const Features& f)
{
    const bool found = f.backend == Backend::cpu && f.rows >= least_multigrid && f.spread >= scattered;
    return found ? factor::Order::rcm : factor::Order::natural;
}

bool needs_positive_definite(Method m)
{
    return m == Method::cg || m == Method::pipelined_cg || m == Method::chebyshev || m == Method::minres;
}

bool is_positive(const Features& f) { return f.missing_diagonal == 0 && f.negative_diagonal == 0; }

// Not the same linear operator in every step.
bool is_flexible(const Preconditioner& p)
{
    const auto* multigrid = std::get_if<Amg>(&p);
    return multigrid != nullptr && multigrid->cycle == amg::Cycle::k;
}

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

std::vector<Choice> for_positive_definite(const Features& f, const Recipe& recipe)
{
    const Preconditioner multigrid = f.rows >= least_multigrid ? Preconditioner(Amg{}) : Preconditioner(Jacobi{});
    const Preconditioner factors = Incomplete{.kind = factor::Kind::ic0, .order = order_for(f)};
    std::vector<Choice> all{{Method::cg, multigrid, 0, "symmetric with a positive diagonal"},
                            {Method::cg, factors, 0, "incomplete factors where the first was too weak"},
                            {Method::minres, Jacobi{}, 0, "symmetric, perhaps not positive definite"},
                            {Method::gmres, matched_factors, 0, "factors with fill-in"}};
    if (begins_with_multigrid(f, recipe)) return all;
    Choice cheap{Method::cg, factors, 0, "symmetric with a positive diagonal: a cheap setup first"};
    all.front().why = "more iterations were expected than multigrid is worth";
    if (is_diffusion(f) && f.rows >= least_multigrid) {
        cheap.next_cost = f.rows < small_system ? multigrid_cost_small : multigrid_cost;
        cheap.next_look = cheap.next_cost / 8;
        cheap.why += concat(", multigrid where more than ", cheap.next_cost, " iterations are expected");
    } else all.erase(all.begin() + 1);  // tried to its end
    all.insert(all.begin(), std::move(cheap));
    if (f.rows >= least_multigrid && f.rows < small_system && f.nonzeros <= short_rows * f.rows)
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
        kept.push_back(std::move(c));
    }
    all = std::move(kept);
}

}  // namespace

std::string to_text(Method method)
{
    for (const Named& n : names)
        if (n.method == method) return n.name;
    return "unknown";
}

std::string to_text(Reason reason)
{
    switch (reason) {
    case Reason::converged: return "converged";
    case Reason::iterations: return "limit of iterations";
    case Reason::seconds: return "limit of seconds";
    case Reason::stagnated: return "stagnated";
    case Reason::diverged: return "diverged";
    case Reason::not_positive_definite: return "not positive definite";
    case Reason::preconditioner_indefinite: return "preconditioner indefinite";
    case Reason::not_finite: return "not finite";
    }
    return "unknown";
}

std::string to_text(const Preconditioner& preconditioner) { return std::visit(PreconditionerText{}, preconditioner); }

std::vector<Method> methods()
{
    std::vector<Method> all;
    for (const Named& n : names) all.push_back(n.method);
    return all;
}

Method parse_method(std::string_view name)
{
    std::string known;
    for (const Named& n : names) {
        if (name == n.name) return n.method;
        known += concat(known.empty() ? "" : ", ", n.name);
    }
    throw ValueError(concat("'", name, "' is no method"), concat("use one of ", known));
}

Preconditioner parse_preconditioner(std::string_view text)
{
    const std::size_t colon = std::min(text.find(':'), text.size());
    const std::string_view name = text.substr(0, colon), rest = text.substr(colon);
    if (text == "none") return None{};
    if (text == "jacobi") return Jacobi{};
    if (name == "block-jacobi") return BlockJacobi{parameter_of(text, rest, BlockJacobi{}.rows)};
    if (name == "chebyshev") return Chebyshev{.degree = parameter_of(text, rest, Chebyshev{}.degree)};
    if (text == "fsai") return Fsai{};
    if (const auto p = parse_amg(text)) return *p;
    if (const auto p = parse_arranged(text)) return *p;
    throw ValueError(concat("'", text, "' is no preconditioner"),
                     "use none, jacobi, block-jacobi:ROWS, chebyshev:DEGREE, ic0, ilu0, iluk:LEVEL, ilut:DROP:FILL, "
                     "fsai, amg, amg:float or amg:double; +match and +rcm may follow a factorisation, +classical, "
                     "+w or +k, and +jacobi, +l1-jacobi or +gauss-seidel multigrid");
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
        return {{Method::fgmres, *recipe.preconditioner, recipe.restart, "the K-cycle changes from step to step"}};
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

void check_recipe(const Recipe& r, bool is_double)
{
    const auto number = [](bool ok, std::string_view what) { require<ValueError>(ok, what); };
    number(r.stop.relative >= 0 && std::isfinite(r.stop.relative), "stop.relative must be 0 or more");
    number(r.stop.absolute >= 0 && std::isfinite(r.stop.absolute), "stop.absolute must be 0 or more");
    number(r.stop.iterations >= 0, "stop.iterations must be 0 or more");
    number(r.stop.seconds >= 0, "stop.seconds must be 0 or more");
    number(r.stop.stagnation >= 0, "stop.stagnation must be 0 or more");
    number(r.stop.divergence > 1, "stop.divergence must be above 1");
    number(r.restart >= 1 && r.restart <= 1000, "restart must be 1 to 1000");
    number(r.check_every >= 0, "check_every must be 0 or more");
    number(r.eigenvalues.lowest >= 0 && r.eigenvalues.highest >= 0, "eigenvalues must be 0 or more");
    number(r.inner.relative > 0 && r.inner.relative < 1, "inner.relative must be above 0 and below 1");
    number(r.inner.method != Method::refinement, "inner.method cannot be refinement again");
    if (r.method == Method::refinement)
        require<ValueError>(is_double, "refinement computes residuals in double", "make a Plan<double>");
    if (!r.preconditioner) return;
    const bool flexible = is_flexible(*r.preconditioner);
    require<ValueError>(!flexible || !r.method || r.method == Method::fgmres || r.method == Method::refinement,
                        "the K-cycle changes from step to step", "use fgmres, or the V- or the W-cycle");
    require<ValueError>(!flexible || r.method != Method::refinement || !r.inner.method ||
                            r.inner.method == Method::fgmres,
                        "the K-cycle changes from step to step", "use fgmres inside, or the V- or the W-cycle");
    if (const auto* p = std::get_if<BlockJacobi>(&*r.preconditioner))
        number(p->rows >= 1 && p->rows <= 32, "blocks must have 1 to 32 rows");
    if (const auto* p = std::get_if<Chebyshev>(&*r.preconditioner))
        number(p->degree >= 1 && p->degree <= 100 && p->ratio > 1 && p->highest >= 0,
               "the degree of a Chebyshev polynomial must be 1 to 100, its ratio above 1, its highest eigenvalue 0 or "
               "more");
}

std::string Report::text() const
{
    std::string all = concat(to_text(reason), " after ", iterations, iterations == 1 ? " iteration" : " iterations",
                             " of ", to_text(method), ": residual ", residual, ", relative ", relative);
    if (reason == Reason::not_positive_definite) all += concat("; p · A p = ", value);
    if (reason == Reason::preconditioner_indefinite) all += concat("; r · M r = ", value);
    if (reason == Reason::not_finite) all += concat("; in ", where);
    return note.empty() ? all : concat(all, "; ", note);
}

}  // namespace tulle::inline TULLE_ABI::solve
