// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// From a pattern to a permutation of its rows.
//
//   check      offsets and columns, once; rows that are not sorted are sorted in a copy
//   natural    nothing
//   degree     sort by length
//   minhash    sort by the column that comes first in random order 1, where that is the same by random order 2, …: the
//              last one first, stably
//   pack       on the CPU (pack_rows)
//   bsa        encode, sort by dispersion, cluster, sort by cluster; empty rows come first and are never compared
#include "tulle/spmm.hpp"

#include <utility>

#include "base/math.hpp"
#include "matrix/entries.hpp"
#include "matrix/inspect_steps.hpp"
#include "prim/search.hpp"
#include "prim/sort.hpp"
#include "spmm/host_pattern.hpp"
#include "spmm/order/steps.hpp"
#include "tulle/features.hpp"
#include "tulle/memory.hpp"
#include "tulle/trace.hpp"
#include "tulle/transfer.hpp"

namespace tulle::inline TULLE_ABI::spmm {
namespace {

void check_options(const OrderOptions& o, const Pattern& a)
{
    require<ValueError>(
        o.tau >= 1, [&] { return concat("blocks of tau = ", o.tau, " columns cannot be"); },
        "tau is 1 or more; the paper has 32");
    require<ValueError>(
        o.alpha >= 0 && o.alpha <= 1, [&] { return concat("alpha = ", o.alpha, " is no similarity"); },
        "similarities are 0 to 1");
    require<ValueError>(o.panel >= 1, [&] { return concat("panels of ", o.panel, " rows cannot be"); });
    require<ValueError>(
        o.hashes >= 1 && o.hashes <= 8, [&] { return concat("minhash with ", o.hashes, " hashes"); }, "1 to 8");
    require<ValueError>(
        o.kind != OrderKind::bsa || a.nonzeros <= max_index,
        [&] { return concat("bsa counts at most ", max_index, " nonzeros, the matrix has ", a.nonzeros); },
        "order by degree, minhash or pack");
}

matrix::Outline outline_of(const Pattern& a)
{
    return {{{{"rows", a.rows}, {"columns", a.cols}, {"nonzeros", a.nonzeros}}},
            {{{"row_begin", a.row_begin, offset_t{a.rows} + 1}, {"col", a.col, a.nonzeros}, {}}}};
}

template <class Queue>
void check_pattern(const Queue& q, const Pattern& a)
{
    const offset_t bad_row = inspect::first_where(q, inspect::BadBegin{a.row_begin, a.nonzeros}, a.rows);
    const auto where = [&] { return bad_row < a.rows ? concat(": row ", bad_row) : std::string(); };
    require<ValueError>(bad_row == a.rows && read_value(q, a.row_begin) == 0 &&
                            read_value(q, a.row_begin + a.rows) == a.nonzeros,
                        [&] { return concat("row_begin does not ascend from 0 to ", a.nonzeros, where()); });
    const offset_t outside = inspect::first_where(q, inspect::Outside{a.col, 0, a.cols}, a.nonzeros);
    require<ValueError>(outside == a.nonzeros, [&] {
        return concat("column ", read_value(q, a.col + outside), " at position ", outside, " is outside 0 … ",
                      a.cols - 1);
    });
    const offset_t falls =
        a.sorted ? inspect::first_where(q, inspect::RowOrder{{a.row_begin, a.rows, a.col}}, a.nonzeros) : a.nonzeros;
    require<ValueError>(
        falls == a.nonzeros,
        [&] { return concat("columns do not ascend at position ", falls, ", but the pattern claims so"); },
        "say sorted = false");
}

// The pattern with columns ascending, in a copy where they do not.
template <class Queue>
class Sorted {
public:
    Sorted(const Queue& q, const Pattern& a, bool checked) : view_(a)
    {
        matrix::require_outline(q, outline_of(a));
        if (checked) check_pattern(q, a);
        if (a.sorted) return;
        Buffer<index_t> row(q, a.nonzeros);
        matrix::expand_rows(q, a.row_begin, a.rows, a.nonzeros, row.data());
        const matrix::Groups groups = matrix::order_entries(q, row.data(), a.col, a.nonzeros, a.rows, a.cols);
        col_ = matrix::fetch(q, a.col, groups.source);
        view_.col = col_.data();
        view_.sorted = true;
    }
    const Pattern& view() const { return view_; }

private:
    Pattern view_;
    Buffer<index_t> col_;
};

// Rows 0, 1, 2, … as sorts carry them.
template <class Queue>
Buffer<offset_t> all_rows(const Queue& q, index_t rows)
{
    Buffer<offset_t> row(q, rows);
    write_numbers(q, rows, row.data());
    return row;
}

template <class Queue>
Buffer<index_t> narrowed(const Queue& q, const Buffer<offset_t>& row)
{
    Buffer<index_t> narrow(q, row.size());
    take_rows(q, row.data(), row.size(), narrow.data());
    return narrow;
}

template <class Queue>
RowOrder natural_order(const Queue& q, const Pattern& a)
{
    Buffer<offset_t> one(q, 1), found(q, 1);
    const offset_t wanted = 1;
    upload(q, &wanted, one.data(), 1);
    prim::search_sorted(q, a.row_begin, offset_t{a.rows} + 1, one.data(), 1,
                        found.data());  // the end of the first row that is not empty
    return {OrderKind::natural, narrowed(q, all_rows(q, a.rows)),
            static_cast<index_t>(read_value(q, found.data()) - 1)};
}

template <class Queue>
RowOrder degree_order(const Queue& q, const Pattern& a, index_t empty)
{
    Buffer<offset_t> row = all_rows(q, a.rows);
    Buffer<std::uint64_t> key(q, a.rows);
    write_lengths(q, a, key.data());
    prim::sort_pairs(q, key.data(), row.data(), a.rows, prim::bits_for(static_cast<std::uint64_t>(a.nonzeros) + 1));
    return {OrderKind::degree, narrowed(q, row), empty == a.rows ? empty : 0};
}

template <class Queue>
RowOrder minhash_order(const Queue& q, const Pattern& a, int hashes, index_t empty)
{
    Buffer<offset_t> row = all_rows(q, a.rows);
    Buffer<std::uint32_t> key(q, a.rows);
    for (int hash = hashes - 1; hash >= 0; --hash) {
        write_minhashes(q, a, hash, row.data(), key.data());
        prim::sort_pairs(q, key.data(), row.data(), a.rows, prim::bits_for(static_cast<std::uint64_t>(a.cols) + 1));
    }
    return {OrderKind::minhash, narrowed(q, row), empty};
}

template <class Queue>
RowOrder pack_order(const Queue& q, const CpuQueue& host, const Pattern& a, index_t panel, index_t empty)
{
    const HostPattern here(q, host, a);
    Buffer<index_t> row(host, a.rows);
    pack_rows(host, here.view(), panel, row.data());
    return {OrderKind::pack, to_queue(q, row.data(), a.rows), empty == a.rows ? empty : 0};
}

template <class Queue>
RowOrder bsa_order(const Queue& q, const Pattern& a, const OrderOptions& options, index_t empty)
{
    Buffer<offset_t> row = all_rows(q, a.rows);
    const index_t n = a.rows - empty;
    Buffer<index_t> cluster(q, n);
    index_t clusters = 0;
    {
        const trace::Phase phase{"encode"};
        const Encodings e = encode_rows(q, a, options.tau);
        Buffer<std::uint64_t> key(q, a.rows);
        write_dispersions(q, e.view(), options.dispersion, key.data());
        prim::sort_pairs(q, key.data(), row.data(), a.rows);
        const trace::Phase inner{"cluster"};
        clusters = cluster_rows(q, e.view(), row.data() + empty, n, options.alpha, cluster.data());
    }
    Buffer<std::uint32_t> key(q, n);
    write_clusters(q, cluster.data(), n, key.data());
    prim::sort_pairs(q, key.data(), row.data() + empty, n, prim::bits_for(static_cast<std::uint64_t>(clusters)));
    return {OrderKind::bsa, narrowed(q, row), empty, clusters};
}

}  // namespace

RowOrder order_rows(const Context& ctx, const Pattern& a, const OrderOptions& options)
{
    check_options(options, a);
    const trace::Phase phase{"order rows"};
    return ctx.run([&](const auto& q) {
        const Sorted sorted(q, a, options.checked);
        const Pattern& p = sorted.view();
        if (options.kind == OrderKind::natural) return natural_order(q, p);
        const index_t empty =
            (options.lengths ? *options.lengths : row_statistics(ctx, a.rows, a.cols, a.row_begin)).empty_rows;
        switch (options.kind) {
        case OrderKind::natural: break;
        case OrderKind::degree: return degree_order(q, p, empty);
        case OrderKind::minhash: return minhash_order(q, p, options.hashes, empty);
        case OrderKind::pack: return pack_order(q, ctx.host(), p, options.panel, empty);
        case OrderKind::bsa: return bsa_order(q, p, options, empty);
        }
        throw ValueError("there is no such row order");
    });
}

PanelCost panel_cost(const Context& ctx, const Pattern& a, const RowOrder& order, index_t height)
{
    require<ValueError>(
        height >= 16 && height <= 128 && height % 16 == 0, [&] { return concat("panels of ", height, " rows"); },
        "16, 32, … 128");
    require(order.rows() == a.rows,
            [&] { return concat("an order of ", order.rows(), " rows for a matrix of ", a.rows); });
    return ctx.run([&](const auto& q) {
        const Sorted sorted(q, a, true);
        const offset_t outside = inspect::first_where(q, inspect::Outside{order.row.data(), 0, a.rows}, a.rows);
        require<ValueError>(outside == a.rows, "the order names rows that the matrix does not have");
        return count_panels(q, sorted.view(), order.row.data(), height, {ceil_div(a.rows, height)}).cost;
    });
}

}  // namespace tulle::inline TULLE_ABI::spmm
