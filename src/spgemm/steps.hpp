// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The steps of the product, once per queue: analyse, count_nonzeros, group_rows, fill. B is sorted and without
// duplicates, A as it comes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tulle/csr.hpp"
#include "tulle/spgemm.hpp"

namespace tulle::inline TULLE_ABI::spgemm {

// What is known of a row of C before it is computed.
struct RowStats {
    std::uint32_t products;  // multiplications; the largest number where they do not fit
    std::uint32_t pattern;   // the same without rows of B that equal their predecessor in the same row of A: all that
                             // matters for columns
    index_t first, width;    // its columns lie in first … first + width - 1
};

// A group of rows that one kernel works on.
struct RowGroup {
    std::string name;
    offset_t begin = 0, rows = 0;  // where its rows stand in Workspace::list
};

inline constexpr std::uint32_t never_cut = ~std::uint32_t{0};

// GPU: the kinds of kernels that rows may go to; hash tables and arrays take what is left.
struct KernelSet {
    int lists = 0;                        // rows of C from up to so many nonzeros of A are merged by a thread, …
    std::uint32_t cut_above = never_cut;  // … with more products than this in pieces; those between go elsewhere
    bool registers = true, ranks = true;  // few products in registers; columns close together by bitmaps and ranks
    bool at_once = false;                 // all rows counted by bitmaps as long as a row of C, in the order they stand
    bool hubs = false;                    // rows of C from many nonzeros of A are divided among many warps
};

// GPU: sums over all rows. Those that kernels still change stand last.
inline constexpr int most_groups = 24;

struct Totals {
    unsigned long long products, longest;
    unsigned long long pieces[2];  // of rows that are cut: with few lists, with more
    long long end;                 // of the last row of C that was asked for
    unsigned rows[most_groups];    // of each group
    unsigned alone[most_groups];   // the same if no rows were filled together
    unsigned cursor[most_groups];  // where the next row of each group goes
    int blocks;                    // that have added theirs
};

// Of counting, and of filling.
struct BothTotals {
    Totals counting, filling;
};

// GPU: pieces of rows of C that are too long for a thread to merge; those of rows with the fewest lists first.
struct Pieces {
    offset_t few = 0, all = 0;
    Buffer<index_t> row, col;  // whose piece, and the first column it may have
    Buffer<int> place;         // where it begins in its row

    std::size_t bytes() const { return row.bytes() + col.bytes() + place.bytes(); }
};

// What the steps hand to each other. Held by a plan.
struct Workspace {
    offset_t products = 0;           // all multiplications
    offset_t longest = 0;            // the most of one row
    offset_t following = 0;          // CPU: those of rows whose pattern follows from the row before
    offset_t longest_nonzeros = 0;   // nsparse: the longest row of C among those grouped last
    Buffer<offset_t> sizes;          // nsparse, deltasparse: products of every row
    Buffer<offset_t> order;          // deltasparse: rows, group after group
    Buffer<unsigned char> collided;  // deltasparse: rows that a hash table could not count well
    index_t cols = 0;                // deltasparse: of C
    bool grouped = true;             // deltasparse: the rows were sorted into groups
    bool sorted = true;              // columns must ascend
    Buffer<BothTotals> totals;       // GPU: one
    bool totals_are_zero = false;    // GPU: those of filling
    Buffer<RowStats> facts;          // GPU: one per row; after drop_facts() of some, in the order of the list
    bool facts_listed = false;
    Buffer<unsigned char> runs_a, runs_b;  // rows that equal their predecessors, see runs.hpp; CPU: cpu/relations.hpp
    bool same_runs = false;                // GPU: A and B are the same: runs_b is empty, runs_a speaks of both
    bool fills_runs = false;               // GPU: rows of equal pattern are filled together
    KernelSet kinds;
    Pieces pieces;
    Buffer<index_t> list;  // GPU: rows, group after group
    Buffer<offset_t>
        mask_begin;  // CPU: the pattern of B in words of 64 columns, where that is shorter; see cpu/masks.hpp
    Buffer<index_t> mask_word;
    Buffer<std::uint64_t> mask;
    std::vector<RowGroup> symbolic, numeric;  // the groups of the last count_nonzeros and fill

