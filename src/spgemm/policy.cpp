// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Which method, and why. Thresholds name their source: "measured" refers to docs/design/spgemm.md.
#include "tulle/spgemm.hpp"

#include <algorithm>
#include <array>

#include "base/enumerators.hpp"
#include "base/plural.hpp"
#include "base/suggest.hpp"
#include "spgemm/adaptive/groups.hpp"
#include "spgemm/small/small.hpp"
#include "tulle/error.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::spgemm {
namespace {

constexpr std::array method_names{"adaptive", "dense", "hash", "nsparse", "deltasparse"};
constexpr std::array refill_names{"find_places", "keep_places", "keep_products", "fastest"};

// Products an entry of C, in the mean, up to which a refill goes through a list of them fastest (reasoned: 5 ps a
// product, where looking them up takes 10 on cop20k_A with 4 and 3 to 4 on matrices with 7 and more).
constexpr offset_t listed_products = 5;

// On a CPU places are kept up to so many products an entry of C, in the mean, rows that share places counted once: two
// bytes each, so one and a half times what columns and values of C take in double (reasoned).
constexpr offset_t placed_products = 9;

// On a CPU an array as long as a row of C is hard to beat while it stays in the caches: 12 bytes a column (reasoned).
constexpr index_t columns_in_cache = 1 << 18;

// Nonzeros of A in a row, in the mean, up to which runs are not looked for on a GPU (measured: 4 to 10 % of whole calls
// on matrices with 3 to 6).
constexpr offset_t short_rows = 8;

// Small products, for which launches and waits take longer than the work (reasoned from cage10, 11397 rows with 13
// nonzeros: 70 calls of the runtime, two waits and 60 µs of kernels made 227 µs): so many rows, and not so long that
// equal ones among them would be worth looking for; nor many that are so short that they are better merged from lists,
// in pieces where they meet long rows of B (measured: as-22july06, 22,963 rows with 4 in the mean, 1306 µs that way and
// 1936 at once; BentPipe2D100, 10,000 rows, 120 and 101; G65, 8000 rows, 118 and 96; Pd, 8081 rows, 168 and 123).
// Lists are not merged: a group more, in which one thread goes over a row (measured: cage10 124 µs, with lists 150;
// delaunay_n13 75 and 86).
constexpr index_t small_rows = 1 << 15;
constexpr index_t few_short_rows = 1 << 14;
constexpr offset_t least_mean = 5, most_mean = 24;

bool is_small(const Features& t)
{
    const bool of_short_rows = t.nonzeros_a < least_mean * t.rows;
    return t.rows <= (of_short_rows ? few_short_rows : small_rows) && t.cols <= most_columns_at_once &&
           t.nonzeros_a <= most_mean * t.rows;
}

void check_lists(const Policy& p)
{
    require<ValueError>(
        p.merge_lists == 0 || p.merge_lists == few_lists || p.merge_lists == most_lists,
        [&] { return concat("rows from up to ", p.merge_lists, " nonzeros of A cannot be merged"); },
        concat("0, ", few_lists, " or ", most_lists));
    require<ValueError>(
        p.cut_above >= static_cast<int>(merged_at_once),
        [&] { return concat("rows of ", p.cut_above, " products are not cut"); },
        concat("from ", merged_at_once, " on"));
}

// Whether nothing is asked for that only another method, or the GPU, can leave out.
bool only_what_it_has(const Policy& p, Backend backend)
{
    if (backend == Backend::cuda && p.method == Method::adaptive) return true;
    Policy usual{p.method, p.use_runs, p.rules};
    if (backend == Backend::cuda && p.method == Method::nsparse) usual.side_by_side = p.side_by_side;
    return p == usual;
}

void check_rules(const delta::Rules& r)
{
    require<ValueError>(
        r.dense_share >= 0 && r.dense_share <= delta::dense_share_of,
        [&] { return concat("rows of C are dense above ", r.dense_share, " of ", delta::dense_share_of, " columns"); },
        "between 0 and all of them");
    require<ValueError>(
        r.count_sorted >= 0 && r.count_sorted <= delta::most_count_sorted,
        [&] { return concat("rows of C of up to ", r.count_sorted, " entries cannot be sorted by counting"); },
        concat("at most ", delta::most_count_sorted));
}

// Only what is not as usual.
std::string to_text(const delta::Rules& r)
{
    const delta::Rules usual;
    return concat(r.grouping == delta::Grouping::learned ? ""
                  : r.grouping == delta::Grouping::plain ? ", plain"
                                                         : ", grouped",
                  r.dense_share == usual.dense_share
                      ? ""
                      : concat(", dense above ", fixed(100.0 * r.dense_share / delta::dense_share_of, 2), " %"),
                  r.count_sorted == usual.count_sorted ? "" : concat(", counted up to ", r.count_sorted));
}

// How a GPU computes the product in phases.
Choice choose_phases(const Features& t)
{
    if (is_small(t))
        return {{.use_runs = false, .merge_lists = 0, .at_once = true},
                "the product is small: launches and waits would take longer than the work"};
    return t.nonzeros_a > short_rows * t.rows
               ? Choice{{Method::adaptive, true},
                        "the fastest on every matrix measured, unless the caller asks for a paper's method"}
               : Choice{{Method::adaptive, false},
                        "rows of A are short: where neighbours are equal, that saves less than looking for them "
                        "takes"};
}

}  // namespace

