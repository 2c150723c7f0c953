// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What a plan for a team consists of: the factors on the host, where rows are cut, and what every member has. Made by
// prepare.cpp, used by team.cpp.
#pragma once

#include <vector>

#include "partition/thread_pool.hpp"
#include "partition/transfers.hpp"
#include "spgemm/factor.hpp"
#include "spgemm/reuse/kept.hpp"
#include "spgemm/steps.hpp"
#include "tulle/partition.hpp"
#include "tulle/spgemm_team.hpp"

namespace tulle::inline TULLE_ABI::spgemm::team {

using partition::Cut;
using partition::Part;

template <class V>
struct Member {
    Context ctx;
    Policy policy = {};
    Part counted = {}, filled = {};  // rows of A, and of C
    bool borrows = false;            // works on the host's arrays
    Buffer<offset_t> pointer = {};   // of its rows of A
    Buffer<index_t> col = {};        // theirs, unless they are a slice of B's or the host's
    Buffer<V> value = {};
    Csr<V> b = {};  // empty where it borrows
    CsrView<V> a_view = {}, b_view = {};
    Workspace work = {};
    Buffer<offset_t> row_begin = {};  // of its rows of C, in numbers of the whole C; empty where it borrows
    const offset_t* c_begin = nullptr;
    ReuseData kept = {};                  // of its products, for refills
    offset_t c_from = 0, c_nonzeros = 0;  // its entries in the whole C
    offset_t moved = 0;
    double symbolic_seconds = 0, numeric_seconds = 0;

    std::size_t bytes() const
    {
        return pointer.bytes() + col.bytes() + value.bytes() + b.bytes() + work.bytes() + row_begin.bytes() +
               kept.bytes();
    }
    RowRange<V> rows(index_t* to_col, V* to_value) const
    {
        return {0, filled.lines(), c_begin, c_from, to_col, to_value};
    }
};

template <class V>
struct State {
    Context host;
    TeamOptions options;
    Features features = {};
    Wide<V> given = {};        // the caller's
    Factor<V> a = {}, b = {};  // on the host
    offset_t products = 0, nonzeros = 0;
    Buffer<offset_t> product_begin = {};  // products before every row
    Buffer<offset_t> row_begin = {};      // of C
    std::vector<Cut> count_cuts = {}, fill_cuts = {};
    partition::ThreadPool crew;
    partition::Transfers link = {};
    std::vector<Member<V>> members = {};

    bool one_pattern() const { return a.view().col == b.view().col && a.view().row_begin == b.view().row_begin; }
    bool one_matrix() const { return one_pattern() && a.view().value == b.view().value; }
};

// work(member) on every member's thread, or one after the other.
template <class V, class Work>
void for_members(State<V>& s, const Work& work)
{
    const auto one = [&](int number) { work(s.members[static_cast<std::size_t>(number)]); };
    if (!s.options.take_turns) return s.crew.run(one);
    for (int number = 0; number < static_cast<int>(s.members.size()); ++number) one(number);
}

// All stages up to the numeric phase.
template <class V>
void prepare(State<V>& s, const Team& team, const CsrView<V>& a, const CsrView<V>& b);

// The numbers of the factors, to the rows that the member fills.
template <class V>
void bring_values(State<V>& s, Member<V>& m);

}  // namespace tulle::inline TULLE_ABI::spgemm::team
