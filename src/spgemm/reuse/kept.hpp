// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What a plan keeps of products, so that the values of C can be computed again quickly: nothing, their places
// (places.hpp), or all of them (listed.hpp).
#pragma once

#include "spgemm/reuse/listed.hpp"
#include "spgemm/reuse/places.hpp"
#include "tulle/error.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::spgemm {

struct ReuseData {
    NumericReuse way = NumericReuse::find_places;  // never `fastest`: that has been decided
    Places places = {};
    ProductList list = {};

    bool is_missing() const { return way != NumericReuse::find_places && !places.known && !list.known; }
    std::size_t bytes() const { return places.bytes() + list.bytes(); }
};

// How it will be done, as soon as the nonzeros of C are counted.
template <class V>
NumericReuse decide_refill(NumericReuse wish, const CsrView<V>& a, const CsrView<V>& b, const Workspace& work,
                           offset_t nonzeros, Backend backend)
{
    require<ValueError>(
        wish != NumericReuse::keep_products || can_list(a.nonzeros, b.nonzeros),
        [&] {
            return concat("products of ", a.nonzeros, " and ", b.nonzeros,
                          " nonzeros cannot be listed, eight bytes each");
        },
        "NumericReuse::fastest takes another way");
    return wish == NumericReuse::fastest ? choose_reuse({a.rows, a.cols, b.cols, a.nonzeros, b.nonzeros},
                                                        work.products - work.following, nonzeros, backend)
                                         : wish;
}

template <class Queue, class V>
ReuseData reserve_kept(const Queue& q, NumericReuse way, const CsrView<V>& a, const CsrView<V>& b,
                       const Workspace& work, const offset_t* row_begin)
{
    ReuseData kept{.way = way};
    if (way == NumericReuse::keep_places) kept.places = reserve_places(q, a, b, work, row_begin);
    if (way == NumericReuse::keep_products) kept.list = reserve_list(q, a, b, work);
    return kept;
}

// Beside what is kept, while it is found.
template <class Queue, class V>
std::size_t keeping_bytes_for(const Queue& q, NumericReuse way, const CsrView<V>& a, const CsrView<V>& b,
                              const Workspace& work)
{
    return way == NumericReuse::keep_places     ? place_bytes_for(q, b.cols)
           : way == NumericReuse::keep_products ? list_bytes_for(q, work, a.rows, b.cols, a.nonzeros)
                                                : 0;
}

// Finds what is to be kept in a C whose columns are there; once.
template <class Queue, class V>
void keep(const Queue& q, const CsrView<V>& a, const CsrView<V>& b, const Workspace& work, const RowRange<V>& c,
          ReuseData& kept)
{
    if (kept.way == NumericReuse::keep_places) place_products(q, a, b, work, c, kept.places);
    if (kept.way == NumericReuse::keep_products) list_products(q, a, b, work, c, kept.list);
}

// The values of a C whose columns are there, with the bits that fill() gives them.
template <class Queue, class V>
void refill_by(const Queue& q, const CsrView<V>& a, const CsrView<V>& b, const Policy& policy, Workspace& work,
               const ReuseData& kept, const RowRange<V>& c)
{
    if (kept.places.known) add_placed(q, a, b, work, kept.places, c);
    else if (kept.list.known) add_listed(q, a, b, kept.list, c);
    else refill(q, a, b, policy, work, c);
}

}  // namespace tulle::inline TULLE_ABI::spgemm
