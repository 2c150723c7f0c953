// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Groups of rows (none for the adaptive method), columns and values of rows of C. A row is summed by one thread in the
// order of A's nonzeros. A row whose pattern follows from the row before (relations.hpp) gets its columns from there.
#include <algorithm>
#include <utility>

#include "spgemm/adaptive/cpu/add_rows.hpp"
#include "spgemm/adaptive/cpu/relations.hpp"
#include "spgemm/adaptive/cpu/short_row.hpp"
#include "spgemm/adaptive/cpu/workers.hpp"
#include "spgemm/deltasparse/deltasparse.hpp"

namespace tulle::inline TULLE_ABI::spgemm {
namespace {

// Columns in the order they are met; how many there are.
template <class V, class Accumulator>
offset_t add_products(const CsrView<V>& a, const CsrView<V>& b, index_t row, index_t* col, Accumulator& sums)
{
    offset_t count = 0;
    for (offset_t k = a.row_begin[row]; k < a.row_begin[row + 1]; ++k) {
        const V factor = a.value[k];
        for (offset_t l = b.row_begin[a.col[k]]; l < b.row_begin[a.col[k] + 1]; ++l)
            if (sums.add(b.col[l], factor * b.value[l])) col[count++] = b.col[l];
    }
    return count;
}

// What is known of B's columns.
struct Pattern {
    const unsigned char* relations_b;  // may be null
    MaskView masks;
};

template <class V>
void fill_row(const CsrView<V>& a, const CsrView<V>& b, const Pattern&, index_t row, offset_t products, index_t* col,
              V* value, bool sorted, HashAccumulator<V>& sums)
{
    sums.begin(std::min(products, offset_t{b.cols}));
    const offset_t count = add_products(a, b, row, col, sums);
    if (sorted && count <= most_in_network) sort_few(col, count);
    else if (sorted) std::sort(col, col + count);
    for (offset_t k = 0; k < count; ++k) value[k] = sums.at(col[k]);
}

template <class V>
void fill_row(const CsrView<V>& a, const CsrView<V>& b, const Pattern&, index_t row, offset_t, index_t* col, V* value,
              bool sorted, MarkedAccumulator<V>& sums)
{
    const offset_t count = add_products(a, b, row, col, sums);
    if (sorted) sums.sort(col, count);
    for (offset_t k = 0; k < count; ++k) value[k] = sums.value[col[k]];
}

template <class V>
void add_at_columns(const CsrView<V>& a, const CsrView<V>& b, const unsigned char* relations_b, index_t row,
                    DenseAccumulator<V>& sums)
{
    add_all(
        a, b, relations_b, row, [&](index_t j, offset_t) { return b.col + b.row_begin[j]; }, sums.value);
}

// First which columns, then their sums, without a question: they come out in order, asked for or not.
template <class V>
void fill_row(const CsrView<V>& a, const CsrView<V>& b, const Pattern& p, index_t row, offset_t, index_t* col, V* value,
              bool, DenseAccumulator<V>& sums)
{
    for (offset_t k = a.row_begin[row]; k < a.row_begin[row + 1]; ++k) {
        const index_t j = a.col[k];
        if (p.relations_b && k > a.row_begin[row] && a.col[k - 1] == j - 1 && p.relations_b[j] == equal_pattern)
            continue;
        sums.touch_row(b, p.masks, j);
    }
    add_at_columns(a, b, p.relations_b, row, sums);
    sums.take_columns([&](index_t c) {
        *col++ = c;
        *value++ = std::exchange(sums.value[c], V(-0.0));
    });
}

// The same where the columns are there: nothing is touched to be found again, nothing sorted.
template <class V, class Accumulator>
void refill_row(const CsrView<V>& a, const CsrView<V>& b, const Pattern&, index_t row, const index_t* col,
                offset_t nonzeros, V* value, Accumulator& sums)
{
    if constexpr (requires { sums.begin(nonzeros); }) sums.begin(nonzeros);
    for (offset_t k = a.row_begin[row]; k < a.row_begin[row + 1]; ++k) {
        const V factor = a.value[k];
        for (offset_t l = b.row_begin[a.col[k]]; l < b.row_begin[a.col[k] + 1]; ++l)
            sums.add(b.col[l], factor * b.value[l]);
    }
    for (offset_t k = 0; k < nonzeros; ++k) value[k] = sums.at(col[k]);
}

template <class V>
void refill_row(const CsrView<V>& a, const CsrView<V>& b, const Pattern& p, index_t row, const index_t* col,
                offset_t nonzeros, V* value, DenseAccumulator<V>& sums)
{
    add_at_columns(a, b, p.relations_b, row, sums);
    for (offset_t k = 0; k < nonzeros; ++k)
        value[k] =
            std::exchange(sums.value[std::clamp(col[k], 0, b.cols - 1)], V(-0.0));  // whatever a caller's columns are
}

// Places of the products of a row within its columns; rows whose pattern is shifted have the same.
class PlacesOfRow {
public:
    // Found by a walk through the columns for each row of B, so that only a range of rows makes up for it; not where
    // there are too many products.
    static constexpr index_t least_rows = 8;
    static constexpr offset_t most_products = 4096;

