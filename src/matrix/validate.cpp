// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What is wrong with a matrix, from the outside in: sizes and pointers, offsets, indices, order, values. Each stage
// looks only where the stages before have shown that it may: offsets are followed once they are known to be sound. The
// first stage that finds a problem writes the sentence, about the first row (entry, block row) that has it, whatever
// the backend and the number of threads.
#include "tulle/validate.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "base/plural.hpp"
#include "matrix/inspect_steps.hpp"
#include "prim/sort.hpp"
#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI {
namespace {

using namespace inspect;

Findings problem(index_t row, std::string sentence)
{
    Findings found;
    found.problem = row < 0 ? std::move(sentence) : std::move(sentence) + " (rows and columns count from 0)";
    found.row = row;
    return found;
}

// ---- order

// What was found about the order of n entries; n stands for "nowhere".
struct Arrangement {
    offset_t descent;              // first entry that comes after a larger one
    offset_t repeat, repeated_at;  // first two places with the same position
};

// Equal positions that need not be neighbours: they are after sorting.
template <class Queue, class Key>
Arrangement find_repeat_by_sorting(const Queue& q, const Key& key, offset_t n, offset_t descent)
{
    Buffer<std::uint64_t> sorted(q, n);
    Buffer<offset_t> position(q, n);
    write_keys(q, key, n, sorted.data(), position.data());
    prim::sort_pairs(q, sorted.data(), position.data(), n);
    const offset_t k = first_where(q, SameKey{sorted.data()}, n);
    if (k == n) return {descent, n, n};
    return {descent, read_value(q, position.data() + k - 1), read_value(q, position.data() + k)};
}

template <class Queue, class Order>
Arrangement find_arrangement(const Queue& q, Order order, offset_t n)
{
    order.repeats = true;
    const offset_t k = first_where(q, order, n);
    if (k == n) return {n, n, n};  // the usual case needs one pass
    order.repeats = false;
    const offset_t descent = first_where(q, order, n);
    if (descent == n) return {n, k - 1, k};
    return find_repeat_by_sorting(q, order.key, n, descent);
}

// ---- compressed rows, or columns: the words differ

struct Words {
    const char *row, *col, *begin, *index;
};
constexpr Words of_rows{"row", "column", "row_begin", "col"};
constexpr Words of_columns{"column", "row", "col_begin", "row"};

template <class Queue, class V>
Findings offset_problem(const Queue& q, const CsrView<V>& a, const Words& say)
{
    const offset_t first = read_value(q, a.row_begin);
    if (first != 0) return problem(a.rows > 0 ? 0 : -1, concat(say.begin, " starts at ", first, ", not at 0"));
    const auto row = static_cast<index_t>(first_where(q, BadBegin{a.row_begin, a.nonzeros}, a.rows));
    const offset_t begin = read_value(q, a.row_begin + row);
    if (row == a.rows)
        return begin == a.nonzeros ? Findings{}
                                   : problem(-1, concat(say.begin, " ends at ", begin, ", but there ",
                                                        plural(a.nonzeros, "is ", "are "), a.nonzeros,
                                                        plural(a.nonzeros, " nonzero", " nonzeros")));
    const offset_t end = read_value(q, a.row_begin + row + 1);
    if (end < begin)
        return problem(row, concat(say.begin, " falls from ", begin, " to ", end, " at ", say.row, " ", row));
    return problem(row,
                   concat(say.begin, " reaches ", end, " at ", say.row, " ", row, ", but there ",
                          plural(a.nonzeros, "is ", "are "), a.nonzeros, plural(a.nonzeros, " nonzero", " nonzeros")));
}

// The row of a position, looked up entry by entry: only for sentences.
template <class Queue>
index_t row_of(const Queue& q, const offset_t* row_begin, index_t rows, offset_t position)
{
    index_t low = 0, high = rows - 1;
    while (low < high) {
        const index_t middle = low + (high - low) / 2;
        if (read_value(q, row_begin + middle + 1) <= position) low = middle + 1;
        else high = middle;
    }
    return low;
}

template <class Queue, class V>
Findings index_problem(const Queue& q, const CsrView<V>& a, const Words& say)
{
    const offset_t k = first_where(q, Outside{a.col, 0, a.cols}, a.nonzeros);
    if (k == a.nonzeros) return {};
    const index_t row = row_of(q, a.row_begin, a.rows, k), col = read_value(q, a.col + k);
    const std::string where = concat(say.row, " ", row, ": ", say.col, " ", col, " at position ", k);
    return problem(row, a.cols == 0 ? concat(where, " in a matrix without ", say.col, "s")
                                    : concat(where, " is outside 0 … ", a.cols - 1));
}

template <class Queue, class V>
Findings order_findings(const Queue& q, const CsrView<V>& a, const Words& say)
{
    const offset_t n = a.nonzeros;
    const Arrangement at = find_arrangement(q, RowOrder{{a.row_begin, a.rows, a.col}}, n);
    Findings found;
    if (at.descent < n && a.sorted) {
        const index_t row = row_of(q, a.row_begin, a.rows, at.descent);
        found = problem(row, concat(say.row, " ", row, ": ", say.col, "s ", read_value(q, a.col + at.descent - 1), ", ",
                                    read_value(q, a.col + at.descent), " at positions ", at.descent - 1, ", ",
                                    at.descent, " are not ascending, but the view says sorted"));
    } else if (at.repeat < n && a.unique) {
        const index_t row = row_of(q, a.row_begin, a.rows, at.repeat);
        found = problem(row, concat(say.row, " ", row, ": ", say.col, " ", read_value(q, a.col + at.repeat),
                                    " stands at positions ", at.repeat, " and ", at.repeated_at,
                                    ", but the view says unique"));
    }
    found.sorted = at.descent == n;
    found.unique = at.repeat == n;
    return found;
}

// Everything but the numbers.
template <class Queue, class V>
Findings inspect_pattern(const Queue& q, const CsrView<V>& a, const matrix::Outline& outline, const Words& say)
{
    if (const std::string outer = outline_problem(q, outline); !outer.empty()) return problem(-1, outer);
    if (const Findings offsets = offset_problem(q, a, say); !offsets.ok()) return offsets;
    if (const Findings indices = index_problem(q, a, say); !indices.ok()) return indices;
    return order_findings(q, a, say);
}

template <class Queue, class V>
Findings inspect_compressed(const Queue& q, const CsrView<V>& a, const matrix::Outline& outline, const Words& say)
{
    Findings found = inspect_pattern(q, a, outline, say);
    if (found.ok() || !found.sorted || !found.unique)
        found.not_finite = count_where(q, NotFinite<V>{a.value}, a.nonzeros);  // only the order is wrong
    return found;
}

// ---- coordinates

template <class Queue, class V>
Findings index_problem(const Queue& q, const CooView<V>& a)
{
    const offset_t row_at = first_where(q, Outside{a.row, 0, a.rows}, a.nonzeros);
    const offset_t col_at = first_where(q, Outside{a.col, 0, a.cols}, a.nonzeros);
    const offset_t k = std::min(row_at, col_at);
    if (k == a.nonzeros) return {};
    const index_t row = read_value(q, a.row + k);
    const std::string what = row_at == k ? concat("row ", row) : concat("column ", read_value(q, a.col + k));
    const index_t limit = row_at == k ? a.rows : a.cols;
    return problem(row, limit == 0 ? concat("entry ", k, ": ", what, " in a matrix without any")
                                   : concat("entry ", k, ": ", what, " is outside 0 … ", limit - 1));
}

template <class Queue, class V>
std::string entry_text(const Queue& q, const CooView<V>& a, offset_t k)
{
    return concat("(", read_value(q, a.row + k), ", ", read_value(q, a.col + k), ")");
}

template <class Queue, class V>
Findings order_findings(const Queue& q, const CooView<V>& a)
{
    const offset_t n = a.nonzeros;
    const Arrangement at =
        find_arrangement(q, PairOrder{a.order == CooOrder::by_col ? PairKey{a.col, a.row} : PairKey{a.row, a.col}}, n);
    Findings found;
    if (at.descent < n && a.order != CooOrder::none)
        found = problem(read_value(q, a.row + at.descent),
                        concat("entry ", at.descent, ": ", entry_text(q, a, at.descent), " comes after ",
                               entry_text(q, a, at.descent - 1), ", but the view says ",
                               a.order == CooOrder::by_col ? "by_col" : "by_row"));
    else if (at.repeat < n && a.unique)
        found = problem(read_value(q, a.row + at.repeat),
                        concat("entries ", at.repeat, " and ", at.repeated_at, " both stand at ",
                               entry_text(q, a, at.repeat), ", but the view says unique"));
    found.sorted = at.descent == n;
    found.unique = at.repeat == n;
    return found;
}

template <class Queue, class V>
Findings inspect_coordinates(const Queue& q, const CooView<V>& a)
{
    if (const std::string outer = outline_problem(q, matrix::outline(a)); !outer.empty()) return problem(-1, outer);
    if (const Findings indices = index_problem(q, a); !indices.ok()) return indices;
    Findings found = order_findings(q, a);
    found.not_finite = count_where(q, NotFinite<V>{a.value}, a.nonzeros);
    return found;
}

// ---- Blocked-ELL

template <class Queue, class V>
Findings block_problem(const Queue& q, const BlockedEllView<V>& a)
{
    const auto place = [&](offset_t k) { return concat("block row ", k / a.width, ": slot ", k % a.width); };
    const auto row = [&](offset_t k) { return static_cast<index_t>(k / a.width * a.block); };
    if (const offset_t k = first_where(q, Outside{a.block_col, -1, a.block_cols()}, a.slots()); k < a.slots())
        return problem(row(k), concat(place(k), " has block column ", read_value(q, a.block_col + k), ", outside -1 … ",
                                      a.block_cols() - 1));
    if (const offset_t k = first_where(q, BlockAfterPadding{a.block_col, a.width}, a.slots()); k < a.slots())
        return problem(row(k),
                       concat(place(k), " has block column ", read_value(q, a.block_col + k), " behind padding"));
    return {};
}

template <class Queue, class V>
Findings edge_problem(const Queue& q, const BlockedEllView<V>& a, offset_t values)
{
    const BlockValue<V> at{nullptr, nullptr, a.rows, a.cols, a.block, a.width};
    const offset_t k =
        first_where(q, NotZeroBeyondEdge<V>{{a.block_col, a.value, a.rows, a.cols, a.block, a.width}}, values);
    if (k == values) return {};
    const offset_t col = offset_t{read_value(q, a.block_col + at.slot(k))} * a.block + k % a.block;
    return problem(static_cast<index_t>(at.slot(k) / a.width * a.block),
                   concat("block row ", at.slot(k) / a.width, ": the value at position ", k, " stands at (", at.row(k),
                          ", ", col, "), outside the matrix, and is not zero"));
}

template <class Queue, class V>
Findings inspect_blocks(const Queue& q, const BlockedEllView<V>& a)
{
    const matrix::Outline outline = matrix::outline(a);
    if (const std::string outer = outline_problem(q, outline); !outer.empty()) return problem(-1, outer);
    const offset_t values = outline.arrays[1].size;
    if (const Findings blocks = block_problem(q, a); !blocks.ok()) return blocks;
    Findings found = edge_problem(q, a, values);
    const Arrangement at = find_arrangement(q, SlotOrder{{a.block_col, a.width}}, a.slots());
    found.sorted = at.descent == a.slots();
    found.unique = at.repeat == a.slots();
    found.not_finite =
        count_where(q, NotFiniteInBlock<V>{{a.block_col, a.value, a.rows, a.cols, a.block, a.width}}, values);
    return found;
}

}  // namespace

