// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The entries of each row are found by counting, put in order by column (and by place in the file where the column is the same), and
// added up. A slot is an entry's number in the file, doubled, plus one for its mirror image: mirrored entries are never stored twice.
#include "tulle/io/assemble.hpp"

#include <algorithm>
#include <utility>

#include "tulle/device/copy.hpp"
#include "tulle/io/io.hpp"
#include "tulle/prim/scan.hpp"

namespace tulle::io {
namespace {

template <class V>
struct Slots {
    CooView<V> entries;
    Mirror mirror;

    bool has_image(offset_t k) const { return mirror != Mirror::none && entries.row[k] != entries.col[k]; }
    index_t col(offset_t slot) const { return slot % 2 == 0 ? entries.col[slot / 2] : entries.row[slot / 2]; }
    V value(offset_t slot) const
    {
        const V stored = entries.value[slot / 2];
        return slot % 2 == 1 && mirror == Mirror::negated ? -stored : stored;
    }
    bool before(offset_t s, offset_t t) const { return col(s) != col(t) ? col(s) < col(t) : s < t; }
};

template <class V>
void count_rows(const CpuQueue& q, const Slots<V>& slots, offset_t* count)
{
#pragma omp parallel for num_threads(q.threads)
    for (offset_t k = 0; k < slots.entries.nonzeros; ++k) {
#pragma omp atomic
        ++count[slots.entries.row[k]];
        if (!slots.has_image(k)) continue;
#pragma omp atomic
        ++count[slots.entries.col[k]];
    }
}

// Every slot to its row, in any order; `next` is where each row's next slot goes.
template <class V>
void deal_slots(const CpuQueue& q, const Slots<V>& slots, offset_t* next, offset_t* slot)
{
#pragma omp parallel for num_threads(q.threads)
    for (offset_t k = 0; k < slots.entries.nonzeros; ++k) {
        offset_t at = 0;
#pragma omp atomic capture
        at = next[slots.entries.row[k]]++;
        slot[at] = 2 * k;
        if (!slots.has_image(k)) continue;
#pragma omp atomic capture
        at = next[slots.entries.col[k]]++;
        slot[at] = 2 * k + 1;
    }
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

// The same rows without the gaps that added entries left; row i has length[i] entries.
template <class V>
Csr<V> close_gaps(const CpuQueue& q, const Csr<V>& wide, Buffer<offset_t> length)
{
    prim::exclusive_scan(q, length.data(), length.data(), wide.rows);
    const offset_t nonzeros = length.data()[wide.rows];
    Csr<V> a{.rows = wide.rows, .cols = wide.cols, .row_begin = std::move(length), .col = Buffer<index_t>(q, nonzeros), .value = Buffer<V>(q, nonzeros)};
#pragma omp parallel for num_threads(q.threads) schedule(dynamic, 1024)
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
#pragma omp parallel for num_threads(q.threads) schedule(dynamic, 1024) reduction(&& : good)
    for (index_t i = 0; i < a.rows; ++i)
        for (offset_t k = a.row_begin.data()[i] + 1; k < a.row_begin.data()[i + 1]; ++k) good = good && a.col.data()[k - 1] < a.col.data()[k];
    return good;
}

}  // namespace

template <class V>
Csr<V> assemble(const CpuQueue& q, const CooView<V>& entries, Mirror mirror)
{
    const Slots<V> slots{entries, mirror};
    Buffer<offset_t> begin(q, offset_t{entries.rows} + 1);
    fill_zero(q, begin.data(), begin.size());
    count_rows(q, slots, begin.data());
    prim::exclusive_scan(q, begin.data(), begin.data(), entries.rows);
    const offset_t n = begin.data()[entries.rows];

    Buffer<offset_t> slot(q, n), length(q, offset_t{entries.rows} + 1);
    copy(q, begin.data(), length.data(), entries.rows);
    deal_slots(q, slots, length.data(), slot.data());

    Csr<V> a{.rows = entries.rows, .cols = entries.cols, .row_begin = std::move(begin), .col = Buffer<index_t>(q, n), .value = Buffer<V>(q, n)};
    offset_t kept = 0;
#pragma omp parallel for num_threads(q.threads) schedule(dynamic, 256) reduction(+ : kept)
    for (index_t i = 0; i < a.rows; ++i) {
        const offset_t from = a.row_begin.data()[i], to = a.row_begin.data()[i + 1];
        length.data()[i] = write_row(slots, slot.data() + from, slot.data() + to, a.col.data() + from, a.value.data() + from);
        kept += length.data()[i];
    }
    slot = {};
    return kept == n ? std::move(a) : close_gaps(q, a, std::move(length));
}

template <class V>
Csr<V> assemble(const CpuQueue& q, Csr<V> a)
{
    a.sorted = a.unique = true;
    if (is_canonical(q, a)) return a;
    Buffer<index_t> row(q, a.nonzeros());
#pragma omp parallel for num_threads(q.threads) schedule(dynamic, 1024)
    for (index_t i = 0; i < a.rows; ++i) std::fill(row.data() + a.row_begin.data()[i], row.data() + a.row_begin.data()[i + 1], i);
    return assemble(q, CooView<V>{a.rows, a.cols, a.nonzeros(), row.data(), a.col.data(), a.value.data()}, Mirror::none);
}

template <class V>
void set_pattern_values(const CpuQueue& q, Csr<V>& a, bool by_position)
{
#pragma omp parallel for num_threads(q.threads) schedule(dynamic, 1024)
    for (index_t i = 0; i < a.rows; ++i)
        for (offset_t k = a.row_begin.data()[i]; k < a.row_begin.data()[i + 1]; ++k)
            a.value.data()[k] = by_position ? static_cast<V>(pattern_value(i, a.col.data()[k])) : V(1);
}

template Csr<float> assemble(const CpuQueue&, const CooView<float>&, Mirror);
template Csr<double> assemble(const CpuQueue&, const CooView<double>&, Mirror);
template Csr<float> assemble(const CpuQueue&, Csr<float>);
template Csr<double> assemble(const CpuQueue&, Csr<double>);
template void set_pattern_values(const CpuQueue&, Csr<float>&, bool);
template void set_pattern_values(const CpuQueue&, Csr<double>&, bool);

}  // namespace tulle::io
