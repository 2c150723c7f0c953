// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The method of DeltaSPARSE on one device, for both backends: upper bounds, groups where they pay, hash tables with
// room and a watch on collisions, bitmaps and arrays over ranges of columns for dense and long rows. Its sections are
// mapped in docs/design/spgemm.md.
#pragma once

#include "model/tree.hpp"
#include "prim/histogram.hpp"
#include "prim/reduce.hpp"
#include "prim/sort.hpp"
#include "spgemm/deltasparse/steps.hpp"
#include "tulle/api.hpp"
#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI::spgemm::delta {

// Whether grouping pays: by the tree, or, without one, as seems_to_pay() says. The second form asks the tree that was
// built in, if any.
TULLE_API bool group_pays(const Features& features, const model::Tree* tree);
TULLE_API bool group_pays(const Features& features);

// The same, unless the caller has decided.
TULLE_API bool shall_group(const Features& features, Grouping grouping);

// "up to 64 products, hash table of 128"
TULLE_API std::string name_of(Phase phase, int group);

// All rows as one group, with the parameters of the longest.
TULLE_API std::vector<RowGroup> one_group(const Sizes& sizes, const Features& features);

// Groups one after the other; rows[g] are in group g, those of 0 are nobody's work.
TULLE_API std::vector<RowGroup> named_groups(Phase phase, const std::vector<offset_t>& rows);

constexpr int groups_in(Phase phase) { return phase == Phase::count ? counting_groups : filling_groups; }

// The rows by group; work.order is theirs, unless they are one group.
template <class Queue>
std::vector<RowGroup> place(const Queue& q, const Sizes& sizes, offset_t total, Grouping grouping, Workspace& work)
{
    const offset_t longest = prim::maximum(q, sizes.size, sizes.rows, offset_t{0});
    const Features features = features_of(total, longest, sizes.rows, sizes.cols);
    work.grouped = shall_group(features, grouping);
    if (!work.grouped) return one_group(sizes, features);
    const int groups = groups_in(sizes.phase);
    Buffer<std::uint32_t> group(q, sizes.rows);
    Buffer<offset_t> found(q, groups + 1);
    classify(q, sizes, group.data(), work.order.data());
    prim::histogram(q, reinterpret_cast<const index_t*>(group.data()), sizes.rows, found.data(), groups + 1);
    prim::sort_pairs(q, group.data(), work.order.data(), sizes.rows,
                     prim::bits_for(static_cast<std::uint64_t>(groups) + 1));
    std::vector<offset_t> rows(static_cast<std::size_t>(groups) + 1);
    download(q, found.data(), rows.data(), found.size());
    return named_groups(sizes.phase, rows);
}

template <class Queue, class V>
void analyse(const Queue& q, const CsrView<V>& a, const CsrView<V>& b, const Rules& rules, Workspace& work)
{
    work.sizes = Buffer<offset_t>(q, a.rows);
    work.order = Buffer<offset_t>(q, a.rows);
    work.collided = Buffer<unsigned char>(q, a.rows);
    work.cols = b.cols;
    fill_zero(q, work.collided.data(), a.rows);
    spgemm::count_products(q, a, b, work.sizes.data());
    work.products = prim::sum(q, work.sizes.data(), offset_t{a.rows});
    work.longest = prim::maximum(q, work.sizes.data(), offset_t{a.rows}, offset_t{0});
    work.symbolic = place(q, {Phase::count, work.sizes.data(), nullptr, 0, a.rows, b.cols, rules.dense_share},
                          work.products, rules.grouping, work);
}

// The rows of the k-th group.
inline Rows rows_of(const Workspace& work, const RowGroup& group, index_t first)
{
    return {work.grouped ? work.order.data() + group.begin : nullptr, first, group.rows};
}

template <class Queue, class V>
void count_nonzeros(const Queue& q, const CsrView<V>& a, const CsrView<V>& b, Workspace& work, offset_t* count)
{
    fill_zero(q, count, a.rows);
    for (std::size_t k = work.symbolic.size(); k > 0; --k)  // the longest rows first
        if (work.symbolic[k - 1].rows > 0)
            count_group(q, a, b, static_cast<int>(k), rows_of(work, work.symbolic[k - 1], 0), count,
                        work.collided.data());
}

template <class Queue>
offset_t group_rows(const Queue& q, const Rules& rules, Workspace& work, index_t first, index_t rows,
                    const offset_t* row_begin)
{
    find_sizes(q, row_begin + first, rows, work.sizes.data());
    const offset_t begin = read_value(q, row_begin + first), end = read_value(q, row_begin + first + rows);
    const Sizes sizes{Phase::fill, work.sizes.data(), work.collided.data(), first, rows, work.cols, rules.dense_share};
    work.numeric = place(q, sizes, end - begin, rules.grouping, work);
    return end;
}

template <class Queue, class V>
void fill(const Queue& q, const CsrView<V>& a, const CsrView<V>& b, const Rules& rules, const Workspace& work,
          const RowRange<V>& c)
{
    for (std::size_t k = work.numeric.size(); k > 0; --k)
        if (work.numeric[k - 1].rows > 0)
            fill_group(q, a, b, static_cast<int>(k), rows_of(work, work.numeric[k - 1], c.first), c,
                       {work.sorted, rules.count_sorted});
}

}  // namespace tulle::inline TULLE_ABI::spgemm::delta
