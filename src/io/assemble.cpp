// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Entries are grouped by row, put in order by column inside each (and by place in the file where the column is the
// same), and added up. A slot is what has a place in the matrix: a stored entry, or its mirror image.
#include "io/assemble.hpp"

#include <algorithm>
#include <utility>

#include "matrix/entries.hpp"
#include "prim/scan.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::io {
namespace {

constexpr offset_t worth_threads = offset_t{1} << 13;  // entries below which starting threads costs more than it saves

template <class V>
struct Slots {
    CooView<V> entries;
    Mirror mirror;

    // Without mirror images slots are entries; with them entry k has the slots 2 k and 2 k + 1.
    int shift() const { return mirror == Mirror::none ? 0 : 1; }
    offset_t count() const { return entries.nonzeros << shift(); }
    bool is_image(offset_t slot) const { return (slot & shift()) != 0; }
    index_t row(offset_t slot) const { return is_image(slot) ? entries.col[slot >> 1] : entries.row[slot >> shift()]; }
    index_t col(offset_t slot) const { return is_image(slot) ? entries.row[slot >> 1] : entries.col[slot >> shift()]; }
    V value(offset_t slot) const
    {
        const V stored = entries.value[slot >> shift()];
        return is_image(slot) && mirror == Mirror::negated ? -stored : stored;
    }
    bool before(offset_t s, offset_t t) const { return col(s) != col(t) ? col(s) < col(t) : s < t; }
};

// The slots of each row. Images of the diagonal are none: they gather behind the last row.
template <class V>
matrix::Groups group_by_row(const CpuQueue& q, const Slots<V>& slots)
{
    const CooView<V>& entries = slots.entries;
    if (slots.mirror == Mirror::none) return matrix::group(q, entries.row, entries.nonzeros, entries.rows);
    Buffer<index_t> row(q, slots.count());
#pragma omp parallel for num_threads(q.threads) if (slots.count() > worth_threads)
    for (offset_t s = 0; s < slots.count(); ++s)
        row.data()[s] = slots.is_image(s) && slots.row(s) == slots.col(s) ? entries.rows : slots.row(s);
    matrix::Groups groups = matrix::group(q, row.data(), slots.count(), entries.rows + 1);
    groups.begin = matrix::copy_of(q, groups.begin.data(), offset_t{entries.rows} + 1);
    return groups;
}

// Writes one row in order; returns how many entries it has once equal columns are added up.
template <class V>
offset_t write_row(const Slots<V>& slots, offset_t* begin, offset_t* end, index_t* col, V* value)
{
    const auto before = [&](offset_t s, offset_t t) { return slots.before(s, t); };
    if (!std::is_sorted(begin, end, before)) std::sort(begin, end, before);
    offset_t n = 0;
    for (const offset_t* s = begin; s != end; ++s) {
        if (n > 0 && col[n - 1] == slots.col(*s)) {
            value[n - 1] += slots.value(*s);
        } else {
            col[n] = slots.col(*s);
            value[n++] = slots.value(*s);
        }
    }
    return n;
}

// Rows whose entries were added up, looked at once more; their slots are in order.
template <class V>
Occurrences find_duplicates(const CpuQueue& q, const Slots<V>& slots, const Csr<V>& wide, const offset_t* slot,
                            const offset_t* length)
{
    offset_t count = 0;
    index_t first = wide.rows;
    const auto repeats = [&](offset_t k) {
        return !slots.is_image(slot[k]) && slots.col(slot[k - 1]) == slots.col(slot[k]);
    };
#pragma omp parallel for num_threads(q.threads) schedule(dynamic, 1024) reduction(+ : count) reduction(min : first)
    for (index_t i = 0; i < wide.rows; ++i) {
        const offset_t from = wide.row_begin.data()[i], to = wide.row_begin.data()[i + 1];
        if (length[i] == to - from) continue;
        const offset_t before = count;
        for (offset_t k = from + 1; k < to; ++k) count += repeats(k) ? 1 : 0;
        if (count > before) first = std::min(first, i);
    }
    if (count == 0) return {};
    Occurrences found{.count = count, .row = first};
    for (offset_t k = wide.row_begin.data()[first] + 1; found.col < 0; ++k)
        if (repeats(k)) found.col = slots.col(slot[k]);
    return found;
}

// The same rows without the gaps that added entries left; row i has length[i] entries.
template <class V>
Csr<V> close_gaps(const CpuQueue& q, const Csr<V>& wide, Buffer<offset_t> length)
{
    prim::exclusive_scan(q, length.data(), length.data(), wide.rows);
    const offset_t nonzeros = length.data()[wide.rows];
    Csr<V> a{.rows = wide.rows,
             .cols = wide.cols,
             .row_begin = std::move(length),
             .col = Buffer<index_t>(q, nonzeros),
             .value = Buffer<V>(q, nonzeros)};
#pragma omp parallel for num_threads(q.threads) schedule(dynamic, 1024) if (a.nonzeros() > worth_threads)
    for (index_t i = 0; i < a.rows; ++i) {
        const offset_t from = wide.row_begin.data()[i], to = a.row_begin.data()[i], n = a.row_begin.data()[i + 1] - to;
        std::copy_n(wide.col.data() + from, n, a.col.data() + to);
        std::copy_n(wide.value.data() + from, n, a.value.data() + to);
    }
    return a;
}

template <class V>
bool is_canonical(const CpuQueue& q, const Csr<V>& a)
{
    bool good = true;
    const bool large = a.nonzeros() > worth_threads;
#pragma omp parallel for num_threads(q.threads) schedule(dynamic, 1024) reduction(&& : good) if (large)
    for (index_t i = 0; i < a.rows; ++i)
        for (offset_t k = a.row_begin.data()[i] + 1; k < a.row_begin.data()[i + 1]; ++k)
            good = good && a.col.data()[k - 1] < a.col.data()[k];
    return good;
}

}  // namespace

