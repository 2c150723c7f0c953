// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The story of one matrix: load it, count the products and nonzeros of A A and multiply A (A x) once as the reference,
// let every contender compute C once and check it, then time whole calls in turn, from an idle device to an idle
// device, each C freed before the next call begins. The refill of a C that is there is a second comparison.
#include "bench/operations/spgemm.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>

#include "bench/baselines/spgemm.hpp"
#include "bench/build.hpp"
#include "bench/harness/comparison.hpp"
#include "device/calibrate.hpp"
#include "tulle/context.hpp"
#include "tulle/spgemm.hpp"
#include "tulle/text.hpp"
#include "tulle/trace.hpp"

namespace tulle::bench {
namespace {

constexpr int rounds = 3;
constexpr int samples_in_a_round = 3;

template <class V>
struct Ours {
    std::optional<Csr<V>> c;
    std::optional<spgemm::Plan<V>> plan;
};

template <class V>
Multiplier our_spgemm(SpgemmProblem<V>& problem, const std::string& name, const spgemm::Options& options)
{
    auto state = std::make_shared<Ours<V>>();
    const CsrView<V> a = problem.a;
    const spgemm::Policy policy = options.force ? *options.force
                                                : spgemm::choose({a.rows, a.cols, a.cols, a.nonzeros, a.nonzeros},
                                                                 {problem.ctx.backend(), problem.ctx.host().threads})
                                                      .policy;
    const auto call = [state, options, &problem] {
        state->c = spgemm::multiply(problem.ctx, problem.a, problem.a, options);
    };
    const bool only_refills = options.refill != spgemm::NumericReuse::find_places;  // a whole call keeps nothing
    return {name,
            Role::ours,
            only_refills ? std::function<void()>{} : call,
            [state, &problem] {
                const Csr<V> c = to_host(problem.ctx, state->c->view());
                return c.sorted
                           ? problem.worst_share(c.rows, c.row_begin.data(), c.col.data(), c.value.data())
                           : problem.worst_share_unsorted(c.rows, c.row_begin.data(), c.col.data(), c.value.data());
            },
            [state] { state->c.reset(), state->plan.reset(); },
            [state, options, &problem] {
                state->plan = spgemm::Plan<V>::make(problem.ctx, problem.a, problem.a, options);
                state->c = state->plan->run();
            },
            [state] { state->plan->run(*state->c); },
            spgemm::to_text(policy),
            [state] { return state->c->bytes(); }};
}

template <class V>
std::vector<Multiplier> multipliers_for(SpgemmProblem<V>& problem, const SpgemmOptions& options)
{
    const auto wanted = [&](const char* name) { return is_among(options.against, name); };
    std::vector<Multiplier> all{our_spgemm(problem, "tulle", {.checked = options.checked})};
    all.push_back(our_spgemm(problem, "tulle, places kept",
                             {.checked = options.checked, .refill = spgemm::NumericReuse::keep_places}));
    all.push_back(our_spgemm(problem, "tulle, products kept",
                             {.checked = options.checked, .refill = spgemm::NumericReuse::keep_products}));
    for (const spgemm::Policy& p : spgemm::candidates({problem.ctx.backend(), problem.ctx.host().threads}))
        if (is_named(spgemm::to_text(p), options.policies))
            all.push_back(
                our_spgemm(problem, concat("tulle ", spgemm::to_text(p)), {.force = p, .checked = options.checked}));
    if (is_named("unsorted", options.policies))
        all.push_back(our_spgemm(problem, "tulle, unsorted", {.sorted = false, .checked = options.checked}));
    const auto append = [&](const char* name, auto make) {
        try {
            const std::vector<Multiplier> more = make();
            all.insert(all.end(), more.begin(), more.end());
        } catch (const std::exception& fault) {  // the product is too large for it: it alone is left out
            all.push_back(
                {name, Role::baseline, [why = std::string(fault.what())] { throw ValueError(why); }, {}, [] {}});
        }
    };
    if (problem.ctx.backend() == Backend::cpu && wanted("plain"))
        append("plain", [&] { return plain_spgemm(problem); });
    if constexpr (has_eigen)
        if (problem.ctx.backend() == Backend::cpu && wanted("eigen"))
            append("eigen", [&] { return eigen_spgemm(problem); });
    if constexpr (has_graphblas)
        if (problem.ctx.backend() == Backend::cpu && wanted("graphblas"))
            append("graphblas", [&] { return graphblas_spgemm(problem); });
    if constexpr (has_mkl)
        if (problem.ctx.backend() == Backend::cpu && wanted("mkl")) append("mkl", [&] { return mkl_spgemm(problem); });
    if constexpr (has_cusparse)
        if (problem.ctx.backend() == Backend::cuda && wanted("cusparse"))
            append("cusparse", [&] { return cusparse_spgemm(problem); });
    return all;
}

Space space_of(const Context& ctx) { return ctx.backend() == Backend::cpu ? Space::host : Space::device; }

// One of the two comparisons: whole calls, or numeric reuse.
template <class V>
class Comparison {
public:
    Comparison(SpgemmProblem<V>& problem, std::vector<Multiplier>& all, bool refill)
        : problem_(problem),
          all_(all),
          refill_(refill)
    {}

