// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "apps/cli/support/arguments.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <utility>

#include "apps/cli/support/failure.hpp"
#include "base/suggest.hpp"
#include "tulle/text.hpp"

namespace tulle::cli {
namespace {

using Words = std::vector<std::string>;

Words verbs_of(const CLI::App& app)
{
    Words names;
    for (const CLI::App* verb : app.get_subcommands({})) names.push_back(verb->get_name());
    return names;
}

std::string listed(const Words& words)
{
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
    return text;
}

const CLI::App* verb_named(const CLI::App& app, const std::string& name)
{
    const auto all = app.get_subcommands([&](const CLI::App* v) { return v->get_name() == name; });
    return all.empty() ? nullptr : all.front();
}

Words option_names(const CLI::App& app)
{
    Words names;
    for (const CLI::Option* option : app.get_options()) {
        for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
        for (const std::string& name : option->get_snames()) names.push_back("-" + name);
    }
    return names;
}

bool is_number(const std::string& word)
{
    double number = 0;
    return std::from_chars(word.data(), word.data() + word.size(), number).ec == std::errc{};
}

bool is_option(const std::string& word) { return word.size() > 1 && word[0] == '-' && !is_number(word); }

// "--out" of "--out=a.mtx", "-o" of "-oa.mtx".
std::string name_in(const std::string& word)
{
    return word.starts_with("--") ? word.substr(0, word.find('=')) : word.substr(0, 2);
}

const CLI::Option& option_named(const CLI::App& app, const std::string& word)
{
    const std::string name = name_in(word);
    const CLI::Option* option = app.get_option_no_throw(name);
    require<UsageError>(
        option != nullptr && !option->get_positional(),
        [&] { return concat(path_of(app), " has no option '", name, "'"); },
        concat(did_you_mean(name, option_names(app)), help_command(app), " shows all"));
    return *option;
}

// An option of this kind in words[k]: how many words it takes.
std::size_t words_taken(const CLI::App& app, const Words& words, std::size_t k)
{
    const CLI::Option& option = option_named(app, words[k]);
    const bool has_its_value = name_in(words[k]) != words[k];
    if (option.get_expected_min() == 0 || has_its_value) return 1;
    const std::string next = k + 1 < words.size() ? words[k + 1] : "";
    if (!next.empty() && !is_option(next)) return 2;
    const std::string way_out = help_command(app) + " shows examples";
    if (next.empty()) throw UsageError(concat(words[k], " needs a value"), way_out);
    throw UsageError(concat(words[k], " needs a value, and '", next, "' looks like an option"),
                     concat("write ", option.get_name(), "=", next, " if it is the value; ", way_out));
}

// Verbs of this name below others: "tulle run spgemm, tulle plan spgemm".
Words paths_to(const CLI::App& program, const std::string& name)
{
    Words paths;
    for (const CLI::App* verb : program.get_subcommands({}))
        if (const CLI::App* below = verb_named(*verb, name)) paths.push_back(path_of(*below));
    return paths;
}

std::string probably_meant(const CLI::App& app, const Words& words, std::size_t k)
{
    if (words[k] == "help") {
        const CLI::App* verb = k + 1 < words.size() ? verb_named(app, words[k + 1]) : nullptr;
        return concat("did you mean '", help_command(verb ? *verb : app), "'? ");
    }
    const Words paths = paths_to(app, words[k]);
    return paths.empty() ? did_you_mean(words[k], verbs_of(app)) : concat("did you mean ", listed(paths), "? ");
}

std::string verbs_text(const CLI::App& app)
{
    const Words known = verbs_of(app);
    return concat(known.size() == 1 ? "there is " : "there are ", listed(known), "; ", help_command(app),
                  " shows examples");
}

[[noreturn]] void refuse_verb(const CLI::App& app, const Words& words, std::size_t k)
{
    throw UsageError(app.get_parent() ? concat(path_of(app), " knows no '", words[k], "'")
                                      : concat("there is no verb '", words[k], "'"),
                     probably_meant(app, words, k) + verbs_text(app));
}

bool asks_for_help(const Words& words, std::size_t from)
{
    return std::any_of(words.begin() + static_cast<std::ptrdiff_t>(from), words.end(),
                       [](const std::string& w) { return w == "--help" || w == "-h" || w == "--version"; });
}

}  // namespace

std::string path_of(const CLI::App& verb)
{
    return verb.get_parent() ? concat(path_of(*verb.get_parent()), " ", verb.get_name()) : verb.get_name();
}

std::string help_command(const CLI::App& verb) { return path_of(verb) + " --help"; }

const CLI::App& check_arguments(const CLI::App& program, const Words& words)
{
    const CLI::App* app = &program;
    for (std::size_t k = 0; k < words.size() && words[k] != "--";) {
        if (is_option(words[k])) {
            k += words_taken(*app, words, k);
            continue;
        }
        const bool wants_verb = !app->get_subcommands({}).empty();
        if (const CLI::App* verb = wants_verb ? verb_named(*app, words[k]) : nullptr) app = verb;
        else if (wants_verb) refuse_verb(*app, words, k);
        ++k;
    }
    require<UsageError>(
        verbs_of(*app).empty() || asks_for_help(words, 0),
        [&] {
            return app == &program ? std::string("say what to do") : concat("say what ", path_of(*app), " shall do");
        },
        verbs_text(*app));
    return *app;
}

CLI::Validator one_of(const std::vector<std::string>& names)
{
    return CLI::Validator(
        [names](std::string& word) {
            if (std::find(names.begin(), names.end(), word) != names.end()) return std::string();
            return concat("'", word, "' is none of ", listed(names),
                          nearest_word(word, names).empty()
                              ? ""
                              : concat("; did you mean '", nearest_word(word, names), "'?"));
        },
        listed(names), "one_of");
}

std::vector<std::string> choices_of(CLI::Option& option)
{
    const CLI::Validator* validator = nullptr;
    try {
        validator = option.get_validator("one_of");
    } catch (const CLI::OptionNotFound&) {
        return {};
    }
    return CLI::detail::split_up(validator->get_description(), ',');
}

namespace {

// Finite, and as the rule and its text say.
CLI::Validator number_that(std::function<bool(double)> rule, const std::string& text)
{
    return CLI::Validator(
        [rule = std::move(rule), text](std::string& word) {
            double number = 0;
            const auto [end, fault] = std::from_chars(word.data(), word.data() + word.size(), number);
            if (fault == std::errc{} && end == word.data() + word.size() && std::isfinite(number) && rule(number))
                return std::string();
            return concat("must be a number ", text, ", not '", word, "'");
        },
        "NUMBER", "number");
}

}  // namespace

CLI::Validator finite()
{
    return number_that([](double) { return true; }, "that a double holds");
}

CLI::Validator positive()
{
    return number_that([](double number) { return number > 0; }, "greater than 0");
}

CLI::Validator from_zero()
{
    return number_that([](double number) { return number >= 0; }, "from 0 on");
}

CLI::Validator from_to(double least, double greatest)
{
    return number_that([=](double number) { return number >= least && number <= greatest; },
                       concat("from ", least, " to ", greatest));
}

CLI::Validator seed_number()
{
    return CLI::Validator(
        [](const std::string& word) {
            std::uint64_t number = 0;
            const auto [end, fault] = std::from_chars(word.data(), word.data() + word.size(), number);
            if (fault == std::errc{} && end == word.data() + word.size()) return std::string();
            return concat("must be a whole number from 0 to ", std::numeric_limits<std::uint64_t>::max(), ", not '",
                          word, "'");
        },
        "NUMBER", "seed_number");
}

CLI::Validator memory_amount()
{
    return CLI::Validator(
        [](std::string& word) {
            try {
                parse_bytes(word);
            } catch (const ValueError& fault) {
                return concat(fault.message(), "; ", fault.hint());
            }
            return std::string();
        },
        "BYTES", "memory_amount");
}

}  // namespace tulle::cli
