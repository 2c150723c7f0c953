// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The verbs about triangular solves: run sptrsv and tune sptrsv.
#pragma once

#include <cstdint>
#include <string>

#include "apps/cli/support/parser.hpp"
#include "apps/cli/verbs/operations/result_checks.hpp"
#include "tulle/sptrsv.hpp"

namespace tulle::cli {

// Which triangle of a matrix, and how it is read.
struct TriangleOptions {
    Source matrix;
    bool lower = false, upper = false, unit_diagonal = false, transpose = false;
    bool dominant = false;  // the pattern as it is, values replaced by harmless ones
    std::string type = "f64", backend = "cpu";
    std::string accuracy = "tested";

    sptrsv::Options plan() const;
};

struct RunSptrsvOptions {
    TriangleOptions triangle;
    int right_hand_sides = 1, repeat = 10;
    double alpha = 1, search = 0;  // search: seconds for trying schemes; 0: predict
    bool verify = false;
    std::uint64_t seed = 1;
    std::string cache, model;  // folder of what searches found; file of a learned model
};
void run_sptrsv(const Session& session, const RunSptrsvOptions& options);

struct TuneSptrsvOptions {
    TriangleOptions triangle;  // on a GPU, where there is one
    double seconds = 10;
    bool paper = false, exhaustive = false;  // the paper's schemes too: some of every kind, or all
    int show = 20;                           // rows of the table
    std::string cache;                       // folder that remembers the fastest; empty: none
};
void tune_sptrsv(const Session& session, const TuneSptrsvOptions& options);

// Below the verbs run and tune.
void add_run_sptrsv(Parser& parser, CLI::App* run, RunSptrsvOptions& options);
void add_tune(Parser& parser, TuneSptrsvOptions& options);

// For demo: L x = b with the lower triangle of a square matrix on the host, its values made harmless; timed and
// checked.
Summary solve_lower_triangle(const Context& host, const Context& ctx, const CsrView<double>& a, int repeat,
                             std::uint64_t seed);

// The triangle's matrix on the host, its values made harmless if asked for.
template <class V>
Loaded<V> load_triangle(const Session& session, const Context& host, const TriangleOptions& options);

}  // namespace tulle::cli
