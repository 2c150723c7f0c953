// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The table of kinds, and the reading of sentences: NAME:NUMBER,NUMBER,…,seed=NUMBER without spaces. Whatever is not
// understood is refused with the form that would be.
#include "io/generators/kinds.hpp"

#include <charconv>
#include <optional>

#include "base/suggest.hpp"
#include "tulle/error.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::io::detail {
namespace {

using Form = std::vector<Number>;

constexpr bool fixed = false, random = true;

Kind twin(std::string name, std::string what, Made (*make)(const Maker&))
{
    return {"twin:" + name, {{}}, fixed, "twin of " + what, "twin:" + name, make};
}

std::vector<Kind> all_kinds()
{
    const Form side{{"N"}}, rectangle{{"NX"}, {"NY"}}, box{{"NX"}, {"NY"}, {"NZ"}};
    const Form bricks{{"N"}, {"K"}}, brick_box{{"NX"}, {"NY"}, {"NZ"}, {"K"}};
    const Form band{{"N"}, {"B", 0}}, two_bands{{"N"}, {"LOWER", 0}, {"UPPER", 0}};
    const Form weights{{"ROWS"}, {"COLS"}, {"SPARSITY", 0, true}};
    const Form leveled{{"N"}, {"LEVELS"}}, leveled_needs{{"N"}, {"LEVELS"}, {"NEEDS"}};
    return {
        {"identity", {side}, fixed, "ones on the diagonal", "identity:10", make_identity},
        {"diagonal", {side}, fixed, "values in [0.5, 1.5) on the diagonal", "diagonal:10", make_diagonal},
        {"stencil5",
         {side, rectangle},
         fixed,
         "5-point Laplacian on a 2-D grid: 4 on the diagonal, -1 beside it",
         "stencil5:20",
         make_stencil5},
        {"stencil9",
         {side, rectangle},
         fixed,
         "9-point stencil on a 2-D grid: 8 and -1",
         "stencil9:20,15",
         make_stencil9},
        {"stencil7", {side, box}, fixed, "7-point Laplacian on a 3-D grid: 6 and -1", "stencil7:10", make_stencil7},
        {"stencil27",
         {side, box},
         fixed,
         "27-point stencil on a 3-D grid: 26 and -1",
         "stencil27:8,7,6",
         make_stencil27},
        {"fem",
         {bricks, brick_box},
         fixed,
         "mesh of bricks with full blocks of K unknowns at each node; positive definite",
         "fem:6,3",
         make_fem},
        {"banded",
         {band, two_bands},
         fixed,
         "full band of B (or LOWER) entries below and B (or UPPER) above the diagonal",
         "banded:100,3",
         make_banded},
        {"arrow",
         {side, {{"N"}, {"WIDTH"}}},
         fixed,
         "diagonal and the last WIDTH (1) rows and columns; dominant diagonal",
         "arrow:50,2",
         make_arrow},
        {"elasticity2d",
         {{{"N", 2}}, {{"NX"}, {"NY", 2}}},
         fixed,
         "elastic plate of squares, clamped where x is smallest, 2 unknowns at each free point; positive definite",
         "elasticity2d:9,6",
         make_elasticity2d},
        {"elasticity3d",
         {{{"N", 2}}, {{"NX"}, {"NY", 2}, {"NZ", 2}}},
         fixed,
         "elastic block of cubes, clamped where x is smallest, 3 unknowns at each free point; positive definite",
         "elasticity3d:5,4,3",
         make_elasticity3d},
        {"coordinates",
         {rectangle, box},
         fixed,
         "x, y and z from 1 on of the free points of a grid, a row each: those of elasticity2d or elasticity3d",
         "coordinates:9,6",
         make_coordinates},
        {"uniform",
         {{{"ROWS"}, {"COLS"}, {"PER_ROW"}}},
         random,
         "PER_ROW different columns in every row",
         "uniform:100,80,5",
         make_uniform},
        {"rmat",
         {{{"SCALE"}, {"DEGREE"}}},
         random,
         "R-MAT graph of 2^SCALE rows, DEGREE edges a row before repeats fall together",
         "rmat:8,8,seed=7",
         make_rmat},
        {"road",
         {side},
         random,
         "road-like graph: planar, connected, symmetric, 2.5 neighbours on average",
         "road:400",
         make_road},
        {"pruned",
         {weights},
         random,
         "pruned weights: about 1 - SPARSITY of all entries, rows of unequal length",
         "pruned:64,96,0.9",
         make_pruned},
        {"chain",
         {side, {{"N"}, {"EXTRA", 0}}},
         random,
         "lower triangle of N levels: row i needs row i-1 and EXTRA (0) earlier ones",
         "chain:50,2",
         make_chain},
        {"levels",
         {leveled, leveled_needs},
         random,
         "lower triangle of LEVELS equal levels; a row needs NEEDS (4) earlier ones",
         "levels:100,10",
         make_levels},
        twin("pdb1HYS", "Protein: 36 417 rows, 4.3 M entries", make_pdb1hys),
        twin("consph", "FEM/Spheres: 83 334 rows, 6.0 M entries", make_consph),
        twin("cant", "FEM/Cantilever: 62 451 rows, 4.0 M entries; the real mesh", make_cant),
        twin("pwtk", "Wind Tunnel: 217 918 rows, 11.6 M entries", make_pwtk),
        twin("rma10", "FEM/Harbor: 46 835 rows, 2.4 M entries", make_rma10),
        twin("qcd5_4", "QCD: 49 152 rows, 1.9 M entries; fits every published figure", make_qcd5_4),
        twin("shipsec1", "FEM/Ship: 140 874 rows, 7.8 M entries", make_shipsec1),
        twin("mac_econ", "Economics: 206 500 rows, 1.3 M entries", make_mac_econ),
        twin("mc2depi", "Epidemiology: 525 825 rows, 2.1 M entries; fits every published figure", make_mc2depi),
        twin("cop20k_A", "FEM/Accelerator: 121 192 rows, 2.6 M entries", make_cop20k_a),
        twin("scircuit", "Circuit: 170 998 rows, 1.0 M entries", make_scircuit),
        twin("webbase-1M", "webbase: 1 000 005 rows, 3.1 M entries", make_webbase),
    };
}

std::string join(const std::vector<Number>& form)
{
    std::string text;
    for (const Number& number : form) text += (text.empty() ? "" : ",") + number.name;
    return text;
}

bool is_twin(std::string_view name) { return name.starts_with("twin:"); }

std::vector<std::string> names_of(bool twins)
{
    std::vector<std::string> all;
    for (const Kind& kind : kinds())
        if (is_twin(kind.name) == twins) all.push_back(kind.name);
    return all;
}

std::string names(bool twins)
{
    std::string text;
    for (const std::string& name : names_of(twins))
        text += (text.empty() ? "" : ", ") + (twins ? name.substr(5) : name);
    return text;
}

std::string hint_for(const Kind& kind) { return concat("write ", kind.form(), ", for example ", kind.example); }

template <class What>
void demand(bool ok, const Kind& kind, const What& what)
{
    if (!ok) throw ValueError(concat(kind.name, ": ", what()), hint_for(kind));
}

std::vector<std::string_view> split(std::string_view text)
{
    std::vector<std::string_view> words;
    for (std::size_t at = 0; at <= text.size();) {
        const std::size_t comma = std::min(text.find(',', at), text.size());
        words.push_back(text.substr(at, comma - at));
        at = comma + 1;
    }
    return words;
}

bool all_digits(std::string_view text)
{
    return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// Digits as a number; nothing if it does not fit.
template <class T>
std::optional<T> number_from(std::string_view digits)
{
    T number = 0;
    const auto [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    return fault == std::errc{} ? std::optional<T>(number) : std::nullopt;
}

// "0.95" in millionths.
offset_t read_fraction(const Kind& kind, const Number& number, std::string_view word)
{
    const std::size_t point = std::min(word.find('.'), word.size());
    std::string decimals(word.substr(std::min(point + 1, word.size())));
    const bool shaped =
        all_digits(word.substr(0, point)) && (point == word.size() || all_digits(decimals)) && decimals.size() <= 6;
    demand(shaped, kind,
           [&] { return concat(number.name, " is '", word, "', not a number like 0.95 with up to six decimals"); });
    decimals.resize(6, '0');
    const offset_t whole = number_from<index_t>(word.substr(0, point)).value_or(max_index);
    const offset_t parts = whole * millionths + number_from<offset_t>(decimals).value_or(0);
    demand(parts <= millionths, kind, [&] { return concat(number.name, " must be from 0 to 1, not ", word); });
    return parts;
}

offset_t read_number(const Kind& kind, const Number& number, std::string_view word)
{
    if (number.fraction) return read_fraction(kind, number, word);
    const bool negative = word.starts_with('-');
    demand(all_digits(word.substr(negative ? 1 : 0)), kind,
           [&] { return concat(number.name, " is '", word, "', not a whole number"); });
    const auto size = number_from<index_t>(word);
    demand(negative || size, kind,
           [&] { return concat(number.name, " is ", word, ", more than ", max_index, ", the most there can be"); });
    demand(!negative && *size >= number.least, kind,
           [&] { return concat(number.name, " must be at least ", number.least, ", not ", word); });
    return *size;
}

// Takes the "key=value" words off the end.
void read_keys(Sentence& sentence, std::vector<std::string_view>& words)
{
    const Kind& kind = *sentence.kind;
    bool given = false;
    while (!words.empty() && words.back().find('=') != std::string_view::npos) {
        const std::string_view word = words.back(), key = word.substr(0, word.find('=')),
                               digits = word.substr(key.size() + 1);
        demand(key == "seed", kind, [&] { return concat("there is no key '", key, "'"); });
        demand(kind.seeded, kind, [&] { return std::string("nothing in it is random, so it takes no seed"); });
        demand(!given, kind, [&] { return std::string("the seed is given twice"); });
        const auto seed = all_digits(digits) ? number_from<std::uint64_t>(digits) : std::nullopt;
        demand(seed.has_value(), kind,
               [&] { return concat("the seed is '", digits, "', not a whole number below 2^64"); });
        sentence.seed = *seed;
        given = true;
        words.pop_back();
    }
}

std::string counts(const Kind& kind)
{
    std::string text;
    for (const auto& form : kind.forms) text += (text.empty() ? "" : " or ") + std::to_string(form.size());
    return text + (kind.forms.size() == 1 && kind.forms[0].size() == 1 ? " number" : " numbers");
}

const Kind& kind_named(std::string_view name)
{
    const auto found =
        std::find_if(kinds().begin(), kinds().end(), [&](const Kind& kind) { return kind.name == name; });
    if (found != kinds().end()) return *found;
    if (name == "twin" || is_twin(name))
        throw ValueError(concat("there is no twin '", name.substr(std::min<std::size_t>(5, name.size())), "'"),
                         concat(did_you_mean(name, names_of(true)), "the twins are ", names(true),
                                "; write for example twin:cant"));
    throw ValueError(concat("there is no kind of matrix '", name, "'"),
                     concat(did_you_mean(name, names_of(false)), "the kinds are ", names(false),
                            " and twin:NAME; write for example stencil7:100"));
}

}  // namespace

const std::vector<Kind>& kinds()
{
    static const std::vector<Kind> all = all_kinds();
    return all;
}

std::string Kind::form() const
{
    std::string text;
    for (const auto& form : forms) {
        const std::string numbers = join(form);
        text +=
            (text.empty() ? "" : " or ") + name + (numbers.empty() ? "" : ":" + numbers) + (seeded ? "[,seed=S]" : "");
    }
    return text;
}

bool Kind::in_parts() const { return !is_twin(name); }

Sentence parse(std::string_view text)
{
    std::size_t colon = std::min(text.find(':'), text.size());
    if (text.substr(0, colon) == "twin" && colon < text.size())
        colon = std::min(text.find_first_of(",:", colon + 1), text.size());
    Sentence sentence{.kind = &kind_named(text.substr(0, colon)), .numbers = {}};
    const Kind& kind = *sentence.kind;
    std::vector<std::string_view> words;
    if (colon < text.size()) words = split(text.substr(colon + 1));
    read_keys(sentence, words);
    const auto form =
        std::find_if(kind.forms.begin(), kind.forms.end(), [&](const Form& f) { return f.size() == words.size(); });
    demand(form != kind.forms.end(), kind, [&] { return concat("takes ", counts(kind), ", not ", words.size()); });
    for (std::size_t k = 0; k < words.size(); ++k) sentence.numbers.push_back(read_number(kind, (*form)[k], words[k]));
    return sentence;
}

}  // namespace tulle::inline TULLE_ABI::io::detail
