// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Products over semirings: with a vector, and of two matrices under a mask.
//
// Masked: row by row (Gustavson). A thread has an array as long as B is wide in which the columns of the mask's row are
// marked; products elsewhere are passed by. Sums of a row have the places of the mask's entries, so nothing grows
// beyond the mask; at the end the places without a product are closed up. Under the complement the marked columns are
// passed by instead, and rows are counted before they are filled.
#include <omp.h>

#include <algorithm>
#include <array>

#include "device/placed.hpp"
#include "graph/arguments.hpp"
#include "graph/semirings.hpp"
#include "graph/steps.hpp"
#include "prim/merge_path.hpp"
#include "prim/scan.hpp"
#include "tulle/convert.hpp"

namespace tulle::inline TULLE_ABI::graph {
namespace {

constexpr std::array names{"plus_times", "min_plus",  "max_plus",  "max_min",
                           "or_and",     "plus_pair", "min_first", "plus_second"};

// For row(thread, i) of every row, threads with equal numbers of nonzeros and rows of `a`.
template <class V, class Row>
void for_each_row(const CpuQueue& q, const CsrView<V>& a, Row&& row)
{
    const offset_t steps = prim::steps_per_part(a.rows, a.nonzeros, q.threads), all = a.rows + a.nonzeros;
    const auto row_at = [&](offset_t part) {
        return prim::merge_point(a.row_begin, a.rows, a.nonzeros, std::min(all, part * steps)).row;
    };
#pragma omp parallel for num_threads(q.threads) schedule(static)
    for (int t = 0; t < q.threads; ++t)
        for (offset_t i = row_at(t); i < row_at(t + 1); ++i) row(t, static_cast<index_t>(i));
}

// The same with rows given out as threads come, for work that nonzeros do not tell.
template <class Row>
void for_each_row_by_turns(const CpuQueue& q, index_t rows, Row&& row)
{
#pragma omp parallel num_threads(q.threads)
    {
        const int t = omp_get_thread_num();
#pragma omp for schedule(dynamic, 64)
        for (index_t i = 0; i < rows; ++i) row(t, i);
    }
}

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

// C<M> = A B in the places of the mask's entries; `has` tells which of them have a product.
template <class S, class V>
void fill_places(const CpuQueue& q, const CsrView<V>& a, const CsrView<V>& b, const CsrView<V>& mask, V* sum,
                 unsigned char* has)
{
    Marks marks(q, b.cols);
    for_each_row_by_turns(q, a.rows, [&](int t, index_t i) {
        offset_t* place = marks.of(t);
        const offset_t begin = mask.row_begin[i], end = mask.row_begin[i + 1];
        if (begin == end) return;
        for (offset_t p = begin; p < end; ++p) place[mask.col[p]] = p, has[p] = 0;
        for_each_product<S>(a, b, i, [&](index_t j, V product) {
            const offset_t p = place[j];
            if (p < 0) return;
            sum[p] = has[p] ? S::add(sum[p], product) : product;
            has[p] = 1;
        });
        for (offset_t p = begin; p < end; ++p) place[mask.col[p]] = -1;
    });
}

template <class S, class V>
Csr<V> multiply_allowed(const CpuQueue& q, const CsrView<V>& a, const CsrView<V>& b, const CsrView<V>& mask)
{
    Buffer<V> sum(q, mask.nonzeros);
    Buffer<unsigned char> has(q, mask.nonzeros);
    fill_places<S>(q, a, b, mask, sum.data(), has.data());
    Buffer<offset_t> begin(q, offset_t{a.rows} + 1);
    for_each_row(q, mask, [&](int, index_t i) {
        begin.data()[i] = std::count(has.data() + mask.row_begin[i], has.data() + mask.row_begin[i + 1], 1);
    });
    prim::exclusive_scan(q, begin.data(), begin.data(), a.rows);
    Csr<V> c = Csr<V>::make(q, a.rows, b.cols, begin.data()[a.rows]);
    for_each_row(q, mask, [&](int, index_t i) {
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

}  // namespace

std::string to_text(Semiring semiring) { return names[static_cast<std::size_t>(semiring)]; }

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
                for_each_row(q, a, [&](int, index_t i) { row.at(i); });
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
    require<NotBuilt>(!complement || ctx.backend() == Backend::cpu,
                      "a product under the complement of a mask runs on the CPU only",
                      "use Context::cpu() and matrices in host memory");
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
template TULLE_API Csr<double> multiply_masked(const Context&, Semiring, const CsrView<double>&, const CsrView<double>&,
                                               const CsrView<double>&, bool);
template TULLE_API Csr<float> multiply_masked(const Context&, Semiring, const CsrView<float>&, const CsrView<float>&,
                                              const CsrView<float>&, bool);

}  // namespace tulle::inline TULLE_ABI::graph
