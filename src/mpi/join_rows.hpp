// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The rows of B that a batch of a distributed product uses, own and fetched, joined to one matrix (spgemm.cpp tells the
// story).
#pragma once

#include <algorithm>
#include <memory>
#include <numeric>

#include "mpi/fetch_rows.hpp"
#include "tulle/error.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::mpi {

// Columns of the fetched entries of a batch, as its rows of C number them, and the columns of other ranks among those.
struct Pattern {
    std::vector<index_t> col;
    std::vector<global_t> ghosts;

    std::size_t bytes() const { return bytes_of(col) + bytes_of(ghosts); }
};

template <class V>
struct Batch {
    Range rows;
    RowPiece<V> a;  // a view of the rows of A
    bool joined = false;
    Csr<V> b;  // where it is joined: rows that the batch does not use are empty
    std::shared_ptr<const Pattern> pattern;
    std::optional<Csr<V>> b_on_gpu = {}, c_on_gpu = {};
    std::unique_ptr<spgemm::Plan<V>> plan;

    CsrView<V> view_of(const DistCsr<V>& all) const { return joined ? b.view() : all.local(); }
    // What plans multiply with.
    CsrView<V> operand_b(const DistCsr<V>& all) const { return b_on_gpu ? b_on_gpu->view() : view_of(all); }
    std::size_t bytes() const
    {
        std::size_t sum = bytes_of(rows.used) + a.bytes() + b.bytes() + pattern->bytes() + (plan ? plan->bytes() : 0);
        for (const auto* copy : {&b_on_gpu, &c_on_gpu}) sum += *copy ? (*copy)->bytes() : 0;
        return sum;
    }
};

// Calls visit(row of B) for the own rows that a batch uses.
template <class V, class Visit>
void for_each_own(const DistCsr<V>& a, const Range& range, const Visit& visit)
{
    const Halo& halo = a.state()->halo;
    for (const index_t j : range.used)
        if (!is_ghost(halo, j)) visit(j - halo.below);
}

// The columns of C that are not this rank's, ascending.
template <class V>
std::vector<global_t> ghosts_of(const DistCsr<V>& a, const DistCsr<V>& b, const Range& range,
                                const std::vector<global_t>& fetched)
{
    const auto me = static_cast<std::size_t>(b.cluster().rank());
    const global_t first = b.col_cuts()[me], last = b.col_cuts()[me + 1];
    const Halo& halo = b.state()->halo;
    const CsrView<V> local = b.local();
    std::vector<global_t> ghosts;
    for (const global_t j : fetched)
        if (j < first || j >= last) ghosts.push_back(j);
    std::vector<unsigned char> used(b.ghosts().size(), 0);
    if (!used.empty())
        for_each_own(a, range, [&](index_t row) {
            for (offset_t k = local.row_begin[row]; k < local.row_begin[row + 1]; ++k) {
                const index_t j = local.col[k];
                if (is_ghost(halo, j)) used[static_cast<std::size_t>(j < halo.below ? j : j - halo.own)] = 1;
            }
        });
    for (std::size_t g = 0; g < used.size(); ++g)
        if (used[g]) ghosts.push_back(b.ghosts()[g]);
    std::sort(ghosts.begin(), ghosts.end());
    ghosts.erase(std::unique(ghosts.begin(), ghosts.end()), ghosts.end());
    return ghosts;
}

// Whether the batch needs B as this rank has it: nothing is fetched, and columns of C are numbered as those of B.
template <class V>
bool needs_no_join(const DistCsr<V>& a, const DistCsr<V>& b, const Range& range)
{
    if (!a.ghosts().empty()) return false;
    return b.ghosts().empty() || std::ssize(range.used) == b.local().rows;
}

// Local numbers of columns of C.
struct Numbers {
    global_t first, last;  // own columns
    const std::vector<global_t>& ghosts;
    offset_t below;

