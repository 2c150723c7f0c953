// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Products over semirings: with a vector, with a dense matrix, and of two matrices under a mask.
//
// Masked: row by row (Gustavson). A thread has an array as long as B is wide in which the columns of the mask's row are
// marked; products elsewhere are passed by. Sums of a row have the places of the mask's entries, so nothing grows
// beyond the mask; at the end the places without a product are closed up. Under the complement the marked columns are
// passed by instead, and rows are counted before they are filled. On a GPU the complement takes the pattern of A B by
// ranges of rows, leaves out the positions of the mask, and computes the entries at the others.
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "base/enumerators.hpp"
#include "device/placed.hpp"
#include "graph/arguments.hpp"
#include "graph/chunks.hpp"
#include "graph/cpu/rows.hpp"
#include "graph/functions.hpp"
#include "graph/semirings.hpp"
#include "graph/steps.hpp"
#include "prim/scan.hpp"
#include "prim/search.hpp"
#include "spmm/arguments.hpp"
#include "tulle/convert.hpp"

namespace tulle::inline TULLE_ABI::graph {
namespace {

constexpr std::array names{"plus_times", "min_plus",  "max_plus",  "max_min",
                           "or_and",     "plus_pair", "min_first", "plus_second"};

// Columns of one row: which are marked, and where.
class Marks {
public:
    Marks(const CpuQueue& q, index_t cols) : cols_(cols), at_(q, offset_t{cols} * q.threads)
    {
        std::fill_n(at_.data(), at_.size(), offset_t{-1});
    }
    offset_t* of(int thread) { return at_.data() + offset_t{thread} * cols_; }

private:
    index_t cols_;
    Buffer<offset_t> at_;
};

// product(j, v) for every product of row i of A B.
template <class S, class V, class Product>
void for_each_product(const CsrView<V>& a, const CsrView<V>& b, index_t i, Product&& product)
{
    for (offset_t p = a.row_begin[i]; p < a.row_begin[i + 1]; ++p)
        for (offset_t r = b.row_begin[a.col[p]]; r < b.row_begin[a.col[p] + 1]; ++r)
            product(b.col[r], S::times(a.value[p], b.value[r]));
}

// The columns of a mask's row: which are marked, and where they stand in it. Most products are in other columns, and
// bytes to tell so stay in a near cache.
class MaskMarks {
public:
    MaskMarks(const CpuQueue& q, index_t cols)
        : cols_(cols),
          marked_(q, offset_t{cols} * q.threads),
          place_(q, offset_t{cols} * q.threads)
    {
        fill_zero(q, marked_.data(), marked_.size());
    }
    struct View {
        unsigned char* marked;
        index_t* place;  // from the beginning of the row
    };
    View of(int thread)
    {
        return {marked_.data() + offset_t{thread} * cols_, place_.data() + offset_t{thread} * cols_};
    }

private:
    index_t cols_;
    Buffer<unsigned char> marked_;
    Buffer<index_t> place_;
};

// A halving of a search takes as long as so many steps through a row (measured: docs/experiments/graph.md).
constexpr offset_t steps_per_halving = 4;
constexpr index_t entries_at_a_time = 256;

// One row of C<M> = A B: sum and has of the mask's entries.
template <class S, class V>
struct MaskedRow {
    CsrView<V> a, b, mask;
    V* sum;
    unsigned char* has;