    std::vector<Entry> run(const Wish& wish)
    {
        for (Multiplier& m : all_)
            if (refill_ ? !!m.refill : !!m.call) enter(m);
        for (int round = 0; round < rounds; ++round)
            for (std::size_t k = 0; k < entries_.size(); ++k)
                if (entries_[k].status == "ok") take_turn(*ready_[k], entries_[k], wish);
        return std::move(entries_);
    }

private:
    // One CPU thread by its own clock, which stands still while others have the processor.
    double now() const { return problem_.ctx.name() == "cpu:1" ? thread_seconds() : trace::now(); }

    void work(Multiplier& m)
    {
        if (refill_) m.refill();
        else m.call();
        problem_.ctx.synchronize();
    }

    // Baselines make C in pieces that they join, or in columns that they transpose: room for two is needed.
    void require_room_for_two() const
    {
        const std::size_t needed = 2 * problem_.result_bytes(),
                          free = free_bytes(problem_.ctx.run([](const auto&q) { return q.place(); }));
        if (needed > free)
            throw OutOfMemory(concat("C may need ", human_bytes(needed), ", ", human_bytes(free), " are free"), needed,
                              free);
    }

    // Once, with phases and memory; the result is checked. A refill's preparation is told, but not timed with it.
    void enter(Multiplier& m)
    {
        Entry entry;
        entry.name = m.name;
        entry.role = m.role;
        Memory& memory = problem_.ctx.memory();
        const std::size_t before = memory.live(space_of(problem_.ctx));
        memory.reset_peak();
        try {
            if (m.role != Role::ours) require_room_for_two();
            const double begin = trace::now();
            if (refill_) m.prepare_refill();
            else work(m);  // the first call pays for what happens once in a process
            problem_.ctx.synchronize();
            entry.prepare_seconds = trace::now() - begin;
            if (!refill_) {
                m.forget();
                const trace::Recorder recorder([&] { problem_.ctx.synchronize(); });
                work(m);
                entry.phases = recorder.phases();
            } else {
                work(m);
                entry.prepared.beside_result = memory.live(space_of(problem_.ctx)) - before - m.result_bytes();
            }
            entry.prepared.choice = m.choice;
            entry.prepared.bytes = memory.peak(space_of(problem_.ctx)) - before;
            entry.worst_error = m.worst_share();
            if (!(entry.worst_error <= 1))
                entry.status = concat("wrong result: error ", entry.worst_error, " times the bound");
        } catch (const std::exception& fault) {
            entry.status = concat("refused: ", fault.what());
        }
        m.forget();
        entries_.push_back(std::move(entry));
        ready_.push_back(&m);
    }

    void take_turn(Multiplier& m, Entry& entry, const Wish& wish)
    {
        try {
            if (refill_) m.prepare_refill();
            work(m);
            const int samples = wish.repeat > 0 ? std::max(1, wish.repeat / rounds) : samples_in_a_round;
            for (int k = 0; k < samples; ++k) {
                if (!refill_) m.forget();
                problem_.ctx.synchronize();
                const double begin = now();
                work(m);
                entry.times.warm.seconds.push_back(now() - begin);
            }
        } catch (const std::exception& fault) {
            entry.status = concat("failed while timed: ", fault.what());
        }
        m.forget();
    }

    SpgemmProblem<V>& problem_;
    std::vector<Multiplier>& all_;
    bool refill_;
    std::vector<Entry> entries_;
    std::vector<Multiplier*> ready_;
};

template <class V>
std::vector<MatrixResult> comparison(const Context& ctx, const Case& which, const SpgemmOptions& options,
                                     double memory_bandwidth)
{
    Csr<V> matrix = load<V>(Context::cpu(), which);
    require(matrix.rows == matrix.cols, [&] { return concat(which.name, " is not square"); });
    SpgemmProblem<V> problem(ctx, std::move(matrix));
    problem.require_room();
    std::vector<Multiplier> all = multipliers_for(problem, options);
    std::vector<MatrixResult> results;
    for (const bool refill : {false, true}) {
        MatrixResult result = make_result(ctx, refill ? "spgemm refill" : "spgemm", which, problem.host, options.type,
                                          problem.compulsory_bytes(), memory_bandwidth);
        result.nonzeros = problem.nonzeros();
        result.entries = Comparison<V>(problem, all, refill).run(options.wish);
        results.push_back(std::move(result));
    }
    return results;
}

}  // namespace

int bench_spgemm(const SpgemmOptions& options)
{
    Report report(options.json, options.quiet);
    for (const std::string& name : options.against)
        require<ValueError>(
            name == "plain" || name == "eigen" || name == "graphblas" || name == "mkl" || name == "cusparse",
            [&] { return concat("there is no baseline '", name, "'"); }, "plain, eigen, graphblas, mkl, cusparse");
    return race_all(options, "quick", report, [&](const Context& ctx, const Case& which, double bandwidth) {
        return options.type == "f32" ? comparison<float>(ctx, which, options, bandwidth)
                                     : comparison<double>(ctx, which, options, bandwidth);
    });
}

}  // namespace tulle::bench
