#include "app/cli/help.h"

#include <algorithm>
#include <map>
#include <set>

#include <absl/strings/str_join.h>

#include "app/tui/glyphs.h"
#include "backend/text/text.h"

namespace millrace::cli {
namespace {

using tui::Tone;

constexpr std::pair<int, const char*> kExitTexts[] = {
    {kExitOk,
     "done; leaving a view with q or Ctrl-C is this too, the runs go on, and so is output into a "
     "pipe whose reader has gone"},
    {kExitFailed,
     "failed: one sentence on stderr says why; output that could not be written is a failure"},
    {kExitUsage, "the command line was not understood"},
    {kExitCancelled,
     "a run that was waited for was cancelled; a wait for drained nodes was interrupted"},
    {kExitRunFailed, "a run that was waited for failed"},
    {kExitUnreachable, "no daemon answers"},
};

int widthOf(const Terminal& terminal) {
    return terminal.width > 0 ? std::clamp(terminal.width, 40, 100) : 100;
}

// "  LEFT   what it does", with the second column wrapped.
std::string twoColumns(const Terminal& terminal, const std::string& left, int leftWidth,
                       const std::string& right) {
    std::string text;
    const std::string indent(static_cast<std::size_t>(leftWidth + 4), ' ');
    const bool isLong = static_cast<int>(left.size()) > leftWidth;
    text += "  " + paint(terminal, Tone::kInfo, left);
    text += isLong ? "\n" + indent : std::string(leftWidth - left.size() + 2, ' ');
    bool isFirst = true;
    for (const std::string& line : wrapped(right, widthOf(terminal) - leftWidth - 4)) {
        text += (isFirst ? "" : indent) + line + "\n";
        isFirst = false;
    }
    return text;
}

std::string argumentText(const ArgumentSpec& argument) {
    const std::string dots = argument.most > 1 ? "..." : "";
    return argument.least == 0 ? "[" + argument.name + "]" + dots : argument.name + dots;
}

std::string usageOf(const CommandSpec& command) {
    std::string usage = "millrace " + command.name;
    for (const ArgumentSpec& argument : command.arguments) {
        usage += " " + argumentText(argument);
    }
    return usage + (!optionsOf(command).empty() ? " [options]" : "");
}

std::string optionText(const options::OptionSpec& option) {
    std::string names = option.names;
    // "-f,--follow" becomes "-f, --follow"; the search continues behind the blank.
    for (std::size_t at = names.find(','); at != std::string::npos; at = names.find(',', at + 2)) {
        names.replace(at, 1, ", ");
    }
    return names + (option.valueName.empty() ? "" : " " + option.valueName);
}

std::string optionHelp(const options::OptionSpec& option) {
    return option.help + (option.isRepeatable ? "; may be repeated" : "");
}

std::vector<std::string> groups() {
    std::vector<std::string> all;
    for (const CommandSpec& command : commandTable()) {
        if (std::ranges::find(all, command.group) == all.end()) {
            all.push_back(command.group);
        }
    }
    return all;
}

std::string commandNames() {
    std::string names;
    for (const CommandSpec& command : commandTable()) {
        names += (names.empty() ? "" : " ") + command.name;
    }
    return names;
}

std::string longNames(const CommandSpec& command) {
    std::string names = "--help";
    for (const options::OptionSpec& option : optionsOf(command)) {
        names += " " + option.name();
    }
    return names;
}

// Returns the words that bash offers for a command: "run", "file", or a list of words.
std::string wordsOf(const CommandSpec& command) {
    if (command.name == "completion") {
        return "bash zsh fish";
    }
    const Completes completes =
        command.arguments.empty() ? Completes::kNothing : command.arguments.front().completes;
    switch (completes) {
        case Completes::kRun:
            return "run";
        case Completes::kFile:
            return "file";
        case Completes::kCommand:
            return commandNames();
        case Completes::kHostAction:
            return "add ls rm test";
        case Completes::kNothing:
            break;
    }
    return "";
}

// "--sink) words='hash null'": completes an option's value; with files unless it has fixed values.
// An option that is a flag of another command is completed behind its own command only.
std::string valueCases() {
    std::map<std::string, std::string> cases;
    std::set<std::string> flags;
    for (const CommandSpec& command : commandTable()) {
        for (const options::OptionSpec& option : optionsOf(command)) {
            if (option.valueName.empty()) {
                flags.insert(option.name());
            }
        }
    }
    for (const CommandSpec& command : commandTable()) {
        for (const options::OptionSpec& option : optionsOf(command)) {
            if (option.valueName.empty()) {
                continue;
            }
            const std::string name = option.name();
            cases[strCat(flags.contains(name) ? command.name : "*", "\\ ", name)] =
                option.choices.empty() ? "file" : absl::StrJoin(option.choices, " ");
        }
    }
    std::string text;
    for (const auto& [name, choices] : cases) {
        strAppend(&text, "        ", name, ") words='", choices, "' ;;\n");
    }
    return text;
}

bool completesRuns(const CommandSpec& command) {
    return !command.arguments.empty() && command.arguments.front().completes == Completes::kRun;
}

// The scripts are made from the tables, so a new command or option needs no change here. Runs come
// from the daemon each time; without one the list is empty.
std::string bashScript() {
    std::string cases;
    for (const CommandSpec& command : commandTable()) {
        strAppend(&cases, "        ", command.name, ") options='", longNames(command), "'; words='",
                  wordsOf(command), "' ;;\n");
    }
    return strCat(R"sh(# millrace completion for bash: source <(millrace completion bash)
_millrace() {
    local word=${COMP_WORDS[COMP_CWORD]} command='' options='' words='' i
    for ((i = 1; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
            --host | --color | --ssh-transport) ((i++)) ;;
            -*) ;;
            *) command=${COMP_WORDS[i]}; break ;;
        esac
    done
    if [[ -z $command ]]; then
        COMPREPLY=($(compgen -W ')sh",
                  commandNames(), R"sh( --help --version' -- "$word"))
        return
    fi
    case $command in
)sh",
                  cases, R"sh(    esac
    if [[ $word == -* ]]; then
        COMPREPLY=($(compgen -W "$options" -- "$word"))
        return
    fi
    case "$command ${COMP_WORDS[COMP_CWORD-1]}" in
)sh",
                  valueCases(), R"sh(    esac
    case $words in
        run) COMPREPLY=($(compgen -W "$(millrace ls --quiet --limit 200 2>/dev/null)" -- "$word")) ;;
        file) COMPREPLY=($(compgen -f -- "$word")) ;;
        *) COMPREPLY=($(compgen -W "$words" -- "$word")) ;;
    esac
}
complete -o filenames -F _millrace millrace
)sh");
}

