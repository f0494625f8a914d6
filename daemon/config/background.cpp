#include "daemon/config/background.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/filesystem/files.h"
#include "backend/system/pipe.h"

namespace millrace::config {
namespace {

// Runs in the starter: waits for the daemon's notice and ends with its code.
[[noreturn]] void waitForNotice(int fd, pid_t child) {
    std::string text;
    char buffer[4096];
    for (;;) {
        const ssize_t n = ::read(fd, buffer, sizeof buffer);
        if (n > 0) {
            text.append(buffer, static_cast<std::size_t>(n));
        } else if (n == 0 || errno != EINTR) {
            break;
        }
    }
    ::waitpid(child, nullptr, 0);
    if (text == "+") {
        ::_exit(0);
    }
    const int code = text.empty() ? 1 : static_cast<unsigned char>(text.front());
    const std::string sentence =
        text.empty() ? "it ended before it served; see its log" : text.substr(1);
    std::fprintf(stderr, "millraced: %s\n", sentence.c_str());
    ::_exit(code);
}

}  // namespace

bool ReadyNotice::send(std::string_view text) {
    if (!fd_.isOpen()) {
        return false;
    }
    [[maybe_unused]] const ssize_t n = ::write(fd_.get(), text.data(), text.size());
    fd_.reset();
    return true;
}

Result<ReadyNotice> goToBackground() {
    UniqueFd readEnd, writeEnd;
    RETURN_IF_ERROR(makePipe(readEnd, writeEnd));
    const pid_t child = ::fork();
    if (child < 0) {
        return errnoStatus(errno, "fork");
    }
    if (child > 0) {
        writeEnd.reset();
        waitForNotice(readEnd.get(), child);
    }
    ::setsid();
    const pid_t daemon = ::fork();
    if (daemon != 0) {
        ::_exit(daemon < 0 ? 1 : 0);
    }
    readEnd.reset();
    return ReadyNotice(std::move(writeEnd));
}

Status redirectOutput(const std::string& path) {
    RETURN_IF_ERROR(makeDirectories(std::filesystem::path(path).parent_path().string(), 0700));
    UniqueFd log(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    if (!log.isOpen()) {
        return errnoStatus(errno, path);
    }
    UniqueFd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    ::dup2(null.get(), STDIN_FILENO);
    ::dup2(log.get(), STDOUT_FILENO);
    ::dup2(log.get(), STDERR_FILENO);
    return okStatus();
}

}  // namespace millrace::config
