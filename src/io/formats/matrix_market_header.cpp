// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "io/formats/matrix_market_header.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "io/limits.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::io {
namespace {

constexpr std::array<std::string_view, 2> layouts{"coordinate", "array"};
constexpr std::array<std::string_view, 4> fields{"real", "integer", "complex", "pattern"};
constexpr std::array<std::string_view, 4> symmetries{"general", "symmetric", "skew-symmetric", "hermitian"};

// The next word of the banner as one of the names it may be.
template <class E>
E choose_word(Scanner& scan, const char* what, std::span<const std::string_view> names)
{
    std::string known;
    for (const std::string_view name : names) known += (known.empty() ? "" : ", ") + std::string(name);
    if (scan.at_line_end()) scan.fail(concat("the banner ends before the ", what), "known: " + known);
    Scanner before = scan;
    const std::string_view word = scan.word();
    const auto found =
        std::find_if(names.begin(), names.end(), [&](std::string_view name) { return same_word(word, name); });
    if (found == names.end()) before.fail(concat("unknown ", what, " ", before.quoted()), "known: " + known);
    return static_cast<E>(found - names.begin());
}

void read_banner(Scanner& scan, const Text& text, MarketHeader& header)
{
    if (scan.at_line_end() && text.bytes.find_first_not_of(" \t\r\n") == std::string_view::npos)
        scan.fail("the file is empty");
    Scanner before = scan;
    if (!same_word(scan.word(), "%%MatrixMarket")) {
        const bool packed = text.bytes.starts_with("\x1f\x8b") || text.bytes.starts_with("\xfd"
                                                                                         "7zXZ");
        before.fail(concat("the first line must begin with '%%MatrixMarket', not ", before.quoted()),
                    packed ? "the file is compressed: name it .mtx.gz or .mtx.xz"
                           : "a banner is: %%MatrixMarket matrix coordinate real general");
    }
    enum class Object { matrix };
    choose_word<Object>(scan, "object", std::array<std::string_view, 1>{"matrix"});
    header.layout = choose_word<MarketLayout>(scan, "format", layouts);
    header.field = choose_word<Field>(scan, "field", fields);
    header.symmetry = choose_word<Symmetry>(scan, "symmetry", symmetries);
    if (!scan.at_line_end()) scan.fail(concat("unexpected ", scan.quoted(), " at the end of the banner"));
}

// Words that are known but do not go together.
void check_banner(const Text& text, const MarketHeader& header, const ReadOptions& options)
{
    const bool pattern = header.field == Field::pattern, complex = header.field == Field::complex;
    if (pattern && header.layout == MarketLayout::array) text.fail(text.begin(), "an array cannot be a pattern");
    if (pattern && header.symmetry == Symmetry::skew)
        text.fail(text.begin(), "a pattern cannot be skew-symmetric: it has no signs");
    if (!complex && header.symmetry == Symmetry::hermitian)
        text.fail(text.begin(), "only complex matrices are hermitian");
    if (complex && options.complex == Complex::refuse)
        text.fail(text.begin(), "the matrix is complex, tulle's are real",
                  "ask for the real part (ReadOptions::complex) to read it all the same");
}

void read_comments(Scanner& scan, MarketHeader& header)
{
    scan.skip_line();
    for (;;) {
        if (scan.at_end()) return;
        if (!scan.at_line_end()) {
            const std::string_view line = scan.rest_of_line();
            if (line.front() != '%') return;
            const std::size_t first = std::min(line.find_first_not_of("% \t"), line.size());
            if (first < line.size()) header.comment += std::string(line.substr(first)) + "\n";
        }
        scan.skip_line();
    }
}

index_t read_size(Scanner& scan, const char* what, index_t limit)
{
    Scanner before = scan;
    const offset_t size = scan.integer(what);
    if (size < 0) before.fail(concat("the ", what, " ", size, " is negative"));
    if (size > limit) before.fail(concat("the ", what, " ", size, " exceeds ", limit));
    return static_cast<index_t>(size);
}

offset_t entries_of_array(const MarketHeader& header)
{
    const offset_t n = header.rows;
    switch (header.symmetry) {
    case Symmetry::general: return n * header.cols;
    case Symmetry::skew: return n * (n - 1) / 2;
    default: return n * (n + 1) / 2;
    }
}

void read_size_line(Scanner& scan, const Text& text, const ReadOptions& options, MarketHeader& header)
{
    if (scan.at_end()) text.fail_at_end("the file ends before the line with the sizes");
    const Scanner before = scan;
    header.size_line = text.line_of(scan.at());
    const index_t limit =
        header.symmetry == Symmetry::general ? max_index : max_index - 1;  // assemble() needs one row more
    header.rows = read_size(scan, "number of rows", limit);
    header.cols = read_size(scan, "number of columns", limit);
    header.entries =
        header.layout == MarketLayout::array ? entries_of_array(header) : scan.integer("number of entries");
    if (header.entries < 0) before.fail(concat("the number of entries ", header.entries, " is negative"));
    if (!scan.at_line_end()) scan.fail(concat("unexpected ", scan.quoted(), " after the sizes"));
    if (header.symmetry != Symmetry::general && header.rows != header.cols)
        before.fail(concat("a ", symmetries[static_cast<std::size_t>(header.symmetry)],
                           " matrix must be square, this one has ", header.rows, " rows and ", header.cols,
                           " columns"));
    if (!rows_are_justified(header.rows, text.bytes.size(), options))
        before.fail(too_many_rows(header.rows, text.bytes.size()), too_many_rows_hint);
    scan.skip_line();
    header.body = scan.at();
}

}  // namespace

Mirror MarketHeader::mirror() const
{
    if (symmetry == Symmetry::general) return Mirror::none;
    return symmetry == Symmetry::skew ? Mirror::negated : Mirror::same;
}

MarketHeader read_market_header(const Text& text, const ReadOptions& options)
{
    MarketHeader header;
    Scanner scan(text, text.begin(), text.end());
    read_banner(scan, text, header);
    check_banner(text, header, options);
    read_comments(scan, header);
    read_size_line(scan, text, options, header);
    return header;
}

FileInfo describe(const MarketHeader& header)
{
    FileInfo info;
    info.field = fields[static_cast<std::size_t>(header.field)];
    info.symmetry = symmetries[static_cast<std::size_t>(header.symmetry)];
    info.format =
        concat("Matrix Market ", layouts[static_cast<std::size_t>(header.layout)], " ", info.field, " ", info.symmetry);
    info.stored = header.entries;
    info.comment = header.comment;
    return info;
}

}  // namespace tulle::inline TULLE_ABI::io
