// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// DeltaSPARSE on a CPU: the same groups, tables, limits and ranges of columns as on a GPU, a thread per row. Sums are
// added in the order of A's nonzeros.
#include <omp.h>

#include <bit>

#include "prim/search.hpp"
#include "prim/sort.hpp"
#include "spgemm/adaptive/cpu/workers.hpp"
#include "spgemm/deltasparse/steps.hpp"
#include "spgemm/hash_slots.hpp"
#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI::spgemm::delta {
namespace {

constexpr index_t vacant = -1;
constexpr offset_t most_slots = filling[filling_groups - 2].table, most_sorted = filling[filling_groups - 2].up_to;
constexpr offset_t most_words = count_window / 32;
constexpr int digit_bits = 8;

// What a thread works with.
template <class V>
struct Scratch {
    index_t* key;         // (most_slots)
    V* sum;               // (fill_window), more than most_slots
    std::uint32_t* word;  // (most_words)
    index_t* col;         // (most_sorted)
    V* value;             // (most_sorted)
};

template <class V>
class Bench {
public:
    explicit Bench(const CpuQueue& q)
        : key_(q, q.threads * most_slots),
          col_(q, q.threads * most_sorted),
          sum_(q, q.threads * offset_t{fill_window}),
          value_(q, q.threads * most_sorted),
          word_(q, q.threads * most_words)
    {}

    Scratch<V> mine()
    {
        const offset_t t = omp_get_thread_num();
        return {key_.data() + t * most_slots, sum_.data() + t * fill_window, word_.data() + t * most_words,
                col_.data() + t * most_sorted, value_.data() + t * most_sorted};
    }

