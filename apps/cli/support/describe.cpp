// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "apps/cli/support/describe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <sstream>

#include "apps/cli/support/progress.hpp"
#include "tulle/generate.hpp"
#include "tulle/text.hpp"

namespace tulle::cli {
namespace {

bool is_square(const RowStatistics& row) { return row.rows == row.cols; }

std::string row_lengths(const RowStatistics& row)
{
    if (row.rows == 0) return "no rows";
    if (row.shortest == row.longest) return fmt::format("{} in every row", row.longest);
    return fmt::format("{} to {}, mean {}, deviation {}; the longest is row {} (counted from 0)", row.shortest,
                       grouped(row.longest), number_text(row.mean), number_text(row.deviation),
                       grouped(row.longest_row));
}

std::string diagonal(const Features& f)
{
    const index_t full = std::min(f.row.rows, f.row.cols);
    if (f.diagonal == full) return "full";
    return f.diagonal == 0 ? "empty" : fmt::format("{} of {} entries", grouped(f.diagonal), grouped(full));
}

// Rounding must not turn nearly symmetric into symmetric.
std::string symmetry_share(double share)
{
    return share == 1 ? "100 %" : fmt::format("{:.4g} %", std::min(100 * share, 99.99));
}

std::string symmetry(const Features& f, bool skew)
{
    if (!is_square(f.row)) return "none (not square)";
    if (f.value_symmetry == 1) return "symmetric, values included";
    if (skew) return "skew-symmetric";
    if (f.pattern_symmetry == 1) return fmt::format("pattern symmetric, values {}", symmetry_share(f.value_symmetry));
    return fmt::format("pattern {}, values {}", symmetry_share(f.pattern_symmetry), symmetry_share(f.value_symmetry));
}

// The first comment line of a file that says something; some begin with a ruler.
std::string first_words(const std::string& comment)
{
    std::istringstream lines(comment);
    for (std::string line; std::getline(lines, line);) {
        const auto begin = line.find_first_not_of(" \t%");
        if (std::none_of(line.begin(), line.end(), [](unsigned char c) { return std::isalnum(c); })) continue;
        line.erase(0, begin);
        return line.size() <= 100 ? line : line.substr(0, 97) + "...";
    }
    return "";
}

void add_square_facts(Facts& facts, const Features& f)
{
    if (!is_square(f.row)) return;
    facts.add("lower triangle", fmt::format("{} of dependencies", counted(f.lower_levels, "level", "levels")));
    facts.add("A times A", counted(f.products, "product", "products"));
}

}  // namespace

Portrait portray(const Session& session, const Context& ctx, const CsrView<double>& a)
{
    Activity work(session.console, "looking at the matrix");
    Portrait portrait;
    portrait.features = features(ctx, a);
    portrait.fingerprint = io::fingerprint(a);
    portrait.skew_symmetric = symmetry_of(a, ctx.host().threads) == "skew-symmetric";
    portrait.bytes = static_cast<std::size_t>(a.rows + offset_t{1}) * sizeof(offset_t) +
                     static_cast<std::size_t>(a.nonzeros) * (sizeof(index_t) + sizeof(double));
    portrait.seconds = work.seconds();
    return portrait;
}

std::string symmetry_of(const CsrView<double>& a, int threads)
{
    if (a.rows != a.cols) return "general";
    bool symmetric = true, skew = true;
    const bool large = a.nonzeros > 1 << 13;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 256) reduction(&& : symmetric, skew) if (large)
    for (index_t i = 0; i < a.rows; ++i)
        for (offset_t k = a.row_begin[i]; k < a.row_begin[i + 1] && (symmetric || skew); ++k) {
            const index_t *begin = a.col + a.row_begin[a.col[k]], *end = a.col + a.row_begin[a.col[k] + 1];
            const index_t* at = std::lower_bound(begin, end, i);
            const bool there = at != end && *at == i;
            symmetric = symmetric && there && a.value[at - a.col] == a.value[k];
            skew = skew && there && a.value[at - a.col] == -a.value[k];
        }
    return symmetric ? "symmetric" : skew ? "skew-symmetric" : "general";
}

std::string place_text(const io::Occurrences& found)
{
    return concat(found.line > 0 ? concat("line ", found.line, ", ") : "", "row ", found.row + offset_t{1}, ", column ",
                  found.col + offset_t{1}, ", counted from 1");
}

