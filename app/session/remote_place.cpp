#include "app/session/remote_place.h"

#include <algorithm>
#include <filesystem>

#include "app/session/host_book.h"
#include "app/session/submission.h"
#include "backend/filesystem/files.h"
#include "backend/text/text.h"

namespace millrace::session {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kTimeout{30'000};
constexpr std::int64_t kUploadBytesMax = 64'000'000;
constexpr std::string_view kEnvironmentMark = "millrace-environment";

// Prints the environment of the user's login shell: it includes what .profile adds to the PATH.
// Shells that take no -l with a command (csh) leave it to sh.
constexpr std::string_view kEnvironmentScript = R"sh(
tell='printf "\0millrace-environment\0"; env -0'
"${SHELL:-sh}" -lc "$tell" </dev/null 2>/dev/null || sh -lc "$tell" </dev/null
)sh";

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
    RETURN_IF_ERROR(checkSpecText(output.out, path));
    return output.out;
}

// Rejects a file before anything is sent.
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

// The directory that the user configured for a named host; "" for other hosts.
std::string remoteDirOf(const Address& address) {
    const Result<std::string> path = HostBook::defaultPath();
    const Result<HostBook> book = path.ok() ? HostBook::read(*path) : Result<HostBook>(HostBook());
    if (book.ok()) {
        for (const NamedHost& host : book->all()) {
            if (host.address == address.text()) {
                return host.remoteDir;
            }
        }
    }
    return "";
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
        return invalidArgument("--upload ", name,
                               ": the spec names no such path, so nothing would read it");
    }
    return out;
}

Result<std::string> directoryThere(ssh::Host& host, const std::string& remoteDir) {
    ASSIGN_OR_RETURN(const auto connection, host.connection());
    return absolutePath(remoteDir.empty() ? "." : remoteDir, connection->facts().home);
}

Result<std::string> DirectoriesThere::standsFor(const std::string& address,
                                                const std::string& directory) {
    const std::pair key(address, directory);
    {
        MutexLock lock(mutex_);
        const auto at = known_.find(key);
        if (at != known_.end()) {
            return at->second;
        }
    }
    ASSIGN_OR_RETURN(const Address parsed, Address::parse(address));
    ssh::Host& host = hosts_.at(parsed);
    ASSIGN_OR_RETURN(const auto connection, host.connection());
    ASSIGN_OR_RETURN(const SubprocessOutput output,
                     connection->run(strCat("[ -d ", ssh::shellWord(directory), " ]\n"), kTimeout));
    std::string there = directory;
    if (output.exitCode > 1) {
        return unavailable(address, ": ", directory, " cannot be looked for there: ", output.err);
    }
    if (output.exitCode == 1) {
        ASSIGN_OR_RETURN(there, directoryThere(host, remoteDirOf(parsed)));
    }
    MutexLock lock(mutex_);
    known_[key] = there;
    return there;
}

Status DirectoriesThere::complete(const std::string& address, values::SubmitRequest& request) {
    ASSIGN_OR_RETURN(const Address parsed, Address::parse(address));
    RemoteRequests wishes;
    ASSIGN_OR_RETURN(wishes.remoteDir, standsFor(address, request.baseDir));
    return completeThere(hosts_.at(parsed), wishes, request);
}

Status completeThere(ssh::Host& host, const RemoteRequests& wishes,
                     values::SubmitRequest& request) {
    for (const std::string& file : wishes.uploads) {
        RETURN_IF_ERROR(checkUpload(file));
        RETURN_IF_ERROR(withPath(request.specText, file, file).status());
    }
    ASSIGN_OR_RETURN(const auto connection, host.connection());
    const std::string& home = connection->facts().home;
    ASSIGN_OR_RETURN(request.baseDir, directoryThere(host, wishes.remoteDir));
    if (wishes.isSpecThere) {
        ASSIGN_OR_RETURN(request.specText, specThere(*connection, request.fileName));
        request.baseDir = fs::path(absolutePath(request.fileName, home)).parent_path().string();
    }
    ASSIGN_OR_RETURN(const std::vector<std::string> environment, environmentThere(*connection));
    ASSIGN_OR_RETURN(request.place,
                     launchPlaceOf(environment, request.baseDir, wishes.environment));
    std::map<std::string, int> sent;  // how many have this name: each gets a directory of its own
    for (const std::string& file : wishes.uploads) {
        const int before = sent[fs::path(file).filename().string()]++;
        const std::string directory = strCat(home, "/.local/state/millrace/uploads/", request.key,
                                             before == 0 ? "" : strCat("/", before));
        const ssh::Progress progress =
            wishes.progressOf ? wishes.progressOf(file) : ssh::Progress();
        ASSIGN_OR_RETURN(const std::string path,
                         ssh::sendFile(*connection, file, directory, progress));
        ASSIGN_OR_RETURN(request.specText, withPath(request.specText, file, path));
    }
    return okStatus();
}

}  // namespace millrace::session
