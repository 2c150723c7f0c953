// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// tulle run sptrsv: op(T) X = alpha B for a triangle of any square matrix, on one backend or on all, timed and checked.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "apps/cli/support/failure.hpp"
#include "apps/cli/support/layout.hpp"
#include "apps/cli/support/machine.hpp"
#include "apps/cli/support/progress.hpp"
#include "apps/cli/support/whole_file.hpp"
#include "apps/cli/verbs/operations/measure_spmv.hpp"
#include "apps/cli/verbs/operations/sptrsv.hpp"
#include "base/hash.hpp"
#include "base/math.hpp"
#include "tulle/context.hpp"
#include "tulle/convert.hpp"
#include "tulle/text.hpp"
#include "tulle/trace.hpp"
#include "tulle/transfer.hpp"

namespace tulle::cli {
namespace {

template <class V>
struct SolveResult : Measured {
    std::vector<V> x = {};  // row after row
    index_t levels = 0;
    offset_t entries = 0;  // of the triangle
};

// op(T) on the host as a triangle whose rows can be gone through in order; row i stands for row of_op(i) of op(T).
template <class V>
struct Plain {
    std::vector<std::vector<std::pair<index_t, long double>>> row;  // entries beside the diagonal
    std::vector<long double> diagonal;
    bool reversed = false;

