// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Products of distributed matrices, rows of C where the rows of A are.
//
//   make   lengths of the rows of B at the ghosts of A; ranges of rows of A (batches) whose rows of B fit the budget,
//          with the next batch on its way; who needs which rows
//   fetch  rows of B at the ghosts of a batch, from their owners, while the batch before is multiplied; all ranks take
//          part in as many rounds as the rank with most batches has
//   join   the rows of B that the batch uses, own and fetched, as one matrix whose rows are numbered as the local
//          columns of A; columns in their global order. Where nothing is fetched, B is used as it is.
//   fill   the core's SpGEMM plan, on a GPU with copies of both; each entry of C is summed in the order of A's
//          nonzeros, as in one process
#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

#include "mpi/halo.hpp"
#include "tulle/error.hpp"
#include "tulle/text.hpp"
#include "tulle/transfer.hpp"

namespace tulle::inline TULLE_ABI::mpi {
namespace {

// Of an entry of B on its way: column and value.
template <class V>
constexpr std::size_t entry_bytes = sizeof(global_t) + sizeof(V);

// A range of rows of A, and the columns it uses, in ascending local numbers.
struct Range {
    index_t first = 0, last = 0;
    std::vector<index_t> used;
    std::size_t fetched_bytes = 0;
};

// Rows of B that travel: wanted by this rank, and asked of it by the others (numbers of own rows).
struct Fetch {
    ByRank<global_t> wanted;
    ByRank<index_t> asked;
    std::vector<offset_t> get_begin, give_begin;  // entries from and to each rank
};

// Columns of the fetched entries of a batch, as its rows of C number them, and the columns of other ranks among those.
struct Pattern {
    std::vector<index_t> col;
    std::vector<global_t> ghosts;
};

template <class V>
struct Batch {
    Range rows;
    RowPiece<V> a;  // a view of the rows of A
    bool joined = false;
    Csr<V> b;  // where it is joined: rows that the batch does not use are empty
    std::shared_ptr<const Pattern> pattern;
    std::optional<Csr<V>> b_on_gpu = {}, c_on_gpu = {};
    std::unique_ptr<spgemm::Plan<V>> plan;