    static std::size_t bytes_for(const CpuQueue& q)
    {
        return static_cast<std::size_t>(q.threads) *
               (static_cast<std::size_t>(most_slots + most_sorted) * sizeof(index_t) +
                static_cast<std::size_t>(fill_window + most_sorted) * sizeof(V) +
                static_cast<std::size_t>(most_words) * sizeof(std::uint32_t));
    }

private:
    Buffer<index_t> key_, col_;
    Buffer<V> sum_, value_;
    Buffer<std::uint32_t> word_;
};
static_assert(fill_window >= most_slots && fill_window / 32 <= most_words);

// The column's slot in a table of 2^bits; -1: not within `probes` slots.
int slot_of(const index_t* key, index_t col, int bits, int probes)
{
    std::uint32_t at = first_slot(col, bits);
    for (int probe = 0; probe < probes; ++probe, at = (at + 1) & ((1u << bits) - 1))
        if (key[at] == vacant || key[at] == col) return static_cast<int>(at);
    return -1;
}

// visit(k, l) for the products of a row whose columns lie in begin … end - 1; stops where it says false.
template <class V, class Visit>
bool walk(const CsrView<V>& a, const CsrView<V>& b, index_t row, offset_t begin, offset_t end, Visit&& visit)
{
    for (offset_t k = a.row_begin[row]; k < a.row_begin[row + 1]; ++k) {
        const offset_t from = b.row_begin[a.col[k]], to = b.row_begin[a.col[k] + 1];
        offset_t l = begin == 0 ? from : from + prim::lower_bound(b.col + from, to - from, static_cast<index_t>(begin));
        for (; l < to && b.col[l] < end; ++l)
            if (!visit(k, l)) return false;
    }
    return true;
}

// The row's nonzeros; -1: a column was not found soon enough.
template <class V>
offset_t count_hashed(const CsrView<V>& a, const CsrView<V>& b, index_t row, int slots, const Scratch<V>& s)
{
    std::fill(s.key, s.key + slots, vacant);
    offset_t nonzeros = 0;
    const bool good = walk(a, b, row, 0, b.cols, [&](offset_t, offset_t l) {
        const int at = slot_of(s.key, b.col[l], bits_of(slots), probe_limit);
        if (at < 0) return false;
        nonzeros += s.key[at] == vacant ? 1 : 0;
        s.key[at] = b.col[l];
        return true;
    });
    return good ? nonzeros : -1;
}

template <class V>
offset_t count_dense(const CsrView<V>& a, const CsrView<V>& b, index_t row, const Scratch<V>& s)
{
    offset_t nonzeros = 0;
    for (offset_t begin = 0; begin < b.cols; begin += count_window) {
        const offset_t end = std::min(begin + count_window, offset_t{b.cols}), words = (end - begin + 31) / 32;
        std::fill(s.word, s.word + words, 0u);
        walk(a, b, row, begin, end, [&](offset_t, offset_t l) {
            const offset_t at = b.col[l] - begin;
            s.word[at / 32] |= 1u << at % 32;
            return true;
        });
        for (offset_t w = 0; w < words; ++w) nonzeros += std::popcount(s.word[w]);
    }
    return nonzeros;
}

template <class V>
void fill_dense(const CsrView<V>& a, const CsrView<V>& b, index_t row, index_t* col, V* value, const Scratch<V>& s)
{
    for (offset_t begin = 0; begin < b.cols; begin += fill_window) {
        const offset_t end = std::min(begin + fill_window, offset_t{b.cols}), words = (end - begin + 31) / 32;
        std::fill(s.word, s.word + words, 0u);
        std::fill(s.sum, s.sum + (end - begin), V(-0.0));
        walk(a, b, row, begin, end, [&](offset_t k, offset_t l) {
            const offset_t at = b.col[l] - begin;
            s.word[at / 32] |= 1u << at % 32;
            s.sum[at] += a.value[k] * b.value[l];
            return true;
        });
        for (offset_t w = 0; w < words; ++w)
            for (std::uint32_t bits = s.word[w]; bits != 0; bits &= bits - 1) {
                const offset_t at = w * 32 + std::countr_zero(bits);
                *col++ = static_cast<index_t>(begin + at);
                *value++ = s.sum[at];
            }
    }
}

// Every entry counts the smaller ones.
template <class V>
void sort_by_counting(index_t* col, V* value, offset_t entries, const Scratch<V>& s)
{
    std::copy(col, col + entries, s.col);
    std::copy(value, value + entries, s.value);
    for (offset_t k = 0; k < entries; ++k) {
        offset_t smaller = 0;
        for (offset_t other = 0; other < entries; ++other) smaller += s.col[other] < s.col[k] ? 1 : 0;
        col[smaller] = s.col[k];
        value[smaller] = s.value[k];
    }
}

// Least significant digit first; what has equal digits stays in order.
template <class V>
void sort_by_digits(index_t* col, V* value, offset_t entries, index_t cols, const Scratch<V>& s)
{
    index_t *from_col = col, *to_col = s.col;
    V *from_value = value, *to_value = s.value;
    for (int shift = 0; shift < prim::bits_for(static_cast<std::uint64_t>(cols)); shift += digit_bits) {
        offset_t begin[(1 << digit_bits) + 1] = {};
        const auto digit = [&](offset_t k) { return from_col[k] >> shift & ((1 << digit_bits) - 1); };
        for (offset_t k = 0; k < entries; ++k) ++begin[digit(k) + 1];
        for (int d = 0; d < 1 << digit_bits; ++d) begin[d + 1] += begin[d];
        for (offset_t k = 0; k < entries; ++k) {
            const offset_t to = begin[digit(k)]++;
            to_col[to] = from_col[k];
            to_value[to] = from_value[k];
        }
        std::swap(from_col, to_col);
        std::swap(from_value, to_value);
    }
    if (from_col == col) return;
    std::copy(from_col, from_col + entries, col);
    std::copy(from_value, from_value + entries, value);
}

template <class V>
void fill_hashed(const CsrView<V>& a, const CsrView<V>& b, index_t row, int slots, index_t* col, V* value,
                 const Sorting& sorting, const Scratch<V>& s)
{
    std::fill(s.key, s.key + slots, vacant);
    walk(a, b, row, 0, b.cols, [&](offset_t k, offset_t l) {
        const auto at = static_cast<std::size_t>(slot_of(s.key, b.col[l], bits_of(slots), slots));
        const V product = a.value[k] * b.value[l];
        s.sum[at] = s.key[at] == vacant ? product : s.sum[at] + product;
        s.key[at] = b.col[l];
        return true;
    });
    offset_t entries = 0;
    for (int at = 0; at < slots; ++at) {
        if (s.key[at] == vacant) continue;
        col[entries] = s.key[at];
        value[entries++] = s.sum[at];
    }
    if (!sorting.wanted) return;
    if (entries <= sorting.by_counting) sort_by_counting(col, value, entries, s);
    else sort_by_digits(col, value, entries, b.cols, s);
}

}  // namespace

