// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Products of distributed matrices, rows of C where the rows of A are.
//
//   make   lengths of the rows of B at the ghosts of A; ranges of rows of A (batches) whose rows of B fit the budget,
//          with the next batch on its way; who needs which rows
//   fetch  rows of B at the ghosts of a batch, from their owners, while the batch before is multiplied; all ranks take
//          part in as many rounds as the rank with most batches has (fetch_rows.hpp)
//   join   the rows of B that the batch uses, own and fetched, as one matrix whose rows are numbered as the local
//          columns of A; columns in their global order. Where nothing is fetched, B is used as it is (join_rows.hpp).
//   fill   the core's SpGEMM plan, on a GPU with copies of both; each entry of C is summed in the order of A's
//          nonzeros, as in one process
#include <algorithm>
#include <memory>
#include <utility>

#include "mpi/join_rows.hpp"
#include "tulle/error.hpp"
#include "tulle/text.hpp"
#include "tulle/transfer.hpp"

namespace tulle::inline TULLE_ABI::mpi {
namespace {

// Places of products are kept for new values where they take less memory than C: two bytes for a product, columns and
// values for a nonzero.
template <class V>
bool keeps_places(const spgemm::Plan<V>& plan)
{
    constexpr auto nonzero_bytes = static_cast<offset_t>(sizeof(index_t) + sizeof(V));
    return plan.products() <= plan.nonzeros() * nonzero_bytes / 2;
}

}  // namespace

template <class V>
struct SpgemmPlan<V>::State {
    DistCsr<V> a, b;
    std::vector<offset_t> length = {};  // of the rows of B at the local columns of A
    std::vector<Range> ranges = {};
    int rounds = 0;                                             // batches of the rank with most
    bool all_sorted = false;                                    // rows of B, on all ranks
    std::vector<Fetch> fetches = {};                            // of the rounds
    bool keeps_patterns = false;                                // of batches, on all ranks
    std::vector<std::shared_ptr<const Pattern>> patterns = {};  // of the rounds, once they are known
    std::unique_ptr<Batch<V>> kept = {};                        // where there is one round
    bool refilled = false;                                      // and values have been computed again
    std::size_t held = 0, most_held = 0;                        // bytes of rows of B from other ranks

    const Cluster& cluster() const { return a.cluster(); }
    const Context& context() const { return a.cluster().context(); }
    std::size_t fetched_bytes(int round) const
    {
        return round < static_cast<int>(ranges.size()) ? ranges[static_cast<std::size_t>(round)].fetched_bytes : 0;
    }
    // Ranges of rows of A. One for all where that fits the budget; otherwise two batches fit it together, and where
    // that leaves half of it or more, so do the patterns of all batches. Collective.
    void cut(std::size_t budget)
    {
        const auto cut_by = [&](std::size_t limit) {
            cluster().run_collective("spgemm setup", [&] {
                ranges = make_ranges(a, length, limit, !a.ghosts().empty() || !b.ghosts().empty());
            });
            rounds = static_cast<int>(cluster().largest(static_cast<global_t>(ranges.size())));
        };
        cut_by(budget);
        if (rounds == 1) return;
        cut_by(budget / 4);
        std::size_t entries = 0;
        for (const Range& r : ranges) entries += r.fetched_bytes / entry_bytes<V>;
        keeps_patterns = cluster().largest(entries * sizeof(index_t) <= budget / 2 ? 0 : 1) == 0;
        if (!keeps_patterns) cut_by(budget / 2);
    }
    Fetch make_fetch_of(int round) const
    {
        const bool has = round < static_cast<int>(ranges.size());
        return make_fetch(a, b, has ? ranges[static_cast<std::size_t>(round)] : Range{}, length);
    }
    bool knows_patterns() const { return !patterns.empty() || kept; }

    void hold(std::size_t bytes)
    {
        held += bytes;
        most_held = std::max(most_held, held);
    }

    // Asks for the rows of a round; ranks without a batch left give rows all the same. Collective.
    std::unique_ptr<Arriving<V>> start(int round)
    {
        hold(fetched_bytes(round));
        return std::make_unique<Arriving<V>>(b, fetches[static_cast<std::size_t>(round)], !knows_patterns());
    }

    // The batch of a round, once its rows are here. Collective.
    std::unique_ptr<Batch<V>> arrive(int round, std::unique_ptr<Arriving<V>> got)
    {
        got->finish();
        auto batch = std::make_unique<Batch<V>>();
        if (round < static_cast<int>(ranges.size())) batch->rows = ranges[static_cast<std::size_t>(round)];
        else batch->rows.first = batch->rows.last = a.local().rows;
        cluster().run_collective("spgemm", [&] {
            batch->a = piece_of(cluster().context(), a.local(), batch->rows.first, batch->rows.last, false);
            batch->joined = !needs_no_join(a, b, batch->rows);
            batch->pattern =
                patterns.empty() ? find_pattern(*batch, got->col) : patterns[static_cast<std::size_t>(round)];
            if (batch->joined) join(*batch, got->value);
        });
        return batch;
    }

