// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Recipes inside recipes, and names: methods, reasons and preconditioners as text, and back.
#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/suggest.hpp"
#include "tulle/error.hpp"
#include "tulle/solve.hpp"
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

int whole_number(std::string_view text, std::string_view digits)
{
    int number = 0;
    const auto [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    require<ValueError>(
        fault == std::errc{} && end == digits.data() + digits.size() && number > 0,
        [&] { return concat("'", digits, "' in '", text, "' is no whole number above 0"); },
        "write it as block-jacobi:4, chebyshev:3, iluk:1 or solve[cg,amg,0.01,20]");
    return number;
}

// The number after the colon of "block-jacobi:4"; `otherwise` without one.
int parameter_of(std::string_view text, std::string_view rest, int otherwise)
{
    return rest.empty() ? otherwise : whole_number(text, rest.substr(1));
}

struct SmootherSuffix {
    amg::Smoother smoother;
    std::string_view suffix;
};
constexpr std::array smoother_suffixes{SmootherSuffix{amg::Smoother::l1_jacobi, "+l1-jacobi"},
                                       SmootherSuffix{amg::Smoother::jacobi, "+jacobi"},
                                       SmootherSuffix{amg::Smoother::gauss_seidel, "+gauss-seidel"}};

// Behind "amg"; nothing for the usual one.
std::string suffix_of(amg::Smoother smoother)
{
    for (const SmootherSuffix& s : smoother_suffixes)
        if (s.smoother == smoother) return std::string(s.suffix);
    return "";
}

struct PrecisionSuffix {
    Precision precision;
    std::string_view suffix;
};
constexpr std::array precision_suffixes{PrecisionSuffix{Precision::automatic, ""},
                                        PrecisionSuffix{Precision::as_matrix, ":double"},
                                        PrecisionSuffix{Precision::in_float, ":float"},
                                        PrecisionSuffix{Precision::in_f16, ":f16"},
                                        PrecisionSuffix{Precision::in_bf16, ":bf16"}};

// Behind "amg".
std::string suffix_of(Precision precision)
{
    for (const PrecisionSuffix& s : precision_suffixes)
        if (s.precision == precision) return std::string(s.suffix);
    return ":unknown";
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
        if (p.relax > 0) text += concat("+relax:", p.relax);
        if (p.match) text += "+match";
        return p.order == factor::Order::natural ? text : concat(text, "+", factor::to_text(p.order));
    }
    std::string operator()(const Fsai&) const { return "fsai"; }
    std::string operator()(const Ssor& p) const
    {
        const std::string weight = p.weight == Ssor{}.weight ? "" : concat(":", p.weight);
        const std::string order = p.order == factor::Order::natural ? "" : concat("+", factor::to_text(p.order));
        return concat("ssor", weight, order);
    }
    std::string operator()(const Nested& p) const
    {
        if (p.empty()) return "solve[]";
        const Recipe& r = p.recipe();
        return concat("solve[", r.method ? to_text(*r.method) : "auto", ",",
                      r.preconditioner ? to_text(*r.preconditioner) : "auto", ",",
                      r.stop.relative ? concat(*r.stop.relative) : "auto", ",", r.stop.iterations, "]");
    }
    std::string operator()(const Amg& p) const
    {
        return concat("amg", suffix_of(p.precision), p.coarsening == amg::Coarsening::classical ? "+classical" : "",
                      p.cycle == amg::Cycle::w   ? "+w"
                      : p.cycle == amg::Cycle::k ? "+k"
                                                 : "",
                      p.smooth_by.empty() ? suffix_of(p.smoother) : nested_smoother(p.smooth_by.recipe()));
    }

private:
    static std::string nested_smoother(const Recipe& r)
    {
        return concat("+smoother[", r.preconditioner ? to_text(*r.preconditioner) : "", "]");
    }
};

