// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// bash and zsh get the same three tables (verbs below a verb, options of a verb, values of an option) and a few lines
// that look them up; fish gets a line for every verb and option.
#include "apps/cli/verbs/tools/completion.hpp"

#include <fmt/format.h>

namespace tulle::cli {
namespace {

std::string joined(const std::vector<std::string>& words)
{
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
    return text;
}

// Inside single quotes.
std::string in_quotes(std::string_view text)
{
    std::string safe = "'";
    for (const char c : text) safe += c == '\'' ? "'\\''" : std::string(1, c);
    return safe + "'";
}

std::string option_words(const VerbEntry& verb)
{
    std::vector<std::string> words;
    for (const OptionEntry& option : verb.options)
        if (!option.argument) words.insert(words.end(), option.names.begin(), option.names.end());
    return joined(words);
}

// One entry of an associative array; `form` has its key and its words.
std::string tables(const std::vector<VerbEntry>& verbs, fmt::string_view form)
{
    std::string below = "    verbs=(\n", options = "    options=(\n", values = "    values=(\n";
    const auto line = [&](const std::string& key, const std::string& words) {
        return "        " + fmt::format(fmt::runtime(form), in_quotes(key), in_quotes(words)) + "\n";
    };
    for (const VerbEntry& verb : verbs) {
        if (!verb.verbs.empty()) below += line(verb.path, joined(verb.verbs));
        options += line(verb.path, option_words(verb));
        for (const OptionEntry& option : verb.options)
            for (const std::string& name : option.names)
                if (!option.argument && !option.value.empty())
                    values += line(verb.path + " " + name, joined(option.choices));
    }
    return below + "    )\n" + options + "    )\n" + values + "    )\n";
}

std::string bash_completion(const std::vector<VerbEntry>& verbs)
{
    return "# bash completion for tulle; made by `tulle completion bash`.\n"
           "_tulle()\n{\n"
           "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} at=tulle words= k\n"
           "    local -A verbs options values\n" +
           tables(verbs, "[{}]={}") +
           "    COMPREPLY=()\n"
           "    for ((k = 1; k < COMP_CWORD; ++k)); do\n"
           "        [[ \" ${verbs[$at]-} \" == *\" ${COMP_WORDS[k]} \"* ]] && at+=\" ${COMP_WORDS[k]}\"\n"
           "    done\n"
           "    if [[ ${values[$at $before]+known} ]]; then words=${values[$at $before]}\n"
           "    elif [[ $word == -* ]]; then words=${options[$at]-}\n"
           "    else words=${verbs[$at]-}\n"
           "    fi\n"
           "    [[ -z $words ]] || COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
           "}\n"
           "complete -o default -F _tulle tulle\n";
}

std::string zsh_completion(const std::vector<VerbEntry>& verbs)
{
    return "#compdef tulle\n"
           "# zsh completion for tulle; made by `tulle completion zsh`.\n"
           "_tulle()\n{\n"
           "    local at=tulle k found\n"
           "    local -A verbs options values\n" +
           tables(verbs, "{} {}") +
           "    for ((k = 2; k < CURRENT; ++k)); do\n"
           "        [[ \" ${verbs[$at]-} \" == *\" ${words[k]} \"* ]] && at+=\" ${words[k]}\"\n"
           "    done\n"
           "    if (( ${+values[$at ${words[CURRENT-1]}]} )); then found=${values[$at ${words[CURRENT-1]}]}\n"
           "    elif [[ ${words[CURRENT]} == -* ]]; then found=${options[$at]-}\n"
           "    else found=${verbs[$at]-}\n"
           "    fi\n"
           "    if [[ -n $found ]]; then compadd -- ${=found}; else _files; fi\n"
           "}\n"
           "if [[ ${funcstack[1]-} == _tulle ]]; then _tulle \"$@\"; else compdef _tulle tulle; fi\n";
}

// Inside a verb all words of its path have been typed.
std::string fish_condition(const VerbEntry& verb, bool wants_verb)
{
    if (verb.path == verb.name) return wants_verb ? "__fish_use_subcommand" : "";
    std::string condition;
    std::size_t from = verb.path.find(' ') + 1;
    while (from < verb.path.size()) {
        const std::size_t end = std::min(verb.path.find(' ', from), verb.path.size());
        condition +=
            (condition.empty() ? "" : "; and ") + ("__fish_seen_subcommand_from " + verb.path.substr(from, end - from));
        from = end + 1;
    }
    if (wants_verb) condition += "; and not __fish_seen_subcommand_from " + joined(verb.verbs);
    return condition;
}

std::string fish_option(const VerbEntry& verb, const OptionEntry& option)
{
    const std::string condition = fish_condition(verb, false);
    std::string line = "complete -c tulle" + (condition.empty() ? "" : " -n " + in_quotes(condition));
    for (const std::string& name : option.names)
        line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    if (!option.choices.empty()) line += " -x -a " + in_quotes(joined(option.choices));
    else if (!option.value.empty()) line += " -r";
    return line + " -d " + in_quotes(option.description) + "\n";
}

std::string fish_completion(const std::vector<VerbEntry>& verbs)
{
    std::string text = "# fish completion for tulle; made by `tulle completion fish`.\n";
    for (const VerbEntry& verb : verbs)
        for (const std::string& name : verb.verbs) {
            const std::string path = verb.path + " " + name;
            for (const VerbEntry& below : verbs)
                if (below.path == path)
                    text += "complete -c tulle -f -n " + in_quotes(fish_condition(verb, true)) + " -a " + name +
                            " -d " + in_quotes(below.description) + "\n";
        }
    for (const VerbEntry& verb : verbs)
        for (const OptionEntry& option : verb.options)
            if (!option.argument) text += fish_option(verb, option);
    return text;
}

}  // namespace

std::string completion_for(const std::string& shell, const std::vector<VerbEntry>& verbs)
{
    return shell == "bash" ? bash_completion(verbs) : shell == "zsh" ? zsh_completion(verbs) : fish_completion(verbs);
}

}  // namespace tulle::cli
