// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A matrix in words and in JSON, for info and demo.
#pragma once

#include <cstdint>
#include <string>

#include "apps/cli/support/json.hpp"
#include "apps/cli/support/layout.hpp"
#include "apps/cli/support/session.hpp"
#include "tulle/csr.hpp"
#include "tulle/features.hpp"
#include "tulle/io.hpp"

namespace tulle::cli {

struct Portrait {
    Features features;
    std::size_t bytes = 0;          // as CSR with values in double
    std::uint64_t fingerprint = 0;  // of the pattern
    bool skew_symmetric = false;    // square, and its transpose is its negative
    double seconds = 0;             // to find all this out
};

// "symmetric", "skew-symmetric", or "general"; rows must be sorted and without duplicates.
std::string symmetry_of(const CsrView<double>& a, int threads);
std::string place_text(const io::Occurrences& found);  // "line 3, row 1, column 2, counted from 1"

Portrait portray(const Session& session, const Context& ctx, const CsrView<double>& a);

std::string shape_text(index_t rows, index_t cols);  // "62 451 x 62 451"
Facts facts_of(const Portrait& portrait);            // everything
Facts short_facts_of(const Portrait& portrait);      // what fits beside a table
void add_file_facts(Facts& facts, const io::FileInfo& file);

Json to_json(const Portrait& portrait);
Json to_json(const io::FileInfo& file);  // null for a generated matrix

}  // namespace tulle::cli