double number_of(std::string_view text, std::string_view digits)
{
    double number = 0;
    const auto [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    require<ValueError>(
        fault == std::errc{} && end == digits.data() + digits.size() && number >= 0,
        [&] { return concat("'", digits, "' in '", text, "' is no number from 0 on"); },
        "write it as ilut:1e-4:10 or solve[cg,amg,0.01,20]");
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

// The order that a word behind a plus sign names.
std::optional<factor::Order> parse_order(std::string_view word)
{
    using factor::Order;
    for (const Order order : {Order::rcm, Order::colour, Order::nested_dissection, Order::automatic})
        if (word == factor::to_text(order)) return order;
    return std::nullopt;
}

constexpr std::string_view relax_begin = "relax:";

// A factorisation with "+relax:PART", "+match" and an order behind it, each at most once.
std::optional<Incomplete> parse_arranged(std::string_view text)
{
    const std::string_view all = text;
    bool match = false;
    std::optional<factor::Order> order;
    std::optional<double> relax;
    for (std::size_t plus = text.rfind('+'); plus < text.size(); plus = text.rfind('+')) {
        const std::string_view word = text.substr(plus + 1);
        const auto named = parse_order(word);
        if (!order && named) order = named;
        else if (!match && word == "match") match = true;
        else if (!relax && word.starts_with(relax_begin)) relax = number_of(all, word.substr(relax_begin.size()));
        else break;
        text = text.substr(0, plus);
    }
    std::optional<Incomplete> p = parse_incomplete(text);
    if (!p) return p;
    p->match = match;
    p->relax = relax.value_or(0);
    p->order = order.value_or(factor::Order::natural);
    return p;
}

// "ssor" or "ssor:WEIGHT", with an order behind it.
std::optional<Ssor> parse_ssor(std::string_view text)
{
    constexpr std::string_view name = "ssor";
    const std::size_t plus = std::min(text.rfind('+'), text.size());
    const auto order = plus < text.size() ? parse_order(text.substr(plus + 1)) : factor::Order::natural;
    const std::string_view front = text.substr(0, plus);
    if (!order || !front.starts_with(name)) return std::nullopt;
    if (front == name) return Ssor{.order = *order};
    if (front[name.size()] != ':') return std::nullopt;
    return Ssor{.weight = number_of(text, front.substr(name.size() + 1)), .order = *order};
}

constexpr std::string_view smoother_begin = "+smoother[", inner_begin = "solve[";
constexpr auto most_brackets = 2 * most_nested;  // in a text: deeper ones are not read

// The parts between commas outside of brackets.
std::vector<std::string_view> split_parts(std::string_view text)
{
    std::vector<std::string_view> parts;
    int depth = 0;
    std::size_t begin = 0;
    for (std::size_t k = 0; k < text.size(); ++k) {
        depth += text[k] == '[' ? 1 : text[k] == ']' ? -1 : 0;
        if (text[k] != ',' || depth != 0) continue;
        parts.push_back(text.substr(begin, k - begin));
        begin = k + 1;
    }
    parts.push_back(text.substr(begin));
    return parts;
}

// A tolerance, or "auto" for that of the value type.
std::optional<double> relative_of(std::string_view text, std::string_view part)
{
    if (part == "auto") return {};
    return number_of(text, part);
}

// "solve[METHOD,PRECONDITIONER,RELATIVE,ITERATIONS]".
Nested parse_inner(std::string_view text)
{
    const std::string_view inside = text.substr(inner_begin.size(), text.size() - inner_begin.size() - 1);
    const std::vector<std::string_view> part = split_parts(inside);
    require<ValueError>(
        part.size() >= 2 && part.size() <= 4,
        [&] { return concat("'", text, "' names no method and preconditioner, or too much"); },
        "write it as solve[cg,amg,0.01,20]");
    Recipe r{.stop = {.relative = 0.01, .iterations = 100}};
    if (part[0] != "auto") r.method = parse_method(part[0]);
    if (part[1] != "auto") r.preconditioner = parse_preconditioner(part[1]);
    if (part.size() > 2) r.stop.relative = relative_of(text, part[2]);
    if (part.size() > 3) r.stop.iterations = whole_number(text, part[3]);
    return Nested(r);
}

// Takes "+smoother[...]" off the end of the text.
void take_smoother(std::string_view& text, Amg& p)
{
    const std::size_t at = text.find(smoother_begin);
    if (at == std::string_view::npos || !text.ends_with(']')) return;
    std::string_view inside = text.substr(at + smoother_begin.size());
    inside.remove_suffix(1);
    p.smooth_by = Nested({.preconditioner = parse_preconditioner(inside)});
    text = text.substr(0, at);
}

// "amg", perhaps with a precision ("amg:float"), with "+classical", "+w" or "+k", and a smoother in this order.
std::optional<Amg> parse_amg(std::string_view text)
{
    Amg p;
    if (!text.starts_with("amg")) return std::nullopt;
    take_smoother(text, p);
    for (const SmootherSuffix& s : smoother_suffixes)
        if (p.smooth_by.empty() && text.ends_with(s.suffix)) {
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
    for (const PrecisionSuffix& s : precision_suffixes)
        if (text.substr(3) == s.suffix) {
            p.precision = s.precision;
            return p;
        }
    return std::nullopt;
}

}  // namespace

Nested::Nested(const Recipe& recipe) : recipe_(std::make_shared<const Recipe>(recipe)) {}

bool Nested::operator==(const Nested& other) const
{
    if (empty() || other.empty()) return empty() && other.empty();
    return recipe() == other.recipe();
}

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
    std::vector<std::string_view> known;
    for (const Named& n : names) {
        if (name == n.name) return n.method;
        known.push_back(n.name);
    }
    throw ValueError(concat("'", name, "' is no method"), one_of_hint(name, known));
}

Preconditioner parse_preconditioner(std::string_view text)
{
    require<ValueError>(
        std::count(text.begin(), text.end(), '[') <= most_brackets,
        [&] { return concat("a preconditioner has more than ", most_brackets, " brackets"); },
        "leave the innermost out");
    const std::size_t colon = std::min(text.find(':'), text.size());
    const std::string_view name = text.substr(0, colon), rest = text.substr(colon);
    if (text == "none") return None{};
    if (text == "jacobi") return Jacobi{};
    if (name == "block-jacobi") return BlockJacobi{parameter_of(text, rest, BlockJacobi{}.rows)};
    if (name == "chebyshev") return Chebyshev{.degree = parameter_of(text, rest, Chebyshev{}.degree)};
    if (text == "fsai") return Fsai{};
    if (text.starts_with(inner_begin) && text.ends_with(']')) return parse_inner(text);
    if (const auto p = parse_amg(text)) return *p;
    if (const auto p = parse_arranged(text)) return *p;
    if (const auto p = parse_ssor(text)) return *p;
    constexpr std::array<std::string_view, 11> known{"none", "jacobi", "block-jacobi", "chebyshev", "ic0", "ilu0",
                                                     "iluk", "ilut",   "fsai",         "ssor",      "amg"};
    throw ValueError(
        concat("'", text, "' is no preconditioner"),
        concat(did_you_mean(name.substr(0, name.find('+')), known),
               "use none, jacobi, block-jacobi:ROWS, chebyshev:DEGREE, ic0, ilu0, iluk:LEVEL, ilut:DROP:FILL, "
               "fsai, ssor:WEIGHT, amg, amg:float, amg:double, amg:f16 or amg:bf16; +relax:PART, +match, and +rcm, "
               "+colour, +nd or +auto may follow a factorisation, an order ssor, +classical, +w or +k, and +jacobi, "
               "+l1-jacobi, +gauss-seidel or "
               "+smoother[NAME] "
               "multigrid; an inner solver is solve[METHOD,NAME,RELATIVE,ITERATIONS]"));
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
