#include "app/cli/loader_child.h"

#include <filesystem>

#include "app/session/submission.h"
#include "backend/core/files.h"
#include "backend/core/subprocess.h"

namespace millrace::cli {
namespace {

constexpr std::chrono::milliseconds kTimeout{120'000};
constexpr std::int64_t kOutputBytes = std::int64_t{64} << 20;

}  // namespace

Result<Json> askLoader(const CliContext& context, const Json& question) {
    SubprocessOptions options;
    options.argv = {context.programDirectory + "/millrace-loader", "inspect"};
    options.input = dumpJson(question);
    options.timeout = kTimeout;
    options.maxOutputBytes = kOutputBytes;
    ASSIGN_OR_RETURN(const SubprocessOutput output, Subprocess::run(options));
    if (output.out.empty()) {
        const std::string why = output.err.substr(0, output.err.find('\n'));
        return internalError("millrace-loader inspect ended with ", output.exitCode,
                             why.empty() ? "" : ": ", why);
    }
    return parseJson(output.out, "millrace-loader inspect's answer");
}

Result<Json> specQuestion(const ParsedArgs& args, const std::string& op) {
    const std::string& path = args.words.front();
    ASSIGN_OR_RETURN(const std::string text, session::readSpecText(path));
    const std::filesystem::path absolute = absolutePath(path, currentDirectory());
    return Json{{"op", op},
                {"text", text},
                {"file_name", path},
                {"base_dir", absolute.parent_path().string()},
                {"sets", args.list("--set")}};
}

std::vector<client::SpecError> loaderErrors(const Json& list) {
    std::vector<client::SpecError> errors;
    for (const Json& one : list) {
        client::SpecError error;
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
