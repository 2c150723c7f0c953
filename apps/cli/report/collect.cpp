// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "apps/cli/report/collect.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "apps/cli/picture/density.hpp"
#include "tulle/partition.hpp"
#include "tulle/sptrsv.hpp"

namespace tulle::cli::sections {
namespace {

constexpr int most_cells = 768;  // of a side: below one megabyte of base64
constexpr std::size_t bars = 400;

std::string base64(const std::vector<unsigned char>& bytes)
{
    static constexpr char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string text;
    text.reserve((bytes.size() + 2) / 3 * 4);
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        const std::size_t left = std::min<std::size_t>(3, bytes.size() - i);
        const auto byte = [&](std::size_t b) { return b < left ? unsigned{bytes[i + b]} : 0u; };
        const unsigned three = byte(0) << 16u | byte(1) << 8u | byte(2);
        for (std::size_t d = 0; d < 4; ++d) text += d <= left ? digits[three >> (18 - 6 * d) & 63u] : '=';
    }
    return text;
}

// Widths of levels side by side in at most `bars` groups: the widest of each.
Json bars_of(const std::vector<offset_t>& widths)
{
    const std::size_t n = std::min(bars, widths.size());
    Json bar = Json::array();
    for (std::size_t b = 0; b < n; ++b) {
        const auto from = widths.begin() + static_cast<std::ptrdiff_t>(widths.size() * b / n);
        const auto to = widths.begin() + static_cast<std::ptrdiff_t>(widths.size() * (b + 1) / n);
        bar.push_back(*std::max_element(from, to));
    }
    return {{"levels", widths.size()},
            {"widest", widths.empty() ? 0 : *std::max_element(widths.begin(), widths.end())},
            {"bars", bar}};
}

// Entries of x that the rows [first, last) need and other parts have. `seen` has a stamp for every column.
offset_t halo_of(const CsrView<double>& a, index_t first, index_t last, std::vector<int>& seen, int stamp)
{
    offset_t halo = 0;
    for (offset_t k = a.row_begin[first]; k < a.row_begin[last]; ++k) {
        const index_t j = a.col[k];
        if (j >= first && j < last) continue;
        halo += seen[static_cast<std::size_t>(j)] != stamp;
        seen[static_cast<std::size_t>(j)] = stamp;
    }
    return halo;
}

index_t root_of(std::vector<index_t>& parent, index_t i)
{
    while (parent[static_cast<std::size_t>(i)] != i) {
        index_t& up = parent[static_cast<std::size_t>(i)];
        up = parent[static_cast<std::size_t>(up)];
        i = up;
    }
    return i;
}

}  // namespace

Json density(const CsrView<double>& a, int threads)
{
    const int height = std::min(a.rows, most_cells), width = std::min(a.cols, most_cells);
    if (height == 0 || width == 0) return {};
    const picture::Grid grid = picture::count_cells(picture::pattern_of(a), {}, height, width, threads);
    const auto most = *std::max_element(grid.count.begin(), grid.count.end());
    const double scale = 254 / std::log1p(static_cast<double>(std::max<std::int64_t>(most, 1)));
    std::vector<unsigned char> level(grid.count.size());
    for (std::size_t c = 0; c < level.size(); ++c)
        if (grid.count[c] > 0)
            level[c] = static_cast<unsigned char>(
                1 + std::lround(scale * std::log1p(static_cast<double>(grid.count[c])) - 0.5));
    return {{"height", height}, {"width", width}, {"most", most}, {"cells", base64(level)}};
}

Json column_lengths(const CsrView<double>& a)
{
    if (a.cols > 8 * a.nonzeros + (1 << 20)) return {};
    std::vector<offset_t> length(static_cast<std::size_t>(a.cols));
    for (offset_t k = 0; k < a.nonzeros; ++k) ++length[static_cast<std::size_t>(a.col[k])];
    std::array<offset_t, 64> columns{};
    for (const offset_t n : length) ++columns[static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(n)))];
    Json bins = Json::array();
    for (std::size_t bits = 0; bits < columns.size(); ++bits)
        if (columns[bits] > 0) {
            const offset_t from = bits == 0 ? 0 : offset_t{1} << (bits - 1);
            bins.push_back({{"from", from}, {"to", bits == 0 ? 0 : 2 * from - 1}, {"count", columns[bits]}});
        }
    return bins;
}