    std::shared_ptr<const Pattern> find_pattern(const Batch<V>& batch, std::vector<global_t>& fetched) const
    {
        Pattern found{{}, ghosts_of(a, b, batch.rows, fetched)};
        const Numbers numbers(b.col_cuts(), cluster().rank(), found.ghosts);
        found.col.reserve(fetched.size());
        for (const global_t j : fetched) found.col.push_back(numbers.of(j));
        fetched = {};
        return std::make_shared<const Pattern>(std::move(found));
    }

    void join(Batch<V>& batch, const std::vector<V>& values)
    {
        const Numbers numbers(b.col_cuts(), cluster().rank(), batch.pattern->ghosts);
        batch.b = join_rows(a, b, batch.rows, numbers, length);
        batch.b.sorted = batch.b.unique = all_sorted;  // rows of other ranks may be in any order
        load_columns(a, b, batch, numbers, batch.pattern->col);
        load_values(a, b, batch, values);
    }

    // New values of the kept batch. Collective.
    void load(Batch<V>& batch)
    {
        Arriving<V> got(b, fetches[0], false);
        got.finish();
        if (batch.joined) load_values(a, b, batch, got.value);
    }

    // Calls take(batch, its rows of C) for all batches, each time with the rows of the next on their way. Collective.
    template <class Take>
    void for_each_batch(const Take& take)
    {
        std::vector<std::shared_ptr<const Pattern>> found;
        held = 0;
        for (const auto& pattern : patterns) held += pattern->col.size() * sizeof(index_t);
        std::unique_ptr<Arriving<V>> next = start(0);
        for (int round = 0; round < rounds; ++round) {
            const auto batch = arrive(round, std::move(next));
            if (round + 1 < rounds) next = start(round + 1);
            const Csr<V> c = multiply(*batch, next.get());
            cluster().run_collective("spgemm", [&] {
                take(*batch, c);
                if (keeps_patterns && patterns.empty()) found.push_back(batch->pattern);
            });
            held -= fetched_bytes(round);
            if (!found.empty()) hold(found.back()->col.size() * sizeof(index_t));
        }
        if (!found.empty()) patterns = std::move(found);
    }

    // Rows of C of a batch; messages progress in between. Collective.
    Csr<V> multiply(Batch<V>& batch, Arriving<V>* next = nullptr)
    {
        Csr<V> c;
        cluster().run_collective("spgemm", [&] {
            upload(batch);
            make_plan(batch, spgemm::NumericReuse::find_places);
            if (next) next->progress();
            c = batch.plan->run();
            if (context().backend() == Backend::cpu) return;
            batch.c_on_gpu = std::move(c);
            c = to_host(context(), batch.c_on_gpu->view());
        });
        return c;
    }

    void make_plan(Batch<V>& batch, spgemm::NumericReuse reuse)
    {
        batch.plan =
            std::make_unique<spgemm::Plan<V>>(spgemm::Plan<V>::make(context(), batch.a.operand(), batch.operand_b(b),
                                                                    {.checked = false, .refill = reuse}));
    }
    // A and B to the GPU; again: their values.
    void upload(Batch<V>& batch)
    {
        upload_rows(context(), batch.a.view, batch.a.on_gpu);
        upload_rows(context(), batch.view_of(b), batch.b_on_gpu);
    }

