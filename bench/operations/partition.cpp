// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The story of one matrix: upload it, cut it into parts, look at their balance, give every part to a member of a team
// on the same device, check the team's product, and time each part alone. Members of one device share its memory, so
// what several devices would do is predicted from those times and a stated link, never read off a clock.
#include "bench/operations/partition.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/hash.hpp"
#include "bench/harness/machine.hpp"
#include "bench/harness/report.hpp"
#include "bench/harness/suite.hpp"
#include "bench/harness/verify.hpp"
#include "tulle/context.hpp"
#include "tulle/partition.hpp"
#include "tulle/spmv_team.hpp"
#include "tulle/text.hpp"
#include "tulle/trace.hpp"
#include "tulle/transfer.hpp"

namespace tulle::bench {
namespace {

struct Row {
    std::string matrix, device;
    index_t rows = 0;
    offset_t nonzeros = 0;
    double upload = 0, cut = 0;                   // seconds
    double by_rows = 1, whole = 1, tolerant = 1;  // largest part over mean, in nonzeros
    double halo = 0;                              // entries exchanged, relative to those of a gather
    bool right = false;
    std::string kernels = {};                 // of the slowest part
    double alone = 0, predicted = 0;          // seconds: one device, a team by the model
    struct Way {                              // of sharing the work
        double slowest = 0;                   // seconds: the slowest part alone
        double moved = 0;                     // bytes that a product with vectors on the host copies, in all directions
    } standard = {}, fixed = {}, paper = {};  // fixed: a deterministic team
};

double shortest(int repeat, const std::function<void()>& work)
{
    double least = 1e30;
    for (int i = 0; i < repeat; ++i) {
        const double begin = trace::now();
        work();
        least = std::min(least, trace::now() - begin);
    }
    return least;
}

// One upload into memory that is there already.
double time_upload(const Context& ctx, const Csr<double>& host, Csr<double>& there, int repeat)
{
    return shortest(repeat, [&] {
        ctx.run([&](const auto& q) {
            upload(q, host.row_begin.data(), there.row_begin.data(), host.row_begin.size());
            upload(q, host.col.data(), there.col.data(), host.col.size());
            upload(q, host.value.data(), there.value.data(), host.value.size());
        });
        ctx.synchronize();
    });
}

double even_rows_imbalance(const Csr<double>& a, int parts)
{
    const auto rows = partition::split_evenly(a.rows, parts);
    return partition::imbalance(
        partition::map_cuts(Context::cpu(1), std::span<const partition::Cut>(rows), a.row_begin.data()));
}

// Members that each have the whole device, one after the other.
Team team_like(const Context& ctx, int parts, bool deterministic)
{
    std::vector<Context> members;
    for (int p = 0; p < parts; ++p)
        members.push_back(
            (ctx.backend() == Backend::cpu ? Context(ctx) : Context::cuda(0)).deterministic(deterministic));
    return Team(std::move(members));
}

std::vector<double> part_seconds(const Team& team, spmv::TeamPlan<double>& plan)
{
    std::vector<double> seconds;
    for (int member = 0; member < plan.members(); ++member) {
        const auto watch = make_stopwatch(team[member]);
        double best = 1e30;
        for (int i = 0; i < 5; ++i) best = std::min(best, watch->warm([&] { plan.run_on(member, 1.0, 0.0); }, 20));
        seconds.push_back(best);
    }
    return seconds;
}

// A product and its traffic, then every part alone.
struct Timed {
    std::vector<double> seconds;
    Row::Way way;
};
Timed time_way(const Team& team, spmv::TeamPlan<double>& plan, std::span<const double> x,
               const SpmvReference<double>& reference, bool& right)
{
    std::vector<double> y(static_cast<std::size_t>(plan.rows()));
    plan.reset_traffic();
    plan.run(x, y);
    right = right && reference.worst_share(y) <= 1;
    const partition::Traffic moved = plan.traffic();
    Timed timed{part_seconds(team, plan), {}};
    timed.way = {*std::max_element(timed.seconds.begin(), timed.seconds.end()),
                 static_cast<double>(moved.host_to_device + moved.device_to_host + moved.device_to_device)};
    return timed;
}

void time_parts(const Context& ctx, const Csr<double>& host, const CsrView<double>& there,
                const PartitionOptions& options, Row& row)
{
    const Team team = team_like(ctx, options.parts, false), fixed = team_like(ctx, options.parts, true);
    const spmv::Overlap overlap = options.overlap == "always"  ? spmv::Overlap::always
                                  : options.overlap == "never" ? spmv::Overlap::never
                                                               : spmv::Overlap::automatic;
    std::vector<double> x(static_cast<std::size_t>(host.cols));
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = 2 * unit(hash_of(1, i)) - 1;
    const SpmvReference<double> reference(host.view(), x.data());
    row.right = true;
    const auto timed = [&](const Team& who, spmv::TeamPlan<double>& plan) {
        return time_way(who, plan, x, reference, row.right);
    };

    auto plan = spmv::TeamPlan<double>::make(team, host.view(), {.overlap = overlap, .checked = false});
    const auto [seconds, standard] = timed(team, plan);
    row.standard = standard;
    auto fixed_plan = spmv::TeamPlan<double>::make(fixed, host.view(), {.overlap = overlap, .checked = false});
    row.fixed = timed(fixed, fixed_plan).way;
    auto paper_plan = spmv::TeamPlan<double>::make(team, host.view(), {.paper = true, .checked = false});
    row.paper = timed(team, paper_plan).way;
    offset_t halo = 0;
    for (const auto& part : plan.parts()) halo += part.halo;
    row.halo = static_cast<double>(halo) / std::max(1.0, static_cast<double>(options.parts - 1) * host.cols);
    row.kernels =
        plan.parts()[static_cast<std::size_t>(std::max_element(seconds.begin(), seconds.end()) - seconds.begin())]
            .policy;
    row.predicted =
        spmv::predict_seconds(plan.parts(), seconds, sizeof(double), {.bytes_per_second = options.link * 1e9});

    const auto whole = spmv::Plan<double>::make(ctx, there, {.checked = false});
    const Buffer<double> x_there = to_device(ctx, std::span<const double>(x));
    auto y_there = ctx.run([&](const auto& q) { return Buffer<double>(q, host.rows); });
    const auto watch = make_stopwatch(ctx);
    row.alone = 1e30;
    for (int i = 0; i < 5; ++i)
        row.alone = std::min(row.alone, watch->warm([&] { whole.run(x_there.span(), y_there.span()); }, 20));
}

Row measure_one(const Context& ctx, const Case& which, const PartitionOptions& options)
{
    const Csr<double> host = load<double>(Context::cpu(), which);
    Csr<double> there = to_device(ctx, host.view());
    const int repeat = options.wish.repeat > 0 ? options.wish.repeat : 7;
    Row row{.matrix = which.name, .device = device_name(ctx), .rows = host.rows, .nonzeros = host.nonzeros()};
    row.upload = time_upload(ctx, host, there, repeat);
    row.cut = shortest(repeat, [&] {
        const auto parts = partition::partition(ctx, there.view(), options.parts, {.rule = partition::Rule::tolerant});
        ctx.synchronize();
    });
    const auto imbalance = [&](partition::Rule rule) {
        return partition::imbalance(
            partition::split(ctx, there.row_begin.data(), host.rows, options.parts, {.rule = rule}));
    };
    row.by_rows = even_rows_imbalance(host, options.parts);
    row.whole = imbalance(partition::Rule::whole);
    row.tolerant = imbalance(partition::Rule::tolerant);
    time_parts(ctx, host, there.view(), options, row);
    return row;
}

void print(const Row& r)
{
    fmt::print("{:<16} {:>11} {:>9.3f} {:>7.1f} {:>6.2f}% {:>6.3f} {:>7.4f} {:>7.4f} {:>6.1f}% {:>8.1f} {:>8.1f} "
               "{:>8.1f} {:>8.1f} {:>6.2f} {:>6.2f} {:>7.1f} {:>7.1f}  {}  {}\n",
               r.matrix, grouped(r.nonzeros), r.upload * 1e3, r.cut * 1e6, 100 * r.cut / r.upload, r.by_rows, r.whole,
               r.tolerant, 100 * r.halo, r.alone * 1e6, r.standard.slowest * 1e6, r.fixed.slowest * 1e6,
               r.paper.slowest * 1e6, r.alone / r.standard.slowest, r.alone / r.predicted, r.standard.moved / 1e6,
               r.paper.moved / 1e6, r.right ? "ok" : "WRONG", r.kernels);
}

void print_header(const PartitionOptions& o, const std::string& device)
{
    fmt::print("\n{} parts on {}. Upload: one copy of the matrix from the host. Cut: cuts and local pointers. "
               "Imbalance by equal rows, by nonzeros between rows, and as cut by\n"
               "default. Halo: entries exchanged, relative to sending all of x to every part. One: a product on the "
               "whole device; slowest: the slowest "
               "part alone; fixed: the same in a deterministic team; paper: as MSREP\n"
               "has it (cuts to the nonzero, x replicated). x kernel = one / slowest; x model = one / predicted, for "
               "{} devices like this one with {} GB/s between them (assumed, 5 us a\n"
               "message). MB moved: by a product with vectors on the host, by default and as in the paper.\n",
               o.parts, device, o.parts, o.link);
    fmt::print(
        "{:<16} {:>11} {:>9} {:>7} {:>7} {:>6} {:>7} {:>7} {:>7} {:>8} {:>8} {:>8} {:>8} {:>6} {:>6} {:>7} {:>7}\n",
        "matrix", "nonzeros", "upload ms", "cut us", "share", "rows", "whole", "default", "halo", "one us", "slowest",
        "fixed", "paper", "kernel", "model", "MB", "paper");
}

nlohmann::json to_json(const Row& r, const PartitionOptions& o)
{
    return {{"operation", "partition"},
            {"matrix", r.matrix},
            {"device", r.device},
            {"commit", commit()},
            {"date", today()},
            {"parts", o.parts},
            {"rows", r.rows},
            {"nonzeros", r.nonzeros},
            {"upload_seconds", r.upload},
            {"cut_seconds", r.cut},
            {"imbalance", {{"rows", r.by_rows}, {"whole", r.whole}, {"default", r.tolerant}}},
            {"halo_share", r.halo},
            {"right", r.right},
            {"one_seconds", r.alone},
            {"overlap", o.overlap},
            {"kernels", r.kernels},
            {"slowest_part_seconds", r.standard.slowest},
            {"slowest_part_deterministic_seconds", r.fixed.slowest},
            {"slowest_part_paper_seconds", r.paper.slowest},
            {"bytes_moved", r.standard.moved},
            {"bytes_moved_paper", r.paper.moved},
            {"predicted_seconds", r.predicted},
            {"assumed_link_gb_per_second", o.link}};
}

std::vector<Case> cases_for(const PartitionOptions& options)
{
    std::vector<Case> cases;
    for (const std::string& text : options.matrices) cases.push_back(make_case(text));
    if (!options.suite.empty() || cases.empty())
        for (const Case& which : read_suite(options.suite.empty() ? "quick" : options.suite).cases)
            cases.push_back(which);
    return cases;
}

}  // namespace

int bench_partition(const PartitionOptions& options)
{
    std::vector<Context> places;
    if (options.backend != "cuda") places.push_back(Context::cpu(options.threads));
    const std::string why = options.backend == "cpu" ? "" : why_no_cuda();
    if (options.backend != "cpu" && why.empty()) places.push_back(Context::cuda(0));
    if (!why.empty() && !options.quiet) fmt::print(stderr, "cuda skipped: {}\n", why);
    std::ofstream file;
    if (!options.json.empty()) file = add_lines_to(options.json);
    bool right = true;
    for (const Context& ctx : places) {
        print_header(options, device_name(ctx));
        for (const Case& which : cases_for(options)) {
            const Row row = measure_one(ctx, which, options);
            right = right && row.right;
            print(row);
            if (file.is_open()) file << to_json(row, options).dump() << "\n";
        }
    }
    return right ? 0 : 1;
}

}  // namespace tulle::bench