template <class V>
Csr<V> assemble(const CpuQueue& q, const CooView<V>& entries, Mirror mirror, Occurrences& duplicates)
{
    const Slots<V> slots{entries, mirror};
    matrix::Groups groups = group_by_row(q, slots);
    offset_t* slot = groups.source.data();
    const offset_t n = groups.begin.data()[entries.rows];
    Csr<V> a{.rows = entries.rows,
             .cols = entries.cols,
             .row_begin = std::move(groups.begin),
             .col = Buffer<index_t>(q, n),
             .value = Buffer<V>(q, n)};
    Buffer<offset_t> length(q, offset_t{entries.rows} + 1);
    offset_t kept = 0;
#pragma omp parallel for num_threads(q.threads) schedule(dynamic, 256) reduction(+ : kept) if (n > worth_threads)
    for (index_t i = 0; i < a.rows; ++i) {
        const offset_t from = a.row_begin.data()[i], to = a.row_begin.data()[i + 1];
        length.data()[i] = write_row(slots, slot + from, slot + to, a.col.data() + from, a.value.data() + from);
        kept += length.data()[i];
    }
    duplicates = kept == n ? Occurrences{} : find_duplicates(q, slots, a, slot, length.data());
    groups.source = {};
    return kept == n ? std::move(a) : close_gaps(q, a, std::move(length));
}

template <class V>
Csr<V> assemble(const CpuQueue& q, Csr<V> a, Occurrences& duplicates)
{
    a.sorted = a.unique = true;
    if (is_canonical(q, a)) return a;
    const Buffer<index_t> row = matrix::rows_of(q, a.view());
    return assemble(q, CooView<V>{a.rows, a.cols, a.nonzeros(), row.data(), a.col.data(), a.value.data()}, Mirror::none,
                    duplicates);
}

template <class V>
void set_pattern_values(const CpuQueue& q, Csr<V>& a, const ReadOptions& options, FileInfo& info)
{
    const bool random = options.random_values.has_value();
    const std::uint64_t seed = options.random_values.value_or(0);
    const auto value = [&](index_t i, index_t j) {
        return random ? static_cast<V>(pattern_value(std::max(i, j), std::min(i, j), seed)) : V(1);
    };
    info.values = random ? concat("random:", seed) : "ones";
#pragma omp parallel for num_threads(q.threads) schedule(dynamic, 1024) if (a.nonzeros() > worth_threads)
    for (index_t i = 0; i < a.rows; ++i)
        for (offset_t k = a.row_begin.data()[i]; k < a.row_begin.data()[i + 1]; ++k)
            a.value.data()[k] = value(i, a.col.data()[k]);
}

template Csr<float> assemble(const CpuQueue&, const CooView<float>&, Mirror, Occurrences&);
template Csr<double> assemble(const CpuQueue&, const CooView<double>&, Mirror, Occurrences&);
template Csr<float> assemble(const CpuQueue&, Csr<float>, Occurrences&);
template Csr<double> assemble(const CpuQueue&, Csr<double>, Occurrences&);
template void set_pattern_values(const CpuQueue&, Csr<float>&, const ReadOptions&, FileInfo&);
template void set_pattern_values(const CpuQueue&, Csr<double>&, const ReadOptions&, FileInfo&);

}  // namespace tulle::inline TULLE_ABI::io