    template <class V>
    bool find(const CsrView<V>& a, const CsrView<V>& b, index_t row, const index_t* col, offset_t nonzeros)
    {
        const offset_t products = products_of(a, b, row);
        row_ = products <= most_products ? row : -1;
        if (row_ < 0) return false;
        std::uint16_t* next = place_;
        for (offset_t k = a.row_begin[row]; k < a.row_begin[row + 1]; ++k) {
            offset_t at = 0;
            for (offset_t l = b.row_begin[a.col[k]]; l < b.row_begin[a.col[k] + 1]; ++l) {
                while (at + 1 < nonzeros && col[at] < b.col[l]) ++at;
                *next++ = static_cast<std::uint16_t>(at);
            }
        }
        return true;
    }
    // Whether they are known of the row before, and so of this one.
    bool shift_to(index_t row)
    {
        if (row_ != row - 1 || row_ < 0) return false;
        row_ = row;
        return true;
    }
    template <class V>
    void add(const CsrView<V>& a, const CsrView<V>& b, index_t row, offset_t nonzeros, V* value) const
    {
        std::fill(value, value + nonzeros, V(-0.0));
        add_all(
            a, b, nullptr, row, [&](index_t, offset_t product) { return place_ + product; }, value);
    }

private:
    std::uint16_t place_[most_products];
    index_t row_ = -1;
};

// Rows dealt to a thread: a row may follow from the one before it.
template <class V>
struct Block {
    const CsrView<V>& a;
    const CsrView<V>& b;
    const RowRange<V>& c;
    const unsigned char* relations;  // null: not known
    bool sorted;
    index_t first, last;

