// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// select(A B) on a CPU: a thread computes a row in arrays of its own, keeps what the rule says, and goes on. Rows that
// stay are put down in blocks, because how many entries stay is known only then, and copied together at the end.
//
// A row is summed in an array as long as B is wide. With many products, no question is asked about a place before
// something is added, and the array is searched for entries at or above the cutoff: entries that are zero would be
// below the threshold. If no value is negative, the sum of a row of A B follows from those of the rows of B, and only
// entries above the threshold are looked for. With few, or over another semiring, marks tell which places have a
// product, and a list which those are. Where B is used often enough, its entries are added four at a time (bcsr.hpp).
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <exception>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/math.hpp"
#include "graph/cpu/bcsr.hpp"
#include "graph/cpu/dense_row.hpp"
#include "graph/cpu/key_row.hpp"
#include "graph/cpu/rows.hpp"
#include "graph/cpu/sums.hpp"
#include "graph/cpu/touched.hpp"
#include "graph/semirings.hpp"
#include "graph/steps.hpp"
#include "prim/scan.hpp"

namespace tulle::inline TULLE_ABI::graph {
namespace {

constexpr int rows_at_a_time = 16;
constexpr offset_t rows_ahead = 2;  // whose first blocks are prefetched
constexpr offset_t entries_of_block = offset_t{1} << 13;
// The array is searched where this many times the products are more than the places they reach (measured: 8 to 64 on
// the expansions of two graphs).
constexpr offset_t places_per_product = 16;

// Arrays of one thread, as long as B is wide.
template <class V>
struct Workspace {
    V* sum;         // zero between rows
    index_t* mark;  // row + 1 where there has been a product
    index_t* list;  // columns of the row
    KeyOf<V>* key;
    std::int32_t* fixed;  // as sum, for sums in fixed point
};

template <class V>
class Workspaces {
public:
    Workspaces(const CpuQueue& q, index_t cols, const Quantum<V>& quantum)
        : places_(round_up(offset_t{cols}, offset_t{block_cols})),
          room_(places_ + blocks_at_once * block_cols),
          sum_(q, room_ * q.threads),
          mark_(q, room_ * q.threads),
          list_(q, room_ * q.threads),
          key_(q, room_ * q.threads),
          fixed_(q, quantum.value() > 0 ? room_ * q.threads : 0)
    {
        fill_zero(q, fixed_.data(), fixed_.size());
        fill_zero(q, sum_.data(), sum_.size());
        fill_zero(q, mark_.data(), mark_.size());
    }
    offset_t places() const { return places_; }
    Workspace<V> of(offset_t thread)
    {
        const offset_t at = thread * room_;
        return {sum_.data() + at, mark_.data() + at, list_.data() + at, key_.data() + at,
                fixed_.empty() ? nullptr : fixed_.data() + at};
    }

private:
    offset_t places_, room_;  // room for blocks behind the columns, to which zeros are added
    Buffer<V> sum_;
    Buffer<index_t> mark_, list_;
    Buffer<KeyOf<V>> key_;
    Buffer<std::int32_t> fixed_;
};

// Sums of row i with marks; how many columns there are, in the list.
template <class V, class Sums>
offset_t add_marked(const CsrView<V>& a, const CsrView<V>& b, index_t i, const Workspace<V>& work, const Sums& sums)
{
    offset_t n = 0;
    for (offset_t p = a.row_begin[i]; p < a.row_begin[i + 1]; ++p) {
        const V factor = sums.scaled(a.value[p]);
        for (offset_t r = b.row_begin[a.col[p]]; r < b.row_begin[a.col[p] + 1]; ++r) {
            const index_t j = b.col[r];
            if (work.mark[j] == i + 1) sums.add(j, factor, b.value[r]);
            else {
                work.mark[j] = i + 1;
                sums.set(j, factor, b.value[r]);
                work.list[n++] = j;
            }
        }
    }
    return n;
}

// The same for plain sums with many products, without marks and list; all: of blocks, none is left out.
template <class V, class Sums>
void add_unmarked(const CsrView<V>& a, const CsrView<V>& b, const Bcsr<V>& blocks, index_t i, const Sums& sums,
                  bool all)
{
    const offset_t last = a.row_begin[i + 1];
    for (offset_t p = a.row_begin[i]; p < last; ++p) {
        if (blocks.is_made() && p + 2 * rows_ahead < last) blocks.prefetch_row(a.col[p + 2 * rows_ahead]);
        if (blocks.is_made() && p + rows_ahead < last) blocks.prefetch_groups(a.col[p + rows_ahead]);
        if (blocks.is_made() && std::isfinite(a.value[p])) {
            add_block_row(blocks, a.col[p], a.value[p], sums, all);
            continue;
        }
        const V factor = sums.scaled(a.value[p]);
        const offset_t end = b.row_begin[a.col[p] + 1];
        for (offset_t r = b.row_begin[a.col[p]]; r < end; ++r) sums.add(b.col[r], factor, b.value[r]);
    }
}

#if defined(__x86_64__)
TULLE_WIDE [[gnu::flatten]] void add_unmarked(const CsrView<float>& a, const CsrView<float>& b,
                                              const Bcsr<float>& blocks, index_t i, const WideSums& sums, bool all)
{
    add_unmarked<float, WideSums>(a, b, blocks, i, sums, all);
}
#endif

template <class V>
offset_t products_of(const CpuQueue& q, const CsrView<V>& a, const CsrView<V>& b)
{
    offset_t products = 0;
#pragma omp parallel for num_threads(q.threads) schedule(static) reduction(+ : products)
    for (offset_t p = 0; p < a.nonzeros; ++p) products += b.row_begin[a.col[p] + 1] - b.row_begin[a.col[p]];
    return products;
}

// Whether all values are finite and none is negative.
template <class V>
bool is_nonnegative(const CpuQueue& q, const CsrView<V>& m)
{
    offset_t others = 0;
#pragma omp parallel for num_threads(q.threads) schedule(static) reduction(+ : others)
    for (offset_t p = 0; p < m.nonzeros; ++p)
        others += !(m.value[p] >= 0 && m.value[p] <= std::numeric_limits<V>::max());
    return others == 0;
}

// Rows that stay, where threads put them down.
template <class V>
class KeptRows {
public:
    KeptRows(const CpuQueue& q, index_t rows)
        : q_(q),
          blocks_(static_cast<std::size_t>(q.threads)),
          place_(q, rows),
          count_(q, offset_t{rows} + 1)
    {}

