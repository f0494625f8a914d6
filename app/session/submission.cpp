#include "app/session/submission.h"

#include <chrono>
#include <filesystem>
#include <thread>

#include <pwd.h>
#include <unistd.h>

#include "backend/core/ids.h"
#include "backend/filesystem/files.h"
#include "backend/system/subprocess.h"
#include "backend/text/text.h"
#include "backend/text/utf8.h"

namespace millrace::session {
namespace {

constexpr std::chrono::milliseconds kGitTimeout{2'000};
constexpr std::size_t kDiffBytesMax = std::size_t{256} << 10;

std::string trimmed(std::string text) {
    text.erase(text.find_last_not_of(" \n\r\t") + 1);
    return text;
}

// The output of a git command; nothing when it failed.
std::string git(const std::string& directory, const std::vector<std::string>& arguments) {
    SubprocessOptions options;
    options.argv = {"git", "-C", directory, "--no-optional-locks"};
    options.argv.insert(options.argv.end(), arguments.begin(), arguments.end());
    options.environment = {"GIT_TERMINAL_PROMPT=0", "LC_ALL=C"};
    options.timeout = kGitTimeout;
    options.maxOutputBytes = 1 << 20;
    const Result<SubprocessOutput> output = Subprocess::run(options);
    return output.ok() && output->exitCode == 0 ? toUtf8(trimmed(output->out)) : "";
}

std::string withoutCredentials(std::string url) {
    const std::size_t scheme = url.find("://");
    if (scheme == std::string::npos) {
        return url;
    }
    const std::size_t host = scheme + 3;
    const std::size_t at = url.find('@', host);
    const std::size_t slash = url.find('/', host);
    if (at != std::string::npos && (slash == std::string::npos || at < slash)) {
        url.erase(host, at + 1 - host);
    }
    return url;
}

std::string userName() {
    if (const passwd* entry = ::getpwuid(::geteuid())) {
        return entry->pw_name;
    }
    return strCat("uid-", ::geteuid());
}

}  // namespace

// Rejects other encodings early: the spec's bytes end up in messages and in the run store.
Status checkSpecText(const std::string& text, const std::string& path) {
    const std::optional<BadByte> bad = findBadByte(text);
    if (!bad.has_value()) {
        return okStatus();
    }
    const bool isWide = text.find('\0') != std::string::npos;
    return invalidArgument(path, ":", bad->line, ":", bad->column, ": byte 0x",
                           absl::Hex(bad->byte, absl::kZeroPad2), " is not UTF-8; ",
                           isWide ? "'iconv -f UTF-16 -t UTF-8' converts a UTF-16 file"
                                  : "'iconv -f latin1 -t UTF-8' converts a Latin-1 file");
}

values::GitInfo gitFactsOf(const std::string& directory) {
    values::GitInfo facts;
    facts.commit = git(directory, {"rev-parse", "HEAD"});
    if (facts.commit.empty()) {
        return facts;
    }
    facts.branch = git(directory, {"branch", "--show-current"});
    facts.isDirty = !git(directory, {"status", "--porcelain", "--untracked-files=no"}).empty();
    if (facts.isDirty) {
        facts.diff = git(directory, {"diff", "--no-color", "--no-ext-diff", "HEAD"});
        if (facts.diff.size() > kDiffBytesMax) {
            facts.diff = toUtf8(facts.diff, kDiffBytesMax);
        }
    }
    facts.remote = withoutCredentials(git(directory, {"config", "--get", "remote.origin.url"}));
    return facts;
}

Result<std::string> readSpecText(const std::string& path) {
    std::error_code error;
    if (std::filesystem::is_directory(path, error)) {
        return invalidArgument(path, ": is a directory; name the spec's YAML file");
    }
    const std::uintmax_t size = std::filesystem::file_size(path, error);
    if (!error && size > static_cast<std::uintmax_t>(values::kSpecBytesMax)) {
        return invalidArgument(
            path, ": a spec of ", formatBytes(static_cast<double>(size)), "; at most ",
            formatBytes(static_cast<double>(values::kSpecBytesMax)), " are read");
    }
    ASSIGN_OR_RETURN(std::string text, readFile(path));
    RETURN_IF_ERROR(checkSpecText(text, path));
    return text;
}

Result<values::SubmitRequest> readSubmission(const std::string& path, const Clock& clock) {
    values::SubmitRequest request;
    ASSIGN_OR_RETURN(request.specText, readSpecText(path));
    std::error_code error;
    const std::string absolute = absolutePath(path, std::filesystem::current_path(error).string());
    request.baseDir = std::filesystem::path(absolute).parent_path().string();
    request.fileName = path;
    completeSubmission(request, clock);
    return request;
}

void completeSubmission(values::SubmitRequest& request, const Clock& clock) {
    if (request.owner.empty()) {
        request.owner = userName();
    }
    if (request.key.empty()) {
        request.key = newUid(clock.wallMs());
    }
    if (request.git.commit.empty() && !request.baseDir.empty()) {
        request.git = gitFactsOf(request.baseDir);
    }
    if (request.place.environment.empty()) {
        if (Result<values::LaunchPlace> place = launchPlace(); place.ok()) {
            request.place.environment = std::move(place->environment);
        }
    }
}

Result<values::SubmitReply> submitSurely(client::DaemonClient& client,
                                         const values::SubmitRequest& request, int tries) {
    for (int round = 1;; ++round) {
        Result<values::SubmitReply> reply = client.submit(request);
        const bool isLost = reply.status().code() == absl::StatusCode::kUnavailable;
        // If status() fails as well, no daemon is running: report that at once instead of retrying.
        const bool isWorthWaiting = isLost && client.status().ok();
        if (!isWorthWaiting || round >= tries || request.key.empty()) {
            return reply;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(200 * round));
    }
}

}  // namespace millrace::session