std::string shape_text(index_t rows, index_t cols) { return fmt::format("{} x {}", grouped(rows), grouped(cols)); }

Facts short_facts_of(const Portrait& portrait)
{
    const Features& f = portrait.features;
    Facts facts;
    facts.add("shape", shape_text(f.row.rows, f.row.cols));
    facts.add("nonzeros", fmt::format("{} ({} of all positions)", grouped(f.row.nonzeros), share_text(f.density)));
    facts.add("row lengths", row_lengths(f.row));
    facts.add("symmetry", symmetry(f, portrait.skew_symmetric));
    facts.add("memory", fmt::format("{} as CSR in double", human_bytes(portrait.bytes)));
    return facts;
}

Facts facts_of(const Portrait& portrait)
{
    const Features& f = portrait.features;
    Facts facts = short_facts_of(portrait);
    facts.add("empty", fmt::format("{}, {}", counted(f.row.empty_rows, "row", "rows"),
                                   counted(f.empty_cols, "column", "columns")));
    facts.add("bandwidth",
              fmt::format("{} below, {} above the diagonal", grouped(f.lower_bandwidth), grouped(f.upper_bandwidth)));
    facts.add("diagonal", diagonal(f));
    add_square_facts(facts, f);
    facts.add("fingerprint", hex_text(portrait.fingerprint));
    return facts;
}

void add_file_facts(Facts& facts, const io::FileInfo& file)
{
    if (file.format.empty()) return;
    facts.add("file", fmt::format("{}, {}, {} stored", file.format, human_bytes(file.bytes),
                                  counted(file.stored, "entry", "entries")));
    if (file.values != "stored")
        facts.add("values",
                  file.values == "ones" ? "the file has none; all are 1" : "the file has none; " + file.values);
    if (file.duplicates.count > 0)
        facts.add("duplicates", fmt::format("{} {} (first: {})", counted(file.duplicates.count, "entry", "entries"),
                                            file.values == "stored" ? "added to earlier ones"
                                                                    : "left out, as earlier ones are the same",
                                            place_text(file.duplicates)));
    if (const std::string words = first_words(file.comment); !words.empty()) facts.add("comment", words);
}

Json to_json(const Portrait& portrait)
{
    const Features& f = portrait.features;
    Json bins = Json::array();
    for (std::size_t bits = 0; bits < f.row.rows_by_length.size(); ++bits)
        if (f.row.rows_by_length[bits] > 0) {
            const offset_t from = bits == 0 ? 0 : offset_t{1} << (bits - 1), to = bits == 0 ? 0 : from + (from - 1);
            bins.push_back({{"from", from}, {"to", to}, {"rows", f.row.rows_by_length[bits]}});
        }
    const bool square = is_square(f.row);
    return {{"rows", f.row.rows},
            {"cols", f.row.cols},
            {"nonzeros", f.row.nonzeros},
            {"density", f.density},
            {"row_length",
             {{"shortest", f.row.shortest},
              {"longest", f.row.longest},
              {"longest_row", f.row.longest_row},
              {"mean", f.row.mean},
              {"deviation", f.row.deviation},
              {"histogram", bins}}},
            {"empty_rows", f.row.empty_rows},
            {"empty_cols", f.empty_cols},
            {"lower_bandwidth", f.lower_bandwidth},
            {"upper_bandwidth", f.upper_bandwidth},
            {"diagonal", f.diagonal},
            {"pattern_symmetry", square ? Json(f.pattern_symmetry) : Json()},
            {"value_symmetry", square ? Json(f.value_symmetry) : Json()},
            {"skew_symmetric", square ? Json(portrait.skew_symmetric) : Json()},
            {"lower_levels", square ? Json(f.lower_levels) : Json()},
            {"products", square ? Json(f.products) : Json()},
            {"bytes", portrait.bytes},
            {"fingerprint", hex_text(portrait.fingerprint)}};
}

Json to_json(const io::FileInfo& file)
{
    if (file.format.empty()) return {};
    return {{"format", file.format}, {"field", file.field},    {"symmetry", file.symmetry},
            {"stored", file.stored}, {"values", file.values},  {"duplicates", to_json(file.duplicates)},
            {"bytes", file.bytes},   {"comment", file.comment}};
}

}  // namespace tulle::cli
