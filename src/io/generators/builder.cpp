// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "io/generators/builder.hpp"

#include <unistd.h>

#include <functional>

#include "io/share.hpp"
#include "tulle/error.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::io::detail {
namespace {

// All the machine has, or what the budget leaves. What is free just now says little: the system's caches give way.
std::size_t room(const Maker& m)
{
    const Memory& memory = *m.q.memory;
    const std::size_t machine =
        static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t budget = memory.budget(Space::host);
    return std::min(machine, budget - std::min(budget, memory.live(Space::host)));
}

bool strictly_ascending(std::span<const index_t> row)
{
    return std::adjacent_find(row.begin(), row.end(), std::greater_equal<>{}) == row.end();
}

void check_size(const Maker& m, offset_t size, std::string_view what)
{
    const auto problem = [&] {
        return concat(m.sentence, ": ", grouped(size), " ", what, " are more than ", grouped(max_index),
                      ", the most there can be");
    };
    require<ValueError>(size <= max_index, problem, "ask for a smaller matrix");
}

// Rows that are not strictly ascending become sorted; returns how many entries are repeats.
offset_t sort_rows(const Maker& m, Pattern& p)
{
    std::atomic<offset_t> repeats{0};
    for_each(m, p.rows, 0.6, 0.75, [&](offset_t i) {
        const std::span<const index_t> row = p.row(static_cast<index_t>(i));
        if (strictly_ascending(row)) return;
        index_t* first = p.col.data() + p.row_begin.data()[i];
        index_t* last = first + row.size();
        std::sort(first, last);
        offset_t again = 0;
        for (const index_t* j = first + 1; j != last; ++j) again += *j == *(j - 1);
        if (again > 0) repeats.fetch_add(again, std::memory_order_relaxed);
    });
    return repeats;
}

}  // namespace

index_t expect(const Maker& m, offset_t rows, offset_t cols, offset_t entries)
{
    check_size(m, rows, "rows");
    check_size(m, cols, "columns");
    const auto problem = [&] {
        return concat(m.sentence, ": ", grouped(entries), " entries are more than any memory holds");
    };
    require<ValueError>(entries <= max_offset / 32, problem, "ask for a smaller matrix");
    const std::size_t entry_bytes = sizeof(index_t) + m.value_bytes;
    const auto here = [&](offset_t n) { return static_cast<std::size_t>(ceil_div(n, offset_t{m.parts})); };
    const std::size_t bytes = (here(rows) + 1) * sizeof(offset_t) + here(entries) * entry_bytes;
    if (const std::size_t available = room(m); bytes > available)
        throw OutOfMemory(concat(m.sentence, " has ", grouped(rows), " rows and about ", grouped(entries), " entries",
                                 m.parts > 1 ? concat(", a part in ", m.parts, " of them here") : "", ": ",
                                 human_bytes(bytes), " needed, ", human_bytes(available), " available"),
                          bytes, available, "ask for a smaller matrix, or raise the budget where there is one");
    return static_cast<index_t>(rows);
}

Pattern rows_of_part(const Maker& m, index_t all_rows, index_t cols)
{
    const auto first = static_cast<index_t>(share_of(all_rows, m.part, m.parts));
    const auto rows = static_cast<index_t>(share_of(all_rows, m.part + 1, m.parts) - first);
    return {rows, cols, Buffer<offset_t>(m.q, offset_t{rows} + 1), {}, first, all_rows};
}

void tidy(const Maker& m, Pattern& p)
{
    if (sort_rows(m, p) == 0) return;
    Buffer<offset_t> begin(m.q, offset_t{p.rows} + 1);
    for_each(m, p.rows, 0.75, 0.8, [&](offset_t i) {
        const auto row = p.row(static_cast<index_t>(i));
        offset_t kept = row.empty() ? 0 : 1;
        for (std::size_t at = 1; at < row.size(); ++at) kept += row[at] != row[at - 1];
        begin.data()[i] = kept;
    });
    prim::exclusive_scan(m.q, begin.data(), begin.data(), p.rows);
    Buffer<index_t> col(m.q, begin.data()[p.rows]);
    for_each(m, p.rows, 0.8, 0.85, [&](offset_t i) {
        const auto row = p.row(static_cast<index_t>(i));
        std::unique_copy(row.begin(), row.end(), col.data() + begin.data()[i]);
    });
    p.row_begin = std::move(begin);
    p.col = std::move(col);
}

}  // namespace tulle::inline TULLE_ABI::io::detail