    // Room for n entries of a row.
    std::pair<index_t*, V*> add(int thread, index_t row, offset_t n)
    {
        std::vector<Block>& mine = blocks_[static_cast<std::size_t>(thread)];
        if (mine.empty() || mine.back().used + n > mine.back().col.size()) {
            const offset_t size = std::max(n, entries_of_block);
            mine.push_back({Buffer<index_t>(q_, size), Buffer<V>(q_, size)});
        }
        Block& block = mine.back();
        index_t* const col = block.col.data() + block.used;
        V* const value = block.value.data() + block.used;
        block.used += n;
        place_.data()[row] = {col, value};
        count_.data()[row] = n;
        return {col, value};
    }

    Csr<V> join(index_t rows, index_t cols)
    {
        prim::exclusive_scan(q_, count_.data(), count_.data(), rows);
        const offset_t* begin = count_.data();
        Csr<V> c = Csr<V>::make(q_, rows, cols, begin[rows]);
#pragma omp parallel for num_threads(q_.threads) schedule(static)
        for (index_t i = 0; i < rows; ++i) {
            const Place from = place_.data()[i];
            std::copy_n(from.col, begin[i + 1] - begin[i], c.col.data() + begin[i]);
            std::copy_n(from.value, begin[i + 1] - begin[i], c.value.data() + begin[i]);
        }
        c.row_begin = std::move(count_);
        return c;
    }

private:
    struct Block {
        Buffer<index_t> col;
        Buffer<V> value;
        offset_t used = 0;
    };
    struct Place {
        const index_t* col;
        const V* value;
    };
    CpuQueue q_;
    std::vector<std::vector<Block>> blocks_;
    Buffer<Place> place_;
    Buffer<offset_t> count_;
};

// The sums of the columns in the list, which are zero afterwards.
template <class V, class Sums>
void store_row(int thread, index_t i, const Workspace<V>& work, const Sums& sums, offset_t stay, KeptRows<V>& kept)
{
    const auto [col, value] = kept.add(thread, i, stay);
    for (offset_t k = 0; k < stay; ++k) {
        col[k] = work.list[k];
        value[k] = sums.take(col[k]);
    }
}

// What the rule keeps of a row whose columns are in the list, in ascending order.
template <class V, class Sums>
void keep_listed(const Rule<V>& rule, int thread, index_t i, const Workspace<V>& work, const Sums& sums,
                 offset_t listed, KeptRows<V>& kept)
{
    offset_t n = 0;
    for (offset_t k = 0; k < listed; ++k)
        if (rule.is_inside(i, work.list[k])) work.key[n++] = key_of(sums.value(work.list[k]));
    KeyRow<V> row{work.key, n};
    const KeyOf<V> cutoff = cutoff_of(rule, row);
    offset_t stay = 0;
    for (offset_t k = 0; k < listed; ++k) {
        const index_t j = work.list[k];
        if (rule.is_inside(i, j) && key_of(sums.value(j)) >= cutoff) work.list[stay++] = j;
        else sums.take(j);
    }
    std::sort(work.list, work.list + stay);
    store_row(thread, i, work, sums, stay, kept);
}

// The same of an array that is zero elsewhere.
template <class V, class Sums>
void keep_summed(const Rule<V>& rule, int thread, index_t i, const Workspace<V>& work, const Sums& sums,
                 const PlaceRanges& places, std::optional<double> mass, KeptRows<V>& kept)
{
    DenseRow<V, Sums> row(sums, places, rule, work.key, work.list, mass);
    store_row(thread, i, work, sums, row.keep(cutoff_of(rule, row)), kept);
    for (const PlaceRanges::Range& range : places) sums.clear(range.begin, range.end);
}

// One row after the other, in arrays of their threads.
template <class S, class V>
class SelectedRows {
public:
    SelectedRows(const CpuQueue& q, const CsrView<V>& a, const CsrView<V>& b, const Rule<V>& rule, double negligible)
        : a_(a),
          b_(b),
          rule_(rule),
          is_plain_(std::is_same_v<S, PlusTimes<V>> && rule.threshold > 0 && rule.triangle == Triangle::whole),
          quantum_(is_plain_ ? negligible : 0),
          workspaces_(q, b.cols, quantum_),
          blocks_(is_plain_ ? make_bcsr(q, b, products_of(q, a, b), quantum_) : Bcsr<V>{}),
          reach_(is_plain_ ? ReachOfRows(q, b) : ReachOfRows()),
          is_mass_known_(is_plain_ && !rule.is_cutoff_fixed() && is_nonnegative(q, a) &&
                         (a.value == b.value || is_nonnegative(q, b))),
          kept_(q, a.rows)
    {}