std::string zshScript() {
    std::string commands, cases;
    for (const CommandSpec& command : commandTable()) {
        std::string summary = command.summary;
        // _describe splits its words at colons.
        std::ranges::replace(summary, ':', ' ');
        strAppend(&commands, "        '", command.name, ":", summary, "'\n");
        strAppend(&cases, "        ", command.name, ") options=(", longNames(command), ")",
                  completesRuns(command) ? "; runs=1" : "", " ;;\n");
    }
    return strCat(R"sh(#compdef millrace
# millrace completion for zsh: source <(millrace completion zsh)
_millrace() {
    local -a commands options
    local runs=''
    commands=(
)sh",
                  commands, R"sh(    )
    if (( CURRENT == 2 )); then
        _describe 'command' commands
        return
    fi
    case $words[2] in
)sh",
                  cases, R"sh(    esac
    if [[ $words[CURRENT] == -* ]]; then
        compadd -- $options
    elif [[ -n $runs ]]; then
        compadd -- ${(f)"$(millrace ls --quiet --limit 200 2>/dev/null)"}
    else
        _files
    fi
}
compdef _millrace millrace
)sh");
}

std::string fishScript() {
    std::string text = "# millrace completion for fish: millrace completion fish | source\n";
    for (const CommandSpec& command : commandTable()) {
        std::string summary = command.summary;
        std::ranges::replace(summary, '\'', ' ');
        strAppend(&text, "complete -c millrace -n __fish_use_subcommand -f -a ", command.name,
                  " -d '", summary, "'\n");
        for (const options::OptionSpec& option : optionsOf(command)) {
            strAppend(&text, "complete -c millrace -n '__fish_seen_subcommand_from ", command.name,
                      "' -l ", option.name().substr(2), option.valueName.empty() ? "" : " -r",
                      "\n");
        }
        if (completesRuns(command)) {
            strAppend(&text, "complete -c millrace -n '__fish_seen_subcommand_from ", command.name,
                      "' -f -a '(millrace ls --quiet --limit 200 2>/dev/null)'\n");
        }
    }
    return text;
}

// The summary and the details of the command, in lines of at most `width` columns.
std::string descriptionOf(const CommandSpec& command, int width) {
    std::string text =
        strCat(command.summary, ".", command.details.empty() ? "" : " ", command.details);
    text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
    return absl::StrJoin(wrapped(text, width), "\n") + "\n\n";
}

