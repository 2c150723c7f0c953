// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What the collectors of all operations share: matrix after matrix until the time is over, and a line for every run.
#pragma once

#include <functional>
#include <iosfwd>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "bench/harness/suite.hpp"
#include "bench/operations/collect.hpp"
#include "tulle/context.hpp"

namespace tulle::bench {

using Json = nlohmann::ordered_json;

// One choice tried on one matrix, as tools/train reads it.
struct Run {
    std::string part;         // of the operation or of the matrix
    Json features = nullptr;  // nothing: a run to compare, not to learn a model from
    std::string choice;
    double seconds = 0;
    std::optional<bool> predicted = {};  // what the library would choose without a model
    Json more = Json::object();          // further fields
};

// Where runs go: one line each, written at once.
class Lines {
public:
    Lines(std::ostream& out, const Context& ctx, const std::string& operation, const std::string& matrix)
        : out_(out),
          ctx_(ctx),
          operation_(operation),
          matrix_(matrix)
    {}
    void add(const Run& run) const;

private:
    std::ostream& out_;
    const Context& ctx_;
    const std::string &operation_, &matrix_;
};

// collect(ctx, matrix, lines) tries everything on one matrix; an Error of it leaves the matrix out. Returns the
// program's exit status.
int collect_runs(const CollectOptions& options,
                 const std::function<void(const Context&, const Case&, const Lines&)>& collect);

}  // namespace tulle::bench