    CsrView<V> view_of(const DistCsr<V>& all) const { return joined ? b.view() : all.local(); }
    // What plans multiply with.
    CsrView<V> operand_b(const DistCsr<V>& all) const { return b_on_gpu ? b_on_gpu->view() : view_of(all); }
};

// Places of products are kept for new values where they take less memory than C: two bytes for a product, columns and
// values for a nonzero.
template <class V>
bool keeps_places(const spgemm::Plan<V>& plan)
{
    constexpr auto nonzero_bytes = static_cast<offset_t>(sizeof(index_t) + sizeof(V));
    return plan.products() <= plan.nonzeros() * nonzero_bytes / 2;
}

bool is_ghost(const Halo& halo, index_t j) { return j < halo.below || j >= halo.below + halo.own; }

// The lengths of the rows of B at all local columns of A.
template <class V>
std::vector<offset_t> row_lengths(const DistCsr<V>& a, const DistCsr<V>& b)
{
    std::unique_ptr<HaloExchange<offset_t>> halo;
    a.cluster().together("spgemm setup", [&] {
        halo = std::make_unique<HaloExchange<offset_t>>(a.cluster().state().host, a.cluster(), a.state()->halo, 1);
        const offset_t* const begin = b.local().row_begin;
        const std::span<offset_t> own = halo->own();
        for (std::size_t i = 0; i < own.size(); ++i) own[i] = begin[i + 1] - begin[i];
    });
    halo->start(halo->own());
    halo->finish();
    return {halo->extended().begin(), halo->extended().end()};
}

// Ranges of rows whose fetched rows of B fit the budget. A rank without ghosts of A and B has one, whatever it uses.
template <class V>
std::vector<Range> make_ranges(const DistCsr<V>& a, const std::vector<offset_t>& length, std::size_t budget,
                               bool needs_used)
{
    const CsrView<V> local = a.local();
    const Halo& halo = a.state()->halo;
    std::vector<Range> ranges(1);
    if (!needs_used) {
        ranges[0].last = local.rows;
        return ranges;
    }
    std::vector<index_t> seen(static_cast<std::size_t>(local.cols), -1);
    const auto bytes_of = [&](index_t j) {
        return static_cast<std::size_t>(length[static_cast<std::size_t>(j)]) * entry_bytes<V>;
    };
    const auto take = [&](index_t i) {
        const auto number = static_cast<index_t>(ranges.size() - 1);
        for (offset_t k = local.row_begin[i]; k < local.row_begin[i + 1]; ++k) {
            const index_t j = local.col[k];
            if (std::exchange(seen[static_cast<std::size_t>(j)], number) == number) continue;
            ranges.back().used.push_back(j);
            if (is_ghost(halo, j)) ranges.back().fetched_bytes += bytes_of(j);
        }
    };
    for (index_t i = 0; i < local.rows; ++i) {
        const std::size_t used = ranges.back().used.size(), bytes = ranges.back().fetched_bytes;
        take(i);
        if (ranges.back().fetched_bytes > budget && ranges.back().first < i) {
            ranges.back().used.resize(used);
            ranges.back().fetched_bytes = bytes;
            ranges.push_back({i, i, {}, 0});
            take(i);
        }
        ranges.back().last = i + 1;
    }
    if (ranges.size() > 1) {
        for (Range& r : ranges) std::sort(r.used.begin(), r.used.end());
        return ranges;
    }
    ranges[0].used.clear();  // in order without a sort
    for (index_t j = 0; j < local.cols; ++j)
        if (seen[static_cast<std::size_t>(j)] == 0) ranges[0].used.push_back(j);
    return ranges;
}

// Who needs which rows in this round. Collective.
template <class V>
Fetch make_fetch(const DistCsr<V>& a, const DistCsr<V>& b, const Range& range, const std::vector<offset_t>& length)
{
    const Cluster& cluster = a.cluster();
    const auto ranks = static_cast<std::size_t>(cluster.ranks());
    const Cuts& cuts = b.row_cuts();
    Fetch f;
    std::vector<offset_t> rows(ranks, 0), entries(ranks, 0);
    cluster.together("spgemm setup", [&] {
        for (const index_t j : range.used) {
            if (!is_ghost(a.state()->halo, j)) continue;
            f.wanted.entry.push_back(a.global_col(j));
            const auto owner = static_cast<std::size_t>(
                std::upper_bound(cuts.begin(), cuts.end(), f.wanted.entry.back()) - cuts.begin() - 1);
            ++rows[owner];
            entries[owner] += length[static_cast<std::size_t>(j)];
        }
    });
    f.wanted.begin = begins_of(rows);
    f.get_begin = begins_of(entries);
    const ByRank<global_t> asked = exchange(cluster, "spgemm setup", f.wanted);
    f.asked.begin = asked.begin;
    std::vector<offset_t> given(ranks, 0);
    for (std::size_t r = 0; r < ranks; ++r)
        for (const global_t i : asked.of(static_cast<int>(r))) {
            const auto row = static_cast<index_t>(i - cuts[static_cast<std::size_t>(cluster.rank())]);
            f.asked.entry.push_back(row);
            given[r] += b.local().row_begin[row + 1] - b.local().row_begin[row];
        }
    f.give_begin = begins_of(given);
    return f;
}

// The entries of the asked rows, each as read(k) gives it for the k-th local nonzero of B.
template <class T, class V, class Read>
std::vector<T> pack_rows(const DistCsr<V>& b, const Fetch& f, const Read& read)
{
    std::vector<T> give;
    give.reserve(static_cast<std::size_t>(f.give_begin.back()));
    const offset_t* const begin = b.local().row_begin;
    for (const index_t i : f.asked.entry)
        for (offset_t k = begin[i]; k < begin[i + 1]; ++k) give.push_back(read(k));
    return give;
}

// Rows of B on their way from their owners, and those that this rank gives.
template <class V>
class Arriving {
public:
    // Collective. columns: with their patterns.
    Arriving(const DistCsr<V>& b, const Fetch& f, bool columns) : messages_(b.cluster())
    {
        b.cluster().together(phase, [&] {
            if (columns) {
                const index_t* const local = b.local().col;
                give_col_ = pack_rows<global_t>(b, f, [&](offset_t k) { return b.global_col(local[k]); });
                col.resize(static_cast<std::size_t>(f.get_begin.back()));
            }
            const V* const values = b.local().value;
            give_value_ = pack_rows<V>(b, f, [&](offset_t k) { return values[k]; });
            value.resize(static_cast<std::size_t>(f.get_begin.back()));
        });
        if (columns) add(b, f, give_col_, col, tag_columns);
        add(b, f, give_value_, value, tag_values);
        messages_.start(phase);
    }
    Arriving(const Arriving&) = delete;
    Arriving& operator=(const Arriving&) = delete;
    // The library underneath may still write to the arrays.
    ~Arriving()
    {
        try {
            finish();
        } catch (...) {  // the job has ended
        }
    }
    void poke() { messages_.poke(phase); }
    void finish()
    {
        messages_.finish(phase);
        give_col_ = {};
        give_value_ = {};
    }

