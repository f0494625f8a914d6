#include "app/cli/parse.h"

#include <algorithm>

#include <CLI/CLI.hpp>

#include "backend/text/text.h"

namespace millrace::cli {
namespace {

bool takesValue(std::string_view word) {
    return word == "--host" || word == "--color" || word == "--ssh-transport";
}

// The index of the command's name: the first word that is neither an option nor an option's value.
std::size_t commandIndex(const std::vector<std::string>& words) {
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (words[i].empty() || words[i].front() != '-') {
            return i;
        }
        i += takesValue(words[i]) ? 1 : 0;
    }
    return words.size();
}

}  // namespace

Status unknownCommand(const std::string& word) {
    std::vector<std::string> names;
    for (const CommandSpec& command : commandTable()) {
        names.push_back(command.name);
    }
    const std::string near = nearestName(word, names);
    return invalidArgument(
        "unknown command '", word, "'",
        near.empty() ? "; 'millrace help' lists them" : strCat("; did you mean '", near, "'?"));
}

namespace {

std::vector<std::string> optionNames(const std::vector<options::OptionSpec>& options) {
    std::vector<std::string> names = {"--help"};
    for (const options::OptionSpec& option : options) {
        names.push_back(option.name());
    }
    return names;
}

Status checkWords(const CommandSpec& command, const std::vector<std::string>& words) {
    std::size_t least = 0, most = 0;
    std::string missing;
    for (const ArgumentSpec& argument : command.arguments) {
        least += static_cast<std::size_t>(argument.least);
        most += static_cast<std::size_t>(argument.most);
        if (missing.empty() && words.size() < least) {
            missing = argument.name;
        }
    }
    if (!missing.empty()) {
        return invalidArgument("millrace ", command.name, " needs ", missing, "; see 'millrace ",
                               command.name, " --help'");
    }
    if (words.size() > most) {
        return invalidArgument("millrace ", command.name, " does not know what to do with '",
                               words[most], "'");
    }
    return okStatus();
}

// Declares the options to CLI11, parses, and moves the results to `args`.
Status parseOptions(const CommandSpec& command, std::vector<std::string> words, ParsedArgs& args,
                    bool& wantsHelp) {
    const std::vector<options::OptionSpec> options = optionsOf(command);
    CLI::App app;
    app.set_help_flag("-h,--help");
    app.allow_extras();
    std::map<std::string, std::vector<std::string>> values;
    std::map<std::string, bool> flags;
    for (const options::OptionSpec& option : options) {
        if (option.kind == options::ValueKind::kFlag) {
            app.add_flag(option.names, flags[option.name()]);
        } else {
            app.add_option(option.names, values[option.name()])->allow_extra_args(false);
        }
    }
    std::vector<std::string> positional;
    app.add_option("words", positional);
    std::ranges::reverse(words);
    try {
        app.parse(std::move(words));
    } catch (const CLI::CallForHelp&) {
        wantsHelp = true;
        return okStatus();
    } catch (const CLI::ParseError& error) {
        return invalidArgument(error.what());
    }
    for (const std::string& extra : app.remaining()) {
        return invalidArgument("unknown option '", extra, "'",
                               nameHint(extra, optionNames(options)));
    }
    args.words = std::move(positional);
    for (const options::OptionSpec& option : options) {
        const std::string name = option.name();
        if (option.kind == options::ValueKind::kFlag) {
            if (flags[name]) {
                args.options[name] = {};
            }
            continue;
        }
        for (const std::string& value : values[name]) {
            RETURN_IF_ERROR(options::checkValue(option, value));
            if (!option.isRepeatable && args.options.contains(name)) {
                return invalidArgument(name, " is given twice");
            }
            args.options[name].push_back(value);
        }
    }
    // `dataset --csv KEY=VALUE` describes the files and does not choose a format.
    if (args.has("--json") && args.has("--csv") && args.options.at("--csv").empty()) {
        return invalidArgument("--csv and --json exclude each other");
    }
    return checkWords(command, args.words);
}

}  // namespace

Result<CommandLine> parseCommandLine(const std::vector<std::string>& words) {
    CommandLine line;
    const std::size_t at = commandIndex(words);
    const auto has = [&](std::string_view word) {
        return std::ranges::find(words, word) != words.end();
    };
    if (at == words.size()) {
        if (has("--version")) {
            line.command = findCommand("version");
            return line;
        }
        for (const std::string& word : words) {
            if (word != "-h" && word != "--help") {
                return invalidArgument("'", word, "' needs a command; 'millrace help' lists them");
            }
        }
        line.wantsHelp = true;
        return line;
    }
    line.command = findCommand(words[at]);
    if (line.command == nullptr) {
        return unknownCommand(words[at]);
    }
    std::vector<std::string> rest = words;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(at));
    RETURN_IF_ERROR(parseOptions(*line.command, std::move(rest), line.args, line.wantsHelp));
    return line;
}

}  // namespace millrace::cli
