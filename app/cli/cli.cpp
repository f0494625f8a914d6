#include "app/cli/cli.h"

#include <exception>

#include "app/cli/help.h"
#include "app/cli/parse.h"

namespace millrace::cli {
namespace {

void chooseColors(CliContext& context, const std::string& when) {
    if (when == "never") {
        context.terminal.colors = context.errorTerminal.colors = 0;
    } else if (when == "always") {
        const std::string term = context.environment("TERM");
        const bool isRich =
            term.find("256color") != std::string::npos || !context.environment("COLORTERM").empty();
        context.terminal.colors = context.errorTerminal.colors = isRich ? 256 : 8;
    }
}

int dispatch(CliContext& context, const std::vector<std::string>& words) {
    const Result<CommandLine> line = parseCommandLine(words);
    if (!line.ok()) {
        return failUsage(context, messageOf(line.status()));
    }
    chooseColors(context, line->args.text("--color"));
    context.hostOption = line->args.text("--host");
    if (line->wantsHelp) {
        context.out << (line->command == nullptr ? generalHelp(context.terminal)
                                                 : commandHelp(*line->command, context.terminal));
        return kExitOk;
    }
    if (line->command->needsDaemon) {
        const Result<Address> address = daemonAddress(context);
        if (!address.ok()) {
            return failUsage(context, messageOf(address.status()));
        }
    }
    return line->command->run(context, line->args);
}

}  // namespace

int runCli(CliContext& context, const std::vector<std::string>& words) {
    int code = kExitFailed;
    try {
        code = dispatch(context, words);
    } catch (const std::exception& error) {
        // Libraries below us may throw (memory, file system): still one sentence.
        fail(context, internalError(error.what()));
    }
    context.out.flush();
    context.err.flush();
    return code;
}

}  // namespace millrace::cli