    std::size_t bytes() const
    {
        return sizes.bytes() + order.bytes() + collided.bytes() + totals.bytes() + facts.bytes() + runs_a.bytes() +
               runs_b.bytes() + list.bytes() + pieces.bytes() + mask_begin.bytes() + mask_word.bytes() + mask.bytes();
    }
};

// A range of rows of C, and where its entries go: those of row i start at row_begin[i] - base.
template <class V>
struct RowRange {
    index_t first, rows;
    const offset_t* row_begin;
    offset_t base;
    index_t* col;
    V* value;
};

// products[i] = multiplications of row i of C.
template <class V>
void count_products(const CpuQueue& q, const CsrView<V>& a, const CsrView<V>& b, offset_t* products);
template <class V>
void count_products(const CudaQueue& q, const CsrView<V>& a, const CsrView<V>& b, offset_t* products);

// Counts multiplications; finds runs of equal rows where the policy asks for it.
template <class V>
void analyse(const CpuQueue& q, const CsrView<V>& a, const CsrView<V>& b, const Policy& policy, Workspace& work);
template <class V>
void analyse(const CudaQueue& q, const CsrView<V>& a, const CsrView<V>& b, const Policy& policy, Workspace& work);

// count[i] = nonzeros of row i of C.
template <class V>
void count_nonzeros(const CpuQueue& q, const CsrView<V>& a, const CsrView<V>& b, const Policy& policy, Workspace& work,
                    offset_t* count);
template <class V>
void count_nonzeros(const CudaQueue& q, const CsrView<V>& a, const CsrView<V>& b, const Policy& policy, Workspace& work,
                    offset_t* count);

// Sorts the rows first … first + rows - 1 into groups for fill(), now that row_begin of C is known; returns
// row_begin[first + rows]. Waits.
template <class V>
offset_t group_rows(const CpuQueue& q, const CsrView<V>& a, const Policy& policy, Workspace& work, index_t first,
                    index_t rows, const offset_t* row_begin);
template <class V>
offset_t group_rows(const CudaQueue& q, const CsrView<V>& a, const Policy& policy, Workspace& work, index_t first,
                    index_t rows, const offset_t* row_begin);

// A product that is computed once holds little beside a C of so many bytes that no kernel will look at. After
// group_rows() for all rows.
inline void drop_facts(const CpuQueue&, const Policy&, Workspace&, std::size_t) {}
void drop_facts(const CudaQueue& q, const Policy& policy, Workspace& work, std::size_t result_bytes);

// Columns, ascending, and values of the range of rows that group_rows() was last called for.
template <class V>
void fill(const CpuQueue& q, const CsrView<V>& a, const CsrView<V>& b, const Policy& policy, Workspace& work,
          const RowRange<V>& c);
template <class V>
void fill(const CudaQueue& q, const CsrView<V>& a, const CsrView<V>& b, const Policy& policy, Workspace& work,
          const RowRange<V>& c);

// Values alone, for columns that fill() has written; with the same bits.
template <class V>
void refill(const CpuQueue& q, const CsrView<V>& a, const CsrView<V>& b, const Policy& policy, Workspace& work,
            const RowRange<V>& c);
template <class V>
void refill(const CudaQueue& q, const CsrView<V>& a, const CsrView<V>& b, const Policy& policy, Workspace& work,
            const RowRange<V>& c);

// to[i] = from[i] - base for 0 <= i < n.
void shift_offsets(const CpuQueue& q, const offset_t* from, offset_t base, offset_t n, offset_t* to);
void shift_offsets(const CudaQueue& q, const offset_t* from, offset_t base, offset_t n, offset_t* to);

// What fill() holds while it works on `rows` rows, beside the workspace.
std::size_t fill_bytes_for(const CpuQueue& q, const Policy& policy, const Workspace& work, offset_t rows, index_t cols,
                           std::size_t value_bytes);
std::size_t fill_bytes_for(const CudaQueue& q, const Policy& policy, const Workspace& work, offset_t rows, index_t cols,
                           std::size_t value_bytes);

}  // namespace tulle::inline TULLE_ABI::spgemm
