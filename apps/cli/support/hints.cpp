// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "apps/cli/support/hints.hpp"

#include <algorithm>
#include <array>

#include "base/math.hpp"
#include "tulle/memory.hpp"
#include "tulle/text.hpp"

namespace tulle::cli {
namespace {

struct Translation {
    std::string_view part;  // of the library's hint
    std::string_view hint;  // instead of all of it
};

// tests/cli/usage_test.cpp finds every hint of the library that lacks a line here.
constexpr std::array translations{
    Translation{"ReadOptions::complex", "add --real-part to read the real part"},
    Translation{"ReadOptions::unproven_bytes", "add --trust-header to read it all the same"},
    Translation{"WriteOptions::pattern", "use another format, or tulle convert --pattern, which leaves the values out"},
    Translation{"use sum_duplicates() first", "tulle convert to another file adds duplicates up"},
    Translation{"(sum_duplicates), or use the policy 'rows'", "use --kernel rows"},
    Translation{"tulle::sum_duplicates", "tulle convert to another file adds duplicates up"},
    Translation{"store it, or set Options::unit_diagonal", "store it, or add --unit-diagonal or --dominant"},
    Translation{"Options::unit_diagonal",
                "add --unit-diagonal if it is meant to be one, or --dominant for a diagonal of ones"},
    Translation{"NumericReuse::find_places keeps nothing",
                "use --refill find_places, which keeps nothing, or raise --budget"},
    Translation{"leave the refill at NumericReuse::find_places", "leave --policy out, or use --refill find_places"},
    Translation{"NumericReuse::fastest", "use --refill fastest"},
    Translation{"TeamOptions::paper", "leave --paper out"},
    Translation{"Coarsening::aggregation", "leave classical out of --preconditioner"},
    Translation{"-DTULLE_CUDA=ON", "use --backend cpu, or configure with -DTULLE_CUDA=ON on a machine with nvcc"},
    Translation{"Context::cpu()", "use --backend cpu; tulle doctor tells more"},
    Translation{"update_values", "the diagonal must have no zeros"},
    Translation{"Options::other_side", ""},     // the program solves with one triangle of any matrix
    Translation{"ExecutionScope::device", ""},  // a scheme can only be forced in a program
    Translation{"Rule::whole", ""},
    Translation{"tulle::to_device", ""},
    Translation{"with sum_duplicates()", "tulle convert to another file adds duplicates up"},
    Translation{"set missing_diagonal to add", "store one, or add +match to --preconditioner"},
    Translation{"set shift or shift_attempts", "add +match or +rcm to --preconditioner, or try another"},
    Translation{"unknowns_per_node", "--unknowns-per-node is the number of neighbouring rows that belong to one node"},
    Translation{"make a Plan<double>", "use --type f64"},
    Translation{"(BlockJacobi)", "use --preconditioner none or block-jacobi:ROWS, or add +match to incomplete factors"},
    Translation{"narrow() makes such factors", ""},  // the program has no others
    Translation{"leave smooth_by empty", "leave +smoother[NAME] out of --preconditioner"},
    Translation{"leave precision at automatic", "leave :f16 or :bf16 out of --preconditioner"},
    Translation{"Storage::full", "leave :f16 or :bf16 out of --preconditioner"},
    Translation{"tulle::sort_rows", "tulle convert to another file sorts the rows"},
};

std::string replaced(std::string text, std::string_view what, std::string_view by)
{
    if (const auto at = text.find(what); at != std::string::npos) text.replace(at, what.size(), by);
    return text;
}

const Translation* translation_of(std::string_view hint)
{
    const auto found = std::find_if(translations.begin(), translations.end(),
                                    [&](const Translation& t) { return hint.find(t.part) != std::string_view::npos; });
    return found == translations.end() ? nullptr : &*found;
}

// Bytes as an option takes them, never fewer: "70.4KiB".
std::string rounded_up(std::size_t bytes)
{
    constexpr std::array names{"B", "KiB", "MiB", "GiB", "TiB"};
    std::size_t unit = 0;
    while (unit + 1 < names.size() && bytes >> (10 * (unit + 1)) > 0) ++unit;
    if (unit == 0) return concat(bytes, "B");
    const std::size_t one = std::size_t{1} << (10 * unit), tenths = ceil_div(bytes % one * 10, one);
    return concat(bytes / one + tenths / 10, ".", tenths % 10, names[unit]);
}

}  // namespace

bool has_translation(std::string_view hint) { return translation_of(hint) != nullptr; }

std::string cli_hint(std::string_view hint)
{
    if (const Translation* found = translation_of(hint)) return std::string(found->hint);
    if (hint.find("::") != std::string_view::npos) return "";
    return replaced(std::string(hint), "raise the budget", "raise --budget");
}

std::string raise_hint(std::string_view option, std::size_t present, std::size_t needed, std::size_t available)
{
    const std::size_t more = needed > available ? needed - available : 1;
    return concat("raise ", option, " to at least ", rounded_up(present + more), " (later steps may need more)");
}

std::string memory_hint(std::string_view library_hint, std::size_t needed, std::size_t available, std::size_t budget)
{
    const std::string hint = cli_hint(library_hint), raise = "raise --budget", either = ", or ";
    const auto at = hint.find(raise);
    if (at == std::string::npos) return hint;
    const std::string before = hint.substr(0, at);
    const auto next = hint.find(either, at);
    const std::string after = next == std::string::npos ? "" : hint.substr(next);
    if (budget != Memory::unlimited) return before + raise_hint("--budget", budget, needed, available) + after;
    if (before.ends_with(either)) return before.substr(0, before.size() - either.size()) + after;
    return after.empty() ? "" : after.substr(either.size());
}

}  // namespace tulle::cli