    offset_t begin(index_t i) const { return c.row_begin[i] - c.base; }
    offset_t room(index_t i) const { return c.row_begin[last] - c.row_begin[i]; }  // of a row and those after it
    bool follows(index_t i) const { return relations && i > first && relations[i] != unrelated; }
    bool begins_shifted(index_t i) const
    {
        if (!relations || !sorted || i + PlacesOfRow::least_rows > last) return false;
        return std::all_of(relations + i, relations + i + PlacesOfRow::least_rows,
                           [](unsigned char r) { return r == shifted_pattern; });
    }
    void copy_columns(index_t i) const
    {
        const offset_t nonzeros = c.row_begin[i + 1] - c.row_begin[i];
        const index_t* const from = c.col + begin(i - 1);
        index_t* const to = c.col + begin(i);
        const index_t step = relations[i] == shifted_pattern ? 1 : 0;
        for (offset_t k = 0; k < nonzeros; ++k) to[k] = from[k] + step;
    }
    // The values of a row in such a range whose columns are there; false: not done.
    bool add_by_places(index_t i, PlacesOfRow& places) const
    {
        const offset_t nonzeros = c.row_begin[i + 1] - c.row_begin[i];
        if (relations[i] != shifted_pattern) return false;
        if (!places.shift_to(i) && !(begins_shifted(i) && places.find(a, b, i, c.col + begin(i), nonzeros)))
            return false;
        places.add(a, b, i, nonzeros, c.value + begin(i));
        return true;
    }
};

inline constexpr index_t rows_in_block = 64;

// fresh(row, where it begins, room) for rows of C that follow from nothing, known(row, where it begins) for those whose
// columns are there. A refill has all columns.
template <bool HasColumns, class V, class Fresh, class Known>
void for_each_row(const CpuQueue& q, const CsrView<V>& a, const CsrView<V>& b, const unsigned char* relations,
                  bool sorted, const RowRange<V>& c, const Fresh& fresh, const Known& known)
{
    const index_t blocks = (c.rows + rows_in_block - 1) / rows_in_block;
#pragma omp parallel for num_threads(q.threads) schedule(dynamic, 1)
    for (index_t n = 0; n < blocks; ++n) {
        const index_t first = c.first + n * rows_in_block;
        const Block<V> block{a, b, c, relations, sorted, first, std::min(first + rows_in_block, c.first + c.rows)};
        PlacesOfRow places;
        for (index_t i = block.first; i < block.last; ++i) {
            if (!block.follows(i)) {
                fresh(i, block.begin(i), block.room(i));
                continue;
            }
            if constexpr (!HasColumns) block.copy_columns(i);
            if (!block.add_by_places(i, places)) known(i, block.begin(i));
        }
    }
}

}  // namespace

template <class V>
offset_t group_rows(const CpuQueue& q, const CsrView<V>&, const Policy& policy, Workspace& work, index_t first,
                    index_t rows, const offset_t* row_begin)
{
    if (policy.method == Method::deltasparse) return delta::group_rows(q, policy.rules, work, first, rows, row_begin);
    return row_begin[first + rows];
}

template <class V>
void fill(const CpuQueue& q, const CsrView<V>& a, const CsrView<V>& b, const Policy& policy, Workspace& work,
          const RowRange<V>& c)
{
    if (policy.method == Method::deltasparse) return delta::fill(q, a, b, policy.rules, work, c);
    const Share share = Share::of(q, policy, work, b.cols);
    Workers<V> workers(q, share, b.cols, true);
    const Pattern pattern{policy.use_runs ? work.runs_b.data() : nullptr, masks_of(work)};
    const auto fresh = [&](index_t i, offset_t at, offset_t room) {
        const offset_t products = workers.bound(a, b, i);
        if (products <= share.compared) return fill_short(a, b, i, products, c.col + at, c.value + at, room);
        workers.with(i, products, [&](auto& sums) {
            fill_row(a, b, pattern, i, products, c.col + at, c.value + at, work.sorted, sums);
        });
    };
    const auto known = [&](index_t i, offset_t at) {
        const offset_t nonzeros = c.row_begin[i + 1] - c.row_begin[i];
        workers.with(i, workers.bound(a, b, i),
                     [&](auto& sums) { refill_row(a, b, pattern, i, c.col + at, nonzeros, c.value + at, sums); });
    };
    for_each_row<false>(q, a, b, policy.use_runs ? work.runs_a.data() : nullptr, work.sorted, c, fresh, known);
}

template <class V>
void refill(const CpuQueue& q, const CsrView<V>& a, const CsrView<V>& b, const Policy& policy, Workspace& work,
            const RowRange<V>& c)
{
    if (policy.method == Method::deltasparse) return delta::fill(q, a, b, policy.rules, work, c);
    Workers<V> workers(q, Share::of_refill(q, policy, work, b.cols), b.cols, true);
    const Pattern pattern{policy.use_runs ? work.runs_b.data() : nullptr, masks_of(work)};
    const auto known = [&](index_t i, offset_t at) {
        const offset_t nonzeros = c.row_begin[i + 1] - c.row_begin[i];
        workers.with(i, workers.bound(a, b, i),
                     [&](auto& sums) { refill_row(a, b, pattern, i, c.col + at, nonzeros, c.value + at, sums); });
    };
    const auto fresh = [&](index_t i, offset_t at, offset_t) { known(i, at); };
    for_each_row<true>(q, a, b, policy.use_runs ? work.runs_a.data() : nullptr, work.sorted, c, fresh, known);
}

std::size_t fill_bytes_for(const CpuQueue& q, const Policy& policy, const Workspace& work, offset_t, index_t cols,
                           std::size_t value_bytes)
{
    if (policy.method == Method::deltasparse) return delta::fill_bytes_for(q, value_bytes);
    const Share share = Share::of(q, policy, work, cols);
    return value_bytes == sizeof(float) ? Workers<float>::bytes_for(q, share, cols)
                                        : Workers<double>::bytes_for(q, share, cols);
}

template offset_t group_rows(const CpuQueue&, const CsrView<float>&, const Policy&, Workspace&, index_t, index_t,
                             const offset_t*);
template offset_t group_rows(const CpuQueue&, const CsrView<double>&, const Policy&, Workspace&, index_t, index_t,
                             const offset_t*);
template void refill(const CpuQueue&, const CsrView<float>&, const CsrView<float>&, const Policy&, Workspace&,
                     const RowRange<float>&);
template void refill(const CpuQueue&, const CsrView<double>&, const CsrView<double>&, const Policy&, Workspace&,
                     const RowRange<double>&);
template void fill(const CpuQueue&, const CsrView<float>&, const CsrView<float>&, const Policy&, Workspace&,
                   const RowRange<float>&);
template void fill(const CpuQueue&, const CsrView<double>&, const CsrView<double>&, const Policy&, Workspace&,
                   const RowRange<double>&);

}  // namespace tulle::inline TULLE_ABI::spgemm
