// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "factor/pattern.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "prim/cpu/pieces.hpp"
#include "prim/scan.hpp"
#include "prim/search.hpp"
#include "tulle/error.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::factor {
namespace {

// An array that grows at its end.
template <class T>
class GrowableArray {
public:
    GrowableArray(const CpuQueue& q, offset_t expected) : q_(q), data_(q, expected + 16) {}
    void push(T value)
    {
        if (size_ == data_.size()) grow();
        data_.data()[size_++] = value;
    }
    offset_t size() const { return size_; }
    const T& operator[](offset_t k) const { return data_.data()[k]; }
    Buffer<T> take() const
    {
        Buffer<T> exact(q_, size_);
        copy(q_, data_.data(), exact.data(), size_);
        return exact;
    }

private:
    void grow()
    {
        Buffer<T> larger(q_, 2 * data_.size());
        copy(q_, data_.data(), larger.data(), size_);
        data_ = std::move(larger);
    }
    CpuQueue q_;
    Buffer<T> data_;
    offset_t size_ = 0;
};

// A with sorted rows: as it is, or a sorted copy with the positions in A.
struct SortedRows {
    index_t rows;
    const offset_t* begin;
    const index_t* col;
    Buffer<index_t> own_col = {};
    Buffer<offset_t> own_position = {};