std::string markdownOf(const CommandSpec& command) {
    std::string text = strCat("### `", usageOf(command), "`\n\n", descriptionOf(command, 100));
    if (!command.arguments.empty() || !optionsOf(command).empty()) {
        text += "| option | meaning |\n|---|---|\n";
    }
    for (const ArgumentSpec& argument : command.arguments) {
        strAppend(&text, "| `", argumentText(argument), "` | ", argument.help, " |\n");
    }
    for (const options::OptionSpec& option : optionsOf(command)) {
        strAppend(&text, "| `", optionText(option), "` | ", optionHelp(option), " |\n");
    }
    text += "\n```\n";
    for (const std::string& example : command.examples) {
        text += example + "\n";
    }
    return text + "```\n\n";
}

}  // namespace

std::string generalHelp(const Terminal& terminal) {
    std::string text =
        "Usage: millrace COMMAND [options]\n\nStreams data to training runs, starts "
        "them, shows and compares them.\n";
    for (const std::string& group : groups()) {
        text += "\n" + paint(terminal, Tone::kStrong, group) + "\n";
        for (const CommandSpec& command : commandTable()) {
            if (command.group == group) {
                text += twoColumns(terminal, command.name, 11, command.summary);
            }
        }
    }
    text += "\n" + paint(terminal, Tone::kStrong, "Exit codes") + "\n";
    for (const auto& [code, meaning] : kExitTexts) {
        text += twoColumns(terminal, std::to_string(code), 11, meaning);
    }
    return text +
           "\n'millrace COMMAND --help' says more. The daemon is that of this user, or "
           "that\nof --host ssh://HOST|NAME|HOST:PORT|unix:PATH or MILLRACE_HOST.\n";
}

std::string commandHelp(const CommandSpec& command, const Terminal& terminal) {
    std::string text =
        strCat("Usage: ", usageOf(command), "\n\n", descriptionOf(command, widthOf(terminal)));
    for (const ArgumentSpec& argument : command.arguments) {
        text += twoColumns(terminal, argument.name, 22, argument.help);
    }
    for (const options::OptionSpec& option : optionsOf(command)) {
        text += twoColumns(terminal, optionText(option), 22, optionHelp(option));
    }
    text += "\n" + paint(terminal, Tone::kStrong, "Examples") + "\n";
    for (const std::string& example : command.examples) {
        text += "  " + example + "\n";
    }
    return text;
}

// docs/reference/cli.md; a test compares the two.
std::string markdownReference() {
    std::string text =
        "# The command line\n\nMade by `millrace help --markdown`; a test compares the two.\n"
        "[json.md](json.md) describes `--json`.\n\n## Exit codes\n\n| code | meaning "
        "|\n|---|---|\n";
    for (const auto& [code, meaning] : kExitTexts) {
        strAppend(&text, "| ", code, " | ", meaning, " |\n");
    }
    text +=
        "\n## Environment\n\n| variable | meaning |\n|---|---|\n"
        "| `MILLRACE_HOST` | the daemon, as `--host` |\n"
        "| `MILLRACE_SSH_TRANSPORT` | `auto`, `ssh` or `libssh`, as `--ssh-transport` |\n"
        "| `MILLRACE_SSH_CONFIG` | a file instead of `~/.ssh/config` |\n"
        "| `XDG_CONFIG_HOME` | where the names of hosts are kept (`millrace/hosts.json`) |\n"
        "| `MILLRACE_TLS_CA`, `MILLRACE_TLS_CERT`, `MILLRACE_TLS_KEY` | PEM files for a daemon "
        "on `HOST:PORT` (mutual TLS) |\n"
        "| `NO_COLOR` | no colours |\n| `COLUMNS` | the width of tables |\n"
        "| `XDG_RUNTIME_DIR`, `XDG_STATE_HOME` | where the daemon's socket and state are |\n\n";
    for (const std::string& group : groups()) {
        strAppend(&text, "## ", group, "\n\n");
        for (const CommandSpec& command : commandTable()) {
            if (command.group == group) {
                text += markdownOf(command);
            }
        }
    }
    while (text.ends_with("\n\n")) {
        text.pop_back();
    }
    return text;
}

Result<std::string> completionScript(const std::string& shell) {
    if (shell == "bash") {
        return bashScript();
    }
    if (shell == "zsh") {
        return zshScript();
    }
    if (shell == "fish") {
        return fishScript();
    }
    return invalidArgument("no completion for '", shell, "'",
                           nameHint(shell, {"bash", "zsh", "fish"}));
}

}  // namespace millrace::cli
