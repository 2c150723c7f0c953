// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "io/formats/smtx.hpp"

#include <algorithm>

#include "io/assemble.hpp"
#include "io/text.hpp"
#include "tulle/memory.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::io {
namespace {

constexpr std::size_t write_at_once = std::size_t{1} << 16;

struct Sizes {
    offset_t rows, cols, entries;
};

Sizes read_sizes(Scanner& scan, const Text& text)
{
    if (text.bytes.find_first_not_of(" \t\r\n") == std::string_view::npos) text.fail(text.begin(), "the file is empty");
    const Scanner before = scan;
    std::string numbers(scan.rest_of_line());
    std::replace(numbers.begin(), numbers.end(), ',', ' ');
    const Text first{text.name, numbers};
    Scanner line(first, first.begin(), first.end());
    const offset_t rows = line.integer("number of rows"), cols = line.integer("number of columns"),
                   entries = line.integer("number of entries");
    if (!line.at_line_end()) line.fail(concat("unexpected ", line.quoted(), " after the sizes"));
    if (rows < 0 || rows > max_index) before.fail(concat("the number of rows ", rows, " is outside 0 … ", max_index));
    if (cols < 0 || cols > max_index)
        before.fail(concat("the number of columns ", cols, " is outside 0 … ", max_index));
    if (entries < 0) before.fail(concat("the number of entries ", entries, " is negative"));
    const auto present = static_cast<offset_t>(text.bytes.size());  // each number takes two characters
    if (rows > present / 2) before.fail(concat(rows, " rows are not in a file of ", present, " bytes"));
    if (entries > present / 2) before.fail(concat(entries, " entries are not in a file of ", present, " bytes"));
    scan.skip_line();
    return {rows, cols, entries};
}

Buffer<offset_t> read_offsets(const CpuQueue& q, Scanner& scan, const Sizes& sizes)
{
    Buffer<offset_t> row_begin(q, sizes.rows + 1);
    offset_t before = 0;
    for (offset_t i = 0; i <= sizes.rows; ++i) {
        if (scan.at_line_end()) scan.fail(concat("the line ends after ", i, " of ", sizes.rows + 1, " row offsets"));
        const offset_t offset = scan.integer("row offset");
        if (i == 0 && offset != 0) scan.fail(concat("the first row offset is ", offset, ", not 0"));
        if (offset < before) scan.fail(concat("row offset ", i, " is ", offset, ", below ", before, " before it"));
        if (offset > sizes.entries)
            scan.fail(concat("row offset ", i, " is ", offset, ", but there are ", sizes.entries, " entries"));
        before = row_begin.data()[i] = offset;
    }
    if (before != sizes.entries)
        scan.fail(concat("the last row offset is ", before, ", but there are ", sizes.entries, " entries"));
    if (!scan.at_line_end()) scan.fail(concat("unexpected ", scan.quoted(), " after ", sizes.rows + 1, " row offsets"));
    scan.skip_line();
    return row_begin;
}

Buffer<index_t> read_columns(const CpuQueue& q, Scanner& scan, const Text& text, const Sizes& sizes)
{
    Buffer<index_t> col(q, sizes.entries);
    for (offset_t k = 0; k < sizes.entries; ++k) {
        if (scan.at_line_end()) scan.fail(concat("the line ends after ", k, " of ", sizes.entries, " columns"));
        const offset_t j = scan.integer("column");
        if (j < 0 || j >= sizes.cols) scan.fail(concat("column ", j, " is outside 0 … ", sizes.cols - 1));
        col.data()[k] = static_cast<index_t>(j);
    }
    const std::string_view rest(scan.at(), static_cast<std::size_t>(text.end() - scan.at()));
    const auto more = std::find_if_not(rest.begin(), rest.end(), is_space);
    if (more != rest.end())
        Scanner(text, more, text.end())
            .fail(
                concat("unexpected ", Scanner(text, more, text.end()).quoted(), " after ", sizes.entries, " columns"));
    return col;
}

// Numbers with a blank between them and a line end behind.
template <class T>
void write_line(Sink& sink, const T* numbers, offset_t n)
{
    std::string text;
    for (offset_t k = 0; k < n; ++k) {
        text += std::to_string(numbers[k]) + (k + 1 < n ? " " : "");
        if (text.size() < write_at_once) continue;
        sink.write(text);
        text.clear();
    }
    sink.write(text + "\n");
}

}  // namespace

template <class V>
Csr<V> read_smtx(const CpuQueue& q, const Source& source, const ReadOptions& options, FileInfo& info)
{
    const Text text = text_of(source);
    Scanner scan(text, text.begin(), text.end());
    const Sizes sizes = read_sizes(scan, text);
    info = {.format = "DLMC smtx", .field = "pattern", .symmetry = "general", .stored = sizes.entries};
    Buffer<offset_t> row_begin = read_offsets(q, scan, sizes);
    if (options.progress) options.progress(0.1);
    Buffer<index_t> col = read_columns(q, scan, text, sizes);
    Csr<V> a{.rows = static_cast<index_t>(sizes.rows),
             .cols = static_cast<index_t>(sizes.cols),
             .row_begin = std::move(row_begin),
             .col = std::move(col),
             .value = Buffer<V>(q, sizes.entries)};
    fill_zero(q, a.value.data(), sizes.entries);
    a = assemble(q, std::move(a), info.duplicates);  // a column that stands twice in a row is one entry of the pattern
    set_pattern_values(q, a, options, info);
    if (options.progress) options.progress(1.0);
    return a;
}

template <class V>
void write_smtx(const CpuQueue&, Sink& sink, const CsrView<V>& a, const WriteOptions& options)
{
    sink.write(concat(a.rows, ", ", a.cols, ", ", a.nonzeros, "\n"));
    write_line(sink, a.row_begin, offset_t{a.rows} + 1);
    write_line(sink, a.col, a.nonzeros);
    if (options.progress) options.progress(1.0);
}

template Csr<float> read_smtx(const CpuQueue&, const Source&, const ReadOptions&, FileInfo&);
template Csr<double> read_smtx(const CpuQueue&, const Source&, const ReadOptions&, FileInfo&);
template void write_smtx(const CpuQueue&, Sink&, const CsrView<float>&, const WriteOptions&);
template void write_smtx(const CpuQueue&, Sink&, const CsrView<double>&, const WriteOptions&);

}  // namespace tulle::inline TULLE_ABI::io
