#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>

#include <sys/wait.h>

#include <absl/strings/str_format.h>

#include "app/cli/commands.h"
#include "app/cli/json_shapes.h"
#include "app/cli/parse.h"
#include "app/cli/spec_errors.h"
#include "app/cli/table.h"
#include "app/session/submission.h"
#include "app/tui/charts.h"
#include "app/tui/figures.h"
#include "backend/core/files.h"
#include "backend/core/subprocess.h"
#include "backend/core/text.h"

namespace millrace::cli {
namespace {

using tui::Tone;

constexpr std::chrono::milliseconds kInspectTimeout{120'000};
constexpr std::int64_t kInspectOutputBytes = std::int64_t{64} << 20;

std::string currentDirectory() {
    std::error_code error;
    return std::filesystem::current_path(error).string();
}

// One question to `millrace-loader inspect`, run as a child of ours.
Result<Json> inspect(const CliContext& context, const Json& question) {
    SubprocessOptions options;
    options.argv = {context.programDirectory + "/millrace-loader", "inspect"};
    options.input = dumpJson(question);
    options.timeout = kInspectTimeout;
    options.maxOutputBytes = kInspectOutputBytes;
    ASSIGN_OR_RETURN(const SubprocessOutput output, Subprocess::run(options));
    if (output.out.empty()) {
        std::string why = output.err.substr(0, output.err.find('\n'));
        return internalError("millrace-loader inspect ended with ", output.exitCode,
                             why.empty() ? "" : ": ", why);
    }
    return parseJson(output.out, "millrace-loader inspect's answer");
}

std::vector<client::SpecError> errorsOf(const Json& list) {
    std::vector<client::SpecError> errors;
    for (const Json& one : list) {
        client::SpecError error;
        if (one.is_string()) {
            error.message = one.get<std::string>();
        } else {
            error.message = jsonString(one, "message");
            error.code = jsonString(one, "code");
            error.file = jsonString(one, "file");
            error.path = jsonString(one, "path");
            error.line = static_cast<int>(jsonInt(one, "line"));
            error.column = static_cast<int>(jsonInt(one, "column"));
        }
        errors.push_back(std::move(error));
    }
    return errors;
}

int reportErrors(CliContext& context, const ParsedArgs& args, const Json& answer,
                 const std::string& fileName, const std::string& text) {
    const std::vector<client::SpecError> errors = errorsOf(jsonMember(answer, "errors"));
    context.err << describe(errors, fileName, text, "error", context.errorTerminal,
                            args.has("--set"));
    if (args.isJson()) {
        printDocument(context,
                      {{"ok", false}, {"errors", jsonList(errors)}, {"runs", Json::array()}});
    }
    return kExitFailed;
}

void printChecked(CliContext& context, const Json& runs) {
    Table table({{"NAME", Align::kLeft, 10},
                 {"VARIATION", Align::kLeft, 8},
                 {"ROWS", Align::kRight},
                 {"FILES", Align::kRight, 5, 2},
                 {"SPLITS", Align::kRight, 5, 2},
                 {"SPEC HASH", Align::kLeft, 12, 1},
                 {"STREAM HASH", Align::kLeft, 12, 3}});
    for (const Json& run : runs) {
        const std::string variation = jsonString(run, "variation");
        table.add({{jsonString(run, "name"), Tone::kStrong},
                   variation.empty() ? "base" : variation,
                   formatCount(jsonInt(run, "rows")),
                   std::to_string(jsonInt(run, "files")),
                   std::to_string(jsonInt(run, "splits")),
                   {jsonString(run, "spec_hash").substr(0, 12), Tone::kDim},
                   {jsonString(run, "stream_hash").substr(0, 12), Tone::kDim}});
    }
    context.out << table.render(context.terminal);
}

void printDataset(CliContext& context, const std::string& path, const Json& answer) {
    const Terminal& terminal = context.terminal;
    const auto files = jsonMember(answer, "files");
    const std::int64_t numFiles =
        files.is_array() ? static_cast<std::int64_t>(files.size()) : jsonInt(answer, "files");
    const std::string format = jsonString(answer, "format");
    context.out << paint(terminal, Tone::kStrong, shown(terminal, path)) << "  " << format << "  "
                << tui::countText(numFiles, "file") << "  "
                << tui::countText(jsonInt(answer, "rows"), "row") << "  "
                << tui::countText(jsonInt(answer, "row_groups"),
                                  format == "parquet" ? "row group" : "split")
                << "  " << formatBytes(static_cast<double>(jsonInt(answer, "bytes"))) << '\n';
    Table table({{"COLUMN", Align::kLeft, 10},
                 {"TYPE", Align::kLeft, 6},
                 {"DECODED", Align::kRight},
                 {"A ROW", Align::kRight, 6, 1}});
    const auto rows = static_cast<double>(std::max<std::int64_t>(1, jsonInt(answer, "rows")));
    for (const Json& column : jsonMember(answer, "columns")) {
        const auto bytes = static_cast<double>(jsonInt(column, "decoded_bytes"));
        table.add({{jsonString(column, "name"), Tone::kStrong},
                   jsonString(column, "type"),
                   bytes > 0 ? formatBytes(bytes) : "-",
                   {bytes > 0 ? absl::StrFormat("%.1f B", bytes / rows) : "-", Tone::kDim}});
    }
    context.out << table.render(terminal);
}

// The child's exit code; a signal that this process gets is handed on (a terminal's Ctrl-C reaches
// both by itself).
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

// A worker tells input errors (4) and others (5) apart for the daemon; here both have failed.
int exitCodeOfLoader(int code) {
    return code == 4 || code == 5 ? static_cast<int>(kExitFailed) : code;
}

}  // namespace

int runCheck(CliContext& context, const ParsedArgs& args) {
    const std::string& path = args.words.front();
    const Status sets = checkSets(args);
    if (!sets.ok()) {
        return failUsage(context, messageOf(sets));
    }
    const Result<std::string> text = session::readSpecText(path);
    if (!text.ok()) {
        return fail(context, text.status());
    }
    const std::string absolute = absolutePath(path, currentDirectory());
    Json variations = args.list("--variation");
    if (args.has("--all-variations")) {
        variations = "all";
    }
    const Result<Json> answer =
        inspect(context, {{"op", "check"},
                          {"text", *text},
                          {"file_name", path},
                          {"base_dir", std::filesystem::path(absolute).parent_path().string()},
                          {"variations", variations},
                          {"sets", args.list("--set")}});
    if (!answer.ok()) {
        return fail(context, answer.status());
    }
    if (!jsonBool(*answer, "ok")) {
        return reportErrors(context, args, *answer, path, *text);
    }
    const Json& runs = jsonMember(*answer, "runs");
    std::vector<client::SpecError> warnings;
    for (const Json& run : runs) {
        for (client::SpecError& warning : errorsOf(jsonMember(run, "warnings"))) {
            const bool isNew =
                std::none_of(warnings.begin(), warnings.end(), [&](const client::SpecError& w) {
                    return w.message == warning.message && w.line == warning.line;
                });
            if (isNew) {
                warnings.push_back(std::move(warning));
            }
        }
    }
    context.err << describe(warnings, path, *text, "warning", context.errorTerminal);
    if (args.isJson()) {
        printDocument(context, {{"ok", true}, {"errors", Json::array()}, {"runs", runs}});
    } else {
        printChecked(context, runs);
    }
    return kExitOk;
}

int runDataset(CliContext& context, const ParsedArgs& args) {
    const std::string& path = args.words.front();
    const Result<Json> answer =
        inspect(context, {{"op", "dataset"}, {"path", path}, {"base_dir", currentDirectory()}});
    if (!answer.ok()) {
        return fail(context, answer.status());
    }
    if (!jsonBool(*answer, "ok")) {
        for (const client::SpecError& error : errorsOf(jsonMember(*answer, "errors"))) {
            fail(context, invalidArgument(error.message));
        }
        return kExitFailed;
    }
    if (args.isJson()) {
        Json document = *answer;
        document.erase("ok");
        document["path"] = path;
        printDocument(context, std::move(document));
    } else {
        printDataset(context, path, *answer);
    }
    return kExitOk;
}

int runStream(CliContext& context, const ParsedArgs& args) {
    const Status sets = checkSets(args);
    if (!sets.ok()) {
        return failUsage(context, messageOf(sets));
    }
    SubprocessOptions options;
    options.argv = {context.programDirectory + "/millrace-loader", "stream", args.words.front()};
    for (const auto& [option, values] : args.options) {
        if (option == "--color") {
            continue;
        }
        if (values.empty()) {
            options.argv.push_back(option);
        }
        for (const std::string& value : values) {
            options.argv.insert(options.argv.end(), {option, value});
        }
    }
    options.dieWithParent = true;
    context.out.flush();
    Result<Subprocess> loader = Subprocess::start(options);
    if (!loader.ok()) {
        return fail(context, loader.status());
    }
    return exitCodeOfLoader(waitForwarding(*loader, context.interrupts));
}

}  // namespace millrace::cli
