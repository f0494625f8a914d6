#pragma once
// A command as data: its options, its words, and the function that runs it. Help, completion and
// docs/reference/cli.md are generated from it, so they always agree with the parser.
#include <string>
#include <string_view>
#include <vector>

#include "app/cli/frame/context.h"
#include "backend/options/option.h"

namespace millrace::cli {

/// Kinds of words that the shell offers after a command.
enum class Completes { kNothing, kRun, kFile, kCommand, kHostAction };

struct ArgumentSpec {
    std::string name;  ///< "RUN"
    int least = 1, most = 1;
    std::string help;
    Completes completes = Completes::kNothing;
};

/// The command line's values, checked against the command's options.
class ParsedArgs {
 public:
    bool has(std::string_view option) const;
    std::string text(std::string_view option, std::string_view fallback = "") const;
    int number(std::string_view option, int fallback) const;
    std::vector<std::string> list(std::string_view option) const;
    bool isJson() const { return has("--json"); }
    bool isCsv() const { return has("--csv"); }

    options::OptionValues options;
    std::vector<std::string> words;  ///< positional arguments
};

/// The process that a command uses besides its own; --host names the host of that process.
enum class Reaches {
    kDaemon,
    kLoaderThere,  ///< no daemon; --host ssh://HOST runs the loader on that host
    kNothing
};

/// Returns the exit code; runCli() prints an error, which has one of its own.
using CommandFunction = Result<int>(CliContext& context, const ParsedArgs& args);

struct CommandSpec {
    std::string name;
    std::string summary;  ///< one line, no full stop
    std::string details;  ///< sentences; may be empty
    std::vector<ArgumentSpec> arguments;
    std::vector<options::OptionSpec> options;
    std::vector<std::string> examples;
    CommandFunction* run = nullptr;
    Reaches reaches = Reaches::kDaemon;
    bool printsData = true;  ///< takes --json
    std::string group = {};  ///< "Runs", "Data", "Daemon", "Other": set by the table
};

/// Whether every --set is KEY=VALUE.
Status checkSets(const ParsedArgs& args);

}  // namespace millrace::cli