    std::size_t place(index_t op_row) const
    {
        return static_cast<std::size_t>(reversed ? static_cast<index_t>(row.size()) - 1 - op_row : op_row);
    }
};

template <class V>
Plain<V> plain_triangle(const CsrView<V>& a, const TriangleOptions& o)
{
    const auto n = static_cast<std::size_t>(a.rows);
    Plain<V> plain{std::vector<std::vector<std::pair<index_t, long double>>>(n), std::vector<long double>(n, 1.0L),
                   o.upper != o.transpose};
    for (index_t i = 0; i < a.rows; ++i)
        for (offset_t k = a.row_begin[i]; k < a.row_begin[i + 1]; ++k) {
            const index_t j = a.col[k], row = o.transpose ? j : i, col = o.transpose ? i : j;
            if (i == j && !o.unit_diagonal) plain.diagonal[plain.place(row)] = a.value[k];
            else if (o.upper ? j > i : j < i)
                plain.row[plain.place(row)].emplace_back(static_cast<index_t>(plain.place(col)), a.value[k]);
        }
    return plain;
}

struct PlainSolution {
    std::vector<long double> exact, bound;
};

// The solution for one right-hand side in long double, and the bound of a solve (base/error_bound.hpp).
template <class V>
PlainSolution solve_plainly(const Plain<V>& plain, long double alpha, const std::vector<V>& b, index_t sides,
                            index_t side)
{
    const std::size_t n = plain.row.size();
    std::vector<long double> x(n), bound(n);
    std::size_t longest = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const std::size_t at = plain.reversed ? n - 1 - i : i;
        long double sum = alpha * b[at * static_cast<std::size_t>(sides) + static_cast<std::size_t>(side)];
        for (const auto& [j, v] : plain.row[i]) sum -= v * x[static_cast<std::size_t>(j)];
        x[i] = sum / plain.diagonal[i];
        bound[i] = std::abs(x[i]);
        longest = std::max(longest, plain.row[i].size());
    }
    for (int power = 0; power < 2; ++power) {
        const std::vector<long double> before = bound;
        for (std::size_t i = 0; i < n; ++i) {
            long double sum = std::abs(plain.diagonal[i]) * before[i];
            for (const auto& [j, v] : plain.row[i])
                sum += std::abs(v) * (before[static_cast<std::size_t>(j)] + bound[static_cast<std::size_t>(j)]);
            bound[i] = sum / std::abs(plain.diagonal[i]);
        }
    }
    if (plain.reversed) {
        std::reverse(x.begin(), x.end());
        std::reverse(bound.begin(), bound.end());
    }
    for (long double& growth : bound) growth = error_bound::of_solve<V>(static_cast<long double>(longest), growth);
    return {x, bound};
}

// The first and the last right-hand side are checked.
template <class V>
Verdict check(const Plain<V>& plain, V alpha, const std::vector<V>& b, index_t sides, const std::vector<V>& x)
{
    Verdict worst;
    for (index_t side = 0; side < sides; side += std::max<index_t>(1, sides - 1)) {
        const PlainSolution plainly = solve_plainly(plain, static_cast<long double>(alpha), b, sides, side);
        const bool defined =
            std::none_of(plainly.exact.begin(), plainly.exact.end(), [](long double v) { return std::isnan(v); });
        require<ValueError>(defined, "the triangle has values that are not finite",
                            "look at the matrix with tulle validate --finite");
        const bool fits = std::all_of(plainly.exact.begin(), plainly.exact.end(), [](long double v) {
            return std::abs(v) <= static_cast<long double>(std::numeric_limits<V>::max());
        });
        require<ValueError>(fits, "the solution of this triangle exceeds the range of its type",
                            "--dominant keeps the pattern and makes the values harmless");
        std::vector<V> column(plain.row.size());
        for (std::size_t i = 0; i < column.size(); ++i)
            column[i] = x[i * static_cast<std::size_t>(sides) + static_cast<std::size_t>(side)];
        const Verdict verdict = judge<V>(column, plainly.exact, plainly.bound);
        if (side == 0 || !(verdict.worst <= worst.worst)) worst = verdict;
    }
    return worst;
}

template <class V>
SolveResult<V> measure_solve(const Context& ctx, const CsrView<V>& on_host, const RunSptrsvOptions& o,
                             const std::vector<V>& b)
{
    SolveResult<V> result{{.backend = ctx.name()}};
    const auto there = to_device(ctx, on_host);
    const index_t n = on_host.rows, sides = o.right_hand_sides;
    const Buffer<V> right = to_device(ctx, std::span<const V>(b));
    Buffer<V> x = to_device(ctx, std::span<const V>(b));
    sptrsv::Options options = o.triangle.plan();
    options.right_hand_sides = sides;
    options.cache = o.cache;
    options.model = o.model;
    if (o.search > 0) options.effort = tulle::Effort::search, options.seconds = o.search;
    const double begin = trace::now();
    const auto plan = sptrsv::Plan<V>::make(ctx, there.view(), options);
    ctx.synchronize();
    result.plan_seconds = trace::now() - begin;
    result.policy = sptrsv::to_text(plan.policy());
    result.description = plan.describe();
    result.plan_bytes = plan.bytes();
    result.levels = plan.levels();
    result.entries = plan.features().nonzeros;
    const DenseView<const V> b_view{n, sides, sides, Layout::row_major, right.data()};
    const DenseView<V> x_view{n, sides, sides, Layout::row_major, x.data()};
    const auto run = [&] {
        plan.solve(static_cast<V>(o.alpha), b_view, x_view);
        ctx.synchronize();
    };
    time_runs(o.repeat, run, result);
    plan.wait();
    const Buffer<V> back = to_host(ctx, std::span<const V>(x.span()));
    result.x.assign(back.span().begin(), back.span().end());
    return result;
}

// The same pattern with a full diagonal of ones, and beside it numbers that keep every solution small.
template <class V>
Csr<V> tamed(const Context& host, const CsrView<V>& a)
{
    Csr<V> tame = Csr<V>::make(host.host(), a.rows, a.cols, a.nonzeros + a.rows);
    offset_t at = 0;
    for (index_t i = 0; i < a.rows; ++i) {
        tame.row_begin.data()[i] = at;
        const auto share = static_cast<double>(std::max<offset_t>(1, a.row_begin[i + 1] - a.row_begin[i]));
        for (offset_t k = a.row_begin[i]; k < a.row_begin[i + 1]; ++k) {
            if (a.col[k] == i) continue;
            tame.col.data()[at] = a.col[k];
            tame.value.data()[at++] = static_cast<V>((2 * unit(hash_of(5, i, a.col[k])) - 1) / share);
        }
        tame.col.data()[at] = i;
        tame.value.data()[at++] = V(1);
    }
    tame.row_begin.data()[a.rows] = at;
    tame.sorted = tame.unique = false;
    CsrView<V> used = tame.view();
    used.nonzeros = at;
    return to_csr(host, used);
}

template <class V>
void report(const Session& session, const RunSptrsvOptions& o, const CsrView<V>& a,
            const std::vector<SolveResult<V>>& results)
{
    if (session.settings.json) {
        Json list = Json::array();
        for (const auto& r : results) {
            list.push_back(measured_json(r));
            list.back()["levels"] = r.levels;
        }
        Json result = about(o.triangle.matrix, a);
        result.update({{"type", o.triangle.type},
                       {"upper", o.triangle.upper},
                       {"unit_diagonal", o.triangle.unit_diagonal},
                       {"transpose", o.triangle.transpose},
                       {"alpha", o.alpha},
                       {"right_hand_sides", o.right_hand_sides},
                       {"repeat", o.repeat},
                       {"results", list}});
        return print(session, result);
    }
    Table table({{"backend", Align::left}, {"plan"}, {"levels"}, {"median"}, {"best"}, {"result", Align::left}});
    for (const auto& r : results)
        table.add({r.backend, seconds_text(r.plan_seconds), grouped(r.levels), seconds_text(r.median),
                   seconds_text(r.best), check_text(r.verdict)});
    const std::string title =
        fmt::format("{}{} triangle of {}: {}, {}, {}\n", o.triangle.upper ? "upper" : "lower",
                    o.triangle.transpose ? " (transposed)" : "", o.triangle.matrix.name(),
                    counted(a.rows, "row", "rows"), counted(o.right_hand_sides, "right-hand side", "right-hand sides"),
                    o.triangle.type);
    std::string text = session.console.styled(title, Style::bold) + table.text(session.console);
    for (const auto& r : results) text += "\n" + r.description + "\n";
    session.console.print(text);
}

// Where no backend was asked for.
template <class V>
std::vector<Context> soonest(const Session& session, const RunSptrsvOptions& o, const CsrView<V>& a)
{
    sptrsv::Options options = o.triangle.plan();
    options.right_hand_sides = o.right_hand_sides;
    const sptrsv::Placement placement =
        sptrsv::best_context<V>(a, options, session.settings.threads, session.settings.device).placement;
    session.console.say(placement.why);
    return session.contexts(placement.backend == Backend::cpu ? "cpu" : "cuda");
}

template <class V>
void run_as(const Session& session, const RunSptrsvOptions& o)
{
    const Context host = session.host();
    const Loaded<V> loaded = load_triangle<V>(session, host, o.triangle);
    const CsrView<V> a = loaded.matrix.view();
    const std::vector<Context> where =
        o.triangle.backend == "auto" ? soonest(session, o, a) : session.contexts(o.triangle.backend);
    const offset_t entries = checked_product(a.rows, o.right_hand_sides, "right-hand sides");
    require_budget(host, entries, sizeof(V), "right-hand sides");
    const std::vector<V> b = seeded_vector<V>(entries, o.seed);
    std::vector<SolveResult<V>> results;
    {
        const Activity work(session.console, "solving");
        for (const Context& ctx : where) results.push_back(measure_solve(ctx, a, o, b));
    }
    if (o.verify) {
        const Activity work(session.console, "checking");
        const Plain<V> plain = plain_triangle(a, o.triangle);
        for (auto& r : results) r.verdict = check(plain, static_cast<V>(o.alpha), b, o.right_hand_sides, r.x);
    }
    report(session, o, a, results);
    require_good(results, "sptrsv", "entry ");
}

bool uses_gpu(const TriangleOptions& o) { return o.backend != "cpu" && (o.backend == "all" || why_no_cuda().empty()); }

void add_triangle(Parser& parser, CLI::App* verb, TriangleOptions& o, const std::vector<std::string>& backends,
                  const std::string& backend_help)
{
    parser.matrix(verb, o.matrix);
    auto* upper = verb->add_flag("--upper", o.upper, "the upper triangle");
    verb->add_flag("--lower", o.lower, "the lower triangle (the default)")->excludes(upper);
    verb->add_flag("--unit-diagonal", o.unit_diagonal, "the diagonal is one, whatever is stored");
    verb->add_flag("--transpose", o.transpose, "solve with the transposed triangle");
    verb->add_flag("--dominant", o.dominant,
                   "keep the pattern, but values that keep the solution small; missing diagonals are filled");
    verb->add_option("--accuracy", o.accuracy,
                     "on a GPU: fast (inverses of blocks), tested (substitution where trial solves lose digits; the "
                     "default), substitution")
        ->check(one_of({"fast", "tested", "substitution"}))
        ->option_text("HOW");
    verb->add_option("--backend", o.backend, backend_help)->check(one_of(backends))->option_text("WHERE");
    Parser::type(verb, o.type);
    const auto on_gpu = [&o] { return uses_gpu(o); };
    parser.device(verb, on_gpu);
    parser.effective(verb, "--accuracy", on_gpu, "where no GPU is used");
}

}  // namespace

