// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "bench/harness/report.hpp"
#include "bench/build.hpp"

#include <fmt/core.h>
#include <fmt/ostream.h>

#include <cmath>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/plural.hpp"
#include "bench/harness/machine.hpp"
#include "bench/harness/values.hpp"
#include "tulle/error.hpp"
#include "tulle/text.hpp"

namespace tulle::bench {
namespace {

using Json = nlohmann::ordered_json;

double gigabytes_per_second(std::size_t bytes, double seconds)
{
    return seconds > 0 ? static_cast<double>(bytes) / seconds * 1e-9 : 0;
}

double median(const Entry& entry, const Way& way) { return (entry.times.*way.series).median(); }

const char* to_text(Role role) { return role == Role::ours ? "ours" : role == Role::baseline ? "baseline" : "roof"; }

std::string shortened(const std::string& name, std::size_t most)
{
    if (name.size() <= most) return name;
    const std::size_t tail = most / 2;
    return name.substr(0, most - tail - 2) + ".." + name.substr(name.size() - tail);
}

// 0 is a number that could not be had.
Json number(double value) { return value > 0 && std::isfinite(value) ? Json(value) : Json(nullptr); }

Json phases_of(const Entry& entry)
{
    Json phases = Json::array();
    for (const trace::Timing& t : entry.phases)
        phases.push_back({{"name", t.name}, {"depth", t.depth}, {"us", t.seconds * 1e6}});
    return phases;
}

void put_times(Json& line, const MatrixResult& result, const Entry& entry)
{
    for (const Way& way : ways) {
        const Series& series = entry.times.*way.series;
        if (series.empty()) continue;
        line[way.name] = {{"us_median", series.median() * 1e6},
                          {"us_min", series.least() * 1e6},
                          {"samples", series.seconds.size()},
                          {"gbps", gigabytes_per_second(result.bytes, series.median())},
                          {"share_of_reading", number(share_of_reading(result, entry, way))},
                          {"ratio", entry.role == Role::roofline ? Json(nullptr) : number(ratio(result, entry, way))}};
    }
}

Json line_of(const MatrixResult& result, const Entry& entry)
{
    Json line{{"operation", result.operation}, {"matrix", result.matrix},         {"rows", result.rows},
              {"cols", result.cols},           {"nonzeros", result.nonzeros},     {"type", result.type},
              {"backend", result.backend},     {"device", result.device},         {"contender", entry.name},
              {"role", to_text(entry.role)},   {"policy", entry.prepared.choice}, {"status", entry.status}};
    line["worst_error"] = std::isfinite(entry.worst_error) ? Json(entry.worst_error) : Json("infinite");
    line["prepare_us"] = entry.prepare_seconds * 1e6;
    if (entry.update_seconds > 0) line["update_us"] = entry.update_seconds * 1e6;
    line["phases"] = phases_of(entry);
    line["kept_bytes"] = entry.prepared.bytes;
    if (entry.prepared.beside_result > 0) line["kept_beside_result_bytes"] = entry.prepared.beside_result;
    line["bytes"] = result.bytes;
    line["memory_gbps"] = number(result.memory_bandwidth);
    for (const auto& [name, value] : result.features) line["features"][name] = value;
    put_times(line, result, entry);
    if (!entry.times.no_replay.empty()) line["no_graph"] = entry.times.no_replay;
    if (const std::string made = values_of(result.matrix); made != "stored") line["values"] = made;
    line["load"] = load();
    line["commit"] = commit();
    line["date"] = today();
    return line;
}

// Where ways beyond warm were timed, their ratios follow in columns of their own.
std::string other_ratios(const MatrixResult& result, const Entry& entry)
{
    std::string text;
    for (const Way& way : ways)
        if (way.series != &Measured::warm)
            if (const double r = ratio(result, entry, way); r > 0) text += fmt::format("  {} {:.2f}", way.name, r);
    return text;
}

struct Mean {
    double log_sum = 0;
    int count = 0, losses = 0;
    void add(double r)
    {
        log_sum += std::log(r);
        ++count;
        losses += r < 1;
    }
    double value() const { return count > 0 ? std::exp(log_sum / count) : 0; }
};

}  // namespace

const Entry* ours(const MatrixResult& result)
{
    for (const Entry& entry : result.entries)
        if (entry.role == Role::ours && entry.name == "tulle" && entry.status == "ok") return &entry;
    return nullptr;
}

const Entry* best_yardstick(const MatrixResult& result, const Way& way)
{
    const Entry* best = nullptr;
    for (const Entry& entry : result.entries) {
        if (entry.role != Role::baseline || entry.status != "ok" || median(entry, way) <= 0) continue;
        if (!best || median(entry, way) < median(*best, way)) best = &entry;
    }
    return best;
}

double ratio(const MatrixResult& result, const Entry& entry, const Way& way)
{
    const Entry* best = best_yardstick(result, way);
    return best && median(entry, way) > 0 ? median(*best, way) / median(entry, way) : 0;
}

double share_of_reading(const MatrixResult& result, const Entry& entry, const Way& way)
{
    for (const Entry& roofline : result.entries)
        if (roofline.role == Role::roofline && median(entry, way) > 0)
            return median(roofline, way) / median(entry, way);
    return 0;
}

// A product as small as a call has no share worth its digits.
std::string share_text(double share) { return share < 10 ? fmt::format("{:.0f}%", 100 * share) : "-"; }

std::ofstream add_lines_to(const std::string& path)
{
    std::ofstream file(path, std::ios::app);
    require<FileError>(
        file.good(), [&] { return concat("cannot write to '", path, "'"); },
        "--json wants a file; lines are added to it");
    return file;
}

Report::Report(const std::string& json, bool quiet) : quiet_(quiet), table_(json != "-")
{
    if (!has_fast_baselines)
        talk("this program was built for tests, its baselines without optimisation; for times: make bench, or "
             "TULLE_BENCH_TIMES=ON");
    if (json == "-") json_ = &std::cout;
    if (json.empty() || json == "-") return;
    file_ = add_lines_to(json);
    json_ = &file_;
}

void Report::talk(const std::string& line) const
{
    if (!quiet_) fmt::print(stderr, "{}\n", line);
}

void Report::complain(const std::string& line) const { fmt::print(stderr, "tulle-bench: {}\n", line); }

void Report::add(const MatrixResult& result)
{
    const bool first = all_.empty() || all_.back().backend != result.backend;
    if (table_ && first) print_header(result);
    if (table_) print_rows(result);
    if (json_) write_lines(result);
    all_.push_back(result);
    std::fflush(stdout);
}

void Report::print_header(const MatrixResult& result)
{
    fmt::print("\n{} {} on {}: {}; reads memory at {:.1f} GB/s\n", result.operation, result.type, result.backend,
               result.device, result.memory_bandwidth);
    fmt::print("{:<26}{:>10}{:>12}  {:<18}{:>10}{:>9}{:>9}  {:<20}{:>10}{:>8}\n", "matrix", "rows", "nonzeros", "tulle",
               "us", "GB/s", "of read", "best baseline", "us", "ratio");
}

void Report::print_rows(const MatrixResult& result) const
{
    const Way& warm = ways[0];
    const Entry* best = best_yardstick(result, warm);
    for (const Entry& entry : result.entries) {
        if (entry.status != "ok") talk(concat("  ", result.matrix, ": ", entry.name, ": ", entry.status));
        if (entry.role != Role::ours || entry.status != "ok") continue;
        const double seconds = median(entry, warm), r = ratio(result, entry, warm);
        fmt::print("{:<26}{:>10}{:>12}  {:<18}{:>10.1f}{:>9.1f}{:>9}  {:<20}{:>10}{:>8}{}\n",
                   shortened(result.matrix, 25), result.rows, result.nonzeros, shortened(entry.prepared.choice, 17),
                   seconds * 1e6, gigabytes_per_second(result.bytes, seconds),
                   share_text(share_of_reading(result, entry, warm)), best ? shortened(best->name, 19) : "none",
                   best ? fmt::format("{:.1f}", median(*best, warm) * 1e6) : "-",
                   r > 0 ? fmt::format("{:.2f}", r) : "-", other_ratios(result, entry));
    }
}

void Report::write_lines(const MatrixResult& result)
{
    for (const Entry& entry : result.entries) put_line(line_of(result, entry).dump());
}

void Report::add(const std::vector<Limit>& limits, const std::string& device)
{
    if (table_) fmt::print("\n{}\n", device);
    for (const Limit& limit : limits) {
        if (table_ && limit.gigabytes_per_second > 0)
            fmt::print("  {:<8}{:<42}{:>9.1f} GB/s\n", limit.where, limit.what, limit.gigabytes_per_second);
        else if (table_) fmt::print("  {:<8}{:<42}{:>9.2f} us\n", limit.where, limit.what, limit.seconds * 1e6);
        if (!json_) continue;
        const Json line{{"operation", "roof"},
                        {"device", device},
                        {"where", limit.where},
                        {"what", limit.what},
                        {"gbps", number(limit.gigabytes_per_second)},
                        {"us_median", limit.seconds * 1e6},
                        {"commit", commit()},
                        {"date", today()}};
        put_line(line.dump());
    }
}

// What does not arrive is told at once: hours of measurements may follow.
void Report::put_line(const std::string& line) const
{
    *json_ << line << std::endl;
    require<FileError>(json_->good(), "the results could not be written to the file of --json");
}

void Report::finish() const
{
    if (!table_) return;
    for (const std::string backend : {"cpu", "cuda"})
        for (const Way& way : ways) {
            Mean mean;
            for (const MatrixResult& result : all_)
                if (const Entry* entry = ours(result); entry && result.backend == backend)
                    if (const double r = ratio(result, *entry, way); r > 0) mean.add(r);
            if (mean.count == 0) continue;
            fmt::print("{} {}: {:.2f} x the speed of the best baseline (geometric mean over {} {}), slower on {}\n",
                       backend, way.name, mean.value(), mean.count, plural(mean.count, "matrix", "matrices"),
                       mean.losses);
        }
}

}  // namespace tulle::bench
