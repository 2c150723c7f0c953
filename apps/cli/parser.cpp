// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "apps/cli/parser.hpp"

#include <algorithm>
#include <string_view>

#include "apps/cli/failure.hpp"
#include "apps/cli/whole_file.hpp"
#include "tulle/base/build.hpp"
#include "tulle/base/text.hpp"
#include "tulle/device/queue.hpp"

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
        std::string text = app->get_footer() + "\n\n" + app->get_description() + "\n" + make_usage(app, std::move(name));
        return text + make_positionals(app) + make_groups(app, mode) + make_subcommands(app, mode);
    }

    std::string make_option_opts(const CLI::Option* option) const override
    {
        const bool has_value = option->nonpositional() && option->get_expected_min() > 0;
        return has_value ? " " + (option->get_option_text().empty() ? option->get_type_name() : option->get_option_text()) : "";
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
        ->check(CLI::IsMember({"auto", "always", "never"}))->option_text("WHEN")->group("Output");
}

void Parser::matrix(CLI::App* verb, Source& source, bool required)
{
    verb->add_option("matrix", source.text, "a file (.mtx .mtx.gz .mtx.xz .tar.gz .npz .smtx .tulle; - is stdin) or a sentence (stencil7:100; tulle gen --list)")
        ->required(required)->option_text("MATRIX");
    verb->add_flag("--real-part", source.real_part, "take the real part of a complex file instead of refusing it");
    verb->add_option("--values", source.values, "of a file without values: ones (the default) or random:SEED")->option_text("HOW");
    verb->add_option("--input-format", source.format, "of the file, like mtx or mtx.gz, where neither its name nor its contents say it")->option_text("FORMAT");
    verb->add_flag("--strict", source.strict, "refuse values that do not fit their type: too large, too small, whole numbers that would be rounded");
    compute(verb);
}

void Parser::output(CLI::App* verb, const std::string& file, std::string& format, const char* formats)
{
    output(file);
    verb->add_option("--output-format", format, std::string("of the file where its name does not say it: ") + formats)->option_text("FORMAT");
}

void Parser::compute(CLI::App* verb)
{
    verb->add_option("--threads", settings_.threads, "threads on the CPU (0: all)")->check(CLI::Range(0, most_threads()))->option_text("N")->group("Machine");
    verb->add_option("--budget", budget_, "memory that may be held at once, like 500MiB or 8GiB")->option_text("BYTES")->group("Machine");
}

void Parser::device(CLI::App* verb)
{
    verb->add_option("--device", settings_.device, "number of the GPU")->check(CLI::NonNegativeNumber)->option_text("N")->group("Machine");
}

CLI::Option* Parser::type(CLI::App* verb, std::string& type)
{
    return verb->add_option("--type", type, "values in f32 or f64 (the default)")->check(CLI::IsMember({"f32", "f64"}))->option_text("TYPE");
}

void Parser::parse(int count, char** words)
{
    std::string names;
    bool known = false;
    const std::string first = count > 1 ? words[1] : "";
    for (const CLI::App* verb : app_.get_subcommands({})) {
        names += (names.empty() ? "" : ", ") + verb->get_name();
        known = known || verb->get_name() == first;
    }
    const std::string way_out = concat("there are ", names, "; tulle --help shows examples");
    require<UsageError>(!first.empty(), "say what to do", way_out);
    require<UsageError>(known || first.starts_with('-'), [&] { return concat("there is no verb '", first, "'"); }, way_out);
    try {
        app_.require_subcommand(1);
        app_.parse(count, words);
    } catch (const CLI::Success&) {
        throw;
    } catch (const CLI::ParseError& error) {
        throw UsageError(error.what(), first.starts_with('-') ? "tulle --help shows examples" : concat("tulle ", first, " --help shows examples"));
    }
    if (!budget_.empty()) settings_.budget = parse_bytes(budget_);
}

std::string Parser::help()
{
    std::string text = app_.help();                      // of the verb that was named, if one was
    for (std::size_t at; (at = text.find("\n\n\n")) != text.npos;) text.erase(at, 1);
    return text;
}

void Parser::run(int count, char** words)
{
    parse(count, words);
    settings_.stdout_taken = std::any_of(outputs_.begin(), outputs_.end(), [](const std::string* file) { return is_stdout(*file); });
    const Session session(settings_);
    for (const auto& [verb, action] : actions_)
        if (verb->parsed()) action(session);
}

}  // namespace tulle::cli
