// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The text behind the header is cut at line ends. A first pass counts the entries of each piece, which says where in
// the file's order each piece begins; a second one reads the numbers. Memory is asked for by what was counted, never by
// what the header claims.
#include <algorithm>
#include <utility>
#include <vector>

#include "io/chunks.hpp"
#include "io/formats/matrix_market.hpp"
#include "io/formats/matrix_market_part.hpp"
#include "io/narrowing.hpp"
#include "tulle/text.hpp"
#include "tulle/trace.hpp"

namespace tulle::inline TULLE_ABI::io {
namespace {

using Piece = MarketPiece;

offset_t count_entries(const Text& text, std::string_view piece)
{
    Scanner scan(text, piece.data(), piece.data() + piece.size());
    offset_t n = 0;
    for (; scan.next_entry(); scan.skip_line()) ++n;
    return n;
}

// The pieces with their first entries, and behind them the number of all entries.
std::vector<Piece> find_pieces(const CpuQueue& q, const Text& text, std::string_view body, const Progress& progress)
{
    const std::vector<std::string_view> cut = cut_at_lines(q, body);
    std::vector<Piece> pieces(cut.size() + 1);
    for_each_chunk(q, std::ssize(cut), progress, [&](offset_t c) {
        pieces[static_cast<std::size_t>(c)].text = cut[static_cast<std::size_t>(c)];
        pieces[static_cast<std::size_t>(c) + 1].begin = count_entries(text, cut[static_cast<std::size_t>(c)]);
    });
    for (std::size_t p = 1; p < pieces.size(); ++p) pieces[p].begin += pieces[p - 1].begin;
    return pieces;
}

struct Position {
    index_t i, j;
};

// Positions of an array file: columns one after the other, from the diagonal (skew: from below it) where only a
// triangle is stored.
class ArrayWalk {
public:
    ArrayWalk(const MarketHeader& header, offset_t k)
        : rows_(header.rows),
          triangle_(header.symmetry != Symmetry::general)
    {
        skip_ = header.symmetry == Symmetry::skew ? 1 : 0;
        if (k >= header.entries) return;
        index_t low = 0, high = header.cols;  // the last column that does not begin behind k
        while (high - low > 1) {
            const index_t middle = low + (high - low) / 2;
            (begin_of(middle) <= k ? low : high) = middle;
        }
        at_ = {static_cast<index_t>(first_row(low) + (k - begin_of(low))), low};
    }
    Position next()
    {
        const Position here = at_;
        if (++at_.i == rows_) at_ = {first_row(at_.j + 1), at_.j + 1};
        return here;
    }

private:
    index_t first_row(index_t j) const { return triangle_ ? j + skip_ : 0; }
    offset_t begin_of(offset_t j) const { return triangle_ ? j * (rows_ - skip_) - j * (j - 1) / 2 : j * rows_; }

    offset_t rows_;
    bool triangle_;
    index_t skip_;
    Position at_{0, 0};
};

// Reads the entries of one piece into the arrays for all, which begin with entry `first` of the file.
template <class V>
class PieceReader {
public:
    PieceReader(const Text& text, const MarketHeader& header, Coo<V>& to, offset_t first = 0)
        : text_(text),
          header_(header),
          to_(to),
          first_(first)
    {}

    void read(Piece& piece) const
    {
        Scanner scan(text_, piece.text.data(), piece.text.data() + piece.text.size());
        ArrayWalk walk(header_, piece.begin);
        for (offset_t k = piece.begin; scan.next_entry(); ++k) {
            if (k >= header_.entries)
                scan.fail(concat("more than the ", header_.entries, header_.entries == 1 ? " entry" : " entries",
                                 " that line ", header_.size_line, " announces"));
            const Position at = header_.layout == MarketLayout::coordinate ? read_position(scan) : walk.next();
            const char* line = scan.at();
            const V value = read_value(scan);
            if (scan.loss() != Loss::none) [[unlikely]]
                note(scan.loss() == Loss::rounded ? piece.rounded : piece.underflowed, at, line);
            scan.end_entry();
            if (header_.layout == MarketLayout::coordinate || value != V(0)) keep(piece, at, value);
        }
    }

private:
    Position read_position(Scanner& scan) const
    {
        const Scanner before = scan;
        const index_t i = scan.index("row", header_.rows);
        const index_t j = scan.index("column", header_.cols);
        if (header_.symmetry != Symmetry::general && (i < j || (i == j && header_.symmetry == Symmetry::skew)))
            fail_triangle(before, i, j);
        return {i, j};
    }

