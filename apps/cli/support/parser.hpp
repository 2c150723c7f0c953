// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The command line as CLI11 sees it: a verb with its examples, its options, and what is done when it was chosen.
#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "apps/cli/support/arguments.hpp"
#include "apps/cli/support/session.hpp"
#include "apps/cli/support/source.hpp"

namespace tulle::cli {

class Parser {
public:
    Parser();

    using Action = std::function<void(const Session&)>;
    // A verb below `parent` (the program itself if null). Examples come first in its help, one a line.
    CLI::App* verb(const std::string& name, const std::string& what, const std::string& examples,
                   CLI::App* parent = nullptr);
    void when(const CLI::App* verb, Action action) { actions_.emplace_back(verb, std::move(action)); }

    // Options that several verbs share.
    void matrix(CLI::App* verb, Source& source, bool required = true,
                std::vector<const Source*> others = {});  // others: read with the same options, where there is a text
    void verbose(CLI::App* verb);
    void compute(CLI::App* verb);  // --threads, --budget
    static void scalar(CLI::App* verb, const std::string& option, double& value,
                       const char* usual);  // --alpha, --beta
    static void seed(CLI::App* verb, std::uint64_t& value, const char* of);
    static CLI::Option* type(CLI::App* verb, std::string& type);
    void output(const std::string& file)
    {
        outputs_.push_back(&file);
    }  // a file the verb writes: results go to stderr where it is stdout
    CLI::Option* output(CLI::App* verb, const std::string& file, std::string& format,
                        const char* formats);  // and --output-format

    // An option that would change nothing is refused, not ignored: "--tau has no effect without --reorder".
    void effective(CLI::App* verb, const std::string& option, std::function<bool()> has_effect,
                   const std::string& otherwise);
    // --device, for a verb that may work on the CPU alone.
    void device(CLI::App* verb, std::function<bool()> uses_gpu);

    // Fills everything from the arguments, then does what was asked for. CLI::CallForHelp and UsageError get out.
    void run(int count, char** words);

    std::string help();
    CLI::App& tree() { return app_; }  // all verbs with their options: completions and the manual page are made from it
    const Settings& settings() const { return settings_; }

private:
    void parse(int count, char** words);
    void check_effects() const;
    void common(CLI::App* verb);

    CLI::App app_;
    Settings settings_;
    std::string budget_;
    std::vector<const std::string*> outputs_;
    std::vector<std::pair<const CLI::App*, Action>> actions_;
    struct Effect {
        const CLI::App* verb;
        const CLI::Option* option;
        std::function<bool()> has_effect;
        std::string otherwise;
    };
    std::vector<Effect> effects_;
};

}  // namespace tulle::cli
