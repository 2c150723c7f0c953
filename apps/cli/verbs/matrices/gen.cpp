// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// tulle gen: matrices from a sentence. Also the list of sentences, and the twelve twins beside the figures they
// imitate.
#include <fmt/format.h>

#include <array>
#include <cmath>

#include "apps/cli/support/describe.hpp"
#include "apps/cli/support/failure.hpp"
#include "apps/cli/support/json.hpp"
#include "apps/cli/support/layout.hpp"
#include "apps/cli/support/store.hpp"
#include "apps/cli/verbs.hpp"
#include "tulle/generate.hpp"
#include "tulle/text.hpp"

namespace tulle::cli {
namespace {

// Table 2 of the nsparse paper (Nagasaka, Nukada, Matsuoka, on memory-saving SpGEMM). Twins marked exact meet all
// figures to the digit.
struct Published {
    const char* name;
    offset_t rows, nonzeros, longest, products;
    bool exact = false;
};

constexpr std::array published{
    Published{"pdb1HYS", 36'417, 4'344'765, 204, 555'322'659},
    Published{"consph", 83'334, 6'010'480, 81, 463'845'030},
    Published{"cant", 62'451, 4'007'383, 78, 269'486'473, true},
    Published{"pwtk", 217'918, 11'634'424, 180, 626'054'402},
    Published{"rma10", 46'835, 2'374'001, 145, 156'480'259},
    Published{"qcd5_4", 49'152, 1'916'928, 39, 74'760'192, true},
    Published{"shipsec1", 140'874, 7'813'404, 102, 450'639'288},
    Published{"mac_econ", 206'500, 1'273'389, 44, 7'556'897},
    Published{"mc2depi", 525'825, 2'100'225, 4, 8'391'680, true},
    Published{"cop20k_A", 121'192, 2'624'331, 81, 79'883'385},
    Published{"scircuit", 170'998, 958'936, 353, 8'676'313},
    Published{"webbase-1M", 1'000'005, 3'105'536, 4'700, 69'524'195},
};

constexpr double nonzeros_within = 0.005, longest_within = 0.02, products_within = 0.01;

bool near(offset_t is, offset_t should, double within)
{
    return std::abs(static_cast<double>(is - should)) <= within * static_cast<double>(should);
}

bool meets(const Published& paper, const Features& f)
{
    const double slack = paper.exact ? 0 : 1;
    return f.row.rows == paper.rows && near(f.row.nonzeros, paper.nonzeros, slack * nonzeros_within) &&
           near(f.row.longest, paper.longest, slack * longest_within) &&
           near(f.products, paper.products, slack * products_within);
}

std::string off_by(offset_t is, offset_t should)
{
    return is == should
               ? "="
               : fmt::format("{:+.2f} %", 100.0 * static_cast<double>(is - should) / static_cast<double>(should));
}

Json to_json(const Published& paper, const Portrait& twin)
{
    const Features& f = twin.features;
    return {{"matrix", concat("twin:", paper.name)},
            {"twin", paper.name},
            {"rows", f.row.rows},
            {"cols", f.row.cols},
            {"nonzeros", f.row.nonzeros},
            {"longest", f.row.longest},
            {"products", f.products},
            {"lower_levels", f.lower_levels},
            {"fingerprint", hex_text(twin.fingerprint)},
            {"paper",
             {{"rows", paper.rows},
              {"nonzeros", paper.nonzeros},
              {"longest", paper.longest},
              {"products", paper.products}}},
            {"meets", meets(paper, f)}};
}

void add_row(Table& table, const Published& paper, const Portrait& twin)
{
    const Features& f = twin.features;
    table.add({paper.name, grouped(f.row.rows), off_by(f.row.rows, paper.rows), grouped(f.row.nonzeros),
               off_by(f.row.nonzeros, paper.nonzeros), grouped(f.row.longest), off_by(f.row.longest, paper.longest),
               grouped(f.products), off_by(f.products, paper.products), grouped(f.lower_levels),
               hex_text(twin.fingerprint), meets(paper, f) ? "ok" : "OFF"});
}

void compare_twins(const Session& session)
{
    const Column paper{"vs paper"};
    Table table({{"twin", Align::left},
                 {"rows"},
                 paper,
                 {"nonzeros"},
                 paper,
                 {"longest"},
                 paper,
                 {"products of A*A"},
                 paper,
                 {"levels"},
                 {"fingerprint"},
                 {""}});
    Json rows = Json::array();
    std::string missed;
    for (const Published& twin : published) {
        const Context ctx = session.host();
        const Loaded<double> loaded = load<double>(session, ctx, {.text = concat("twin:", twin.name)});
        const Portrait portrait = portray(session, ctx, loaded.matrix.view());
        rows.push_back(to_json(twin, portrait));
        add_row(table, twin, portrait);
        if (!meets(twin, portrait.features)) missed += concat(missed.empty() ? "" : ", ", twin.name);
    }
    session.settings.json ? print(session, rows) : session.console.print(table.text(session.console));
    require<CheckFailed>(missed.empty(),
                         [&] { return concat("not within the tolerances of the paper's figures: ", missed); });
}

void list_generators(const Session& session)
{
    if (session.settings.json) {
        Json all = Json::array();
        for (const auto& g : io::generators())
            all.push_back({{"name", g.name}, {"form", g.form}, {"what", g.what}, {"example", g.example}});
        return print(session, all);
    }
    Table table({{"sentence", Align::left}, {"example", Align::left}, {"what it makes", Align::left}});
    for (const auto& g : io::generators()) table.add({g.form, g.example, g.what});
    session.console.print(table.text(session.console));
}

template <class V>
void generate_as(const Session& session, const GenOptions& options)
{
    const io::WriteOptions how{.comment = concat("tulle gen ", options.sentence), .format = options.format};
    check_store(options.to, how);
    const Context ctx = session.host();
    const Loaded<V> loaded = load<V>(session, ctx, {.text = options.sentence});
    Json result{{"matrix", options.sentence}};
    result.update(store(session, ctx, options.to, loaded.matrix.view(), how));
    if (session.settings.json) print(session, result);
}

}  // namespace

void gen(const Session& session, const GenOptions& options)
{
    if (options.list) return list_generators(session);
    require<UsageError>(!options.sentence.empty(), "gen needs a sentence like stencil7:100",
                        "tulle gen --list shows what there is");
    if (options.stats)
        return options.sentence == "twin:all" ? compare_twins(session)
                                              : info(session, {.matrix = {.text = options.sentence}});
    require<UsageError>(options.sentence != "twin:all", "twin:all is no single matrix; it goes with --stats");
    require<UsageError>(!options.to.empty(), "gen needs to know where to write",
                        "add -o FILE, or --stats to see what the matrix would be");
    options.type == "f32" ? generate_as<float>(session, options) : generate_as<double>(session, options);
}

}  // namespace tulle::cli
