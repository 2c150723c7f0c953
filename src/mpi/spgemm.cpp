// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Products of distributed matrices, rows of C where the rows of A are.
//
//   make   lengths of the rows of B at the ghosts of A; ranges of rows of A (batches) whose rows of B fit the budget
//   fetch  rows of B at the ghosts of a batch, from their owners; all ranks take part in as many rounds as the rank
//          with most batches has
//   join   the rows of B that the batch uses, own and fetched, as one matrix; columns in their global order
//   fill   the core's SpGEMM plan; each entry of C is summed in the order of A's nonzeros, as in one process
#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

#include "mpi/halo.hpp"
#include "tulle/error.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::mpi {
namespace {

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

template <class V>
struct Batch {
    Range rows;
    Fetch fetch;
    Csr<V> a, b;  // the used columns of A, the used rows of B
    std::vector<global_t> ghosts;
    std::unique_ptr<spgemm::Plan<V>> plan;
};

bool is_ghost(const Halo& halo, index_t j) { return j < halo.below || j >= halo.below + halo.own; }

// The lengths of the rows of B at all local columns of A.
template <class V>
std::vector<offset_t> row_lengths(const DistCsr<V>& a, const DistCsr<V>& b)
{
    std::unique_ptr<HaloExchange<offset_t>> halo;
    a.cluster().together("spgemm setup", [&] {
        halo = std::make_unique<HaloExchange<offset_t>>(a.cluster(), a.state()->halo, 1);
        for (index_t i = 0; i < b.local().rows; ++i)
            halo->own()[static_cast<std::size_t>(i)] = b.local().row_begin[i + 1] - b.local().row_begin[i];
    });
    halo->start(a.cluster().context().host(), halo->own());
    halo->finish();
    return {halo->extended().begin(), halo->extended().end()};
}

// Ranges of rows whose fetched rows of B fit the budget.
template <class V>
std::vector<Range> make_ranges(const DistCsr<V>& a, const std::vector<offset_t>& length, std::size_t budget)
{
    const CsrView<V> local = a.local();
    const Halo& halo = a.state()->halo;
    std::vector<index_t> seen(static_cast<std::size_t>(local.cols), -1);
    std::vector<Range> ranges(1);
    const auto bytes_of = [&](index_t j) {
        return static_cast<std::size_t>(length[static_cast<std::size_t>(j)]) * (sizeof(global_t) + sizeof(V));
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
    for (Range& r : ranges) std::sort(r.used.begin(), r.used.end());
    return ranges;
}

// The rows of a range with columns numbered by their place in `used`; the values are filled later.
template <class V>
Csr<V> compact(const DistCsr<V>& a, const Range& range)
{
    const CsrView<V> local = a.local();
    std::vector<index_t> place(static_cast<std::size_t>(local.cols));
    for (std::size_t k = 0; k < range.used.size(); ++k)
        place[static_cast<std::size_t>(range.used[k])] = static_cast<index_t>(k);
    const offset_t begin = local.row_begin[range.first], end = local.row_begin[range.last];
    Csr<V> rows = Csr<V>::make(a.cluster().context().host(), range.last - range.first,
                               static_cast<index_t>(range.used.size()), end - begin);
    rows.sorted = local.sorted;
    rows.unique = local.unique;
    for (index_t i = range.first; i <= range.last; ++i)
        rows.row_begin.data()[i - range.first] = local.row_begin[i] - begin;
    for (offset_t k = begin; k < end; ++k) rows.col.data()[k - begin] = place[static_cast<std::size_t>(local.col[k])];
    return rows;
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

// The entries of the wanted rows, each as read(k) gives it for the k-th local nonzero of B. Collective.
template <class T, class V, class Read>
std::vector<T> fetch_entries(const DistCsr<V>& b, const Fetch& f, const Read& read)
{
    ByRank<T> give{f.give_begin, {}};
    b.cluster().together("rows of B", [&] {
        give.entry.reserve(static_cast<std::size_t>(f.give_begin.back()));
        for (const index_t i : f.asked.entry)
            for (offset_t k = b.local().row_begin[i]; k < b.local().row_begin[i + 1]; ++k)
                give.entry.push_back(read(k));
    });
    return exchange(b.cluster(), "rows of B", give, f.get_begin).entry;
}

// The columns of C that are not this rank's, ascending.
template <class V>
std::vector<global_t> ghosts_of(const DistCsr<V>& a, const DistCsr<V>& b, const Range& range,
                                const std::vector<global_t>& fetched)
{
    const auto me = static_cast<std::size_t>(b.cluster().rank());
    const global_t first = b.col_cuts()[me], last = b.col_cuts()[me + 1];
    std::vector<global_t> ghosts;
    for (const global_t j : fetched)
        if (j < first || j >= last) ghosts.push_back(j);
    const Halo &halo_a = a.state()->halo, &halo_b = b.state()->halo;
    for (const index_t j : range.used) {
        if (is_ghost(halo_a, j)) continue;
        const index_t row = j - halo_a.below;
        for (offset_t k = b.local().row_begin[row]; k < b.local().row_begin[row + 1]; ++k)
            if (is_ghost(halo_b, b.local().col[k])) ghosts.push_back(b.global_col(b.local().col[k]));
    }
    std::sort(ghosts.begin(), ghosts.end());
    ghosts.erase(std::unique(ghosts.begin(), ghosts.end()), ghosts.end());
    return ghosts;
}

// Calls own(row of B, place) or fetched(first fetched entry, entries, place) for the rows that a batch uses, in order.
template <class V, class Own, class Fetched>
void for_each_used(const DistCsr<V>& a, const Range& range, const std::vector<offset_t>& length, const Own& own,
                   const Fetched& fetched)
{
    const Halo& halo = a.state()->halo;
    offset_t next = 0;
    for (const index_t j : range.used) {
        if (!is_ghost(halo, j)) {
            own(j - halo.below);
            continue;
        }
        fetched(next, length[static_cast<std::size_t>(j)]);
        next += length[static_cast<std::size_t>(j)];
    }
}

// The used rows of B as one matrix, without values.
template <class V>
Csr<V> join_rows(const DistCsr<V>& a, const DistCsr<V>& b, const Batch<V>& batch, const std::vector<offset_t>& length,
                 const std::vector<global_t>& fetched)
{
    const auto me = static_cast<std::size_t>(b.cluster().rank());
    const global_t first = b.col_cuts()[me], last = b.col_cuts()[me + 1];
    const std::vector<global_t>& ghosts = batch.ghosts;
    const offset_t below = std::lower_bound(ghosts.begin(), ghosts.end(), first) - ghosts.begin();
    const auto number = [&](global_t j) {
        if (j >= first && j < last) return static_cast<index_t>(j - first + below);
        const offset_t at = std::lower_bound(ghosts.begin(), ghosts.end(), j) - ghosts.begin();
        return static_cast<index_t>(j < first ? at : at + last - first);
    };
    const CsrView<V> local = b.local();
    offset_t nonzeros = std::ssize(fetched), next = 0;
    for_each_used(
        a, batch.rows, length, [&](index_t i) { nonzeros += local.row_begin[i + 1] - local.row_begin[i]; },
        [](offset_t, offset_t) {});
    const offset_t cols = last - first + std::ssize(ghosts);
    require<ValueError>(
        cols < max_index, [&] { return concat("rows of C on a rank have ", cols, " columns"); }, "use more ranks");
    Csr<V> rows = Csr<V>::make(b.cluster().context().host(), static_cast<index_t>(batch.rows.used.size()),
                               static_cast<index_t>(cols), nonzeros);
    rows.sorted = rows.unique = false;  // rows of other ranks may be in any order
    offset_t* begin = rows.row_begin.data();
    *begin = 0;
    for_each_used(
        a, batch.rows, length,
        [&](index_t i) {
            for (offset_t k = local.row_begin[i]; k < local.row_begin[i + 1]; ++k)
                rows.col.data()[next++] = number(b.global_col(local.col[k]));
            *++begin = next;
        },
        [&](offset_t from, offset_t count) {
            for (offset_t k = from; k < from + count; ++k)
                rows.col.data()[next++] = number(fetched[static_cast<std::size_t>(k)]);
            *++begin = next;
        });
    return rows;
}

// The values of A and of the used rows of B.
template <class V>
void load_values(const DistCsr<V>& a, const DistCsr<V>& b, Batch<V>& batch, const std::vector<offset_t>& length,
                 const std::vector<V>& fetched)
{
    const CsrView<V> from_a = a.local(), from_b = b.local();
    std::copy_n(from_a.value + from_a.row_begin[batch.rows.first], batch.a.nonzeros(), batch.a.value.data());
    V* next = batch.b.value.data();
    for_each_used(
        a, batch.rows, length,
        [&](index_t i) {
            next = std::copy(from_b.value + from_b.row_begin[i], from_b.value + from_b.row_begin[i + 1], next);
        },
        [&](offset_t from, offset_t count) { next = std::copy_n(fetched.data() + from, count, next); });
}

}  // namespace

template <class V>
struct SpgemmPlan<V>::State {
    DistCsr<V> a, b;
    std::vector<offset_t> length;  // of the rows of B at the local columns of A
    std::vector<Range> ranges;
    int rounds = 0;                  // batches of the rank with most
    bool all_sorted = false;         // rows of B, on all ranks
    std::unique_ptr<Batch<V>> kept;  // where there is one round

    const Cluster& cluster() const { return a.cluster(); }

    // Patterns of a round; ranks without a batch left give rows all the same. Collective.
    std::unique_ptr<Batch<V>> prepare(int round)
    {
        auto batch = std::make_unique<Batch<V>>();
        if (round < static_cast<int>(ranges.size())) batch->rows = ranges[static_cast<std::size_t>(round)];
        else batch->rows.first = batch->rows.last = a.local().rows;
        batch->fetch = make_fetch(a, b, batch->rows, length);
        const auto fetched =
            fetch_entries<global_t>(b, batch->fetch, [&](offset_t k) { return b.global_col(b.local().col[k]); });
        cluster().together("spgemm", [&] {
            batch->ghosts = ghosts_of(a, b, batch->rows, fetched);
            batch->a = compact(a, batch->rows);
            batch->b = join_rows(a, b, *batch, length, fetched);
            batch->b.sorted = batch->b.unique = all_sorted;
        });
        return batch;
    }

    void load(Batch<V>& batch)
    {
        const auto values = fetch_entries<V>(b, batch.fetch, [&](offset_t k) { return b.local().value[k]; });
        cluster().together("spgemm", [&] { load_values(a, b, batch, length, values); });
    }

    // Rows of C of a batch. Collective.
    Csr<V> multiply(Batch<V>& batch)
    {
        load(batch);
        Csr<V> c;
        cluster().together("spgemm", [&] {
            batch.plan = std::make_unique<spgemm::Plan<V>>(
                spgemm::Plan<V>::make(cluster().context(), batch.a.view(), batch.b.view(), {.checked = false}));
            c = batch.plan->run();
        });
        return c;
    }
};

template <class V>
SpgemmPlan<V> SpgemmPlan<V>::make(const DistCsr<V>& a, const DistCsr<V>& b, const SpgemmOptions& options)
{
    require(a.cols() == b.rows(),
            [&] { return concat("A has ", a.cols(), " columns, but B has ", b.rows(), " rows"); });
    require(a.col_cuts() == b.row_cuts(), "columns of A are not distributed as the rows of B",
            "give A the row cuts of B as col_cuts");
    auto state = std::make_unique<State>(State{a, b, row_lengths(a, b), {}, 0, false, {}});
    a.cluster().together("spgemm setup", [&] { state->ranges = make_ranges(a, state->length, options.budget); });
    state->rounds = static_cast<int>(a.cluster().largest(static_cast<global_t>(state->ranges.size())));
    state->all_sorted = a.cluster().largest(b.local().sorted && b.local().unique ? 0 : 1) == 0;
    return SpgemmPlan(std::move(state));
}

template <class V>
DistCsr<V> SpgemmPlan<V>::run()
{
    State& s = *state_;
    if (s.rounds == 1) {
        s.kept = s.prepare(0);
        Csr<V> c = s.multiply(*s.kept);
        return distribute(s.cluster(), std::move(c), s.kept->ghosts, s.a.row_cuts(), s.b.col_cuts());
    }
    std::vector<offset_t> row_begin{0};
    std::vector<global_t> col;
    std::vector<V> value;
    const global_t own_first = s.b.col_cuts()[static_cast<std::size_t>(s.cluster().rank())];
    const index_t own = s.b.state()->halo.own;
    for (int round = 0; round < s.rounds; ++round) {
        const auto batch = s.prepare(round);
        const Csr<V> c = s.multiply(*batch);
        s.cluster().together("spgemm", [&] {
            const std::vector<global_t>& ghosts = batch->ghosts;
            const offset_t below = std::lower_bound(ghosts.begin(), ghosts.end(), own_first) - ghosts.begin();
            for (index_t i = 0; i < c.rows; ++i) row_begin.push_back(std::ssize(col) + c.row_begin.data()[i + 1]);
            for (offset_t k = 0; k < c.nonzeros(); ++k) {
                const offset_t j = c.col.data()[k];
                col.push_back(j < below         ? ghosts[static_cast<std::size_t>(j)]
                              : j < below + own ? own_first + j - below
                                                : ghosts[static_cast<std::size_t>(j - own)]);
            }
            value.insert(value.end(), c.value.data(), c.value.data() + c.nonzeros());
        });
    }
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
        return s.cluster().together("spgemm", [&] {
            s.kept->plan->update_values(s.kept->a.view(), s.kept->b.view());
            s.kept->plan->run(local);
        });
    }
    offset_t next = 0;
    for (int round = 0; round < s.rounds; ++round) {
        const auto batch = s.prepare(round);
        const Csr<V> rows = s.multiply(*batch);
        s.cluster().together("spgemm", [&] {
            require<PlanMismatch>(next + rows.nonzeros() <= local.nonzeros(), "C is not a product of this plan");
            std::copy_n(rows.value.data(), rows.nonzeros(), local.value.data() + next);
            next += rows.nonzeros();
        });
    }
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

template class SpgemmPlan<float>;
template class SpgemmPlan<double>;

}  // namespace tulle::inline TULLE_ABI::mpi