    Numbers(const Cuts& cuts, int rank, const std::vector<global_t>& all)
        : first(cuts[static_cast<std::size_t>(rank)]),
          last(cuts[static_cast<std::size_t>(rank) + 1]),
          ghosts(all),
          below(std::lower_bound(all.begin(), all.end(), first) - all.begin())
    {}
    offset_t cols() const { return last - first + std::ssize(ghosts); }
    index_t of(global_t j) const
    {
        if (j >= first && j < last) return static_cast<index_t>(j - first + below);
        const offset_t at = std::lower_bound(ghosts.begin(), ghosts.end(), j) - ghosts.begin();
        return static_cast<index_t>(j < first ? at : at + last - first);
    }
    global_t global(offset_t j) const
    {
        if (j < below) return ghosts[static_cast<std::size_t>(j)];
        return j < below + last - first ? first + j - below : ghosts[static_cast<std::size_t>(j - (last - first))];
    }
};

// Columns of C for the local columns of B.
template <class V>
std::vector<index_t> numbers_of(const DistCsr<V>& b, const Numbers& numbers)
{
    std::vector<index_t> number(static_cast<std::size_t>(b.local().cols));
    const index_t own = b.state()->halo.own, below = b.state()->halo.below;
    for (index_t j = 0; j < own; ++j)
        number[static_cast<std::size_t>(offset_t{below} + j)] = static_cast<index_t>(j + numbers.below);
    for (std::size_t g = 0; g < b.ghosts().size(); ++g)
        number[static_cast<std::size_t>(b.state()->halo.place(static_cast<offset_t>(g)))] = numbers.of(b.ghosts()[g]);
    return number;
}

// Calls own(row of B, first entry) or fetched(first fetched entry, entries, first entry) for the rows of a joined B.
template <class V, class Own, class Fetched>
void for_each_joined(const DistCsr<V>& a, const Batch<V>& batch, const Own& own, const Fetched& fetched)
{
    const Halo& halo = a.state()->halo;
    const offset_t* const begin = batch.b.row_begin.data();
    offset_t next = 0;
    for (const index_t j : batch.rows.used) {
        if (is_ghost(halo, j)) {
            fetched(next, begin[j + 1] - begin[j], begin[j]);
            next += begin[j + 1] - begin[j];
        } else {
            own(j - halo.below, begin[j]);
        }
    }
}

// The used rows of B as one matrix, without values.
template <class V>
Csr<V> join_rows(const DistCsr<V>& a, const DistCsr<V>& b, const Range& range, const Numbers& numbers,
                 const std::vector<offset_t>& length)
{
    require<ValueError>(
        numbers.cols() < max_index, [&] { return concat("rows of C on a rank have ", numbers.cols(), " columns"); },
        "use more ranks");
    const index_t rows = a.local().cols;
    std::vector<offset_t> begin(static_cast<std::size_t>(rows) + 1, 0);
    for (const index_t j : range.used) begin[static_cast<std::size_t>(j) + 1] = length[static_cast<std::size_t>(j)];
    std::partial_sum(begin.begin(), begin.end(), begin.begin());
    Csr<V> joined =
        Csr<V>::make(b.cluster().context().host(), rows, static_cast<index_t>(numbers.cols()), begin.back());
    std::copy(begin.begin(), begin.end(), joined.row_begin.data());
    return joined;
}

template <class V>
void load_columns(const DistCsr<V>& a, const DistCsr<V>& b, Batch<V>& batch, const Numbers& numbers,
                  const std::vector<index_t>& fetched)
{
    const CsrView<V> local = b.local();
    const std::vector<index_t> number = numbers_of(b, numbers);
    index_t* const col = batch.b.col.data();
    for_each_joined(
        a, batch,
        [&](index_t i, offset_t to) {
            for (offset_t k = local.row_begin[i]; k < local.row_begin[i + 1]; ++k)
                col[to++] = number[static_cast<std::size_t>(local.col[k])];
        },
        [&](offset_t from, offset_t count, offset_t to) { std::copy_n(fetched.data() + from, count, col + to); });
}

template <class V>
void load_values(const DistCsr<V>& a, const DistCsr<V>& b, Batch<V>& batch, const std::vector<V>& fetched)
{
    const CsrView<V> local = b.local();
    V* const value = batch.b.value.data();
    for_each_joined(
        a, batch,
        [&](index_t i, offset_t to) {
            std::copy(local.value + local.row_begin[i], local.value + local.row_begin[i + 1], value + to);
        },
        [&](offset_t from, offset_t count, offset_t to) { std::copy_n(fetched.data() + from, count, value + to); });
}

}  // namespace tulle::inline TULLE_ABI::mpi