    [[noreturn]] void fail_triangle(const Scanner& before, index_t i, index_t j) const
    {
        const std::string entry = concat("entry (", i + offset_t{1}, ", ", j + offset_t{1}, "), counted from 1, lies ");
        if (i == j) before.fail(entry + "on the diagonal of a skew-symmetric matrix, which is zero");
        before.fail(concat(entry, "above the diagonal; a ", describe(header_).symmetry,
                           " file holds the lower triangle"),
                    "store the lower triangle, or all entries as general");
    }

    V read_value(Scanner& scan) const
    {
        switch (header_.field) {
        case Field::real: return scan.real<V>();
        case Field::integer: return scan.whole<V>();
        case Field::complex: {
            const V real_part = scan.real<V>();
            const Loss lost = scan.loss();
            scan.real<V>();
            scan.loss(lost);  // what the imaginary part loses does not matter
            return real_part;
        }
        case Field::pattern: return V(1);
        }
        return V(0);
    }

    void note(Occurrences& found, Position at, const char* where) const
    {
        if (found.count++ == 0) found = {.count = 1, .line = text_.line_of(where), .row = at.i, .col = at.j};
    }

    void keep(Piece& piece, Position at, V value) const
    {
        const offset_t k = piece.begin - first_ + piece.kept++;
        to_.row.data()[k] = at.i;
        to_.col.data()[k] = at.j;
        to_.value.data()[k] = value;
    }