sptrsv::Options TriangleOptions::plan() const
{
    const auto how = accuracy == "fast"     ? sptrsv::Accuracy::fast
                     : accuracy == "tested" ? sptrsv::Accuracy::tested
                                            : sptrsv::Accuracy::substitution;
    return {.uplo = upper ? sptrsv::Uplo::upper : sptrsv::Uplo::lower,
            .op = transpose ? tulle::Op::transpose : tulle::Op::none,
            .unit_diagonal = unit_diagonal,
            .other_side = sptrsv::OtherSide::ignore,
            .accuracy = how};
}

template <class V>
Loaded<V> load_triangle(const Session& session, const Context& host, const TriangleOptions& options)
{
    Loaded<V> loaded = load<V>(session, host, options.matrix);
    require<ShapeError>(loaded.matrix.rows == loaded.matrix.cols, [&] {
        return concat("a triangle is square, the matrix is ", loaded.matrix.rows, " x ", loaded.matrix.cols);
    });
    if (options.dominant) loaded.matrix = tamed(host, loaded.matrix.view());
    return loaded;
}

Summary solve_lower_triangle(const Context& host, const Context& ctx, const CsrView<double>& a, int repeat,
                             std::uint64_t seed)
{
    const Csr<double> tame = tamed(host, a);
    RunSptrsvOptions o;
    o.repeat = repeat;
    const std::vector<double> b = seeded_vector<double>(a.rows, seed);
    const SolveResult<double> r = measure_solve(ctx, tame.view(), o, b);
    const Verdict verdict = check(plain_triangle(tame.view(), o.triangle), 1.0, b, 1, r.x);
    const auto entries = static_cast<std::size_t>(r.entries), rows = static_cast<std::size_t>(a.rows);
    return {r.backend,
            r.policy,
            check_text(verdict),
            r.median,
            entries * (sizeof(double) + sizeof(index_t)) + 2 * rows * sizeof(double),
            verdict.good()};
}

