// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Names, and what is chosen where a recipe leaves it open.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

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
        "write it as block-jacobi:4 or chebyshev:3");
    return number;
}

struct PreconditionerText {
    std::string operator()(const None&) const { return "none"; }
    std::string operator()(const Jacobi&) const { return "jacobi"; }
    std::string operator()(const BlockJacobi& p) const { return concat("block-jacobi:", p.rows); }
    std::string operator()(const Chebyshev& p) const { return concat("chebyshev:", p.degree); }
    std::string operator()(const Incomplete& p) const
    {
        return p.kind == factor::Kind::iluk ? concat("iluk:", p.level) : factor::to_text(p.kind);
    }
    std::string operator()(const Amg& p) const
    {
        return p.precision == Precision::as_matrix  ? "amg:double"
               : p.precision == Precision::in_float ? "amg:float"
                                                    : "amg";
    }
};

// Below so many rows the diagonal is as good.
constexpr index_t least_multigrid = 1000;

bool needs_positive_definite(Method m)
{
    return m == Method::cg || m == Method::pipelined_cg || m == Method::chebyshev || m == Method::minres;
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
    if (text == "ilu0") return Incomplete{.kind = factor::Kind::ilu0};
    if (text == "ic0") return Incomplete{.kind = factor::Kind::ic0};
    if (text == "ilut") return Incomplete{.kind = factor::Kind::ilut};
    if (name == "iluk") return Incomplete{.kind = factor::Kind::iluk, .level = parameter_of(text, rest, 1)};
    if (text == "amg") return Amg{};
    if (text == "amg:double") return Amg{.precision = Precision::as_matrix};
    if (text == "amg:float") return Amg{.precision = Precision::in_float};
    throw ValueError(
        concat("'", text, "' is no preconditioner"),
        "use none, jacobi, block-jacobi:ROWS, chebyshev:DEGREE, ic0, ilu0, iluk:LEVEL, ilut, amg, amg:float or "
        "amg:double");
}

Choice choose(const Features& f, const Recipe& recipe)
{
    const bool full = f.missing_diagonal == 0, positive = full && f.negative_diagonal == 0;
    Choice c;
    if (recipe.method) c = {*recipe.method, None{}, "the recipe names the method"};
    else if (f.symmetric && positive) c = {Method::cg, None{}, "symmetric with a positive diagonal"};
    else if (f.symmetric) c = {Method::minres, None{}, "symmetric, but not with a positive diagonal"};
    else c = {Method::bicgstab, None{}, "not symmetric"};
    if (recipe.preconditioner) c.preconditioner = *recipe.preconditioner;
    else if (f.symmetric && positive && f.rows >= least_multigrid && needs_positive_definite(c.method))
        c.preconditioner = Amg{};
    else if (full && !needs_positive_definite(c.method)) c.preconditioner = Incomplete{};
    else if (positive) c.preconditioner = Jacobi{};
    return c;
}

std::optional<Method> fallback_of(Method method, Reason reason)
{
    if (method == Method::cg && reason == Reason::not_positive_definite) return Method::minres;
    const bool stuck = reason == Reason::stagnated || reason == Reason::diverged;
    if (method == Method::bicgstab && stuck) return Method::gmres;
    return std::nullopt;
}

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