void find_sizes(const CpuQueue& q, const offset_t* row_begin, offset_t rows, offset_t* size)
{
#pragma omp parallel for num_threads(q.threads) schedule(static)
    for (offset_t k = 0; k < rows; ++k) size[k] = row_begin[k + 1] - row_begin[k];
}

void classify(const CpuQueue& q, const Sizes& sizes, std::uint32_t* group, offset_t* order)
{
#pragma omp parallel for num_threads(q.threads) schedule(static)
    for (offset_t k = 0; k < sizes.rows; ++k) {
        group[k] = static_cast<std::uint32_t>(sizes.group(k));
        order[k] = sizes.first + k;
    }
}

template <class V>
void count_group(const CpuQueue& q, const CsrView<V>& a, const CsrView<V>& b, int group, const Rows& rows,
                 offset_t* count, unsigned char* collided)
{
    Bench<V> bench(q);
    const int slots = counting[static_cast<std::size_t>(group - 1)].table;
#pragma omp parallel for num_threads(q.threads) schedule(dynamic, rows_at_a_time)
    for (offset_t k = 0; k < rows.count; ++k) {
        const index_t row = rows[k];
        const Scratch<V> scratch = bench.mine();
        offset_t nonzeros = slots > 0 ? count_hashed(a, b, row, slots, scratch) : -1;
        if (nonzeros < 0) {
            collided[row] = slots > 0 ? 1 : 0;
            nonzeros = count_dense(a, b, row, scratch);
        }
        count[row] = nonzeros;
    }
}

template <class V>
void fill_group(const CpuQueue& q, const CsrView<V>& a, const CsrView<V>& b, int group, const Rows& rows,
                const RowRange<V>& c, const Sorting& sorting)
{
    Bench<V> bench(q);
    const int slots = filling[static_cast<std::size_t>(group - 1)].table;
#pragma omp parallel for num_threads(q.threads) schedule(dynamic, rows_at_a_time)
    for (offset_t k = 0; k < rows.count; ++k) {
        const index_t row = rows[k];
        const offset_t at = c.row_begin[row] - c.base;
        if (slots > 0) fill_hashed(a, b, row, slots, c.col + at, c.value + at, sorting, bench.mine());
        else fill_dense(a, b, row, c.col + at, c.value + at, bench.mine());
    }
}

std::size_t fill_bytes_for(const CpuQueue& q, std::size_t value_bytes)
{
    return value_bytes == sizeof(float) ? Bench<float>::bytes_for(q) : Bench<double>::bytes_for(q);
}

template void count_group(const CpuQueue&, const CsrView<float>&, const CsrView<float>&, int, const Rows&, offset_t*,
                          unsigned char*);
template void count_group(const CpuQueue&, const CsrView<double>&, const CsrView<double>&, int, const Rows&, offset_t*,
                          unsigned char*);
template void fill_group(const CpuQueue&, const CsrView<float>&, const CsrView<float>&, int, const Rows&,
                         const RowRange<float>&, const Sorting&);
template void fill_group(const CpuQueue&, const CsrView<double>&, const CsrView<double>&, int, const Rows&,
                         const RowRange<double>&, const Sorting&);

}  // namespace tulle::inline TULLE_ABI::spgemm::delta