Choice choose(const Features& t, const Limits& limits)
{
    if (limits.backend == Backend::cuda) {
        Choice choice = choose_phases(t);
        choice.policy.one_kernel = small::is_small(t);
        return choice;
    }
    if (t.cols <= columns_in_cache)
        return {{Method::dense, true},
                concat("a row of C has ", t.cols, plural(t.cols, " column", " columns"),
                       ": an array of that length stays in the cache")};
    return {{Method::adaptive, true},
            concat("a row of C has ", t.cols, plural(t.cols, " column", " columns"),
                   ": an array of that length where products are many, tables for short rows where they are few")};
}

std::vector<Policy> candidates(const Limits& limits)
{
    if (limits.backend == Backend::cuda) {
        std::vector<Policy> all{{Method::adaptive, true}, {Method::adaptive, false}};
        all.push_back({.use_runs = false, .merge_lists = 0});
        all.push_back({.use_runs = false, .merge_lists = 4});
        for (const int products : {64, 256}) all.push_back({.use_runs = false, .cut_above = products});
        all.push_back({.registers = false});
        all.push_back({.ranks = false});
        all.push_back({.use_runs = false, .columns_first = false});
        all.push_back({.use_runs = false, .side_by_side = false});
        all.push_back({.merge_lists = 0, .columns_first = false, .side_by_side = false});
        all.push_back({.use_runs = false, .merge_lists = 0, .at_once = true});
        all.push_back({.one_kernel = true});
        if (!limits.deterministic) all.insert(all.end(), {{Method::nsparse, false}, {Method::deltasparse, false}});
        return all;
    }
    return {{Method::adaptive, true},
            {Method::dense, true},
            {Method::dense, false},
            {Method::hash, true},
            {Method::deltasparse, false}};
}

void check_policy(const Policy& policy, const Limits& limits)
{
    const auto all = candidates(limits);
    const bool exists = std::any_of(all.begin(), all.end(), [&](const Policy& p) {
        return p.method == policy.method && p.use_runs == policy.use_runs;
    });
    if (exists && only_what_it_has(policy, limits.backend) && !(policy.at_once && policy.use_runs)) {
        check_lists(policy);
        return check_rules(policy.rules);
    }
    std::string possible;
    for (const Policy& p : all) possible += (possible.empty() ? "" : "; ") + to_text(p);
    throw ValueError(concat("the policy '", to_text(policy), "' does not exist on ",
                            limits.backend == Backend::cpu ? "a CPU" : "a GPU",
                            limits.deterministic ? " where results must be repeatable" : ""),
                     concat("possible here: ", possible));
}

// The papers' kernels add by atomics.
bool is_repeatable(const Policy& policy, Backend backend)
{
    return backend == Backend::cpu || (policy.method != Method::nsparse && policy.method != Method::deltasparse);
}

void check_options(const Options& options)
{
    require_enumerator(options.op_a, Op::transpose, "op_a");
    require_enumerator(options.op_b, Op::transpose, "op_b");
    require_enumerator(options.refill, NumericReuse::fastest, "refill");
}

void check_reuse(NumericReuse refill, const Policy& policy, Backend backend)
{
    require<ValueError>(
        refill == NumericReuse::find_places || is_repeatable(policy, backend),
        [&] {
            return concat("nothing is kept of products for the policy '", to_text(policy),
                          "', which adds in no fixed order");
        },
        "let the plan choose, or leave the refill at NumericReuse::find_places");
}

NumericReuse choose_reuse(const Features& features, offset_t products, offset_t nonzeros, Backend backend)
{
    if (backend == Backend::cpu)
        return products <= placed_products * nonzeros ? NumericReuse::keep_places : NumericReuse::find_places;
    return can_list(features.nonzeros_a, features.nonzeros_b) && products <= listed_products * nonzeros
               ? NumericReuse::keep_products
               : NumericReuse::find_places;
}

std::string to_text(NumericReuse refill) { return name_in(refill_names, refill); }

NumericReuse parse_reuse(std::string_view text)
{
    const auto found = std::find(refill_names.begin(), refill_names.end(), text);
    require<ValueError>(
        found != refill_names.end(), [&] { return concat("there is no refill '", text, "'"); },
        one_of_hint(text, refill_names));
    return static_cast<NumericReuse>(found - refill_names.begin());
}

bool always_sorts(const Policy& policy, Backend backend)
{
    return backend == Backend::cuda && policy.method != Method::deltasparse;
}

std::string to_text(Method method) { return name_in(method_names, method); }

std::string to_text(const Policy& p)
{
    const bool says_nothing = p.method == Method::nsparse || p.method == Method::deltasparse;
    return concat(to_text(p.method), p.use_runs || says_nothing ? "" : ", each row for itself",
                  p.merge_lists == 0           ? ", no lists merged"
                  : p.merge_lists < most_lists ? concat(", up to ", p.merge_lists, " lists merged")
                                               : "",
                  p.cut_above == Policy{}.cut_above ? "" : concat(", cut above ", p.cut_above, " products"),
                  p.registers ? "" : ", none in registers", p.ranks ? "" : ", no ranks",
                  p.columns_first ? "" : ", long rows at once", p.side_by_side ? "" : ", group after group",
                  p.at_once ? ", at once" : "", p.one_kernel ? ", one kernel" : "",
                  p.method == Method::deltasparse ? to_text(p.rules) : "");
}

Method parse_method(std::string_view name)
{
    const auto found = std::find(method_names.begin(), method_names.end(), name);
    require<ValueError>(
        found != method_names.end(), [&] { return concat("there is no SpGEMM method '", name, "'"); },
        one_of_hint(name, method_names));
    return static_cast<Method>(found - method_names.begin());
}

}  // namespace tulle::inline TULLE_ABI::spgemm