Json values(const CsrView<double>& a)
{
    constexpr int lowest = -20, highest = 20;
    std::array<offset_t, highest - lowest + 1> decade{};
    offset_t zeros = 0, negative = 0, strange = 0, f16 = 0, f32 = 0, lost16 = 0, lost32 = 0;
    double least = std::numeric_limits<double>::infinity(), most = 0;
    for (offset_t k = 0; k < a.nonzeros; ++k) {
        const double size = std::fabs(a.value[k]);
        zeros += size == 0;
        negative += a.value[k] < 0;
        strange += !std::isfinite(size);
        if (size == 0 || !std::isfinite(size)) continue;
        f16 += size >= 65520;
        f32 += size > std::numeric_limits<float>::max();
        lost16 += size <= 0x1p-25;  // half of the smallest number, and below
        lost32 += size <= 0x1p-150;
        least = std::min(least, size);
        most = std::max(most, size);
        const int at = std::clamp(static_cast<int>(std::floor(std::log10(size))), lowest, highest);
        ++decade[static_cast<std::size_t>(at - lowest)];
    }
    Json bins = Json::array();
    for (int d = lowest; d <= highest; ++d)
        if (const offset_t n = decade[static_cast<std::size_t>(d - lowest)]; n > 0)
            bins.push_back({{"exponent", d}, {"count", n}});
    return {{"zeros", zeros},
            {"negative", negative},
            {"not_finite", strange},
            {"too_large_for_f16", f16},
            {"too_large_for_f32", f32},
            {"too_small_for_f16", lost16},
            {"too_small_for_f32", lost32},
            {"least", most > 0 ? Json(least) : Json()},
            {"most", most > 0 ? Json(most) : Json()},
            {"decades", bins}};
}

Json components(const CsrView<double>& a)
{
    if (a.rows != a.cols) return {};
    std::vector<index_t> parent(static_cast<std::size_t>(a.rows));
    std::iota(parent.begin(), parent.end(), 0);
    for (index_t i = 0; i < a.rows; ++i)
        for (offset_t k = a.row_begin[i]; k < a.row_begin[i + 1]; ++k) {
            const index_t r = root_of(parent, i), s = root_of(parent, a.col[k]);
            parent[static_cast<std::size_t>(std::max(r, s))] = std::min(r, s);
        }
    std::vector<offset_t> size(static_cast<std::size_t>(a.rows));
    for (index_t i = 0; i < a.rows; ++i) ++size[static_cast<std::size_t>(root_of(parent, i))];
    const auto count = std::count_if(size.begin(), size.end(), [](offset_t n) { return n > 0; });
    const offset_t largest = size.empty() ? 0 : *std::max_element(size.begin(), size.end());
    const auto single = std::count(size.begin(), size.end(), 1);
    return {{"count", count}, {"largest", largest}, {"single", single}};
}

Json levels(const Context& ctx, const CsrView<double>& a)
{
    if (a.rows != a.cols) return {};
    const auto of = [&](sptrsv::Uplo uplo) {
        return bars_of(
            sptrsv::level_widths<double>(ctx, a,
                                         {.uplo = uplo, .unit_diagonal = true, .other_side = sptrsv::OtherSide::ignore})
                .unmerged);
    };
    return {{"lower", of(sptrsv::Uplo::lower)}, {"upper", of(sptrsv::Uplo::upper)}};
}

Json parts(const Context& ctx, const CsrView<double>& a)
{
    if (a.rows != a.cols || a.rows == 0) return {};
    Json all = Json::array();
    std::vector<int> seen(static_cast<std::size_t>(a.cols), -1);
    int stamp = 0;
    for (const int n : {2, 4, 8}) {
        const auto cuts = partition::split(ctx, a.row_begin, a.rows, n);
        Json part = Json::array();
        for (std::size_t p = 0; p + 1 < cuts.size(); ++p) {
            const auto first = static_cast<index_t>(cuts[p].item), last = static_cast<index_t>(cuts[p + 1].item);
            part.push_back({{"rows", last - first},
                            {"nonzeros", a.row_begin[last] - a.row_begin[first]},
                            {"halo", halo_of(a, first, last, seen, stamp++)}});
        }
        all.push_back({{"devices", n}, {"imbalance", partition::imbalance(cuts)}, {"parts", part}});
    }
    return all;
}

}  // namespace tulle::cli::sections
