// `millrace up --host ssh://...`: starts a daemon on another host, through millrace there.
#include "app/cli/remote/remote_commands.h"
#include "app/cli/remote/remote_progress.h"
#include "app/ssh/transfer.h"
#include "backend/text/text.h"

namespace millrace::cli {
namespace {

constexpr std::chrono::milliseconds kStartTimeout{60'000};

std::string firstLine(const std::string& text) {
    return text.substr(0, std::min(text.find('\n'), text.size()));
}

// The `millrace up` command to run there: paths are those of the host.
std::string upCommand(const ParsedArgs& args, const std::string& program, const Address& address) {
    std::string command = ssh::shellWord(program) + " up --json";
    if (!address.unixPath.empty()) {
        strAppend(&command, " --host ", ssh::shellWord("unix:" + address.unixPath));
    }
    for (const char* option : {"--state-dir", "--bin-dir", "--log-file", "--config", "--nodes",
                               "--nodes-listen", "--nodes-address"}) {
        if (args.has(option)) {
            strAppend(&command, " ", option, " ", ssh::shellWord(args.text(option)));
        }
    }
    for (const char* flag : {"--no-train-here", "--take-over"}) {
        if (args.has(flag)) {
            strAppend(&command, " ", flag);
        }
    }
    return command;
}

Result<std::string> bring(CliContext& context, const ParsedArgs& args,
                          ssh::Connection& connection) {
    ASSIGN_OR_RETURN(const ssh::Programs programs,
                     ssh::programsIn(args.text("--programs", context.programDirectory),
                                     strCat(kVersion, "-", context.build)));
    if (context.errorTerminal.isTty) {
        context.err << "packing the programs ..." << std::flush;
    }
    ASSIGN_OR_RETURN(const ssh::Installed done,
                     ssh::install(connection, programs, progressOf(context, "the programs")));
    context.err << "installed: millrace " << kVersion << " as " << done.program << " there ("
                << formatBytes(static_cast<double>(done.bytes)) << " sent)\n";
    return done.program;
}

}  // namespace

Status startThere(CliContext& context, const ParsedArgs& args, const Address& address) {
    ASSIGN_OR_RETURN(const auto connection, context.hosts->at(address).connection());
    ASSIGN_OR_RETURN(const ssh::RemoteHostInfo facts,
                     context.hosts->at(address).look(address.unixPath));
    std::string program = facts.program;
    if (args.has("--install")) {
        ASSIGN_OR_RETURN(program, bring(context, args, *connection));
    }
    if (program.empty()) {
        return failedPrecondition("millrace is not installed on ", address.text(), " for ",
                                  facts.user, ": --install brings the programs of this version");
    }
    ASSIGN_OR_RETURN(
        const SubprocessOutput output,
        connection->run("cd \"$HOME\"\nexec " + upCommand(args, program, address) + "\n",
                        kStartTimeout));
    if (output.exitCode != 0) {
        return failedPrecondition(address.text(),
                                  ": the daemon did not start there: ", firstLine(output.err));
    }
    return okStatus();
}

}  // namespace millrace::cli
