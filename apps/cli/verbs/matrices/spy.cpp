// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// tulle spy: a density map of a matrix, alone or beside a permuted or reordered one.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <istream>
#include <numeric>
#include <optional>

#include "apps/cli/picture/colour.hpp"
#include "apps/cli/picture/plot.hpp"
#include "apps/cli/support/describe.hpp"
#include "apps/cli/support/failure.hpp"
#include "apps/cli/support/json.hpp"
#include "apps/cli/support/layout.hpp"
#include "apps/cli/support/numbers_file.hpp"
#include "apps/cli/support/parser.hpp"
#include "apps/cli/support/progress.hpp"
#include "apps/cli/verbs.hpp"
#include "apps/cli/verbs/matrices/spy_reorder.hpp"
#include "base/hash.hpp"
#include "base/suggest.hpp"
#include "tulle/partition.hpp"
#include "tulle/text.hpp"

namespace tulle::cli {
namespace {

using Places = std::vector<index_t>;  // the i-th is the old place of what comes i-th

Places as_they_are(index_t n)
{
    Places places(static_cast<std::size_t>(n));
    std::iota(places.begin(), places.end(), 0);
    return places;
}

Places by_key(index_t n, auto&& key)
{
    Places places = as_they_are(n);
    std::stable_sort(places.begin(), places.end(), [&](index_t a, index_t b) { return key(a) < key(b); });
    return places;
}

Places inverse(const Places& from)
{
    Places to(from.size());
    for (std::size_t i = 0; i < from.size(); ++i) to[static_cast<std::size_t>(from[i])] = static_cast<index_t>(i);
    return to;
}

std::vector<offset_t> column_lengths(const CsrView<double>& a)
{
    std::vector<offset_t> length(static_cast<std::size_t>(a.cols));
    for (offset_t k = 0; k < a.nonzeros; ++k) ++length[static_cast<std::size_t>(a.col[k])];
    return length;
}

// One number a line: which row of the matrix comes first, second, …; rows count from 0.
Places read_places(const std::string& file, index_t n)
{
    std::error_code none;
    require<FileError>(
        file == "-" || std::filesystem::exists(file, none),
        [&] { return concat(file, ": there is no such file, and it names no permutation"); },
        concat(did_you_mean(file, std::array<std::string_view, 3>{"reverse", "random", "degree"}),
               "use reverse, random, degree, or a file with one row number a line"));
    std::ifstream opened;
    std::istream& in = open_text(file, opened);
    Places places;
    std::vector<bool> seen(static_cast<std::size_t>(n), false);
    std::string line;
    for (offset_t number = 0; next_line(in, line, number);) {
        index_t row = -1;
        const auto [rest, fault] = std::from_chars(line.data(), line.data() + line.size(), row);
        const bool good = fault == std::errc{} && row >= 0 && row < n && rest == line.data() + line.size();
        require<FormatError>(good, [&] {
            return concat(file, ":", number, ": '", line, "' is not a row number from 0 to ", n - 1);
        });
        require<FormatError>(!seen[static_cast<std::size_t>(row)], [&] {
            return concat(file, ":", number, ": row ", row, " (counted from 0) comes a second time");
        });
        seen[static_cast<std::size_t>(row)] = true;
        places.push_back(row);
    }
    check_read(in, file);
    require<FormatError>(std::ssize(places) == n,
                         [&] { return concat(file, ": ", places.size(), " rows are named, but the matrix has ", n); });
    return places;
}

Places permuted_rows(const CsrView<double>& a, const std::string& how, std::uint64_t seed)
{
    if (how == "reverse") return by_key(a.rows, [&](index_t i) { return -i; });
    if (how == "random") return by_key(a.rows, [&](index_t i) { return hash_of(seed, i); });
    if (how == "degree") return by_key(a.rows, [&](index_t i) { return a.row_begin[i] - a.row_begin[i + 1]; });
    return read_places(how, a.rows);
}

// Columns of a matrix that is not square, where the rows' permutation cannot serve.
Places permuted_columns(const CsrView<double>& a, const std::string& how, std::uint64_t seed)
{
    if (how == "reverse") return by_key(a.cols, [&](index_t j) { return -j; });
    if (how == "random") return by_key(a.cols, [&](index_t j) { return hash_of(seed + 1, j); });
    if (how != "degree") return as_they_are(a.cols);
    const std::vector<offset_t> length = column_lengths(a);
    return by_key(a.cols, [&](index_t j) { return -length[static_cast<std::size_t>(j)]; });
}

picture::Order order_of(const CsrView<double>& a, const std::string& how, std::uint64_t seed)
{
    Places rows = permuted_rows(a, how, seed);
    Places cols = a.rows == a.cols ? inverse(rows) : inverse(permuted_columns(a, how, seed));
    return {std::move(rows), std::move(cols)};
}

// First rows of the parts for so many devices, and the end; empty without them.
std::vector<offset_t> parts_of(const Context& ctx, const CsrView<double>& a, int devices)
{
    std::vector<offset_t> first;
    if (devices == 0 || a.rows == 0) return first;
    for (const auto& cut : partition::split(ctx, a.row_begin, a.rows, devices)) first.push_back(cut.item);
    return first;
}

Json parts_json(const CsrView<double>& a, const std::vector<offset_t>& first)
{
    Json parts = Json::array();
    for (std::size_t p = 0; p + 1 < first.size(); ++p)
        parts.push_back(
            {{"rows", first[p + 1] - first[p]}, {"nonzeros", a.row_begin[first[p + 1]] - a.row_begin[first[p]]}});
    return parts;
}

std::string how_text(const SpyOptions& options)
{
    if (options.permute == "reverse") return "reversed";
    if (options.permute == "random") return fmt::format("at random (seed {})", options.seed);
    return options.permute == "degree" ? "longest rows first" : options.permute;
}

}  // namespace

void spy(const Session& session, const SpyOptions& options)
{
    require<UsageError>(
        options.size >= 64 && options.size <= 8192,
        [&] { return concat("a picture of ", options.size, " pixels is out of range"); }, "use 64 to 8192");
    picture::check_picture(options.to, options.format);
    require<UsageError>(options.permute.empty() || options.reorder.empty(),
                        "--permute and --reorder ask for two different pictures", "use one of them");
    const Context ctx = session.host();
    const Loaded<double> loaded = load<double>(session, ctx, options.matrix);
    const CsrView<double> a = loaded.matrix.view();

    const std::string sizes =
        fmt::format("{} × {}, {}", grouped(a.rows), grouped(a.cols), counted(a.nonzeros, "nonzero", "nonzeros"));
    const std::string title = options.title.empty() ? options.matrix.name() : options.title;
    picture::Plot plot{.matrix = picture::pattern_of(a),
                       .panels = {{.title = title, .subtitle = sizes, .order = {}}},
                       .size = options.size,
                       .format = options.format,
                       .legend = !options.no_legend,
                       .parts = parts_of(ctx, a, options.devices)};
    if (!options.permute.empty())
        plot.panels.push_back(
            {.title = "permuted", .subtitle = how_text(options), .order = order_of(a, options.permute, options.seed)});
    const std::optional<Reordering> reordering =
        options.reorder.empty() ? std::nullopt : std::optional(reorder(session, ctx, a, options));
    if (reordering) show(*reordering, options, plot);
    {
        const Activity work(session.console, concat("drawing ", options.to));
        picture::write_plot(options.to, plot, ctx.host().threads);
    }
    if (session.settings.json) {
        Json json = about(options.matrix, a);
        json.update({{"file", options.to}, {"panels", plot.panels.size()}});
        if (options.devices > 0) json["parts"] = parts_json(a, plot.parts);
        if (reordering) json["reorder"] = to_json(*reordering, options);
        return print(session, json);
    }
    session.console.print(fmt::format("{}: {}, {}{}\n", options.to, shape_text(a.rows, a.cols),
                                      counted(a.nonzeros, "nonzero", "nonzeros"),
                                      plot.panels.size() == 1 ? "" : ", before and after"));
    if (reordering) session.console.print(text_of(*reordering, options, session.console));
}

void add_spy(Parser& parser, SpyOptions& o)
{
    CLI::App* verb =
        parser.verb("spy", "Draws where the nonzeros are: a density map, alone or beside a permuted one.",
                    "tulle spy matrix.mtx -o matrix.png\ntulle spy twin:cant -o cant.svg --size 1200\ntulle spy "
                    "twin:scircuit --permute degree -o scircuit.png\ntulle spy fem:24,3 --reorder bsa -o fem.png\n"
                    "tulle spy twin:mac_econ --devices 4 -o parts.pdf");
    parser.matrix(verb, o.matrix);
    verb->add_option("-o,--out", o.to, "the picture, .png, .svg or .pdf; - is stdout")->required()->option_text("FILE");
    parser.output(verb, o.to, o.format, "png, svg (the default for - and pipes) or pdf")
        ->check(one_of({"png", "svg", "pdf"}));
    verb->add_option("--size", o.size, "pixels of the map's longer side, about (800)")->option_text("N");
    verb->add_option("--permute", o.permute,
                     "draw it permuted too: reverse, random, degree, or a file with one row number a line")
        ->option_text("HOW");
    Parser::seed(verb, o.seed, "for --permute random");
    verb->add_option("--reorder", o.reorder,
                     "draw it with its rows in an order for SpMM too, dense tiles coloured: bsa, degree, minhash, pack")
        ->option_text("ORDER");
    verb->add_option("--tau", o.tau, "--reorder: rows and columns of a tile, columns of a block of bsa (32)")
        ->option_text("N");
    verb->add_option("--alpha", o.alpha, "--reorder bsa: how similar rows of a cluster are, 0 to 1 (0.3)")
        ->option_text("X");
    verb->add_option("--delta", o.delta, "--reorder: tiles filled by more than this are dense, 0 to 1 (0.1)")
        ->option_text("X");
    verb->add_option("--devices", o.devices, "colour the rows by device: parts with equal numbers of nonzeros for N")
        ->option_text("N")
        ->check(CLI::Range(1, picture::most_parts));
    verb->add_option("--title", o.title, "instead of the matrix's name")->option_text("TEXT");
    verb->add_flag("--no-legend", o.no_legend, "leave out what the colours mean");
    verb->add_flag("--levels", o.levels,
                   "draw how many rows each level of the lower triangle has instead, before and after merging rows");
    for (const char* option : {"--permute", "--reorder"})
        parser.effective(
            verb, option, [&o] { return !o.levels; }, "with --levels, which draws another picture");
    parser.effective(
        verb, "--devices", [&o] { return !o.levels && o.permute.empty() && o.reorder.empty(); },
        "with --levels, --permute or --reorder");
    for (const char* option : {"--tau", "--delta"})
        parser.effective(
            verb, option, [&o] { return !o.reorder.empty(); }, "without --reorder");
    parser.effective(
        verb, "--alpha", [&o] { return o.reorder == "bsa"; }, "without --reorder bsa");
    parser.effective(
        verb, "--seed", [&o] { return o.permute == "random"; }, "without --permute random");
    parser.when(verb, [&o](const Session& session) { o.levels ? spy_levels(session, o) : spy(session, o); });
}

}  // namespace tulle::cli
