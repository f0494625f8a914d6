#include "app/cli/data/loader_child.h"

#include <cerrno>
#include <csignal>
#include <filesystem>

#include <sys/wait.h>
#include <unistd.h>

#include "app/session/remote_place.h"
#include "app/session/submission.h"
#include "backend/core/exit_codes.h"
#include "backend/filesystem/files.h"
#include "backend/system/pipe.h"
#include "backend/system/subprocess.h"

namespace millrace::cli {
namespace {

constexpr std::chrono::milliseconds kTimeout{120'000};
constexpr std::int64_t kOutputBytes = std::int64_t{64} << 20;

// The loader next to the host's millrace program.
Result<std::vector<std::string>> loaderThere(ssh::Connection& connection, const Address& address) {
    const ssh::RemoteHostInfo& facts = connection.facts();
    if (facts.program.empty()) {
        return failedPrecondition("millrace is not installed on ", address.text(), " for ",
                                  facts.user, "; 'millrace up --install --host ", address.text(),
                                  "' brings it");
    }
    return connection.commandLine(
        "sh -c " +
        ssh::shellWord(strCat("exec \"$(dirname \"$(readlink -f ", ssh::shellWord(facts.program),
                              ")\")\"/millrace-loader inspect")));
}

}  // namespace

Result<Json> askLoader(const CliContext& context, Json question) {
    SubprocessOptions options;
    options.argv = {context.programDirectory + "/millrace-loader", "inspect"};
    options.memoryLimitBytes = memoryShareOf(1);
    std::shared_ptr<ssh::Connection> connection;
    if (context.looksThere && context.hosts != nullptr) {
        ASSIGN_OR_RETURN(const session::DaemonPlace place, daemonPlace(context));
        if (place.address.isSsh) {
            ssh::Host& host = context.hosts->at(place.address);
            ASSIGN_OR_RETURN(connection, host.connection());
            ASSIGN_OR_RETURN(options.argv, loaderThere(*connection, place.address));
            ASSIGN_OR_RETURN(question["base_dir"], session::directoryThere(host, place.remoteDir));
            question["place"] = {{"directory", question["base_dir"]}};
            options.memoryLimitBytes = 0;  // the limit would apply to ssh, not to the loader
        }
    }
    options.input = dumpJson(question);
    options.timeout = kTimeout;
    options.maxOutputBytes = kOutputBytes;
    // The child has a process group of its own: a terminal's Ctrl-C does not reach it.
    const int before = context.interrupts.load();
    options.isUnwanted = [&] { return context.interrupts.load() != before; };
    const Result<SubprocessOutput> answer = Subprocess::run(options);
    if (answer.status().code() == absl::StatusCode::kCancelled) {
        return cancelled("interrupted");
    }
    RETURN_IF_ERROR(answer.status());
    if (connection != nullptr) {
        RETURN_IF_ERROR(connection->state());
    }
    const SubprocessOutput& output = *answer;
    if (output.out.empty()) {
        const std::string why = output.err.substr(0, output.err.find('\n'));
        return internalError("millrace-loader inspect ended with ", output.exitCode,
                             why.empty() ? "" : ": ", why);
    }
    return parseJson(output.out, "millrace-loader inspect's answer");
}

int waitForwarding(Subprocess& child, const std::atomic<int>& interrupts) {
    const pid_t pid = child.pid();
    const int before = interrupts.load();
    int status = 0;
    while (::waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR) {
            break;
        }
        if (interrupts.load() != before) {
            child.signal(SIGTERM);
        }
    }
    child.release();
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int exitCodeOfLoader(int code) {
    const bool isFailure = code == millrace::kExitInput || code == millrace::kExitOther ||
                           code == millrace::kExitResources;
    return isFailure ? static_cast<int>(kExitFailed) : code;
}

Result<RoleAnswer> runLoaderRole(const CliContext& context,
                                 const std::vector<std::string>& arguments) {
    UniqueFd ours, theirs;
    RETURN_IF_ERROR(makePipe(ours, theirs));
    SubprocessOptions options;
    options.argv = {context.programDirectory + "/millrace-loader"};
    options.argv.insert(options.argv.end(), arguments.begin(), arguments.end());
    options.stdoutFd = theirs.get();
    options.dieWithParent = true;
    context.out.flush();
    ASSIGN_OR_RETURN(Subprocess child, Subprocess::start(options));
    theirs.reset();
    const int before = context.interrupts.load();
    std::string text;
    char buffer[65536];
    for (;;) {
        const ssize_t n = ::read(ours.get(), buffer, sizeof buffer);
        if (n > 0) {
            text.append(buffer, static_cast<std::size_t>(n));
        } else if (n == 0 || errno != EINTR) {
            break;
        } else if (context.interrupts.load() != before) {
            child.signal(SIGTERM);
        }
    }
    RoleAnswer answer;
    answer.exitCode = exitCodeOfLoader(waitForwarding(child, context.interrupts));
    if (answer.exitCode == kExitOk) {
        ASSIGN_OR_RETURN(answer.document, parseJson(text, "millrace-loader's answer"));
    }
    return answer;
}

namespace {

/// The values of --csv, and --delimiter as one of them.
Result<std::vector<std::string>> csvOf(const ParsedArgs& args) {
    std::vector<std::string> csv = args.list("--csv");
    const std::string text = args.text("--delimiter");
    const std::string delimiter = text == "tab" || text == "\\t" ? "\t" : text;
    const bool isOne = delimiter.size() == 1 && delimiter.find_first_of("\"\r\n") != 0;
    if (args.has("--delimiter") && !isOne) {
        return invalidArgument(
            "--delimiter takes one character, not a quote or a line end, or tab");
    }
    if (!delimiter.empty()) {
        csv.push_back("delimiter=" + dumpJson(delimiter));
    }
    return csv;
}

}  // namespace

Result<std::vector<std::string>> readingArguments(const ParsedArgs& args) {
    ASSIGN_OR_RETURN(const std::vector<std::string> csv, csvOf(args));
    std::vector<std::string> arguments;
    if (args.has("--format")) {
        arguments.push_back("--format=" + args.text("--format"));
    }
    for (const std::string& set : csv) {
        arguments.push_back("--csv=" + set);
    }
    return arguments;
}

Result<Json> datasetQuestion(const ParsedArgs& args, const std::string& op) {
    ASSIGN_OR_RETURN(std::vector<std::string> csv, csvOf(args));
    return Json{{"op", op},
                {"path", args.words},
                {"base_dir", currentDirectory()},
                {"format", args.text("--format")},
                {"csv", std::move(csv)}};
}

Result<Json> askDataset(CliContext& context, Json question) {
    ASSIGN_OR_RETURN(Json answer, askLoader(context, std::move(question)));
    const auto errors = loaderErrors(jsonMember(answer, "errors"));
    if (!errors.empty()) {
        return invalidArgument(errors.front().message);
    }
    for (const Json& note : jsonMember(answer, "notes")) {
        context.err << "note: " << note.get<std::string>() << '\n';
    }
    return answer;
}

Result<Json> specQuestion(const ParsedArgs& args, const std::string& op) {
    const std::string& path = args.words.front();
    ASSIGN_OR_RETURN(const std::string text, session::readSpecText(path));
    const std::filesystem::path absolute = absolutePath(path, currentDirectory());
    return Json{{"op", op},
                {"text", text},
                {"file_name", path},
                {"base_dir", absolute.parent_path().string()},
                {"place", {{"directory", currentDirectory()}}},
                {"sets", args.list("--set")}};
}

std::vector<values::SpecError> loaderErrors(const Json& list) {
    std::vector<values::SpecError> errors;
    for (const Json& one : list) {
        values::SpecError error;
        error.message = jsonString(one, "message");
        error.code = jsonString(one, "code");
        error.file = jsonString(one, "file");
        error.path = jsonString(one, "path");
        error.line = static_cast<int>(jsonInt(one, "line"));
        error.column = static_cast<int>(jsonInt(one, "column"));
        errors.push_back(std::move(error));
    }
    return errors;
}

std::string currentDirectory() {
    std::error_code error;
    return std::filesystem::current_path(error).string();
}

}  // namespace millrace::cli