    offset_t position(offset_t k) const { return own_position.empty() ? k : own_position.data()[k]; }
};

template <class F>
void each_row(const CpuQueue& q, index_t rows, F&& work)
{
    prim::each_piece(q, prim::piece_per_thread(q, rows, 1024), [&](offset_t, offset_t begin, offset_t end) {
        for (offset_t i = begin; i < end; ++i) work(static_cast<index_t>(i));
    });
}

template <class V>
SortedRows sort_rows_of(const CpuQueue& q, const CsrView<V>& a)
{
    SortedRows s{.rows = a.rows, .begin = a.row_begin, .col = a.col};
    if (a.sorted) return s;
    s.own_col = Buffer<index_t>(q, a.nonzeros);
    s.own_position = Buffer<offset_t>(q, a.nonzeros);
    each_row(q, a.rows, [&](index_t i) {
        offset_t* const position = s.own_position.data();
        const offset_t begin = a.row_begin[i], end = a.row_begin[i + 1];
        for (offset_t k = begin; k < end; ++k) position[k] = k;
        std::sort(position + begin, position + end, [&](offset_t x, offset_t y) { return a.col[x] < a.col[y]; });
        for (offset_t k = begin; k < end; ++k) s.own_col.data()[k] = a.col[position[k]];
    });
    s.col = s.own_col.data();
    return s;
}

// The smallest row that any thread gives.
class FirstRow {
public:
    void add(index_t row)
    {
        index_t known = row_.load(std::memory_order_relaxed);
        while (row < known && !row_.compare_exchange_weak(known, row, std::memory_order_relaxed)) {}
    }
    index_t row() const { return row_.load(std::memory_order_relaxed); }

private:
    std::atomic<index_t> row_{max_index};
};

// Where the diagonal entry of a row stands, or would stand.
offset_t diagonal_place(const SortedRows& a, index_t i)
{
    return a.begin[i] + prim::lower_bound(a.col + a.begin[i], a.begin[i + 1] - a.begin[i], i);
}

bool has_diagonal(const SortedRows& a, index_t i, offset_t place)
{
    return place < a.begin[i + 1] && a.col[place] == i;
}

// Returns the place of each diagonal entry.
Buffer<offset_t> check_rows(const CpuQueue& q, const SortedRows& a, MissingDiagonal missing)
{
    FirstRow twice, without;
    Buffer<offset_t> place(q, a.rows);
    each_row(q, a.rows, [&](index_t i) {
        bool repeats = false;
        for (offset_t k = a.begin[i] + 1; k < a.begin[i + 1]; ++k) repeats |= a.col[k] == a.col[k - 1];
        if (repeats) twice.add(i);
        place.data()[i] = diagonal_place(a, i);
        if (!has_diagonal(a, i, place.data()[i])) without.add(i);
    });
    require<ValueError>(
        twice.row() == max_index,
        [&] { return concat("row ", twice.row(), " (counted from 0) stores a column twice"); },
        "add up such entries with sum_duplicates()");
    require<ValueError>(
        missing == MissingDiagonal::add || without.row() == max_index,
        [&] { return concat("row ", without.row(), " (counted from 0) has no diagonal entry"); },
        "store one, or set missing_diagonal to add");
    return place;
}

// The entries of A, the upper triangle left out for ic0, with a diagonal entry in each row; `place` as check_rows()
// gives it.
Pattern pattern_of_matrix(const CpuQueue& q, const SortedRows& a, Buffer<offset_t> place_of, bool lower)
{
    Pattern p{.rows = a.rows,
              .row_begin = Buffer<offset_t>(q, offset_t{a.rows} + 1),
              .col = {},
              .diagonal = std::move(place_of),
              .source = {}};
    each_row(q, a.rows, [&](index_t i) {
        const offset_t place = p.diagonal.data()[i];
        const offset_t stored = (lower ? place : a.begin[i + 1]) - a.begin[i];
        const bool counted = !lower && has_diagonal(a, i, place);
        p.row_begin.data()[i] = stored + (counted ? 0 : 1);
    });
    prim::exclusive_scan(q, p.row_begin.data(), p.row_begin.data(), a.rows);
    const offset_t nonzeros = p.row_begin.data()[a.rows];
    p.col = Buffer<index_t>(q, nonzeros);
    if (!lower && nonzeros == a.begin[a.rows] && a.own_position.empty()) {  // that of A
        copy(q, a.col, p.col.data(), nonzeros);
        return p;
    }
    p.source = Buffer<offset_t>(q, nonzeros);
    each_row(q, a.rows, [&](index_t i) {
        const offset_t place = p.diagonal.data()[i];
        const bool there = has_diagonal(a, i, place);
        offset_t to = p.row_begin.data()[i];
        const auto put = [&](index_t col, offset_t from) {
            p.col.data()[to] = col;
            p.source.data()[to++] = from;
        };
        for (offset_t k = a.begin[i]; k < place; ++k) put(a.col[k], a.position(k));
        p.diagonal.data()[i] = to;
        put(i, there ? a.position(place) : -1);
        for (offset_t k = place + (there ? 1 : 0); !lower && k < a.begin[i + 1]; ++k) put(a.col[k], a.position(k));
    });
    return p;
}

// A row while it is eliminated: a sorted list of columns, with what is known of each.
template <class T>
class RowList {
public:
    RowList(const CpuQueue& q, index_t rows)
        : rows_(rows),
          next_(q, offset_t{rows} + 1),
          row_of_(q, rows),
          source_(q, rows),
          known_(q, rows)
    {
        std::fill_n(row_of_.data(), rows, index_t{-1});
    }

