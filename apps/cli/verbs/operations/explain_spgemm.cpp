// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// tulle explain spgemm: every method beside the chosen one.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "apps/cli/support/layout.hpp"
#include "apps/cli/support/progress.hpp"
#include "apps/cli/verbs/operations/measure_spgemm.hpp"
#include "apps/cli/verbs/operations/measure_spmv.hpp"
#include "tulle/text.hpp"

namespace tulle::cli {
namespace {

// What makes a product easy or hard: how many products fall together, and how long its rows are.
template <class V>
Facts facts_of(const ProductResult<V>& r, const spgemm::Choice& choice)
{
    offset_t longest = 0;
    for (index_t i = 0; i < r.c.rows; ++i)
        longest = std::max(longest, r.c.row_begin.data()[i + 1] - r.c.row_begin.data()[i]);
    const double rows = std::max(1.0, static_cast<double>(r.c.rows)),
                 nonzeros = std::max(1.0, static_cast<double>(r.c.nonzeros()));
    Facts facts;
    facts.add("chosen", spgemm::to_text(choice.policy));
    facts.add("why", choice.why);
    facts.add("products", fmt::format("{}, {} to a nonzero of C", grouped(r.products),
                                      fixed(static_cast<double>(r.products) / nonzeros, 2)));
    facts.add("C", fmt::format("{}, {} in a row on average, {} in the longest, {}",
                               counted(r.c.nonzeros(), "nonzero", "nonzeros"),
                               fixed(static_cast<double>(r.c.nonzeros()) / rows, 1), grouped(longest),
                               human_bytes(r.c.bytes())));
    return facts;
}

// The chosen method, then the others.
std::vector<spgemm::Method> methods_beside(const spgemm::Choice& choice, const spgemm::Limits& limits)
{
    std::vector<spgemm::Method> all{choice.policy.method};
    for (const spgemm::Policy& p : spgemm::candidates(limits))
        if (std::find(all.begin(), all.end(), p.method) == all.end()) all.push_back(p.method);
    return all;
}

template <class V>
void explain_as(const Session& session, const SpgemmOptions& o)
{
    const Context host = session.host();
    const Factors<V> f = load_factors<V>(session, host, o);
    const spgemm::Limits limits{o.backend == "cuda" ? Backend::cuda : Backend::cpu, host.host().threads};
    const CsrView<V> a = f.first(), b = f.second();
    const spgemm::Choice choice = spgemm::choose({o.transpose_a ? a.cols : a.rows, o.transpose_a ? a.rows : a.cols,
                                                  o.transpose_b ? b.rows : b.cols, a.nonzeros, b.nonzeros},
                                                 limits);
    std::vector<ProductResult<V>> results;  // of the chosen one first
    Table table({{"method", Align::left},
                 {"first call"},
                 {"median"},
                 {"times the chosen"},
                 {"refill"},
                 {"peak memory"},
                 {"order of sums", Align::left}});
    Json list = Json::array();
    for (const spgemm::Method method : methods_beside(choice, limits)) {
        const Activity work(session.console, "multiplying");
        SpgemmOptions one = o;
        one.method = spgemm::to_text(method);
        results.push_back(measure_product(host, session.contexts(o.backend).front(), f,
                                          one));  // a context of its own, for its own peak
        const ProductResult<V>& r = results.back();
        table.add({one.method + (results.size() == 1 ? " (chosen)" : ""), seconds_text(r.first), seconds_text(r.median),
                   fixed(r.median / results.front().median, 2), seconds_text(r.refill), human_bytes(r.peak),
                   spgemm::is_repeatable({method}, limits.backend) ? "fixed" : "as it comes"});
        list.push_back(to_json(r));
        list.back().update({{"method", one.method}, {"chosen", results.size() == 1}});
    }
    const ProductResult<V>& chosen = results.front();
    if (session.settings.json) {
        Json result = about(o, f);
        result.update(
            {{"type", o.type}, {"chosen", spgemm::to_text(choice.policy)}, {"why", choice.why}, {"methods", list}});
        return print(session, result);
    }
    session.console.print(
        session.console.styled(fmt::format("{}, {}, on {}\n", equation(o), o.type, chosen.backend), Style::bold) +
        table.text(session.console) + "\n" + facts_of(chosen, choice).text(session.console));
}

}  // namespace

void explain_spgemm(const Session& session, const SpgemmOptions& options)
{
    options.type == "f32" ? explain_as<float>(session, options) : explain_as<double>(session, options);
}

void add_explain_spgemm(Parser& parser, CLI::App* explain, SpgemmOptions& o)
{
    CLI::App* verb = parser.verb("spgemm",
                                 "Every method to multiply sparse matrices, measured: whole calls, new values only, "
                                 "peak memory; which is chosen, and why; what C is like.",
                                 "tulle explain spgemm matrix.mtx\ntulle explain spgemm A.mtx B.mtx --type f32\ntulle "
                                 "explain spgemm twin:scircuit --backend cuda --repeat 10",
                                 explain);
    add_spgemm_factors(parser, verb, o);
    verb->add_option("--backend", o.backend, "cpu (the default) or cuda")
        ->check(one_of({"cpu", "cuda"}))
        ->option_text("WHERE");
    verb->add_option("--repeat", o.repeat, "timed calls after the first (3)")
        ->check(CLI::Range(0, 1'000'000))
        ->option_text("N");
    parser.when(verb, [&o](const Session& session) { explain_spgemm(session, o); });
}

}  // namespace tulle::cli
