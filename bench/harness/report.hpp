// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What was measured, as a table for people and as JSON lines for everything else.
#pragma once

#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "bench/harness/contender.hpp"
#include "bench/harness/measure.hpp"
#include "bench/operations/roofline.hpp"
#include "tulle/trace.hpp"
#include "tulle/types.hpp"

namespace tulle::bench {

// One contender on one matrix.
struct Entry {
    std::string name;
    Role role = Role::baseline;
    Prepared prepared = {};
    std::vector<trace::Timing> phases = {};  // of the preparation
    double prepare_seconds = 0;
    double update_seconds = 0;  // 0: the contender has no such call
    double worst_error = 0;     // in units of what is allowed
    std::string status = "ok";  // or why there are no times
    Measured times = {};
};

// All contenders on one matrix.
struct MatrixResult {
    std::string operation;  // "spmv"
    std::string matrix;
    index_t rows = 0, cols = 0;
    offset_t nonzeros = 0;
    std::string type, backend, device;
    std::size_t bytes = 0;                                      // compulsory
    double memory_bandwidth = 0;                                // measured on an array beyond the caches, GB/s
    std::vector<std::pair<std::string, double>> features = {};  // what our choice depends on; in JSON lines only
    std::vector<Entry> entries = {};
};

// The ways of timing, and how a table calls them.
struct Way {
    const char* name;
    Series Measured::*series;
};
inline constexpr Way ways[] = {{"warm", &Measured::warm}, {"graph", &Measured::replayed}, {"cold", &Measured::cold}};

const Entry* ours(const MatrixResult& result);  // by our own choice of policy; null if it failed
const Entry* best_yardstick(const MatrixResult& result, const Way& way);  // null if there is none
double ratio(const MatrixResult& result, const Entry& entry,
             const Way& way);  // best baseline's time over this one's; 0 if unknown
double share_of_reading(const MatrixResult& result, const Entry& entry,
                        const Way& way);  // time to read the compulsory bytes over this one's

std::ofstream add_lines_to(
    const std::string& path);  // behind those that are there: a table takes the newest (tools/bench_table.py)

class Report {
public:
    Report(const std::string& json, bool quiet);

    void talk(const std::string& line) const;      // on standard error, unless quiet
    void complain(const std::string& line) const;  // on standard error, also when quiet
    void add(const MatrixResult& result);
    void add(const std::vector<Limit>& limits, const std::string& device);
    void finish() const;  // geometric means, losses

private:
    void print_header(const MatrixResult& result);
    void print_rows(const MatrixResult& result) const;
    void write_lines(const MatrixResult& result);
    void put_line(const std::string& line) const;

    bool quiet_, table_;
    std::ofstream file_;
    std::ostream* json_ = nullptr;
    std::vector<MatrixResult> all_;
};

}  // namespace tulle::bench
