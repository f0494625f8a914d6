#include "app/ssh/private_directory.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>

#include <unistd.h>

#include <absl/strings/numbers.h>

#include "backend/filesystem/files.h"
#include "backend/filesystem/paths.h"

namespace millrace::ssh {
namespace {

constexpr std::string_view kPrefix = "ssh-";
constexpr std::size_t kPathBytesMax = 70;

// Whether `name` is "ssh-PID-XXXXXX" of a process that no longer exists.
bool isLeftBehind(const std::string& name) {
    if (name.rfind(kPrefix, 0) != 0) {
        return false;
    }
    int pid = 0;
    const std::string number =
        name.substr(kPrefix.size(), name.find('-', kPrefix.size()) - kPrefix.size());
    return absl::SimpleAtoi(number, &pid) && pid > 0 && ::kill(pid, 0) != 0 && errno == ESRCH;
}

void removeLeftBehind(const std::string& directory) {
    std::error_code error;
    for (std::filesystem::directory_iterator entry(directory, error), end; !error && entry != end;
         entry.increment(error)) {
        if (isLeftBehind(entry->path().filename().string())) {
            std::error_code ignored;
            std::filesystem::remove_all(entry->path(), ignored);
        }
    }
}

}  // namespace

Result<std::string> makePrivateDirectoryForSockets() {
    std::string base = runtimeDirectory();
    const std::string name = strCat("/", kPrefix, ::getpid(), "-XXXXXX");
    if (base.size() + name.size() > kPathBytesMax) {
        base = strCat("/tmp/millrace-", ::geteuid());
    }
    RETURN_IF_ERROR(makePrivateDirectory(base));
    removeLeftBehind(base);
    std::string path = base + name;
    if (::mkdtemp(path.data()) == nullptr) {
        return errnoStatus(errno, path);
    }
    return path;
}

}  // namespace millrace::ssh