    void begin(const SortedRows& a, index_t i)
    {
        row_ = i;
        index_t last = rows_;  // head of the list, and its end
        next_.data()[rows_] = rows_;
        for (offset_t k = a.begin[i]; k < a.begin[i + 1]; ++k) last = insert(last, a.col[k], a.position(k));
        insert(rows_, i, -1);
    }
    index_t first() const { return next_.data()[rows_]; }
    index_t next(index_t col) const { return next_.data()[col]; }
    index_t end() const { return rows_; }
    T& known(index_t col) { return known_.data()[col]; }
    offset_t source(index_t col) const { return source_.data()[col]; }
    bool contains(index_t col) const { return row_of_.data()[col] == row_; }
    // A column that is in the list, or T{} if it was not; `from` is in the list and before it, and its end is returned.
    index_t insert(index_t from, index_t col, offset_t source = -1)
    {
        if (contains(col)) return col;
        while (next_.data()[from] < col) from = next_.data()[from];
        next_.data()[col] = next_.data()[from];
        next_.data()[from] = col;
        row_of_.data()[col] = row_;
        source_.data()[col] = source;
        known_.data()[col] = T{};
        return col;
    }

private:
    index_t rows_, row_ = -1;
    Buffer<index_t> next_, row_of_;
    Buffer<offset_t> source_;
    Buffer<T> known_;
};

// Pattern that grows row after row, with a number for each entry: its level of fill-in, or its value.
template <class T>
struct GrowingPattern {
    GrowingPattern(const CpuQueue& q, const SortedRows& a)
        : row_begin(q, offset_t{a.rows} + 1),
          diagonal(q, a.rows),
          col(q, a.begin[a.rows]),
          source(q, a.begin[a.rows]),
          known(q, a.begin[a.rows])
    {
        row_begin.data()[0] = 0;
    }
    void push(index_t row, index_t c, offset_t from, T what)
    {
        if (c == row) diagonal.data()[row] = col.size();
        col.push(c);
        source.push(from);
        known.push(what);
    }
    void end_row(index_t row) { row_begin.data()[row + 1] = col.size(); }
    Pattern take(index_t rows)
    {
        Pattern p{.rows = rows, .row_begin = {}, .col = col.take(), .diagonal = {}, .source = source.take()};
        p.row_begin = std::move(row_begin);
        p.diagonal = std::move(diagonal);
        return p;
    }

    Buffer<offset_t> row_begin, diagonal;
    GrowableArray<index_t> col;
    GrowableArray<offset_t> source;
    GrowableArray<T> known;
};

// ValueError where `most_fill` is given and the pattern outgrows it.
Pattern pattern_of_levels(const CpuQueue& q, const SortedRows& a, int most, double most_fill)
{
    const double room = most_fill > 0 ? most_fill * static_cast<double>(a.begin[a.rows]) : 0;
    GrowingPattern<int> p(q, a);
    RowList<int> row(q, a.rows);
    for (index_t i = 0; i < a.rows; ++i) {
        row.begin(a, i);
        for (index_t k = row.first(); k < i; k = row.next(k)) {
            index_t last = k;
            for (offset_t t = p.diagonal.data()[k] + 1; t < p.row_begin.data()[k + 1]; ++t) {
                const int level = row.known(k) + p.known[t] + 1;
                if (level > most) continue;
                const bool there = row.contains(p.col[t]);
                last = row.insert(last, p.col[t]);
                row.known(last) = there ? std::min(row.known(last), level) : level;
            }
        }
        for (index_t j = row.first(); j != row.end(); j = row.next(j)) p.push(i, j, row.source(j), row.known(j));
        p.end_row(i);
        require<ValueError>(
            room == 0 || static_cast<double>(p.col.size()) <= room,
            [&] { return concat("factors of level ", most, " have more than ", most_fill, " times the entries of A"); },
            "use ilu0, or a larger most_fill");
    }
    return p.take(a.rows);
}

// The columns of one side of the diagonal whose magnitudes are the largest, `most` of them, sorted.
class Largest {
public:
    Largest(const CpuQueue& q, index_t rows) : entry_(q, rows) {}
    void clear() { size_ = 0; }
    void add(index_t col, double value) { entry_.data()[size_++] = {std::abs(value), col}; }
    template <class F>
    void keep(offset_t most, F&& put)
    {
        const auto larger = [](const Entry& x, const Entry& y) {
            return x.size > y.size || (x.size == y.size && x.col < y.col);
        };
        Entry* const e = entry_.data();
        const offset_t kept = std::min(most, size_);
        if (kept < size_) std::nth_element(e, e + kept, e + size_, larger);
        std::sort(e, e + kept, [](const Entry& x, const Entry& y) { return x.col < y.col; });
        for (offset_t n = 0; n < kept; ++n) put(e[n].col);
    }

private:
    struct Entry {
        double size;
        index_t col;
    };
    Buffer<Entry> entry_;
    offset_t size_ = 0;
};

// Saad's ILUT decides which entries are kept; their values are computed again on the pattern.
template <class V>
class ThresholdPattern {
public:
    ThresholdPattern(const CpuQueue& q, const SortedRows& a, const V* value, const Options& options)
        : a_(a),
          value_(value),
          drop_(options.drop),
          most_(1 + static_cast<offset_t>(options.fill * static_cast<double>(a.begin[a.rows]) / 2 /
                                          std::max(1.0, static_cast<double>(a.rows)))),
          p_(q, a),
          row_(q, a.rows),
          lower_(q, a.rows),
          upper_(q, a.rows)
    {}

