// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "io/narrowing.hpp"

#include <algorithm>
#include <cmath>

#include "tulle/float16.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::io {
namespace {

constexpr offset_t worth_threads = offset_t{1} << 13;  // entries below which starting threads costs more than it saves

// How many entries `lost` speaks of, and the first of them.
template <class V, class F>
Occurrences find_losses(const CpuQueue& q, const Csr<V>& a, F&& lost)
{
    offset_t count = 0, first = a.nonzeros();
    const bool large = a.nonzeros() > worth_threads;
#pragma omp parallel for num_threads(q.threads) reduction(+ : count) reduction(min : first) if (large)
    for (offset_t k = 0; k < a.nonzeros(); ++k)
        if (lost(a.value.data()[k])) {
            ++count;
            first = std::min(first, k);
        }
    if (count == 0) return {};
    const offset_t* begin = a.row_begin.data();
    const auto row = static_cast<index_t>(std::upper_bound(begin, begin + a.rows + 1, first) - begin - 1);
    return {.count = count, .line = 0, .row = row, .col = a.col.data()[first]};
}

// Two reports as one; the place of the one that was there stays.
void add(Occurrences& to, const Occurrences& more)
{
    const offset_t count = to.count + more.count;
    if (to.count == 0) to = more;
    to.count = count;
}

template <class To, class V>
void report_narrowing_to(const CpuQueue& q, const Csr<V>& a, FileInfo& info)
{
    const auto narrowed = [](V value) { return static_cast<float>(To(value)); };
    add(info.overflowed,
        find_losses(q, a, [&](V value) { return std::isfinite(value) && std::isinf(narrowed(value)); }));
    add(info.underflowed, find_losses(q, a, [&](V value) { return value != V(0) && narrowed(value) == 0; }));
    if (info.field != "integer") return;
    add(info.rounded, find_losses(q, a, [&](V value) {
            return value != V(0) && std::isfinite(narrowed(value)) && static_cast<V>(narrowed(value)) != value;
        }));
}

Warning warning(const std::string& file, const char* kind, const Occurrences& found, const char* one, const char* many)
{
    const std::string line = found.line > 0 ? concat(":", found.line) : "";
    const std::string place =
        concat("row ", found.row + offset_t{1}, ", column ", found.col + offset_t{1}, ", counted from 1");
    return {kind,
            concat(file, line, ": ", grouped(found.count), " ", found.count == 1 ? one : many,
                   found.count == 1 ? " (" : " (the first: ", place, ")"),
            found};
}

}  // namespace

template <class V>
void report_narrowing(const CpuQueue& q, const Csr<V>& a, const ReadOptions& options, FileInfo& info)
{
    if (options.narrow == Narrow::f16) report_narrowing_to<Float16>(q, a, info);
    if (options.narrow == Narrow::bf16) report_narrowing_to<Bfloat16>(q, a, info);
}

std::vector<Warning> warnings(const std::string& file, const FileInfo& info)
{
    std::vector<Warning> all;
    if (info.overflowed.count > 0)
        all.push_back(warning(file, "overflow", info.overflowed, "value is too large for its type and became infinite",
                              "values are too large for their type and became infinite"));
    if (info.underflowed.count > 0)
        all.push_back(warning(file, "underflow", info.underflowed, "value is too small for its type and became zero",
                              "values are too small for their type and became zero"));
    if (info.rounded.count > 0)
        all.push_back(warning(file, "rounding", info.rounded,
                              "whole number has more digits than its type and was rounded",
                              "whole numbers have more digits than their type and were rounded"));
    return all;
}

void refuse_losses(const std::string& file, const ReadOptions& options, const FileInfo& info)
{
    if (!options.strict) return;
    const std::vector<Warning> all = warnings(file, info);
    if (!all.empty()) throw FormatError(all.front().message, "read it in a wider type, or not strictly");
}

template void report_narrowing(const CpuQueue&, const Csr<float>&, const ReadOptions&, FileInfo&);
template void report_narrowing(const CpuQueue&, const Csr<double>&, const ReadOptions&, FileInfo&);

}  // namespace tulle::inline TULLE_ABI::io
