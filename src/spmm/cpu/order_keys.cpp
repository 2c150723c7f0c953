// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What rows are sorted by.
#include "prim/cpu/pieces.hpp"
#include "spmm/order/keys.hpp"
#include "spmm/order/steps.hpp"

namespace tulle::inline TULLE_ABI::spmm {
namespace {

// to[i] = of(i) for i < n.
template <class T, class F>
void write_each(const CpuQueue& q, offset_t n, T* to, F&& of)
{
    prim::each_piece(q, prim::piece_per_thread(q, n, 4096), [&](offset_t, offset_t begin, offset_t end) {
        for (offset_t i = begin; i < end; ++i) to[i] = of(i);
    });
}

}  // namespace

void write_numbers(const CpuQueue& q, offset_t n, offset_t* to)
{
    write_each(q, n, to, [](offset_t i) { return i; });
}

void write_dispersions(const CpuQueue& q, const EncodingsView& e, Dispersion which, std::uint64_t* key)
{
    write_each(q, e.rows, key, [&](offset_t i) { return dispersion_key(e, which, i); });
}

void write_lengths(const CpuQueue& q, const Pattern& a, std::uint64_t* key)
{
    write_each(q, a.rows, key, [&](offset_t i) { return length_key(a, i); });
}

void write_minhashes(const CpuQueue& q, const Pattern& a, int hash, const offset_t* row, std::uint32_t* key)
{
    write_each(q, a.rows, key, [&](offset_t i) {
        FirstColumn first;
        for (offset_t k = a.row_begin[row[i]]; k < a.row_begin[row[i] + 1]; ++k) first.look_at(hash, a.col[k]);
        return first.key();
    });
}

void write_clusters(const CpuQueue& q, const index_t* cluster, offset_t n, std::uint32_t* key)
{
    write_each(q, n, key, [&](offset_t i) { return static_cast<std::uint32_t>(cluster[i]); });
}

void take_rows(const CpuQueue& q, const offset_t* from, offset_t n, index_t* to)
{
    write_each(q, n, to, [&](offset_t i) { return static_cast<index_t>(from[i]); });
}

}  // namespace tulle::inline TULLE_ABI::spmm