    std::vector<global_t> col;
    std::vector<V> value;

private:
    static constexpr std::string_view phase = "rows of B";

    template <class T>
    void add(const DistCsr<V>& b, const Fetch& f, const std::vector<T>& give, std::vector<T>& get, int tag)
    {
        add_exchange(messages_, b.cluster(), reinterpret_cast<const char*>(give.data()), f.give_begin,
                     reinterpret_cast<char*>(get.data()), f.get_begin, sizeof(T), tag);
    }

    Messages messages_;
    std::vector<global_t> give_col_;
    std::vector<V> give_value_;
};

// Calls visit(row of B) for the own rows that a batch uses.
template <class V, class Visit>
void for_each_own(const DistCsr<V>& a, const Range& range, const Visit& visit)
{
    const Halo& halo = a.state()->halo;
    for (const index_t j : range.used)
        if (!is_ghost(halo, j)) visit(j - halo.below);
}

// The columns of C that are not this rank's, ascending.
template <class V>
std::vector<global_t> ghosts_of(const DistCsr<V>& a, const DistCsr<V>& b, const Range& range,
                                const std::vector<global_t>& fetched)
{
    const auto me = static_cast<std::size_t>(b.cluster().rank());
    const global_t first = b.col_cuts()[me], last = b.col_cuts()[me + 1];
    const Halo& halo = b.state()->halo;
    const CsrView<V> local = b.local();
    std::vector<global_t> ghosts;
    for (const global_t j : fetched)
        if (j < first || j >= last) ghosts.push_back(j);
    std::vector<unsigned char> used(b.ghosts().size(), 0);
    if (!used.empty())
        for_each_own(a, range, [&](index_t row) {
            for (offset_t k = local.row_begin[row]; k < local.row_begin[row + 1]; ++k) {
                const index_t j = local.col[k];
                if (is_ghost(halo, j)) used[static_cast<std::size_t>(j < halo.below ? j : j - halo.own)] = 1;
            }
        });
    for (std::size_t g = 0; g < used.size(); ++g)
        if (used[g]) ghosts.push_back(b.ghosts()[g]);
    std::sort(ghosts.begin(), ghosts.end());
    ghosts.erase(std::unique(ghosts.begin(), ghosts.end()), ghosts.end());
    return ghosts;
}

// Whether the batch needs B as this rank has it: nothing is fetched, and columns of C are numbered as those of B.
template <class V>
bool needs_no_join(const DistCsr<V>& a, const DistCsr<V>& b, const Range& range)
{
    if (!a.ghosts().empty()) return false;
    return b.ghosts().empty() || std::ssize(range.used) == b.local().rows;
}

// Local numbers of columns of C.
struct Numbers {
    global_t first, last;  // own columns
    const std::vector<global_t>& ghosts;
    offset_t below;

