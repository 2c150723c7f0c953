// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// tulle demo: the main job in one go. A matrix is made or read and described, every operation is done with it on every
// backend that is there and checked, and its picture is drawn. An operation joins by a line in `operations`.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "apps/cli/picture/plot.hpp"
#include "apps/cli/support/describe.hpp"
#include "apps/cli/support/failure.hpp"
#include "apps/cli/support/layout.hpp"
#include "apps/cli/support/machine.hpp"
#include "apps/cli/support/parser.hpp"
#include "apps/cli/support/progress.hpp"
#include "apps/cli/support/run_program.hpp"
#include "apps/cli/verbs.hpp"
#include "apps/cli/verbs/operations/measure_spmv.hpp"
#include "apps/cli/verbs/operations/spgemm.hpp"
#include "apps/cli/verbs/operations/spmm.hpp"
#include "apps/cli/verbs/operations/sptrsv.hpp"
#include "apps/cli/verbs/tools/demo.hpp"
#include "tulle/context.hpp"
#include "tulle/generate.hpp"
#include "tulle/solve.hpp"
#include "tulle/text.hpp"
#include "tulle/transfer.hpp"

namespace tulle::cli {
namespace {

constexpr const char* demo_system = "stencil7:20";

// What one operation did on one backend.
struct DemoResult {
    std::string operation, backend, policy, check;
    double seconds = 0, bytes_per_second = 0;
    bool on_cpu = true, good = true;
};

struct Stage {
    const Session& session;
    const DemoOptions& options;
    Context host;
    CsrView<double> a;  // on the host
    offset_t products;  // of A A
};

constexpr const char* default_picture = "tulle-demo.png";
constexpr int whole_calls = 3;  // of the products of matrices, which take far longer than those with vectors

DemoResult multiply_vector(const Stage& stage, const Context& ctx)
{
    require_budget(stage.host, offset_t{stage.a.rows} + stage.a.cols, sizeof(double), "x and y");
    SpmvProblem<double> p{.a = stage.a,
                          .x = seeded_vector<double>(stage.a.cols, stage.options.seed),
                          .y = seeded_vector<double>(stage.a.rows, stage.options.seed + 1)};
    SpmvResult<double> r = measure(stage.host, ctx, p, stage.options.repeat);
    r.verdict = judge<double>(reference<double>(p.a, false, p.alpha, p.x, p.beta, p.y), r.y);
    return {.operation = "y = A x",
            .backend = r.backend,
            .policy = r.policy,
            .check = check_text(r.verdict),
            .seconds = r.median,
            .bytes_per_second = r.bandwidth(),
            .on_cpu = ctx.backend() == Backend::cpu,
            .good = r.verdict->good()};
}

DemoResult shown(const std::string& operation, const Context& ctx, const Summary& r)
{
    return {.operation = operation,
            .backend = r.backend,
            .policy = r.policy,
            .check = r.check,
            .seconds = r.seconds,
            .bytes_per_second = r.seconds > 0 ? static_cast<double>(r.bytes) / r.seconds : 0,
            .on_cpu = ctx.backend() == Backend::cpu,
            .good = r.good};
}

DemoResult solve_triangle(const Stage& stage, const Context& ctx)
{
    const DemoOptions& o = stage.options;
    return shown("L x = b", ctx, solve_lower_triangle(stage.host, ctx, stage.a, o.repeat, o.seed));
}

DemoResult multiply_matrix(const Stage& stage, const Context& ctx)
{
    const DemoOptions& o = stage.options;
    return shown("C = A A", ctx, multiply_by_itself(stage.host, ctx, stage.a, std::min(o.repeat, whole_calls), o.seed));
}

DemoResult multiply_dense(const Stage& stage, const Context& ctx)
{
    const DemoOptions& o = stage.options;
    return shown("C = A B, 32 columns", ctx,
                 multiply_dense_matrix(stage.host, ctx, stage.a, std::min(o.repeat, whole_calls), o.seed));
}

// The demonstration's matrix may be singular: Poisson's equation on a cube is solved instead.
DemoResult solve_system(const Stage& stage, const Context& ctx)
{
    const Csr<double> a = io::generate<double>(stage.host, demo_system);
    const std::vector<double> ones(static_cast<std::size_t>(a.rows), 1.0);
    const Csr<double> there = to_device(ctx, a.view());
    const auto b = to_device<double>(ctx, std::span<const double>(ones));
    auto x = to_device<double>(ctx, std::span<const double>(ones));
    auto plan = solve::Plan<double>::make(ctx, there.view());
    const solve::Report r = plan.solve(b.span(), x.span());
    const double seconds = r.setup_seconds + r.iterate_seconds + r.verify_seconds;
    const double touched = static_cast<double>(r.iterations + 1) * static_cast<double>(a.bytes());
    return {.operation = concat("A x = b, ", demo_system),
            .backend = ctx.name(),
            .policy = concat(to_text(r.method), ", ", to_text(*plan.policy().preconditioner)),
            .check = fmt::format("{} in {}, residual {:.1e}", to_text(r.reason),
                                 counted(r.iterations, "iteration", "iterations"), r.relative),
            .seconds = seconds,
            .bytes_per_second = seconds > 0 ? touched / seconds : 0,
            .on_cpu = ctx.backend() == Backend::cpu,
            .good = r.converged()};
}

struct Operation {
    DemoResult (*perform)(const Stage&, const Context&);
    bool square;             // wants as many rows as columns
    offset_t most_products;  // of A A; more would make a demonstration wait
};
constexpr std::array operations{Operation{multiply_vector, false, max_offset},
                                Operation{multiply_dense, false, max_offset},
                                Operation{multiply_matrix, true, 300'000'000},
                                Operation{solve_triangle, true, max_offset},
                                Operation{solve_system, false, max_offset}};

std::vector<DemoResult> perform(const Stage& stage)
{
    const bool has_cuda = why_no_cuda().empty();
    std::vector<DemoResult> outcomes;
    const Activity work(stage.session.console, "multiplying");
    for (const Operation& operation : operations) {
        if ((operation.square && stage.a.rows != stage.a.cols) || stage.products > operation.most_products) continue;
        outcomes.push_back(operation.perform(stage, stage.host));
        if (has_cuda) outcomes.push_back(operation.perform(stage, stage.session.cuda()));
    }
    return outcomes;
}

// Where it was drawn; empty without Cairo, unless a picture was asked for by name (which demo() refuses then).
std::string draw(const Stage& stage)
{
    if (!picture::can_draw()) return "";
    const std::string file = stage.options.picture.empty() ? default_picture : stage.options.picture;
    const Activity work(stage.session.console, concat("drawing ", file));
    const std::string sizes = fmt::format("{} × {}, {}", grouped(stage.a.rows), grouped(stage.a.cols),
                                          counted(stage.a.nonzeros, "nonzero", "nonzeros"));
    picture::write_plot(file,
                        {.matrix = picture::pattern_of(stage.a),
                         .panels = {{.title = stage.options.matrix.name(), .subtitle = sizes, .order = {}}}},
                        stage.host.host().threads);
    return file;
}

std::string table_of(const Console& console, const std::vector<DemoResult>& outcomes, double read)
{
    Table table({{"operation", Align::left},
                 {"backend", Align::left},
                 {"how", Align::left},
                 {"time"},
                 {"bandwidth"},
                 {"of memory"},
                 {"result", Align::left}});
    for (const DemoResult& o : outcomes)
        table.add({o.operation, o.backend, o.policy, seconds_text(o.seconds), rate_text(o.bytes_per_second),
                   o.on_cpu ? fmt::format("{:.0f} %", 100 * o.bytes_per_second / read) : "", o.check});
    return table.text(console);
}

Json to_json(const std::vector<DemoResult>& outcomes)
{
    Json list = Json::array();
    for (const DemoResult& o : outcomes)
        list.push_back({{"operation", o.operation},
                        {"backend", o.backend},
                        {"policy", o.policy},
                        {"seconds", o.seconds},
                        {"bytes_per_second", o.bytes_per_second},
                        {"ok", o.good}});
    return list;
}

double measured_read_bandwidth(const Stage& stage)
{
    const Activity work(stage.session.console, "measuring memory");
    return read_bandwidth(stage.host);
}

}  // namespace

void demo(const Session& session, const DemoOptions& options)
{
    if (!options.picture.empty() || picture::can_draw())
        picture::check_picture(options.picture.empty() ? default_picture : options.picture);
    const Console& console = session.console;
    const Context host = session.host();
    const Loaded<double> loaded = load<double>(session, host, options.matrix);
    const Portrait portrait = portray(session, host, loaded.matrix.view());
    const Stage stage{session, options, host, loaded.matrix.view(), portrait.features.products};
    Facts facts = short_facts_of(portrait);
    facts.title = options.matrix.name();
    add_file_facts(facts, loaded.file);
    if (!session.settings.json)
        console.print(facts.text(console) + "\n" + row_length_bars(console, portrait.features.row) + "\n");

    const double read = measured_read_bandwidth(stage);
    const std::vector<DemoResult> outcomes = perform(stage);
    const std::string picture = draw(stage), no_cuda = why_no_cuda();
    if (session.settings.json) {
        Json result = {{"matrix", options.matrix.text}};
        result.update(to_json(portrait));
        result.update({{"read_bandwidth", read},
                       {"results", to_json(outcomes)},
                       {"no_cuda", no_cuda.empty() ? Json() : Json(no_cuda)},
                       {"picture", picture.empty() ? Json() : Json(picture)}});
        print(session, result);
    } else {
        console.print(table_of(console, outcomes, read));
        console.print(fmt::format("\n  memory is read with {} by {}\n", rate_text(read),
                                  counted(host.host().threads, "thread", "threads")));
        if (!no_cuda.empty()) console.print("  no CUDA: " + no_cuda + "\n");
        console.print(
            "  picture: " +
            (picture.empty() ? "not drawn, Cairo was not found when tulle was built (tulle doctor)" : picture) + "\n");
    }
    for (const DemoResult& o : outcomes)
        require<CheckFailed>(o.good, [&] { return concat(o.operation, " on ", o.backend, ": ", o.check); });
}

void add_demo(Parser& parser, DemoOptions& o)
{
    CLI::App* verb = parser.verb("demo",
                                 "The main job in one go: a matrix, what it is like, products on every backend, "
                                 "checked and timed, and a picture.",
                                 "tulle demo\ntulle demo matrix.mtx\ntulle demo stencil27:60 --picture lattice.svg");
    parser.matrix(verb, o.matrix, false);
    verb->add_option("--picture", o.picture, "where to draw the matrix (tulle-demo.png)")->option_text("FILE");
    parser.output(o.picture);
    verb->add_option("--repeat", o.repeat, "timed runs (20)")->check(CLI::Range(1, 1'000'000))->option_text("N");
    Parser::seed(verb, o.seed, "of the vectors");
    parser.device(verb, [] { return why_no_cuda().empty(); });
    parser.when(verb, [&o](const Session& session) { demo(session, o); });
}

int run_demo_program(int count, char** words)
{
    DemoOptions options;
    return run_program(count, words, [&](Parser& parser) {
        std::string verb = "demo";
        std::vector<char*> all(words, words + count);
        if (count < 2 || words[1] != verb) all.insert(all.begin() + std::min(count, 1), verb.data());
        const int words_in_all = static_cast<int>(all.size());
        all.push_back(nullptr);
        add_demo(parser, options);
        parser.run(words_in_all, all.data());
    });
}

}  // namespace tulle::cli
