// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// C = A A, for DeltaSPARSE's choices. The parts "symbolic" and "numeric" are the two phases with rows grouped or all
// alike (plain), each with the features its decision sees: what the decision tree is learned from. The other parts are
// whole calls without features, to set numbers by: "policy" (the methods compared with each other), "dense_share" and
// "count_sorted" (deltasparse with other thresholds, grouped), those two only where it makes a difference. C is freed
// before the next call begins. Results are not checked here, but all must have the same number of nonzeros.
#include <algorithm>
#include <optional>
#include <utility>

#include "bench/operations/collect_runs.hpp"
#include "spgemm/deltasparse/deltasparse.hpp"
#include "tulle/features.hpp"
#include "tulle/spgemm.hpp"
#include "tulle/text.hpp"
#include "tulle/trace.hpp"
#include "tulle/transfer.hpp"

namespace tulle::bench {
namespace {

namespace delta = spgemm::delta;

constexpr int samples = 5;
constexpr double long_enough = 0.1;  // seconds: a call as long as this is not repeated
constexpr double most_products_on_gpu = 1e9, most_products_on_cpu = 3e7;
constexpr int dense_shares[] = {200, 500, 760, 1500, 3000}, counted[] = {0, 64, 128, 256, 512, 1024};

struct Square {
    Context ctx;
    CsrView<double> a;                         // where ctx works
    offset_t products = 0, most_products = 0;  // all, and of one row
    offset_t nonzeros = 0, longest = 0;        // of C and of its longest row
};

// Seconds: the whole call, and what each of the two decisions leads to.
struct Times {
    double call, symbolic, numeric;
};

double seconds_in(const trace::Recorder& recorder, std::initializer_list<const char*> names)
{
    double sum = 0;
    for (const trace::Timing& t : recorder.phases())
        if (t.depth == 0 && std::find(names.begin(), names.end(), t.name) != names.end()) sum += t.seconds;
    return sum;
}

Times call_once(const Square& s, const spgemm::Policy& policy, bool phases)
{
    s.ctx.synchronize();
    const double begin = trace::now();
    std::optional<trace::Recorder> recorder;
    if (phases) recorder.emplace([&] { s.ctx.synchronize(); });
    const Csr<double> c = spgemm::multiply(s.ctx, s.a, s.a, {.force = policy, .checked = false});
    s.ctx.synchronize();
    const double end = trace::now();
    require(c.nonzeros() == s.nonzeros, [&] {
        return concat(spgemm::to_text(policy), " finds ", c.nonzeros(), " nonzeros in C, not ", s.nonzeros);
    });
    if (!phases) return {end - begin, 0, 0};
    return {end - begin, seconds_in(*recorder, {"analyse", "symbolic"}), seconds_in(*recorder, {"group", "numeric"})};
}

double median(std::vector<Times> all, double Times::*which)
{
    std::sort(all.begin(), all.end(), [&](const Times& a, const Times& b) { return a.*which < b.*which; });
    return all[all.size() / 2].*which;
}

// Every policy once, then in turn, so that a disturbance meets all of them; those that take long have been timed by
// then.
std::vector<Times> time_all(const Square& s, const std::vector<spgemm::Policy>& policies, bool phases)
{
    std::vector<std::vector<Times>> all;
    for (const spgemm::Policy& p : policies) all.push_back({call_once(s, p, phases)});
    for (int k = 0; k < samples; ++k)
        for (std::size_t p = 0; p < policies.size(); ++p) {
            if (all[p].front().call >= long_enough) continue;
            if (k == 0) all[p].clear();  // the first call pays for what happens once
            all[p].push_back(call_once(s, policies[p], phases));
        }
    std::vector<Times> medians;
    for (const auto& times : all)
        medians.push_back(
            {median(times, &Times::call), median(times, &Times::symbolic), median(times, &Times::numeric)});
    return medians;
}

spgemm::Policy deltasparse(const delta::Rules& rules) { return {spgemm::Method::deltasparse, false, rules}; }

void collect_grouping(const Square& s, const Lines& lines)
{
    const delta::Features bounds = delta::features_of(s.products, s.most_products, s.a.rows, s.a.cols),
                          exact = delta::features_of(s.nonzeros, s.longest, s.a.rows, s.a.cols);
    const auto times = time_all(s,
                                {deltasparse({.grouping = delta::Grouping::plain}),
                                 deltasparse({.grouping = delta::Grouping::grouped})},
                                true);
    for (const bool numeric : {false, true})
        for (const bool grouped : {false, true}) {
            const delta::Features& f = numeric ? exact : bounds;
            const Times& t = times[grouped ? 1 : 0];
            lines.add({numeric ? "numeric" : "symbolic",
                       {{"density", f.density}, {"row_mean", f.row_mean}, {"row_longest", f.row_longest}},
                       grouped ? "grouped" : "plain",
                       numeric ? t.numeric : t.symbolic,
                       delta::group_pays(f, nullptr) == grouped});
        }
}

// Whole calls of several policies, each under a name of its own.
void compare(const Square& s, const std::string& part,
             const std::vector<std::pair<std::string, spgemm::Policy>>& choices, const Lines& lines)
{
    std::vector<spgemm::Policy> policies;
    for (const auto& choice : choices) policies.push_back(choice.second);
    const std::vector<Times> times = time_all(s, policies, false);
    for (std::size_t k = 0; k < choices.size(); ++k)
        lines.add({part,
                   nullptr,
                   choices[k].first,
                   times[k].call,
                   {},
                   {{"rows", s.a.rows}, {"products", s.products}, {"nonzeros", s.nonzeros}, {"longest", s.longest}}});
}

void collect_calls(const Square& s, const Lines& lines)
{
    std::vector<std::pair<std::string, spgemm::Policy>> methods, shares, sorts;
    for (const spgemm::Policy& p : spgemm::candidates({s.ctx.backend(), s.ctx.host().threads}))
        methods.emplace_back(spgemm::to_text(p), p);
    compare(s, "policy", methods, lines);
    for (const int share : dense_shares)
        shares.emplace_back(concat(share), deltasparse({.grouping = delta::Grouping::grouped, .dense_share = share}));
    if (delta::is_dense(std::min(s.most_products, offset_t{s.a.cols}), s.a.cols, dense_shares[0]))
        compare(s, "dense_share", shares, lines);
    for (const int most : counted)
        sorts.emplace_back(concat(most), deltasparse({.grouping = delta::Grouping::grouped, .count_sorted = most}));
    if (s.longest > 32) compare(s, "count_sorted", sorts, lines);
}

void count_products(const CsrView<double>& a, Square& s)
{
    for (index_t i = 0; i < a.rows; ++i) {
        offset_t products = 0;
        for (offset_t k = a.row_begin[i]; k < a.row_begin[i + 1]; ++k)
            products += a.row_begin[a.col[k] + 1] - a.row_begin[a.col[k]];
        s.products += products;
        s.most_products = std::max(s.most_products, products);
    }
}

void count_nonzeros(Square& s)
{
    const Csr<double> c = spgemm::multiply(s.ctx, s.a, s.a, {.checked = false});
    s.longest = row_statistics(s.ctx, c.rows, c.cols, c.row_begin.data()).longest;
    s.nonzeros = c.nonzeros();
}

}  // namespace

int collect_spgemm(const CollectOptions& options)
{
    return collect_runs(options, [&](const Context& ctx, const Case& which, const Lines& lines) {
        const Csr<double> host = load<double>(Context::cpu(), which);
        require(host.rows == host.cols, [&] { return concat(which.name, " is not square"); });
        Square s{.ctx = ctx, .a = host.view()};
        count_products(s.a, s);
        const double most = options.products > 0             ? options.products
                            : ctx.backend() == Backend::cuda ? most_products_on_gpu
                                                             : most_products_on_cpu;
        require<ValueError>(static_cast<double>(s.products) <= most,
                            [&] { return concat(grouped(s.products), " products"); });
        const Csr<double> there = to_device(ctx, host.view());
        s.a = there.view();
        count_nonzeros(s);
        collect_grouping(s, lines);
        collect_calls(s, lines);
    });
}

}  // namespace tulle::bench