    const Text& text_;
    const MarketHeader& header_;
    Coo<V>& to_;
    offset_t first_;
};

// The lines of one of several parts of a text: those that begin in its share of the bytes.
std::string_view lines_of_part(std::string_view body, int part, int parts)
{
    const auto cut = [&](int p) {
        if (p == 0) return std::size_t{0};
        const std::size_t n = body.size(), all = static_cast<std::size_t>(parts), r = static_cast<std::size_t>(p);
        const std::size_t byte = n / all * r + n % all * r / all;
        if (byte == 0 || byte == n) return byte;
        return std::min(body.find('\n', byte - 1), n - 1) + 1;
    };
    return body.substr(cut(part), cut(part + 1) - cut(part));
}

[[noreturn]] void fail_too_few(const Text& text, const MarketHeader& header, offset_t present)
{
    text.fail_at_end(concat("the file ends after ", present, " of ", header.entries, " entries that line ",
                            header.size_line, " announces"));
}

// Moves what the pieces kept together; returns how many there are.
template <class V>
offset_t close_gaps(const std::vector<Piece>& pieces, Coo<V>& entries)
{
    offset_t n = 0;
    for (const Piece& piece : pieces) {
        if (n != piece.begin) {
            const auto move = [&](auto* array) {
                std::copy(array + piece.begin, array + piece.begin + piece.kept, array + n);
            };
            move(entries.row.data());
            move(entries.col.data());
            move(entries.value.data());
        }
        n += piece.kept;
    }
    return n;
}

// Reports of pieces, in the order of the file, as one.
Occurrences together(const std::vector<Piece>& pieces, Occurrences Piece::*which)
{
    Occurrences all;
    for (const Piece& piece : pieces) {
        const Occurrences& part = piece.*which;
        const offset_t count = all.count + part.count;
        if (all.count == 0) all = part;
        all.count = count;
    }
    return all;
}

// The line on which an entry stands for the n-th time, itself or as the mirror image that the file stores; 0 where it
// does not.
offset_t line_of_entry(const Text& text, const MarketHeader& header, index_t row, index_t col, int n)
{
    const bool mirrored = header.symmetry != Symmetry::general && col > row;
    if (mirrored) std::swap(row, col);
    Scanner scan(text, header.body, text.end());
    ArrayWalk walk(header, 0);
    for (; scan.next_entry(); scan.skip_line()) {
        const offset_t line = scan.at() - text.begin();
        const bool listed = header.layout == MarketLayout::coordinate;
        const Position at =
            listed ? Position{scan.index("row", header.rows), scan.index("column", header.cols)} : walk.next();
        if (at.i == row && at.j == col && --n == 0) return text.line_of(text.begin() + line);
    }
    return 0;
}

// Reports that were made from the matrix get their lines.
void find_lines(const Text& text, const MarketHeader& header, FileInfo& info)
{
    if (info.duplicates.count > 0)
        info.duplicates.line = line_of_entry(text, header, info.duplicates.row, info.duplicates.col, 2);
    for (Occurrences* found : {&info.overflowed, &info.underflowed, &info.rounded})
        if (found->count > 0 && found->line == 0) found->line = line_of_entry(text, header, found->row, found->col, 1);
}

}  // namespace

template <class V>
Csr<V> read_matrix_market(const CpuQueue& q, const Source& source, const ReadOptions& options, FileInfo& info)
{
    const Text text = text_of(source);
    const MarketHeader header = read_market_header(text, options);
    info = describe(header);

    const std::string_view body{header.body, static_cast<std::size_t>(text.end() - header.body)};
    std::vector<Piece> pieces = find_pieces(q, text, body, part_of(options.progress, 0.0, 0.1));
    const offset_t present = pieces.back().begin;
    pieces.pop_back();
    Coo<V> entries = Coo<V>::make(q, header.rows, header.cols, std::min(present, header.entries));
    const PieceReader<V> reader(text, header, entries);
    for_each_chunk(q, std::ssize(pieces), part_of(options.progress, 0.1, 0.8),
                   [&](offset_t p) { reader.read(pieces[static_cast<std::size_t>(p)]); });
    if (present < header.entries) fail_too_few(text, header, present);

    CooView<V> all = entries.view();
    all.nonzeros = close_gaps(pieces, entries);
    info.underflowed = together(pieces, &Piece::underflowed);
    info.rounded = together(pieces, &Piece::rounded);
    Csr<V> a = assemble(q, all, header.mirror(), info.duplicates);
    if (header.field == Field::pattern) set_pattern_values(q, a, options, info);
    report_narrowing(q, a, options, info);
    find_lines(text, header, info);
    if (options.progress) options.progress(1.0);
    return a;
}

MarketPart::MarketPart(const CpuQueue& q, Source source, const ReadOptions& options, int part, int parts)
    : q_(q),
      source_(std::move(source)),
      text_(text_of(source_)),
      header_(read_market_header(text_, options)),
      is_last_(part + 1 == parts)
{
    const std::string_view body{header_.body, static_cast<std::size_t>(text_.end() - header_.body)};
    pieces_ = find_pieces(q, text_, lines_of_part(body, part, parts), {});
    entries_ = pieces_.back().begin;
    pieces_.pop_back();
}

template <class V>
Coo<V> MarketPart::read(offset_t before, offset_t all, FileInfo& info)
{
    info = describe(header_);
    if (is_last_ && all < header_.entries) fail_too_few(text_, header_, all);
    Coo<V> entries = Coo<V>::make(q_, header_.rows, header_.cols, entries_);
    for (Piece& piece : pieces_) piece.begin += before;
    const PieceReader<V> reader(text_, header_, entries, before);
    for_each_chunk(q_, std::ssize(pieces_), {}, [&](offset_t p) { reader.read(pieces_[static_cast<std::size_t>(p)]); });
    info.underflowed = together(pieces_, &Piece::underflowed);
    info.rounded = together(pieces_, &Piece::rounded);
    return entries;
}

template Coo<float> MarketPart::read(offset_t, offset_t, FileInfo&);
template Coo<double> MarketPart::read(offset_t, offset_t, FileInfo&);
template Csr<float> read_matrix_market(const CpuQueue&, const Source&, const ReadOptions&, FileInfo&);
template Csr<double> read_matrix_market(const CpuQueue&, const Source&, const ReadOptions&, FileInfo&);

}  // namespace tulle::inline TULLE_ABI::io
