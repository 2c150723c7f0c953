// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "apps/cli/support/verb_tree.hpp"

#include "apps/cli/support/arguments.hpp"

namespace tulle::cli {
namespace {

OptionEntry entry_of(CLI::Option& option)
{
    OptionEntry entry{.names = {},
                      .value = {},
                      .choices = choices_of(option),
                      .description = option.get_description(),
                      .argument = option.get_positional()};
    for (const std::string& name : option.get_snames()) entry.names.push_back("-" + name);
    for (const std::string& name : option.get_lnames()) entry.names.push_back("--" + name);
    const std::string placeholder = option.get_option_text().empty() ? option.get_name() : option.get_option_text();
    if (entry.argument) entry.names = {placeholder};
    else if (option.get_expected_min() > 0) entry.value = placeholder;
    return entry;
}

void add(CLI::App& app, std::vector<VerbEntry>& all)
{
    VerbEntry entry{.path = path_of(app),
                    .name = app.get_name(),
                    .description = app.get_description(),
                    .examples = app.get_footer(),
                    .verbs = {},
                    .options = {}};
    for (CLI::Option* option : app.get_options()) entry.options.push_back(entry_of(*option));
    const auto below = app.get_subcommands({});
    for (const CLI::App* verb : below) entry.verbs.push_back(verb->get_name());
    all.push_back(std::move(entry));
    for (CLI::App* verb : below) add(*verb, all);
}

}  // namespace

std::vector<VerbEntry> verb_tree(CLI::App& program)
{
    std::vector<VerbEntry> all;
    add(program, all);
    return all;
}

}  // namespace tulle::cli
