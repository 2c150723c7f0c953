// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Schemes and features by name, for models and files: what is written reads back as the same, what is not understood is
// refused.
#include <array>
#include <charconv>
#include <utility>

#include "tulle/error.hpp"
#include "tulle/sptrsv.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::sptrsv {
namespace {

template <class E, std::size_t N>
struct Names {
    std::string_view key;
    E Policy::*member;
    std::array<std::string_view, N> name;  // in the order of the enumerators
};
constexpr Names<Kernel, 4> kernels{"kernel", &Policy::kernel, {"serial", "levels", "tasks", "groups"}};
constexpr Names<Merge, 6> merges{"merge",
                                 &Policy::merge,
                                 {"none", "critical", "fixed", "average", "threshold", "chains"}};
constexpr Names<Grouping, 2> groupings{"grouping", &Policy::grouping, {"sequential", "balance"}};
constexpr Names<WarpSchedule, 4> orders{"order", &Policy::order, {"ticket", "round_robin", "balance", "locality"}};

constexpr Names<ExecutionScope, 3> execution_scopes{"regime", &Policy::execution_scope, {"device", "block", "cluster"}};

constexpr std::pair<std::string_view, int Policy::*> numbers[] = {
    {"rows", &Policy::rows},   {"limit", &Policy::limit},       {"team", &Policy::team},
    {"warps", &Policy::warps}, {"subwarps", &Policy::subwarps}, {"share_above", &Policy::share_above},
    {"alpha", &Policy::alpha}, {"blocks", &Policy::blocks}};

template <class E, std::size_t N>
void write_name(const Names<E, N>& names, const Policy& s, std::string& line)
{
    if (s.*names.member != Policy{}.*names.member)
        line += concat(" ", names.key, "=", names.name[static_cast<std::size_t>(s.*names.member)]);
}

template <class E, std::size_t N>
bool read_name(const Names<E, N>& names, std::string_view key, std::string_view value, Policy& s)
{
    if (key != names.key) return false;
    for (std::size_t k = 0; k < N; ++k)
        if (names.name[k] == value) {
            s.*names.member = static_cast<E>(k);
            return true;
        }
    return false;
}

bool read_number(std::string_view key, std::string_view value, Policy& s)
{
    int number = 0;
    const auto [end, fault] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (fault != std::errc{} || end != value.data() + value.size()) return false;
    for (const auto& [name, member] : numbers)
        if (name == key) {
            s.*member = number;
            return true;
        }
    if (key != "reorder" || (number != 0 && number != 1)) return false;
    s.reorder = number == 1;
    return true;
}

}  // namespace

std::string to_line(const Policy& s)
{
    std::string line = concat("kernel=", kernels.name[static_cast<std::size_t>(s.kernel)]);
    write_name(merges, s, line);
    for (const auto& [name, member] : numbers)
        if (s.*member != Policy{}.*member) line += concat(" ", name, "=", s.*member);
    if (s.reorder) line += " reorder=1";
    write_name(groupings, s, line);
    write_name(orders, s, line);
    write_name(execution_scopes, s, line);
    return line;
}

std::optional<Policy> parse_scheme(std::string_view line)
{
    if (!line.starts_with("kernel=")) return std::nullopt;
    Policy s;
    while (!line.empty()) {
        const std::string_view word = line.substr(0, line.find(' '));
        line.remove_prefix(std::min(word.size() + 1, line.size()));
        const std::size_t equals = word.find('=');
        if (equals == std::string_view::npos) return std::nullopt;
        const std::string_view key = word.substr(0, equals), value = word.substr(equals + 1);
        const bool understood = read_name(kernels, key, value, s) || read_name(merges, key, value, s) ||
                                read_name(groupings, key, value, s) || read_name(orders, key, value, s) ||
                                read_name(execution_scopes, key, value, s) || read_number(key, value, s);
        if (!understood) return std::nullopt;
    }
    return s;
}

const std::vector<std::string>& feature_names()
{
    static const std::vector<std::string> names{"rows",          "nonzeros",   "row_mean",      "row_longest",
                                                "row_variation", "level_mean", "level_longest", "level_variation",
                                                "levels",        "nearness"};
    return names;
}

double feature(const Features& f, std::string_view name)
{
    const double values[] = {static_cast<double>(f.rows),
                             static_cast<double>(f.nonzeros),
                             f.row_mean,
                             f.row_longest,
                             f.row_variation,
                             f.level_mean,
                             f.level_longest,
                             f.level_variation,
                             static_cast<double>(f.levels),
                             f.dependency_nearness};
    for (std::size_t k = 0; k < feature_names().size(); ++k)
        if (feature_names()[k] == name) return values[k];
    throw ValueError(concat("a triangle has no feature '", name, "'"));
}

}  // namespace tulle::inline TULLE_ABI::sptrsv