    // Values again of the kept batch: the first time, places are kept where that pays and memory allows it. Local.
    void refill(Csr<V>& c)
    {
        upload(*kept);
        if (std::exchange(refilled, true) || !keeps_places(*kept->plan)) {
            kept->plan->update_values(kept->a.operand(), kept->operand_b(b));
        } else {
            try {
                make_plan(*kept, spgemm::NumericReuse::keep_places);
            } catch (const OutOfMemory&) {
                make_plan(*kept, spgemm::NumericReuse::find_places);
            }
        }
        kept->plan->run(kept->c_on_gpu ? *kept->c_on_gpu : c);
        if (kept->c_on_gpu)
            context().run(
                [&](const auto& q) { download(q, kept->c_on_gpu->value.data(), c.value.data(), c.nonzeros()); });
    }
};

template <class V>
SpgemmPlan<V> SpgemmPlan<V>::make(const DistCsr<V>& a, const DistCsr<V>& b, const SpgemmOptions& options)
{
    require(a.cols() == b.rows(),
            [&] { return concat("A has ", a.cols(), " columns, but B has ", b.rows(), " rows"); });
    require(a.col_cuts() == b.row_cuts(), "columns of A are not distributed as the rows of B",
            "give A the row cuts of B as col_cuts");
    auto state = std::make_unique<State>(State{.a = a, .b = b});
    state->length = row_lengths(a, b);
    state->cut(options.budget);
    state->all_sorted = a.cluster().largest(b.local().sorted && b.local().unique ? 0 : 1) == 0;
    for (int round = 0; round < state->rounds; ++round) state->fetches.push_back(state->make_fetch_of(round));
    return SpgemmPlan(std::move(state));
}

template <class V>
DistCsr<V> SpgemmPlan<V>::run()
{
    State& s = *state_;
    if (s.rounds == 1) {
        s.kept.reset();
        s.held = 0;
        s.kept = s.arrive(0, s.start(0));
        Csr<V> c = s.multiply(*s.kept);
        return distribute(s.cluster(), std::move(c), s.kept->pattern->ghosts, s.a.row_cuts(), s.b.col_cuts());
    }
    std::vector<offset_t> row_begin{0};
    std::vector<global_t> col;
    std::vector<V> value;
    s.for_each_batch([&](const Batch<V>& batch, const Csr<V>& c) {
        const Numbers numbers(s.b.col_cuts(), s.cluster().rank(), batch.pattern->ghosts);
        const offset_t before = std::ssize(col);
        for (index_t i = 0; i < c.rows; ++i) row_begin.push_back(before + c.row_begin.data()[i + 1]);
        for (offset_t k = 0; k < c.nonzeros(); ++k) col.push_back(numbers.global(c.col.data()[k]));
        value.insert(value.end(), c.value.data(), c.value.data() + c.nonzeros());
    });
    return DistCsr<V>::from_rows(s.cluster(), s.b.cols(), row_begin, col, value, s.b.col_cuts());
}

template <class V>
void SpgemmPlan<V>::run(DistCsr<V>& c)
{
    State& s = *state_;
    require<PlanMismatch>(c.row_cuts() == s.a.row_cuts() && c.col_cuts() == s.b.col_cuts(),
                          "C is not a product of this plan");
    Csr<V>& local = c.state()->local;
    if (s.kept) {
        s.load(*s.kept);
        return s.cluster().run_collective("spgemm", [&] { s.refill(local); });
    }
    offset_t next = 0;
    s.for_each_batch([&](const Batch<V>&, const Csr<V>& rows) {
        require<PlanMismatch>(next + rows.nonzeros() <= local.nonzeros(), "C is not a product of this plan");
        std::copy_n(rows.value.data(), rows.nonzeros(), local.value.data() + next);
        next += rows.nonzeros();
    });
}

template <class V>
int SpgemmPlan<V>::batches() const
{
    return static_cast<int>(state_->ranges.size());
}
template <class V>
std::size_t SpgemmPlan<V>::largest_batch() const
{
    std::size_t most = 0;
    for (const Range& r : state_->ranges) most = std::max(most, r.fetched_bytes);
    return most;
}

template <class V>
std::size_t SpgemmPlan<V>::most_held() const
{
    return state_->most_held;
}
template <class V>
Traffic SpgemmPlan<V>::sent_per_run() const
{
    Traffic sent;
    for (const Fetch& f : state_->fetches)
        for (std::size_t r = 0; r + 1 < f.give_begin.size(); ++r) {
            const auto entries = static_cast<std::uint64_t>(f.give_begin[r + 1] - f.give_begin[r]);
            const int messages = state_->knows_patterns() ? 1 : 2;
            if (entries > 0) sent.messages += static_cast<std::uint64_t>(messages);
            sent.bytes += entries * (state_->knows_patterns() ? sizeof(V) : entry_bytes<V>);
        }
    return sent;
}

template <class V>
std::size_t SpgemmPlan<V>::bytes() const
{
    const State& s = *state_;
    std::size_t sum = bytes_of(s.length) + (s.kept ? s.kept->bytes() : 0);
    for (const Range& r : s.ranges) sum += bytes_of(r.used);
    for (const Fetch& f : s.fetches) sum += f.bytes();
    for (const auto& pattern : s.patterns) sum += pattern->bytes();
    return sum;
}

template <class V>
std::string SpgemmPlan<V>::describe() const
{
    const State& s = *state_;
    return concat(s.cluster().describe(), "\n", s.rounds, s.rounds == 1 ? " round" : " rounds",
                  s.keeps_patterns ? ", patterns of B are kept" : "", "\nrank ", s.cluster().rank(), ": ",
                  s.a.local().rows, " rows in ", batches(), batches() == 1 ? " batch" : " batches",
                  ", the largest fetches ", largest_batch(), " bytes of rows of B; sends ", sent_per_run().bytes,
                  " bytes in the next run");
}

template class SpgemmPlan<float>;
template class SpgemmPlan<double>;

}  // namespace tulle::inline TULLE_ABI::mpi
