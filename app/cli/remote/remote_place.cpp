#include "app/cli/remote/remote_place.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "app/session/submission.h"
#include "app/ssh/transfer.h"
#include "backend/core/files.h"
#include "backend/core/ids.h"
#include "backend/core/text.h"

namespace millrace::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kTimeout{30'000};
constexpr std::int64_t kUploadBytesMax = 64'000'000;
constexpr std::string_view kEnvironmentMark = "millrace-environment";

// As a login shell of the user has it: what .profile adds to the PATH is there.
constexpr std::string_view kEnvironmentScript =
    "\"${SHELL:-sh}\" -lc 'printf \"\\0millrace-environment\\0\"; env -0' </dev/null 2>/dev/null\n";

Result<std::vector<std::string>> environmentThere(ssh::Connection& connection) {
    ASSIGN_OR_RETURN(const SubprocessOutput output,
                     connection.run(std::string(kEnvironmentScript), kTimeout));
    const std::string mark = std::string(1, '\0') + std::string(kEnvironmentMark) + '\0';
    const std::size_t begin = output.out.find(mark);
    if (begin == std::string::npos) {
        return failedPrecondition("the login shell there tells no environment: ",
                                  output.out.substr(0, 200), output.err.substr(0, 200));
    }
    std::vector<std::string> all;
    for (std::size_t at = begin + mark.size(); at < output.out.size();) {
        const std::size_t end = std::min(output.out.find('\0', at), output.out.size());
        all.push_back(output.out.substr(at, end - at));
        at = end + 1;
    }
    return all;
}

Result<std::string> specThere(ssh::Connection& connection, const std::string& path) {
    const std::string word = ssh::shellWord(path);
    ASSIGN_OR_RETURN(const SubprocessOutput output,
                     connection.run(strCat("cd \"$HOME\" && head -c ", values::kSpecBytesMax + 1,
                                           " -- ", word, "\n"),
                                    kTimeout));
    if (output.exitCode != 0) {
        return notFound(path,
                        ": is not to be read there: ", output.err.substr(0, output.err.find('\n')));
    }
    if (static_cast<std::int64_t>(output.out.size()) > values::kSpecBytesMax) {
        return invalidArgument(path, ": a spec of more than ",
                               formatBytes(static_cast<double>(values::kSpecBytesMax)));
    }
    RETURN_IF_ERROR(session::checkSpecText(output.out, path));
    return output.out;
}

// Refuses before anything is sent.
Status checkUpload(const std::string& file) {
    std::error_code error;
    const std::uintmax_t bytes = fs::file_size(file, error);
    if (error) {
        return notFound("--upload ", file, ": ", error.message());
    }
    if (static_cast<std::int64_t>(bytes) > kUploadBytesMax) {
        return invalidArgument("--upload ", file, ": ", formatBytes(static_cast<double>(bytes)),
                               "; at most ", formatBytes(static_cast<double>(kUploadBytesMax)),
                               ": copy larger files with scp or rsync and name their path there");
    }
    return okStatus();
}

ssh::Progress progressOn(const CliContext& context, const std::string& what) {
    if (!context.errorTerminal.isTty) {
        return {};
    }
    return [&context, what](std::int64_t done, std::int64_t all) {
        context.err << '\r' << what << ": " << formatBytes(static_cast<double>(done)) << " of "
                    << formatBytes(static_cast<double>(all)) << "  " << (done == all ? "\n" : "")
                    << std::flush;
    };
}

bool isScalarsEnd(char c) {
    return c == '\0' || std::string_view(" \t\r\n'\",:[]{}#").find(c) != std::string_view::npos;
}

}  // namespace

Result<std::string> withPath(const std::string& text, const std::string& name,
                             const std::string& path) {
    std::string out;
    std::size_t at = 0, count = 0;
    for (std::size_t found = 0; (found = text.find(name, at)) != std::string::npos;) {
        const char before = found == 0 ? '\n' : text[found - 1];
        const std::size_t end = found + name.size();
        const bool isWhole =
            isScalarsEnd(before) && isScalarsEnd(end < text.size() ? text[end] : '\0');
        out.append(text, at, found - at);
        out += isWhole ? path : name;
        count += isWhole ? 1 : 0;
        at = end;
    }
    out.append(text, at);
    if (count == 0) {
        return notFound("--upload ", name,
                        ": the spec names no such path, so nothing would read it");
    }
    return out;
}

Status completeThere(const CliContext& context, const Address& address, const RemoteWishes& wishes,
                     values::SubmitRequest& request) {
    for (const std::string& file : wishes.uploads) {
        RETURN_IF_ERROR(checkUpload(file));
        RETURN_IF_ERROR(withPath(request.specText, file, file).status());
    }
    ASSIGN_OR_RETURN(const auto connection, context.hosts->at(address).connection());
    const std::string& home = connection->facts().home;
    request.baseDir = absolutePath(wishes.remoteDir.empty() ? "." : wishes.remoteDir, home);
    if (wishes.isSpecThere) {
        ASSIGN_OR_RETURN(request.specText, specThere(*connection, request.fileName));
        request.baseDir = fs::path(absolutePath(request.fileName, home)).parent_path().string();
    }
    ASSIGN_OR_RETURN(const std::vector<std::string> environment, environmentThere(*connection));
    ASSIGN_OR_RETURN(request.place,
                     session::launchPlaceOf(environment, request.baseDir, wishes.environment));
    for (const std::string& file : wishes.uploads) {
        const std::string directory = strCat(home, "/.local/state/millrace/uploads/", request.key);
        ASSIGN_OR_RETURN(const std::string path,
                         ssh::sendFile(*connection, file, directory, progressOn(context, file)));
        ASSIGN_OR_RETURN(request.specText, withPath(request.specText, file, path));
    }
    return okStatus();
}

}  // namespace millrace::cli