    void add(offset_t at, V product) const
    {
        sum[at] = has[at] ? S::add(sum[at], product) : product;
        has[at] = 1;
    }
    // All entries of row k of B: the places of those in marked columns are put down first, without a branch that cannot
    // be predicted, and added then.
    void pass_through(index_t k, V factor, offset_t begin, const MaskMarks::View& marks) const
    {
        std::array<index_t, entries_at_a_time> found;
        const offset_t end = b.row_begin[k + 1];
        for (offset_t first = b.row_begin[k]; first < end; first += entries_at_a_time) {
            const index_t* const col = b.col + first;
            const V* const value = b.value + first;
            const auto entries = static_cast<index_t>(std::min<offset_t>(entries_at_a_time, end - first));
            std::size_t hits = 0;
            for (index_t r = 0; r < entries; ++r) {
                found[hits] = r;
                hits += marks.marked[col[r]];
            }
            for (std::size_t h = 0; h < hits; ++h)
                add(begin + marks.place[col[found[h]]], S::times(factor, value[found[h]]));
        }
    }
    // Each column of the mask in row k of B, which is sorted.
    void search(index_t k, V factor, offset_t begin, offset_t end) const
    {
        const offset_t row = b.row_begin[k], row_end = b.row_begin[k + 1];
        for (offset_t p = begin; p < end; ++p) {
            offset_t r = row + prim::lower_bound(b.col + row, row_end - row, mask.col[p]);
            for (; r < row_end && b.col[r] == mask.col[p]; ++r) add(p, S::times(factor, b.value[r]));
        }
    }
    bool is_search_shorter(offset_t columns, offset_t length) const
    {
        const auto halvings = static_cast<offset_t>(std::bit_width(static_cast<std::uint64_t>(length)));
        return b.sorted && steps_per_halving * columns * halvings < length;
    }
    void at(index_t i, const MaskMarks::View& marks) const
    {
        const offset_t begin = mask.row_begin[i], end = mask.row_begin[i + 1];
        if (begin == end) return;
        for (offset_t p = begin; p < end; ++p) {
            marks.marked[mask.col[p]] = 1;
            marks.place[mask.col[p]] = static_cast<index_t>(p - begin);
            has[p] = 0;
        }
        for (offset_t p = a.row_begin[i]; p < a.row_begin[i + 1]; ++p) {
            const index_t k = a.col[p];
            if (is_search_shorter(end - begin, b.row_begin[k + 1] - b.row_begin[k])) search(k, a.value[p], begin, end);
            else pass_through(k, a.value[p], begin, marks);
        }
        for (offset_t p = begin; p < end; ++p) marks.marked[mask.col[p]] = 0;
    }
};

template <class S, class V>
Csr<V> multiply_allowed(const CpuQueue& q, const CsrView<V>& a, const CsrView<V>& b, const CsrView<V>& mask)
{
    Buffer<V> sum(q, mask.nonzeros);
    Buffer<unsigned char> has(q, mask.nonzeros);
    MaskMarks marks(q, b.cols);
    const MaskedRow<S, V> row{a, b, mask, sum.data(), has.data()};
    for_each_row_by_turns(q, a.rows, [&](int t, index_t i) { row.at(i, marks.of(t)); });
    Buffer<offset_t> begin(q, offset_t{a.rows} + 1);
    for_each_row(q, mask.row_begin, mask.rows, [&](int, index_t i) {
        begin.data()[i] = std::count(has.data() + mask.row_begin[i], has.data() + mask.row_begin[i + 1], 1);
    });
    prim::exclusive_scan(q, begin.data(), begin.data(), a.rows);
    Csr<V> c = Csr<V>::make(q, a.rows, b.cols, begin.data()[a.rows]);
    for_each_row(q, mask.row_begin, mask.rows, [&](int, index_t i) {
        offset_t to = begin.data()[i];
        for (offset_t p = mask.row_begin[i]; p < mask.row_begin[i + 1]; ++p)
            if (has.data()[p]) c.col.data()[to] = mask.col[p], c.value.data()[to++] = sum.data()[p];
    });
    c.row_begin = std::move(begin);
    c.sorted = mask.sorted;
    return c;
}

// Under the complement: count(i) columns first, then the sums. A column is marked by -2 where the mask forbids it, by
// its place in the row where there has been a product.
template <class S, class V>
class Complement {
public:
    Complement(const CpuQueue& q, const CsrView<V>& a, const CsrView<V>& b, const CsrView<V>& mask)
        : a_(a),
          b_(b),
          mask_(mask),
          marks_(q, b.cols)
    {}

    // Columns and sums of a row, at most those that were counted; null: they are counted only.
    offset_t row(int t, index_t i, index_t* col, V* sum)
    {
        offset_t* place = marks_.of(t);
        for (offset_t p = mask_.row_begin[i]; p < mask_.row_begin[i + 1]; ++p) place[mask_.col[p]] = -2;
        offset_t count = 0;
        for_each_product<S>(a_, b_, i, [&](index_t j, V product) {
            if (place[j] == -2) return;
            if (place[j] < 0) {
                if (col) col[count] = j, sum[count] = product;
                place[j] = count++;
            } else if (col) sum[place[j]] = S::add(sum[place[j]], product);
        });
        clear(place, i);
        return count;
    }

private:
    void clear(offset_t* place, index_t i)
    {
        for_each_product<S>(a_, b_, i, [&](index_t j, V) { place[j] = -1; });
        for (offset_t p = mask_.row_begin[i]; p < mask_.row_begin[i + 1]; ++p) place[mask_.col[p]] = -1;
    }