    Numbers(const Cuts& cuts, int rank, const std::vector<global_t>& all)
        : first(cuts[static_cast<std::size_t>(rank)]),
          last(cuts[static_cast<std::size_t>(rank) + 1]),
          ghosts(all),
          below(std::lower_bound(all.begin(), all.end(), first) - all.begin())
    {}
    offset_t cols() const { return last - first + std::ssize(ghosts); }
    index_t of(global_t j) const
    {
        if (j >= first && j < last) return static_cast<index_t>(j - first + below);
        const offset_t at = std::lower_bound(ghosts.begin(), ghosts.end(), j) - ghosts.begin();
        return static_cast<index_t>(j < first ? at : at + last - first);
    }
    global_t global(offset_t j) const
    {
        if (j < below) return ghosts[static_cast<std::size_t>(j)];
        return j < below + last - first ? first + j - below : ghosts[static_cast<std::size_t>(j - (last - first))];
    }
};

// Columns of C for the local columns of B.
template <class V>
std::vector<index_t> numbers_of(const DistCsr<V>& b, const Numbers& numbers)
{
    std::vector<index_t> number(static_cast<std::size_t>(b.local().cols));
    const index_t own = b.state()->halo.own, below = b.state()->halo.below;
    for (index_t j = 0; j < own; ++j)
        number[static_cast<std::size_t>(below + j)] = static_cast<index_t>(j + numbers.below);
    for (std::size_t g = 0; g < b.ghosts().size(); ++g)
        number[static_cast<std::size_t>(b.state()->halo.place(static_cast<offset_t>(g)))] = numbers.of(b.ghosts()[g]);
    return number;
}

// Calls own(row of B, first entry) or fetched(first fetched entry, entries, first entry) for the rows of a joined B.
template <class V, class Own, class Fetched>
void for_each_joined(const DistCsr<V>& a, const Batch<V>& batch, const Own& own, const Fetched& fetched)
{
    const Halo& halo = a.state()->halo;
    const offset_t* const begin = batch.b.row_begin.data();
    offset_t next = 0;
    for (const index_t j : batch.rows.used) {
        if (is_ghost(halo, j)) {
            fetched(next, begin[j + 1] - begin[j], begin[j]);
            next += begin[j + 1] - begin[j];
        } else {
            own(j - halo.below, begin[j]);
        }
    }
}

// The used rows of B as one matrix, without values.
template <class V>
Csr<V> join_rows(const DistCsr<V>& a, const DistCsr<V>& b, const Range& range, const Numbers& numbers,
                 const std::vector<offset_t>& length)
{
    require<ValueError>(
        numbers.cols() < max_index, [&] { return concat("rows of C on a rank have ", numbers.cols(), " columns"); },
        "use more ranks");
    const index_t rows = a.local().cols;
    std::vector<offset_t> begin(static_cast<std::size_t>(rows) + 1, 0);
    for (const index_t j : range.used) begin[static_cast<std::size_t>(j) + 1] = length[static_cast<std::size_t>(j)];
    std::partial_sum(begin.begin(), begin.end(), begin.begin());
    Csr<V> joined =
        Csr<V>::make(b.cluster().context().host(), rows, static_cast<index_t>(numbers.cols()), begin.back());
    std::copy(begin.begin(), begin.end(), joined.row_begin.data());
    return joined;
}

template <class V>
void load_columns(const DistCsr<V>& a, const DistCsr<V>& b, Batch<V>& batch, const Numbers& numbers,
                  const std::vector<index_t>& fetched)
{
    const CsrView<V> local = b.local();
    const std::vector<index_t> number = numbers_of(b, numbers);
    index_t* const col = batch.b.col.data();
    for_each_joined(
        a, batch,
        [&](index_t i, offset_t to) {
            for (offset_t k = local.row_begin[i]; k < local.row_begin[i + 1]; ++k)
                col[to++] = number[static_cast<std::size_t>(local.col[k])];
        },
        [&](offset_t from, offset_t count, offset_t to) { std::copy_n(fetched.data() + from, count, col + to); });
}

template <class V>
void load_values(const DistCsr<V>& a, const DistCsr<V>& b, Batch<V>& batch, const std::vector<V>& fetched)
{
    const CsrView<V> local = b.local();
    V* const value = batch.b.value.data();
    for_each_joined(
        a, batch,
        [&](index_t i, offset_t to) {
            std::copy(local.value + local.row_begin[i], local.value + local.row_begin[i + 1], value + to);
        },
        [&](offset_t from, offset_t count, offset_t to) { std::copy_n(fetched.data() + from, count, value + to); });
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
            cluster().together("spgemm setup", [&] {
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
        cluster().together("spgemm", [&] {
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
            cluster().together("spgemm", [&] {
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
        cluster().together("spgemm", [&] {
            upload(batch);
            make_plan(batch, spgemm::NumericReuse::find_places);
            if (next) next->poke();
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
        return s.cluster().together("spgemm", [&] { s.refill(local); });
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
