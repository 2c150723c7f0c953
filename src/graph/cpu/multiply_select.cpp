// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// select(A B) on a CPU: a thread computes a row in arrays of its own, keeps what the rule says, and goes on. Rows that
// stay are put down in blocks, because how many entries stay is known only then, and copied together at the end.
//
// A row is summed in an array as long as B is wide. With many products, no question is asked about a place before
// something is added, and the array is searched for entries that are not zero: entries that are would be below the
// threshold. With few, or over another semiring, marks tell which places have a product, and a list which those are.
#include <omp.h>

#include <algorithm>
#include <exception>
#include <utility>
#include <vector>

#include "graph/cpu/key_row.hpp"
#include "graph/semirings.hpp"
#include "graph/steps.hpp"
#include "prim/scan.hpp"

namespace tulle::inline TULLE_ABI::graph {
namespace {

constexpr int rows_at_a_time = 16;
constexpr offset_t entries_of_block = offset_t{1} << 13;
// The array is searched as a whole where this many times the products are more than its places (reasoned: a place
// takes an eighth of an addition in a random place).
constexpr offset_t places_per_product = 8;

// Arrays of one thread, as long as B is wide.
template <class V>
struct Room {
    V* sum;         // zero between rows
    index_t* mark;  // row + 1 where there has been a product
    index_t* list;  // columns of the row
    KeyOf<V>* key;
};

template <class V>
class Rooms {
public:
    Rooms(const CpuQueue& q, index_t cols)
        : cols_(cols),
          sum_(q, offset_t{cols} * q.threads),
          mark_(q, offset_t{cols} * q.threads),
          list_(q, offset_t{cols + offset_t{1}} * q.threads),
          key_(q, offset_t{cols} * q.threads)
    {
        fill_zero(q, sum_.data(), sum_.size());
        fill_zero(q, mark_.data(), mark_.size());
    }
    Room<V> of(offset_t thread)
    {
        return {sum_.data() + thread * cols_, mark_.data() + thread * cols_, list_.data() + thread * (cols_ + 1),
                key_.data() + thread * cols_};
    }

private:
    offset_t cols_;
    Buffer<V> sum_;
    Buffer<index_t> mark_, list_;
    Buffer<KeyOf<V>> key_;
};

// Sums of row i with marks; how many columns there are, in the list.
template <class S, class V>
offset_t add_marked(const CsrView<V>& a, const CsrView<V>& b, index_t i, const Room<V>& room)
{
    offset_t n = 0;
    for (offset_t p = a.row_begin[i]; p < a.row_begin[i + 1]; ++p)
        for (offset_t r = b.row_begin[a.col[p]]; r < b.row_begin[a.col[p] + 1]; ++r) {
            const index_t j = b.col[r];
            const V product = S::times(a.value[p], b.value[r]);
            if (room.mark[j] == i + 1) room.sum[j] = S::add(room.sum[j], product);
            else {
                room.mark[j] = i + 1;
                room.sum[j] = product;
                room.list[n++] = j;
            }
        }
    return n;
}

// The same for plain sums with many products; entries that are zero are left out, columns ascend.
template <class V>
offset_t add_unmarked(const CsrView<V>& a, const CsrView<V>& b, index_t i, const Room<V>& room)
{
    V* const sum = room.sum;
    for (offset_t p = a.row_begin[i]; p < a.row_begin[i + 1]; ++p) {
        const V factor = a.value[p];
        const offset_t end = b.row_begin[a.col[p] + 1];
        for (offset_t r = b.row_begin[a.col[p]]; r < end; ++r) sum[b.col[r]] += factor * b.value[r];
    }
    offset_t n = 0;
    for (index_t j = 0; j < b.cols; ++j) {
        room.list[n] = j;
        n += sum[j] != V(0);
    }
    return n;
}

template <class V>
offset_t products_of(const CsrView<V>& a, const CsrView<V>& b, index_t i)
{
    offset_t products = 0;
    for (offset_t p = a.row_begin[i]; p < a.row_begin[i + 1]; ++p)
        products += b.row_begin[a.col[p] + 1] - b.row_begin[a.col[p]];
    return products;
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

// What the rule keeps of a row whose columns are in the list, in ascending order; the sums are zero afterwards.
template <class V>
void keep_row(const Rule<V>& rule, int thread, index_t i, const Room<V>& room, offset_t listed, bool sorted,
              KeptRows<V>& kept)
{
    offset_t n = 0;
    for (offset_t k = 0; k < listed; ++k)
        if (rule.is_inside(i, room.list[k])) room.key[n++] = key_of(room.sum[room.list[k]]);
    KeyRow<V> row{room.key, n};
    const KeyOf<V> bar = bar_of(rule, row);
    offset_t stay = 0;
    for (offset_t k = 0; k < listed; ++k) {
        const index_t j = room.list[k];
        if (rule.is_inside(i, j) && key_of(room.sum[j]) >= bar) room.list[stay++] = j;
        else room.sum[j] = V(0);
    }
    if (!sorted) std::sort(room.list, room.list + stay);
    const auto [col, value] = kept.add(thread, i, stay);
    for (offset_t k = 0; k < stay; ++k) {
        col[k] = room.list[k];
        value[k] = std::exchange(room.sum[col[k]], V(0));
    }
}

template <class S, class V>
Csr<V> multiply_select_over(const CpuQueue& q, const CsrView<V>& a, const CsrView<V>& b, const Rule<V>& rule)
{
    Rooms<V> rooms(q, b.cols);
    KeptRows<V> kept(q, a.rows);
    std::exception_ptr failed;
#pragma omp parallel for num_threads(q.threads) schedule(dynamic, rows_at_a_time)
    for (index_t i = 0; i < a.rows; ++i) {
        const int thread = omp_get_thread_num();
        const Room<V> room = rooms.of(thread);
        const bool unmarked =
            std::is_same_v<S, PlusTimes<V>> && rule.cut > 0 && places_per_product * products_of(a, b, i) >= b.cols;
        const offset_t n = unmarked ? add_unmarked(a, b, i, room) : add_marked<S>(a, b, i, room);
        try {
            keep_row(rule, thread, i, room, n, unmarked, kept);
        } catch (...) {
#pragma omp critical(tulle_multiply_select)
            failed = std::current_exception();
        }
    }
    if (failed) std::rethrow_exception(failed);
    return kept.join(a.rows, b.cols);
}

}  // namespace

template <class V>
Csr<V> multiply_select_rows(const CpuQueue& q, Semiring semiring, const CsrView<V>& a, const CsrView<V>& b,
                            const Rule<V>& rule)
{
    return with_semiring<V>(semiring, [&](auto s) { return multiply_select_over<decltype(s)>(q, a, b, rule); });
}

template Csr<float> multiply_select_rows(const CpuQueue&, Semiring, const CsrView<float>&, const CsrView<float>&,
                                         const Rule<float>&);
template Csr<double> multiply_select_rows(const CpuQueue&, Semiring, const CsrView<double>&, const CsrView<double>&,
                                          const Rule<double>&);

}  // namespace tulle::inline TULLE_ABI::graph
