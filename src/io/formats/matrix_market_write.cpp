// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Threads turn pieces of the entries into text, side by side; the pieces are written in order. Numbers are as short
// as reads back to the same bits.
#include <algorithm>
#include <charconv>
#include <vector>

#include "base/math.hpp"
#include "io/chunks.hpp"
#include "io/formats/matrix_market.hpp"
#include "io/sink.hpp"
#include "prim/search.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::io {
namespace {

constexpr offset_t piece_entries = offset_t{1} << 14;
constexpr offset_t longest_line = 64;  // two indices of 10 digits, a value of up to 24 characters
constexpr offset_t pieces_per_thread = 4;

template <class V>
bool same_number(V a, V b)
{
    return a == b || (a != a && b != b);
}

// Each entry above the diagonal must have its equal below, and there may be no others below.
template <class V>
void require_symmetric(const CpuQueue& q, const CsrView<V>& a)
{
    require<ShapeError>(a.rows == a.cols, [&] {
        return concat("a symmetric matrix must be square, this one has ", a.rows, " rows and ", a.cols, " columns");
    });
    require<ValueError>(a.sorted && a.unique, "only a sorted matrix without duplicates can be written as symmetric",
                        "use sum_duplicates() first");
    index_t first = a.rows;
    const bool large = a.nonzeros > piece_entries;
#pragma omp parallel for num_threads(q.threads) schedule(dynamic, 256) reduction(min : first) if (large)
    for (index_t i = 0; i < a.rows; ++i)
        for (offset_t k = a.row_begin[i]; k < a.row_begin[i + 1]; ++k) {
            const index_t j = a.col[k];
            const offset_t begin = a.row_begin[j], n = a.row_begin[j + 1] - begin;
            const offset_t at = begin + prim::lower_bound(a.col + begin, n, i);
            if (at == begin + n || a.col[at] != i || !same_number(a.value[at], a.value[k])) first = std::min(first, i);
        }
    require<ValueError>(
        first == a.rows,
        [&] {
            return concat("the matrix is not symmetric: row ", first,
                          " (counted from 0) has an entry without its equal on the other side");
        },
        "write it as general");
}

template <class V>
class Writer {
public:
    Writer(const CsrView<V>& a, const WriteOptions& options) : a_(a), options_(options) {}

    // Entries first … last-1 as lines; returns the number of characters.
    offset_t format(offset_t first, offset_t last, char* text) const
    {
        char* at = text;
        index_t i = static_cast<index_t>(prim::upper_bound(a_.row_begin, offset_t{a_.rows} + 1, first) - 1);
        for (offset_t k = first; k < last; ++k) {
            while (k >= a_.row_begin[i + 1]) ++i;
            if (options_.symmetric && a_.col[k] > i) continue;
            at = number(at, i + offset_t{1});
            *at++ = ' ';
            at = number(at, a_.col[k] + offset_t{1});
            if (!options_.pattern) {
                *at++ = ' ';
                at = number(at, a_.value[k]);
            }
            *at++ = '\n';
        }
        return at - text;
    }

    std::string header(offset_t entries) const
    {
        std::string text = concat("%%MatrixMarket matrix coordinate ", options_.pattern ? "pattern" : "real",
                                  options_.symmetric ? " symmetric\n" : " general\n");
        for (std::string_view rest = options_.comment; !rest.empty();) {
            const std::size_t end = std::min(rest.find('\n'), rest.size());
            text += concat("% ", rest.substr(0, end), "\n");
            rest.remove_prefix(std::min(end + 1, rest.size()));
        }
        return text + concat(a_.rows, " ", a_.cols, " ", entries, "\n");
    }

private:
    template <class T>
    static char* number(char* at, T value)
    {
        return std::to_chars(at, at + longest_line, value).ptr;
    }

    const CsrView<V>& a_;
    const WriteOptions& options_;
};

template <class V>
offset_t count_lower(const CpuQueue& q, const CsrView<V>& a)
{
    offset_t n = 0;
    const bool large = a.nonzeros > piece_entries;
#pragma omp parallel for num_threads(q.threads) schedule(dynamic, 1024) reduction(+ : n) if (large)
    for (index_t i = 0; i < a.rows; ++i)
        n += std::upper_bound(a.col + a.row_begin[i], a.col + a.row_begin[i + 1], i) - (a.col + a.row_begin[i]);
    return n;
}

}  // namespace

template <class V>
void write_matrix_market(const CpuQueue& q, Sink& sink, const CsrView<V>& a, const WriteOptions& options)
{
    if (options.symmetric) require_symmetric(q, a);
    const Writer<V> writer(a, options);
    sink.write(writer.header(options.symmetric ? count_lower(q, a) : a.nonzeros));

    const offset_t together = std::min(q.threads * pieces_per_thread, ceil_div(a.nonzeros, piece_entries));
    const offset_t room =
        (piece_entries + 1) * longest_line;  // one line more: to_chars is told of a whole line behind the last
    Buffer<char> text(q, together * room);
    std::vector<offset_t> length(static_cast<std::size_t>(together));
    for (offset_t first = 0; first < a.nonzeros; first += together * piece_entries) {
        const offset_t rest = a.nonzeros - first, parts = std::min(together, ceil_div(rest, piece_entries));
        for_each_chunk(q, parts, {}, [&](offset_t p) {
            const offset_t begin = first + p * piece_entries, end = std::min(begin + piece_entries, a.nonzeros);
            length[static_cast<std::size_t>(p)] = writer.format(begin, end, text.data() + p * room);
        });
        for (offset_t p = 0; p < parts; ++p)
            sink.write({text.data() + p * room, static_cast<std::size_t>(length[static_cast<std::size_t>(p)])});
        if (options.progress)
            options.progress(static_cast<double>(std::min(first + together * piece_entries, a.nonzeros)) /
                             static_cast<double>(a.nonzeros));
    }
}

template void write_matrix_market(const CpuQueue&, Sink&, const CsrView<float>&, const WriteOptions&);
template void write_matrix_market(const CpuQueue&, Sink&, const CsrView<double>&, const WriteOptions&);

}  // namespace tulle::inline TULLE_ABI::io
