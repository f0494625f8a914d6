#pragma once
// A command as data: its options, its words, and the function that runs it. Help, completion and
// docs/reference/cli.md are made from these, so they cannot disagree with what is parsed.
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "app/cli/context.h"

namespace millrace::cli {

enum class ValueKind { kFlag, kText, kInteger, kChoice };
/// What the shell offers after a word.
enum class Completes { kNothing, kRun, kFile, kCommand };

struct OptionSpec {
    std::string names;      ///< "-n,--limit": the last is the name ParsedArgs uses
    std::string valueName;  ///< "N"; empty for a flag
    std::string help;
    ValueKind kind = ValueKind::kFlag;
    bool isRepeatable = false;
    std::vector<std::string> choices = {};  ///< of kChoice
    std::string name() const { return names.substr(names.rfind(',') + 1); }
};

struct ArgumentSpec {
    std::string name;  ///< "RUN"
    int least = 1, most = 1;
    std::string help;
    Completes completes = Completes::kNothing;
};

/// What was typed, checked against the command's options.
class ParsedArgs {
 public:
    bool has(std::string_view option) const;
    std::string text(std::string_view option, std::string_view fallback = "") const;
    int number(std::string_view option, int fallback) const;
    std::vector<std::string> list(std::string_view option) const;
    bool isJson() const { return has("--json"); }

    std::map<std::string, std::vector<std::string>, std::less<>> options;
    std::vector<std::string> words;  ///< positional arguments
};

struct CommandSpec {
    std::string name;
    std::string group;    ///< "Runs", "Data", "Daemon", "Other"
    std::string summary;  ///< one line, no full stop
    std::string details;  ///< sentences; may be empty
    std::vector<ArgumentSpec> arguments;
    std::vector<OptionSpec> options;
    std::vector<std::string> examples;
    int (*run)(CliContext& context, const ParsedArgs& args) = nullptr;
    bool printsData = true;   ///< takes --json
    bool needsDaemon = true;  ///< takes --host
};

/// All commands in the order of the help.
const std::vector<CommandSpec>& commandTable();
const CommandSpec* findCommand(std::string_view name);
/// The options that every command takes, as far as they apply to it.
std::vector<OptionSpec> optionsOf(const CommandSpec& command);

}  // namespace millrace::cli