    CsrView<V> a_, b_, mask_;
    Marks marks_;
};

template <class S, class V>
Csr<V> multiply_complement(const Context& ctx, const CpuQueue& q, const CsrView<V>& a, const CsrView<V>& b,
                           const CsrView<V>& mask)
{
    Complement<S, V> product(q, a, b, mask);
    Buffer<offset_t> begin(q, offset_t{a.rows} + 1);
    for_each_row_by_turns(q, a.rows, [&](int t, index_t i) { begin.data()[i] = product.row(t, i, nullptr, nullptr); });
    prim::exclusive_scan(q, begin.data(), begin.data(), a.rows);
    Csr<V> c = Csr<V>::make(q, a.rows, b.cols, begin.data()[a.rows]);
    for_each_row_by_turns(q, a.rows, [&](int t, index_t i) {
        product.row(t, i, c.col.data() + begin.data()[i], c.value.data() + begin.data()[i]);
    });
    c.row_begin = std::move(begin);
    c.sorted = false;
    return sort_rows(ctx, c.view());
}

template <class V>
Csr<V> multiply_complement_in_chunks(const Context& ctx, Semiring semiring, const CsrView<V>& a, const CsrView<V>& b,
                                     const CsrView<V>& mask)
{
    const Csr<V> sorted = mask.sorted ? Csr<V>{} : sort_rows(ctx, mask);
    const CsrView<V> forbidden = mask.sorted ? mask : sorted.view();
    const SemiringChunks<V> chunks(ctx, semiring, a, b);
    return chunks.multiply(0, [&](const auto& q, index_t first, Csr<V> rows) {
        Csr<V> allowed = entries_without(ctx, rows.view(), Edges{forbidden.row_begin + first, forbidden.col});
        return chunks.values(q, first, std::move(allowed));
    });
}

// Row i of C = A B with dense B and C, or of the sum of C and A B.
template <class S, class V>
void multiply_dense_row(const CsrView<V>& a, const DenseView<const V>& b, const DenseView<V>& c, bool accumulate,
                        index_t i)
{
    const offset_t b_step = b.layout == Layout::row_major ? 1 : b.leading;
    const offset_t c_step = c.layout == Layout::row_major ? 1 : c.leading;
    V* const to = c.data + c.at(i, 0);
    if (!accumulate)
        for (index_t j = 0; j < c.cols; ++j) to[j * c_step] = S::identity;
    for (offset_t p = a.row_begin[i]; p < a.row_begin[i + 1]; ++p) {
        const V* const from = b.data + b.at(a.col[p], 0);
        for (index_t j = 0; j < c.cols; ++j)
            to[j * c_step] = S::add(to[j * c_step], S::times(a.value[p], from[j * b_step]));
    }
}

}  // namespace

std::string to_text(Semiring semiring) { return name_in(names, semiring); }

Semiring parse_semiring(std::string_view name)
{
    const auto found = std::find(names.begin(), names.end(), name);
    require<ValueError>(
        found != names.end(), [&] { return concat("there is no semiring '", name, "'"); },
        "there are plus_times, min_plus, max_plus, max_min, or_and, plus_pair, min_first and plus_second");
    return static_cast<Semiring>(found - names.begin());
}

template <class V>
void multiply(const Context& ctx, Semiring semiring, const CsrView<V>& a, std::type_identity_t<std::span<const V>> x,
              std::type_identity_t<std::span<V>> y)
{
    require_matrix(ctx, a);
    require(std::ssize(x) == a.cols, [&] { return concat("x has ", x.size(), " entries, A ", a.cols, " columns"); });
    require(std::ssize(y) == a.rows, [&] { return concat("y has ", y.size(), " entries, A ", a.rows, " rows"); });
    require<ValueError>(are_apart(x, y), "x and y overlap", "give y memory of its own");
    const void* known = nullptr;
    require_placed(ctx, x.data(), x.size(), known, "x");
    known = nullptr;
    require_placed(ctx, y.data(), y.size(), known, "y");
    run_on(
        ctx, a.nonzeros + a.rows, [&](const auto& q) { multiply_rows(q, semiring, a, x.data(), y.data()); },
        [&](const CpuQueue& q) {
            with_semiring<V>(semiring, [&](auto s) {
                const SemiringRow<decltype(s), V> row{a, x.data(), y.data()};
                for_each_row(q, a.row_begin, a.rows, [&](int, index_t i) { row.at(i); });
            });
        });
}

template <class V>
void multiply(const Context& ctx, Semiring semiring, const CsrView<V>& a,
              const std::type_identity_t<DenseView<const V>>& b, const std::type_identity_t<DenseView<V>>& c,
              bool accumulate)
{
    require_matrix(ctx, a);
    const void *known_b = nullptr, *known_c = nullptr;
    spmm::require_operands(ctx, a.rows, a.cols, b, c, known_b, known_c);
    with_semiring<V>(semiring, [&](auto s) {
        using S = decltype(s);
        run_on(
            ctx, (a.nonzeros + a.rows) * c.cols,
            [&](const auto& q) {
                const Functions f = functions_of(semiring);
                const bool by_rows = b.layout == Layout::row_major;
                const offset_t b_row = by_rows ? b.leading : 1, b_col = by_rows ? 1 : b.leading;
                run_pass(q, offset_t{c.rows} * c.cols,
                         DenseEntry<V>{a, b.data, b_row, b_col, c, f.times, f.plus, S::identity, accumulate}, {});
            },
            [&](const CpuQueue& q) {
                for_each_row(q, a.row_begin, a.rows,
                             [&](int, index_t i) { multiply_dense_row<S>(a, b, c, accumulate, i); });
            });
    });
}

template <class V>
Csr<V> multiply_masked(const Context& ctx, Semiring semiring, const CsrView<V>& a, const CsrView<V>& b,
                       const CsrView<V>& mask, bool complement)
{
    require_product(ctx, a, b);
    require_matrix(ctx, mask);
    require(mask.rows == a.rows && mask.cols == b.cols, [&] {
        return concat("the mask is ", mask.rows, " x ", mask.cols, ", but A B is ", a.rows, " x ", b.cols);
    });
    require<ValueError>(mask.unique, "the mask stores a position twice", "call tulle::sum_duplicates() first");
    if (complement && ctx.backend() == Backend::cuda) return multiply_complement_in_chunks(ctx, semiring, a, b, mask);
    return run_on(
        ctx, a.nonzeros + b.nonzeros + mask.nonzeros,
        [&](const auto& q) {
            const Csr<V> sorted = b.sorted ? Csr<V>{} : sort_rows(ctx, b);
            return multiply_masked_entries(q, semiring, a, b.sorted ? b : sorted.view(), mask);
        },
        [&](const CpuQueue& q) {
            return with_semiring<V>(semiring, [&](auto s) {
                using S = decltype(s);
                return complement ? multiply_complement<S>(ctx, q, a, b, mask) : multiply_allowed<S>(q, a, b, mask);
            });
        });
}

template TULLE_API void multiply(const Context&, Semiring, const CsrView<double>&, std::span<const double>,
                                 std::span<double>);
template TULLE_API void multiply(const Context&, Semiring, const CsrView<float>&, std::span<const float>,
                                 std::span<float>);
template TULLE_API void multiply(const Context&, Semiring, const CsrView<double>&, const DenseView<const double>&,
                                 const DenseView<double>&, bool);
template TULLE_API void multiply(const Context&, Semiring, const CsrView<float>&, const DenseView<const float>&,
                                 const DenseView<float>&, bool);
template TULLE_API Csr<double> multiply_masked(const Context&, Semiring, const CsrView<double>&, const CsrView<double>&,
                                               const CsrView<double>&, bool);
template TULLE_API Csr<float> multiply_masked(const Context&, Semiring, const CsrView<float>&, const CsrView<float>&,
                                              const CsrView<float>&, bool);

}  // namespace tulle::inline TULLE_ABI::graph