template <class V>
Findings validate(const Context& ctx, const CsrView<V>& a)
{
    return ctx.run([&](const auto& q) { return inspect_compressed(q, a, matrix::outline(a), of_rows); });
}

Findings detail::validate_pattern(const Context& ctx, const CsrView<float>& pattern, const void* value)
{
    matrix::Outline outline = matrix::outline(pattern);
    outline.arrays[2].data = value;
    return ctx.run([&](const auto& q) { return inspect_pattern(q, pattern, outline, of_rows); });
}

template <class V>
Findings validate(const Context& ctx, const CscView<V>& a)
{
    return ctx.run([&](const auto& q) { return inspect_compressed(q, transposed(a), matrix::outline(a), of_columns); });
}

template <class V>
Findings validate(const Context& ctx, const CooView<V>& a)
{
    return ctx.run([&](const auto& q) { return inspect_coordinates(q, a); });
}

template <class V>
Findings validate(const Context& ctx, const BlockedEllView<V>& a)
{
    return ctx.run([&](const auto& q) { return inspect_blocks(q, a); });
}

namespace {

// The offsets are looked at when they are wide; what comes before that is said of the view as it is.
template <class View>
Findings validate_widened(const Context& ctx, const View& a)
{
    const std::string outer = ctx.run([&](const auto& q) { return outline_problem(q, matrix::outline(a)); });
    if (!outer.empty()) return problem(-1, outer);
    Buffer<offset_t> wide;
    return validate(ctx, matrix::widened_unchecked(ctx, a, wide));
}

}  // namespace

template <class V>
Findings validate(const Context& ctx, const Csr32View<V>& a)
{
    return validate_widened(ctx, a);
}
template <class V>
Findings validate(const Context& ctx, const Csc32View<V>& a)
{
    return validate_widened(ctx, a);
}

template Findings validate(const Context&, const CsrView<float>&);
template Findings validate(const Context&, const CsrView<double>&);
template Findings validate(const Context&, const CscView<float>&);
template Findings validate(const Context&, const CscView<double>&);
template Findings validate(const Context&, const CooView<float>&);
template Findings validate(const Context&, const CooView<double>&);
template Findings validate(const Context&, const BlockedEllView<float>&);
template Findings validate(const Context&, const BlockedEllView<double>&);
template Findings validate(const Context&, const Csr32View<float>&);
template Findings validate(const Context&, const Csr32View<double>&);
template Findings validate(const Context&, const Csc32View<float>&);
template Findings validate(const Context&, const Csc32View<double>&);

}  // namespace tulle::inline TULLE_ABI