template Loaded<float> load_triangle(const Session&, const Context&, const TriangleOptions&);
template Loaded<double> load_triangle(const Session&, const Context&, const TriangleOptions&);

void run_sptrsv(const Session& session, const RunSptrsvOptions& options)
{
    if (!options.cache.empty() && options.search > 0) check_folder(options.cache);
    check_scalar("--alpha", options.alpha, options.triangle.type);
    options.triangle.type == "f32" ? run_as<float>(session, options) : run_as<double>(session, options);
}

void add_run_sptrsv(Parser& parser, CLI::App* run, RunSptrsvOptions& o)
{
    CLI::App* verb = parser.verb(
        "sptrsv", "op(T) X = alpha B for a triangle T of any square matrix, timed; B comes from a seed.",
        "tulle run sptrsv matrix.mtx --verify\ntulle run sptrsv twin:cant --dominant --backend all --verify\n"
        "tulle run sptrsv matrix.mtx --upper --unit-diagonal --rhs 32",
        run);
    o.triangle.backend = "auto";
    add_triangle(parser, verb, o.triangle, {"cpu", "cuda", "all"},
                 "cpu, cuda or all; where a hundred solves should take least, unless given");
    verb->add_option("--rhs", o.right_hand_sides, "right-hand sides (1)")
        ->check(CLI::Range(1, 100'000))
        ->option_text("N");
    Parser::scalar(verb, "--alpha", o.alpha, "(1)");
    verb->add_option("--search", o.search, "try policies for so many seconds instead of predicting the best")
        ->check(positive())
        ->option_text("SECONDS");
    verb->add_option("--cache", o.cache, "folder that remembers what a search found for a pattern on a device")
        ->option_text("FOLDER");
    verb->add_option("--model", o.model, "file of a learned model that chooses (tools/train); none: rules choose")
        ->option_text("FILE");
    verb->add_option("--repeat", o.repeat, "timed runs (10)")->check(CLI::Range(1, 1'000'000))->option_text("N");
    verb->add_flag("--verify", o.verify,
                   "compare with a plain solve, entry by entry; exit code 1 if a bound is broken");
    Parser::seed(verb, o.seed, "of B");
    parser.when(verb, [&o](const Session& session) { run_sptrsv(session, o); });
}

void add_tune(Parser& parser, TuneSptrsvOptions& o)
{
    CLI::App* tune = parser.verb("tune", "Tries what could be chosen for a matrix and shows what is fastest.",
                                 "tulle tune sptrsv matrix.mtx --seconds 10\ntulle tune sptrsv --help");
    tune->require_subcommand(1);
    CLI::App* verb =
        parser.verb("sptrsv",
                    "Policies of the triangular solve, the fastest first; the one tulle would choose is marked.",
                    "tulle tune sptrsv matrix.mtx --seconds 10\ntulle tune sptrsv twin:cant --dominant --paper "
                    "--seconds 60\ntulle tune sptrsv twin:cant --dominant --exhaustive --seconds 3600",
                    tune);
    o.triangle.backend = "cuda";
    add_triangle(parser, verb, o.triangle, {"cpu", "cuda"}, "cuda (the default, where there is a GPU) or cpu");
    verb->add_option("--seconds", o.seconds, "no new policy is tried after this long (10)")
        ->check(positive())
        ->option_text("SECONDS");
    auto* paper = verb->add_flag("--paper", o.paper, "on a GPU: some schemes of AG-SpTRSV of every kind too");
    verb->add_flag("--exhaustive", o.exhaustive, "on a GPU: all of them, in any order, as long as --seconds last")
        ->excludes(paper);
    verb->add_option("--cache", o.cache, "folder that remembers the fastest, for plans made with it")
        ->option_text("FOLDER");
    verb->add_option("--show", o.show, "rows of the table (20)")->check(positive())->option_text("N");
    for (const char* option : {"--paper", "--exhaustive"})
        parser.effective(
            verb, option, [&o] { return uses_gpu(o.triangle); }, "where no GPU is used");
    parser.effective(
        verb, "--show", [&parser] { return !parser.settings().json; }, "with --json, which has all of them");
    parser.when(verb, [&o](const Session& session) { tune_sptrsv(session, o); });
}

}  // namespace tulle::cli
