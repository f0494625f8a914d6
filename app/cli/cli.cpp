#include "app/cli/cli.h"

#include <exception>

#include "app/cli/help.h"
#include "app/cli/parse.h"

namespace millrace::cli {
namespace {

// Applies --color; "" and "auto" keep the detected colours.
void chooseColors(CliContext& context, const std::string& when) {
    if (when != "always" && when != "never") {
        return;
    }
    const ColorChoice choice = when == "always" ? ColorChoice::kAlways : ColorChoice::kNever;
    for (Terminal* terminal : {&context.terminal, &context.errorTerminal}) {
        terminal->colors = colorsOf(choice, terminal->isTty, context.environment);
    }
}

Result<int> dispatch(CliContext& context, const std::vector<std::string>& words) {
    ASSIGN_OR_RETURN(const CommandLine line, asUsage(parseCommandLine(words)));
    chooseColors(context, line.args.text("--color"));
    context.hostOption = line.args.text("--host");
    if (line.wantsHelp) {
        context.out << (line.command == nullptr ? generalHelp(context.terminal)
                                                : commandHelp(*line.command, context.terminal));
        return kExitOk;
    }
    if (context.hosts != nullptr) {
        ASSIGN_OR_RETURN(const ssh::Transport transport,
                         asUsage(ssh::parseTransport(line.args.text(
                             "--ssh-transport", context.environment("MILLRACE_SSH_TRANSPORT")))));
        context.hosts->setTransport(transport);
        context.hosts->setStrict(line.args.has("--ssh-strict"));
    }
    context.looksThere = line.command->reaches == Reaches::kLoaderThere;
    if (line.command->reaches != Reaches::kNothing) {
        ASSIGN_OR_RETURN(const Address address, asUsage(daemonAddress(context)));
        if (context.looksThere && !context.hostOption.empty() && !address.isSsh) {
            return failUsage(
                context, strCat("--host ", context.hostOption, ": millrace ", line.command->name,
                                " needs no daemon, and looks at another machine over "
                                "ssh://HOST only"));
        }
    }
    RETURN_IF_ERROR(checkSets(line.args));
    return line.command->run(context, line.args);
}

// A command whose output was lost has failed, whatever it did. One whose reader has gone has not.
int endOfOutput(CliContext& context, int code) {
    context.out.flush();
    if (context.out.good()) {
        return code;
    }
    const Status status = context.output != nullptr
                              ? context.output->status()
                              : internalError("standard output: a write failed");
    if (!status.ok()) {
        fail(context, status);
    }
    return status.ok() || code != kExitOk ? code : static_cast<int>(kExitFailed);
}

}  // namespace

int runCli(CliContext& context, const std::vector<std::string>& words) {
    int code = kExitFailed;
    try {
        const Result<int> done = dispatch(context, words);
        code = done.ok() ? *done : fail(context, done.status());
    } catch (const std::exception& error) {
        // Libraries may throw (memory, file system): report that as one sentence too.
        fail(context, internalError(error.what()));
    }
    code = endOfOutput(context, code);
    context.err.flush();
    return code;
}

}  // namespace millrace::cli
