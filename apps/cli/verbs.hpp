// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The verbs of the tool: what each may be asked, and the function that does it. tool.cpp fills the options from the
// command line; nothing here knows the parser.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "apps/cli/support/session.hpp"
#include "apps/cli/support/source.hpp"

namespace tulle::cli {

class Parser;

struct InfoOptions {
    Source matrix;
};
void info(const Session& session, const InfoOptions& options);

struct ValidateOptions {
    Source matrix;
    bool finite = false;  // NaN and infinity are faults too
};
void validate(const Session& session, const ValidateOptions& options);

struct ConvertOptions {
    Source matrix;
    std::string to, format;  // format: empty if the name says it
    std::string type = "f64";
    std::string comment;
    bool symmetric = false, pattern = false;
};
void convert(const Session& session, const ConvertOptions& options);

struct GenOptions {
    std::string sentence, to, format;
    std::string type = "f64";
    bool list = false, stats = false;
};
void gen(const Session& session, const GenOptions& options);

struct SpyOptions {
    Source matrix;
    std::string to, format,
        title;  // format: png, svg or pdf, empty if the name says it; title: the matrix's name if empty
    bool no_legend = false;
    int size = 800;       // pixels of the picture's longer side, axes and title not counted
    std::string permute;  // empty, reverse, random, degree, or a file
    std::uint64_t seed = 1;
    std::string reorder;              // empty, or an order of SpMM's rows: natural, degree, minhash, pack, bsa
    index_t tau = 32;                 // of tiles, and of bsa's blocks
    double alpha = 0.3, delta = 0.1;  // bsa's similarity; share of a tile that makes it dense
    int devices = 0;                  // rows coloured by the device of a team that has them; 0: none
    bool levels = false;              // rows in each level of the lower triangle instead, before and after merging rows
};
void add_spy(Parser& parser, SpyOptions& options);
void spy(const Session& session, const SpyOptions& options);
void spy_levels(const Session& session, const SpyOptions& options);

struct SpmvOptions {
    Source matrix;
    std::string backend = "cpu", type = "f64", format = "csr";
    std::string kernel;  // empty: tulle chooses
    int lanes = 0;       // 0: tulle chooses
    int block = 4;
    bool transpose = false, verify = false;
    double alpha = 1, beta = 0;
    int repeat = 10;
    std::uint64_t seed = 1;
    std::string x_from, y_to;  // text files, one number a line
    int devices = 0;           // a team of so many; 0: one device, no team
    bool paper = false;        // cut as MSREP does
};
void run_spmv(const Session& session, const SpmvOptions& options);

struct PlanOptions {
    Source matrix;
    std::string backend = "cpu", type = "f64";
    int devices = 8;
    bool paper = false;
    double tolerance = 0.01;  // by which a part may exceed its share before a row is split
    double link = 400;        // GB/s between devices, assumed
};
void plan_spmv(const Session& session, const PlanOptions& options);

struct PartitionOptions {
    Source matrix;
    std::string method = "nonzeros", plot;
    int ranks = 4;
    double link = 12.5, latency = 2, memory = 20;  // GB/s, microseconds, GB/s: assumed
};
void partition_rows(const Session& session, const PartitionOptions& options);

// Becomes the program tulle-bench with these arguments; comes back only by an error.
void bench(const std::vector<std::string>& arguments);

struct DoctorOptions {
    bool measure = false;  // read bandwidth, about a second
};
void doctor(const Session& session, const DoctorOptions& options);

struct ReportOptions {
    Source matrix, compare;  // compare: no text, nothing to compare with
    std::string to = "report.html";
    bool run = false;  // measure the operations too
};
void report(const Session& session, const ReportOptions& options);

struct DemoOptions {
    Source matrix{.text = "twin:cant"};
    std::string picture;  // empty: tulle-demo.png
    int repeat = 20;
    std::uint64_t seed = 1;
};
void add_demo(Parser& parser, DemoOptions& options);
void demo(const Session& session, const DemoOptions& options);

// The tool with all verbs, from its arguments to the exit code.
int run_tool(int count, char** words);

}  // namespace tulle::cli
