// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "apps/cli/support/parser.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <regex>
#include <string_view>

#include "apps/cli/support/failure.hpp"
#include "apps/cli/support/whole_file.hpp"
#include "tulle/memory.hpp"
#include "tulle/text.hpp"
#include "tulle/version.hpp"

namespace tulle::cli {
namespace {

// Help that leads with examples; they are kept in the footer's place.
class Help : public CLI::Formatter {
public:
    Help()
    {
        column_width(30);
        label("SUBCOMMAND", "VERB");
        label("Subcommands", "Verbs");
    }

    std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override
    {
        if (mode == CLI::AppFormatMode::Sub) return make_expanded(app);
        std::string text =
            app->get_footer() + "\n\n" + app->get_description() + "\n" + make_usage(app, std::move(name));
        return text + make_positionals(app) + make_groups(app, mode) + make_subcommands(app, mode);
    }

    std::string make_option_opts(const CLI::Option* option) const override
    {
        const bool has_value = option->nonpositional() && option->get_expected_min() > 0;
        return has_value
                   ? " " + (option->get_option_text().empty() ? option->get_type_name() : option->get_option_text())
                   : "";
    }
};

std::string example_lines(const std::string& examples)
{
    std::string text = "Examples:";
    std::size_t begin = 0;
    while (begin < examples.size()) {
        const auto end = std::min(examples.find('\n', begin), examples.size());
        text += "\n  " + examples.substr(begin, end - begin);
        begin = end + 1;
    }
    return text;
}

}  // namespace

Parser::Parser() : app_("tulle " + std::string(build::version) + ": sparse linear algebra on CPUs and GPUs", "tulle")
{
    app_.formatter(std::make_shared<Help>());
    app_.footer(example_lines("tulle demo                              the main job in one go\n"
                              "tulle info matrix.mtx                   what a matrix is like\n"
                              "tulle spy twin:cant -o cant.png         its picture\n"
                              "tulle run spmv stencil7:100 --verify    a product, timed and checked\n"
                              "tulle doctor                            what was built and what is there"));
    app_.set_version_flag("--version", std::string("tulle ") + build::version, "print the version");
    app_.set_help_flag("-h,--help", "print this");
}

CLI::App* Parser::verb(const std::string& name, const std::string& what, const std::string& examples, CLI::App* parent)
{
    CLI::App* verb = (parent ? parent : &app_)->add_subcommand(name, what);
    verb->footer(example_lines(examples));
    verb->set_help_flag("-h,--help", "print this");
    common(verb);
    return verb;
}

void Parser::common(CLI::App* verb)
{
    verb->add_flag("--json", settings_.json, "results as JSON")->group("Output");
    verb->add_flag("-q,--quiet", settings_.quiet, "no talk on stderr, only errors")->group("Output");
    verb->add_option("--color", settings_.colour, "auto, always or never (NO_COLOR is obeyed)")
        ->check(one_of({"auto", "always", "never"}))
        ->option_text("WHEN")
        ->group("Output");
}

void Parser::verbose(CLI::App* verb)
{
    verb->add_flag("-v,--verbose", settings_.verbose, "tell what else could have been chosen")->group("Output");
    effective(
        verb, "--verbose", [this] { return !settings_.json; }, "with --json");
}

void Parser::matrix(CLI::App* verb, Source& source, bool required, std::vector<const Source*> others)
{
    verb->add_option(
            "matrix", source.text,
            "a file (.mtx .mtx.gz .mtx.xz .tar.gz .npz .smtx .tulle .petsc; - is stdin) or a sentence (stencil7:100; "
            "tulle gen --list)")
        ->required(required)
        ->option_text("MATRIX");
    verb->add_flag("--real-part", source.real_part, "take the real part of a complex file instead of refusing it");
    verb->add_option("--values", source.values, "of a file without values: ones (the default) or random:SEED")
        ->option_text("HOW");
    verb->add_option("--input-format", source.format,
                     "of the file, like mtx or mtx.gz, where neither its name nor its contents say it")
        ->option_text("FORMAT");
    verb->add_flag(
        "--strict", source.strict,
        "refuse values that do not fit their type: too large, too small, whole numbers that would be rounded");
    verb->add_flag("--trust-header", source.trust_header,
                   "believe the sizes in a file's header, even if they are far larger than the file");
    others.push_back(&source);
    const auto any = [others](auto&& holds) { return std::any_of(others.begin(), others.end(), holds); };
    const auto reads_file = [any] {
        return any([](const Source* s) { return !s->text.empty() && !s->is_sentence(); });
    };
    for (const char* option : {"--real-part", "--values", "--strict", "--trust-header"})
        effective(verb, option, reads_file, "with a generated matrix");
    effective(
        verb, "--input-format",
        [&source, any] { return !source.is_sentence() || any([](const Source* s) { return s->is_stdin(); }); },
        "with a generated matrix");
    compute(verb);
}

CLI::Option* Parser::output(CLI::App* verb, const std::string& file, std::string& format, const char* formats)
{
    output(file);
    CLI::Option* option = verb->add_option("--output-format", format,
                                           std::string("of the file where its name does not say it: ") + formats)
                              ->option_text("FORMAT");
    effective(
        verb, "--output-format", [&file] { return !file.empty(); }, "without --out");
    return option;
}

void Parser::compute(CLI::App* verb)
{
    verb->add_option("--threads", settings_.threads, "threads on the CPU (0: all)")
        ->check(CLI::Range(0, most_threads()))
        ->option_text("N")
        ->group("Machine");
    verb->add_option("--budget", budget_, "memory that may be held at once, like 500MiB or 8GiB")
        ->check(memory_amount())
        ->option_text("BYTES")
        ->group("Machine");
}

void Parser::device(CLI::App* verb, std::function<bool()> uses_gpu)
{
    verb->add_option("--device", settings_.device, "number of the GPU")
        ->check(from_zero())
        ->option_text("N")
        ->group("Machine");
    effective(verb, "--device", std::move(uses_gpu), "where no GPU is used");
}

void Parser::scalar(CLI::App* verb, const std::string& option, double& value, const char* usual)
{
    verb->add_option(option, value, usual)->check(finite())->option_text("NUMBER");
}

void Parser::seed(CLI::App* verb, std::uint64_t& value, const char* of)
{
    verb->add_option("--seed", value, of)->check(seed_number())->option_text("N");
}

CLI::Option* Parser::type(CLI::App* verb, std::string& type)
{
    return verb->add_option("--type", type, "values in f32 or f64 (the default)")
        ->check(one_of({"f32", "f64"}))
        ->option_text("TYPE");
}

void Parser::effective(CLI::App* verb, const std::string& option, std::function<bool()> has_effect,
                       const std::string& otherwise)
{
    effects_.push_back({verb, verb->get_option(option), std::move(has_effect), otherwise});
}

void Parser::check_effects() const
{
    for (const Effect& e : effects_)
        require<UsageError>(
            !e.verb->parsed() || e.option->count() == 0 || e.has_effect(),
            [&] { return concat(e.option->get_name(), " has no effect ", e.otherwise); },
            concat("leave it out; ", help_command(*e.verb), " shows examples"));
}

namespace {

// What a verb cannot do without: "tulle convert: FILE is missing".
std::string missing(const CLI::App& verb, const std::string& name)
{
    const CLI::Option* option = verb.get_option_no_throw(name);
    const bool positional = option && option->get_positional();
    return concat(path_of(verb), ": ", positional ? option->get_option_text() : name, " is missing");
}

// CLI11's sentences in the words of this program: about a range, what it cannot read, what is missing or too much.
std::string readable(const CLI::App& verb, const std::string& said)
{
    static const std::regex range("(.*): Value (.*) not in range (\\S+) to (\\S+)"),
        conversion("Could not convert: (\\S+) = (.*)"), required("(\\S+) is required"),
        unexpected("The following arguments? (?:was|were) not expected: (.*)");
    std::smatch part;
    if (std::regex_match(said, part, required)) return missing(verb, part[1]);
    if (std::regex_match(said, part, unexpected))
        return concat(path_of(verb), " takes no further argument, but there is '", part[1].str(), "'");
    if (std::regex_match(said, part, conversion))
        return concat(part[1].str(), ": '", part[2].str(), "' is not a number that this option takes");
    if (!std::regex_match(said, part, range)) return said;
    const auto plain = [](std::string number) {  // without zeros behind the point
        if (number.find('.') != number.npos) number.erase(number.find_last_not_of('0') + 1);
        return number.ends_with('.') ? number.substr(0, number.size() - 1) : number;
    };
    const bool is_open = std::strtod(part[4].str().c_str(), nullptr) >= std::numeric_limits<std::int32_t>::max();
    return concat(part[1].str(), ": must be a number from ", plain(part[3]), is_open ? " on" : " to " + plain(part[4]),
                  ", not '", part[2].str(), "'");
}

}  // namespace

void Parser::parse(int count, char** words)
{
    const std::vector<std::string> arguments(words + std::min(1, count), words + count);
    const CLI::App& verb = check_arguments(app_, arguments);
    try {
        app_.require_subcommand(1);
        app_.parse(count, words);
    } catch (const CLI::Success&) {
        throw;
    } catch (const CLI::ParseError& error) {
        throw UsageError(readable(verb, error.what()), help_command(verb) + " shows examples");
    }
    check_effects();
    if (!budget_.empty()) settings_.budget = parse_bytes(budget_);
}

std::string Parser::help()
{
    std::string text = app_.help();  // of the verb that was named, if one was
    for (std::size_t at; (at = text.find("\n\n\n")) != text.npos;) text.erase(at, 1);
    return text;
}

void Parser::run(int count, char** words)
{
    parse(count, words);
    settings_.stdout_taken =
        std::any_of(outputs_.begin(), outputs_.end(), [](const std::string* file) { return is_stdout(*file); });
    const Session session(settings_);
    for (const auto& [verb, action] : actions_)
        if (verb->parsed()) action(session);
}

}  // namespace tulle::cli