    void compute(int thread, index_t i)
    {
        const Workspace<V> work = workspaces_.of(thread);
        const RowReach reach = is_plain_ ? reach_.of(a_, i) : RowReach{};
        if constexpr (std::is_same_v<V, float>)
            if (quantum_.holds(mass_of(reach)))
                return compute_fixed(thread, i, work, {work.fixed, quantum_.per_one()}, reach);
        compute(thread, i, work, PlainSums<S, V>{work.sum}, reach, true);
    }
    Csr<V> join() { return kept_.join(a_.rows, b_.cols); }

private:
    // Sums of magnitudes, where no value of A or B is negative.
    std::optional<double> mass_of(const RowReach& reach) const
    {
        return is_mass_known_ ? std::optional(reach.sum) : std::nullopt;
    }
    void compute_fixed(int thread, index_t i, const Workspace<V>& work, const FixedSums<V>& sums, const RowReach& reach)
    {
#if defined(__x86_64__)
        if (simd::machine() == simd::Machine::avx512) return compute(thread, i, work, WideSums{sums}, reach, false);
#endif
        compute(thread, i, work, sums, reach, false);
    }
    template <class Sums>
    void compute(int thread, index_t i, const Workspace<V>& work, const Sums& sums, const RowReach& reach, bool all)
    {
        if (is_plain_)
            if (const PlaceRanges reached = reach_.places(reach, workspaces_.places());
                places_per_product * reach.products >= reached.size()) {
                add_unmarked(a_, b_, blocks_, i, sums, all);
                return keep_summed(rule_, thread, i, work, sums, reached, mass_of(reach), kept_);
            }
        keep_listed(rule_, thread, i, work, sums, add_marked(a_, b_, i, work, sums), kept_);
    }

    CsrView<V> a_, b_;
    Rule<V> rule_;
    bool is_plain_;
    Quantum<V> quantum_;
    Workspaces<V> workspaces_;
    Bcsr<V> blocks_;
    ReachOfRows reach_;
    bool is_mass_known_;
    KeptRows<V> kept_;
};

template <class S, class V>
Csr<V> multiply_select_over(const CpuQueue& q, const CsrView<V>& a, const CsrView<V>& b, const Rule<V>& rule,
                            double negligible)
{
    SelectedRows<S, V> rows(q, a, b, rule, negligible);
    std::exception_ptr failed;
#pragma omp parallel for num_threads(q.threads) schedule(dynamic, rows_at_a_time)
    for (index_t i = 0; i < a.rows; ++i) {
        try {
            rows.compute(omp_get_thread_num(), i);
        } catch (...) {
#pragma omp critical(tulle_multiply_select)
            failed = std::current_exception();
        }
    }
    if (failed) std::rethrow_exception(failed);
    return rows.join();
}

}  // namespace

template <class V>
Csr<V> multiply_select_rows(const CpuQueue& q, Semiring semiring, const CsrView<V>& a, const CsrView<V>& b,
                            const Rule<V>& rule, double negligible)
{
    return with_semiring<V>(semiring,
                            [&](auto s) { return multiply_select_over<decltype(s)>(q, a, b, rule, negligible); });
}

template Csr<float> multiply_select_rows(const CpuQueue&, Semiring, const CsrView<float>&, const CsrView<float>&,
                                         const Rule<float>&, double);
template Csr<double> multiply_select_rows(const CpuQueue&, Semiring, const CsrView<double>&, const CsrView<double>&,
                                          const Rule<double>&, double);

}  // namespace tulle::inline TULLE_ABI::graph