    Pattern find()
    {
        for (index_t i = 0; i < a_.rows; ++i) {
            const double mean = load(i);
            eliminate(i);
            keep(i, mean);
        }
        return p_.take(a_.rows);
    }

private:
    // The row of A; the mean magnitude of its entries.
    double load(index_t i)
    {
        row_.begin(a_, i);
        double sum = 0;
        for (offset_t k = a_.begin[i]; k < a_.begin[i + 1]; ++k) {
            const auto v = static_cast<double>(value_[a_.position(k)]);
            require_finite_entry(i, a_.col[k], v);
            row_.known(a_.col[k]) = v;
            sum += std::abs(v);
        }
        return sum / static_cast<double>(std::max<offset_t>(1, a_.begin[i + 1] - a_.begin[i]));
    }

    void eliminate(index_t i)
    {
        lower_.clear();
        for (index_t k = row_.first(); k < i; k = row_.next(k)) {
            const double factor = row_.known(k) / p_.known[p_.diagonal.data()[k]];
            if (!(std::abs(factor) > drop_)) continue;
            row_.known(k) = factor;
            lower_.add(k, factor);
            index_t last = k;
            for (offset_t t = p_.diagonal.data()[k] + 1; t < p_.row_begin.data()[k + 1]; ++t) {
                last = row_.insert(last, p_.col[t]);
                row_.known(last) -= factor * p_.known[t];
            }
        }
    }

    void keep(index_t i, double mean)
    {
        upper_.clear();
        for (index_t j = row_.next(i); j != row_.end(); j = row_.next(j))
            if (std::abs(row_.known(j)) > drop_ * mean) upper_.add(j, row_.known(j));
        const auto put = [&](index_t j) { p_.push(i, j, row_.source(j), row_.known(j)); };
        lower_.keep(most_, put);
        double& pivot = row_.known(i);
        if (pivot == 0 || !std::isfinite(pivot))
            pivot = mean > 0 && std::isfinite(mean) ? mean : 1;  // for the pattern only
        put(i);
        upper_.keep(most_, put);
        p_.end_row(i);
    }

    const SortedRows& a_;
    const V* value_;
    double drop_;
    offset_t most_;
    GrowingPattern<double> p_;
    RowList<double> row_;
    Largest lower_, upper_;
};

}  // namespace

template <class V>
Pattern find_pattern(const CpuQueue& q, const CsrView<V>& a, const Options& options)
{
    const SortedRows rows = sort_rows_of(q, a);
    Buffer<offset_t> place = check_rows(q, rows, options.missing_diagonal);
    switch (options.kind) {
    case Kind::iluk: return pattern_of_levels(q, rows, options.level, options.most_fill);
    case Kind::ilut: return ThresholdPattern<V>(q, rows, a.value, options).find();
    case Kind::ic0: return pattern_of_matrix(q, rows, std::move(place), true);
    case Kind::ilu0: break;
    }
    return pattern_of_matrix(q, rows, std::move(place), false);
}

template Pattern find_pattern(const CpuQueue&, const CsrView<float>&, const Options&);
template Pattern find_pattern(const CpuQueue&, const CsrView<double>&, const Options&);

}  // namespace tulle::inline TULLE_ABI::factor
