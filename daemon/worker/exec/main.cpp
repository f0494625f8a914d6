// millrace-exec: runs one command such that nothing of it outlives its job.
//
//   millrace-exec [--grace S] [--life-fd N] -- command args
//   millrace-exec --dir DIR [--grace S] [--orphan-lease S] [--life-fd N] -- command args
//
// owner -> stub (this process) -> (double fork, own session) guardian -> command in its own group.
// Without --dir the stub stays, passes the command's exit code on, and its end or SIGTERM ends the
// command. With --dir the stub returns 0 as soon as the guardian runs and its guardian.json is
// written; from then on it is reached through the files and the control socket in DIR. Exit codes:
// the command's own, 128 + n when signal n ended it, 127/126 not found / not executable (with
// --dir: in exit.json), 125 the shim's own error; with --dir also 6: there was not enough space for
// its files, and nothing was started.
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/core/exit_codes.h"
#include "backend/filesystem/files.h"
#include "daemon/worker/exec/guardian.h"

namespace millrace::exec {
namespace {

constexpr int kGuardianKilled = kExitSignal + SIGKILL;

struct CommandLine {
    GuardianOptions guardian;
    int lifeFd = -1;
};

Result<double> numberOf(const char* option, const char* text) {
    char* end = nullptr;
    const double value = std::strtod(text, &end);
    if (end == text || *end != '\0' || !(value >= 0 && value <= 1e15)) {
        return invalidArgument(option, " ", text, ": must be a number from 0");
    }
    return value;
}

Status setOption(CommandLine& line, std::string_view option, const char* text) {
    if (option == "--dir") {
        char* here = ::get_current_dir_name();
        line.guardian.directory = absolutePath(text, here == nullptr ? "/" : here);
        std::free(here);
        return okStatus();
    }
    ASSIGN_OR_RETURN(const double value, numberOf(std::string(option).c_str(), text));
    if (option == "--grace") {
        line.guardian.grace = std::chrono::milliseconds(std::llround(value * 1000));
    } else if (option == "--orphan-lease") {
        line.guardian.orphanLease = std::chrono::milliseconds(std::llround(value * 1000));
    } else if (option == "--life-fd") {
        line.lifeFd = static_cast<int>(value);
    } else if (option == "--log-bytes") {
        line.guardian.logBytesMax = static_cast<std::int64_t>(value);
    } else {
        return invalidArgument("unknown option ", option,
                               "; known: --dir --grace --orphan-lease --life-fd --log-bytes");
    }
    return okStatus();
}

Result<CommandLine> parseCommandLine(int argc, char** argv) {
    CommandLine line;
    int i = 1;
    for (; i < argc && std::strcmp(argv[i], "--") != 0; i += 2) {
        if (i + 1 >= argc) {
            return invalidArgument(argv[i], ": a value is missing");
        }
        RETURN_IF_ERROR(setOption(line, argv[i], argv[i + 1]));
    }
    if (i + 1 >= argc) {
        return invalidArgument(
            "no command; usage: millrace-exec [--dir DIR] [--grace S] "
            "[--orphan-lease S] [--life-fd N] -- command args");
    }
    line.guardian.argv.assign(argv + i + 1, argv + argc);
    line.guardian.argv.push_back(nullptr);
    return line;
}

int trouble(const Status& status, int code = kExitShim) {
    ::dprintf(2, "millrace-exec: %s\n", std::string(messageOf(status)).c_str());
    return code;
}

// Keeps the life line only: a guardian that is adopted must not keep its first owner's sockets and
// files open.
UniqueFd takeLifeLine(int fd, bool closeOthers) {
    UniqueFd life;
    if (fd >= 0) {
        life.reset(::fcntl(fd, F_DUPFD_CLOEXEC, 10));
        ::close(fd);
    }
    if (closeOthers) {
        const auto kept = static_cast<unsigned>(life.get());
        if (life.isOpen()) {
            ::close_range(3, kept - 1, 0);
        }
        ::close_range(life.isOpen() ? kept + 1 : 3, ~0U, 0);
    }
    return life;
}

// Runs in the guardian's process. Sends one byte to the stub: with a directory 0 once everything
// runs; without one the command's exit code at its end; 125 for the shim's own errors in both
// cases.
[[noreturn]] void runGuardian(const CommandLine& line, UniqueFd life, UniqueFd stub, int report) {
    ::setsid();
    const bool isAdoptable = !line.guardian.directory.empty();
    if (isAdoptable) {
        stub.reset();
    }
    Guardian guardian(line.guardian, std::move(life), std::move(stub));
    unsigned char byte = 0;
    const Status started = guardian.start();
    if (!started.ok()) {
        const bool hasNoRoom = isAdoptable && absl::IsResourceExhausted(started);
        byte = static_cast<unsigned char>(trouble(started, hasNoRoom ? kExitResources : kExitShim));
        [[maybe_unused]] const ssize_t n = ::write(report, &byte, 1);
        ::_exit(kExitShim);
    }
    if (isAdoptable) {
        [[maybe_unused]] const ssize_t n = ::write(report, &byte, 1);
        ::close(report);
    }
    byte = static_cast<unsigned char>(guardian.guard());
    if (!isAdoptable) {
        [[maybe_unused]] const ssize_t n = ::write(report, &byte, 1);
    }
    ::_exit(0);
}

// Runs in the stub: waits for the guardian's byte; a signal closes the pipe that keeps the command
// alive.
int waitForGuardian(UniqueFd report, UniqueFd alive, const sigset_t& signals) {
    const UniqueFd arrived(::signalfd(-1, &signals, SFD_CLOEXEC));
    for (;;) {
        pollfd fds[2] = {{report.get(), POLLIN, 0}, {arrived.get(), POLLIN, 0}};
        ::poll(fds, 2, -1);
        if (fds[1].revents != 0) {
            signalfd_siginfo info{};
            [[maybe_unused]] const ssize_t n = ::read(arrived.get(), &info, sizeof info);
            alive.reset();
        }
        unsigned char code = 0;
        if (fds[0].revents != 0) {
            return ::read(report.get(), &code, 1) == 1 ? code : kGuardianKilled;
        }
    }
}

int run(int argc, char** argv) {
    const Result<CommandLine> line = parseCommandLine(argc, argv);
    if (!line.ok()) {
        return trouble(line.status());
    }
    if (line->lifeFd >= 0 && ::fcntl(line->lifeFd, F_GETFD) < 0) {
        return trouble(
            invalidArgument("--life-fd ", line->lifeFd, ": no descriptor that was handed over"));
    }
    UniqueFd life = takeLifeLine(line->lifeFd, !line->guardian.directory.empty());
    int alive[2], report[2];
    if (::pipe2(alive, O_CLOEXEC) != 0 || ::pipe2(report, O_CLOEXEC) != 0) {
        return trouble(errnoStatus(errno, "pipe"));
    }
    UniqueFd aliveRead(alive[0]), aliveWrite(alive[1]), reportRead(report[0]),
        reportWrite(report[1]);
    sigset_t signals;
    sigemptyset(&signals);
    for (const int number : {SIGTERM, SIGINT, SIGHUP}) {
        sigaddset(&signals, number);
    }
    // No signal may be lost between here and the signalfd.
    ::sigprocmask(SIG_BLOCK, &signals, nullptr);
    const pid_t middle = ::fork();
    if (middle < 0) {
        return trouble(errnoStatus(errno, "fork"));
    }
    if (middle == 0) {
        const pid_t guardian = ::fork();
        if (guardian != 0) {
            ::_exit(guardian > 0 ? 0 : kExitShim);
        }
        aliveWrite.reset();
        reportRead.reset();
        runGuardian(*line, std::move(life), std::move(aliveRead), reportWrite.get());
    }
    ::waitpid(middle, nullptr, 0);
    aliveRead.reset();
    reportWrite.reset();
    life.reset();
    return waitForGuardian(std::move(reportRead), std::move(aliveWrite), signals);
}

}  // namespace
}  // namespace millrace::exec

int main(int argc, char** argv) {
    return millrace::endInWords("millrace-exec", [&] { return millrace::exec::run(argc, argv); });
}
