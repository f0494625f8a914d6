#include "backend/core/subprocess.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace millrace {
namespace {

int exitCodeOf(int status) {
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::vector<std::string> mergedEnvironment(const std::vector<std::string>& added) {
    std::vector<std::string> all;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string_view text(*entry);
        const std::string_view name = text.substr(0, text.find('=') + 1);
        const bool isReplaced = std::any_of(added.begin(), added.end(), [&](const std::string& a) {
            return a.rfind(name, 0) == 0;
        });
        if (!isReplaced) {
            all.emplace_back(text);
        }
    }
    all.insert(all.end(), added.begin(), added.end());
    return all;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> out;
    for (std::string& text : texts) {
        out.push_back(text.data());
    }
    out.push_back(nullptr);
    return out;
}

// After fork in the child: only async-signal-safe calls; writes errno to `report` on failure.
[[noreturn]] void becomeChild(const SubprocessOptions& o, char** argv, char** env, int report,
                              pid_t parent) {
    if (o.newSession) {
        ::setsid();
    }
    if (o.dieWithParent) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (::getppid() != parent) {
            ::_exit(125);
        }
    }
    const std::pair<int, int> standard[] = {{o.stdinFd, 0}, {o.stdoutFd, 1}, {o.stderrFd, 2}};
    for (const auto& [ours, theirs] : standard) {
        if (ours >= 0) {
            ::dup2(ours, theirs);
        }
    }
    for (const auto& [ours, theirs] : o.passFds) {
        if (ours == theirs) {
            ::fcntl(ours, F_SETFD, 0);
        } else {
            ::dup2(ours, theirs);
        }
    }
    if (o.memoryLimitBytes > 0) {
        const rlimit limit{static_cast<rlim_t>(o.memoryLimitBytes),
                           static_cast<rlim_t>(o.memoryLimitBytes)};
        ::setrlimit(RLIMIT_AS, &limit);
    }
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::signal(SIGPIPE, SIG_DFL);
    if (o.workingDirectory.empty() || ::chdir(o.workingDirectory.c_str()) == 0) {
        ::execvpe(argv[0], argv, env);
    }
    const int error = errno;
    [[maybe_unused]] const ssize_t n = ::write(report, &error, sizeof error);
    ::_exit(127);
}

Status makePipe(UniqueFd& readEnd, UniqueFd& writeEnd) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) {
        return errnoStatus(errno, "pipe");
    }
    readEnd.reset(ends[0]);
    writeEnd.reset(ends[1]);
    return okStatus();
}

// Reads what is there; closes the descriptor at its end.
void drain(UniqueFd& fd, std::string& into) {
    char buffer[1 << 16];
    const ssize_t n = ::read(fd.get(), buffer, sizeof buffer);
    if (n > 0) {
        into.append(buffer, static_cast<std::size_t>(n));
    } else if (n == 0 || (errno != EINTR && errno != EAGAIN)) {
        fd.reset();
    }
}

// A child that ends before it has read everything is an error to write to, not this program's end.
class NoPipeSignal {
 public:
    NoPipeSignal() {
        sigemptyset(&pipe_);
        sigaddset(&pipe_, SIGPIPE);
        ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
    }
    ~NoPipeSignal() {
        const timespec atOnce{};
        if (sigismember(&before_, SIGPIPE) == 0) {
            while (::sigtimedwait(&pipe_, nullptr, &atOnce) > 0) {
            }
        }
        ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }
    NoPipeSignal(const NoPipeSignal&) = delete;
    NoPipeSignal& operator=(const NoPipeSignal&) = delete;

 private:
    sigset_t pipe_, before_;
};

void feed(UniqueFd& fd, std::string_view& rest) {
    ssize_t n = 0;
    int error = 0;
    {
        const NoPipeSignal quiet;
        n = ::write(fd.get(), rest.data(), rest.size());
        error = errno;
    }
    if (n > 0) {
        rest.remove_prefix(static_cast<std::size_t>(n));
    }
    if (rest.empty() || (n < 0 && error != EINTR && error != EAGAIN)) {
        fd.reset();
    }
}

}  // namespace

Result<Subprocess> Subprocess::start(const SubprocessOptions& options) {
    INVARIANT(!options.argv.empty(), "a command has a name");
    std::vector<std::string> argvTexts = options.argv;
    std::vector<std::string> envTexts = mergedEnvironment(options.environment);
    std::vector<char*> argv = pointers(argvTexts), env = pointers(envTexts);
    UniqueFd reportRead, reportWrite;
    RETURN_IF_ERROR(makePipe(reportRead, reportWrite));
    const pid_t parent = ::getpid();
    const pid_t pid = ::fork();
    if (pid < 0) {
        return errnoStatus(errno, "fork");
    }
    if (pid == 0) {
        becomeChild(options, argv.data(), env.data(), reportWrite.get(), parent);
    }
    reportWrite.reset();
    Subprocess child(pid);
    int error = 0;
    ssize_t n = 0;
    do {
        n = ::read(reportRead.get(), &error, sizeof error);
    } while (n < 0 && errno == EINTR);
    if (n == sizeof error) {
        (void)child.wait();
        return errnoStatus(error, options.argv[0]);
    }
    return child;
}

Result<SubprocessOutput> Subprocess::run(const SubprocessOptions& options) {
    SubprocessOptions o = options;
    UniqueFd inRead, inWrite, outRead, outWrite, errRead, errWrite;
    RETURN_IF_ERROR(makePipe(inRead, inWrite));
    RETURN_IF_ERROR(makePipe(outRead, outWrite));
    RETURN_IF_ERROR(makePipe(errRead, errWrite));
    ::fcntl(inWrite.get(), F_SETFL, O_NONBLOCK);
    o.stdinFd = inRead.get();
    o.stdoutFd = outWrite.get();
    o.stderrFd = errWrite.get();
    ASSIGN_OR_RETURN(Subprocess child, start(o));
    inRead.reset();
    outWrite.reset();
    errWrite.reset();
    SubprocessOutput output;
    std::string_view rest = o.input;
    if (rest.empty()) {
        inWrite.reset();
    }
    const auto end = std::chrono::steady_clock::now() + o.timeout;
    while (outRead.isOpen() || errRead.isOpen()) {
        int waitMs = -1;
        if (o.timeout.count() > 0) {
            const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
                end - std::chrono::steady_clock::now());
            if (left.count() <= 0) {
                return deadlineExceeded(o.argv[0], ": did not end within ",
                                        o.timeout.count() / 1000, " s");
            }
            waitMs = static_cast<int>(left.count());
        }
        pollfd fds[3] = {
            {outRead.get(), POLLIN, 0}, {errRead.get(), POLLIN, 0}, {inWrite.get(), POLLOUT, 0}};
        if (::poll(fds, 3, waitMs) < 0 && errno != EINTR) {
            return errnoStatus(errno, "poll");
        }
        if (outRead.isOpen() && fds[0].revents != 0) {
            drain(outRead, output.out);
        }
        if (errRead.isOpen() && fds[1].revents != 0) {
            drain(errRead, output.err);
        }
        if (inWrite.isOpen() && fds[2].revents != 0) {
            feed(inWrite, rest);
        }
        if (static_cast<std::int64_t>(output.out.size() + output.err.size()) > o.maxOutputBytes) {
            return resourceExhausted(o.argv[0], ": more than ", o.maxOutputBytes,
                                     " bytes of output");
        }
    }
    ASSIGN_OR_RETURN(output.exitCode, child.wait());
    return output;
}

Subprocess& Subprocess::operator=(Subprocess&& other) noexcept {
    std::swap(pid_, other.pid_);
    return *this;
}

Subprocess::~Subprocess() {
    if (pid_ > 0) {
        ::kill(pid_, SIGKILL);
        (void)wait();
    }
}

void Subprocess::signal(int number) {
    if (pid_ > 0) {
        ::kill(pid_, number);
    }
}

Result<int> Subprocess::wait() {
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0) {
        if (errno != EINTR) {
            pid_ = -1;
            return errnoStatus(errno, "waitpid");
        }
    }
    pid_ = -1;
    return exitCodeOf(status);
}

Result<bool> Subprocess::poll(int& exitCode) {
    int status = 0;
    const pid_t r = ::waitpid(pid_, &status, WNOHANG);
    if (r < 0 && errno != EINTR) {
        return errnoStatus(errno, "waitpid");
    }
    if (r <= 0) {
        return false;
    }
    pid_ = -1;
    exitCode = exitCodeOf(status);
    return true;
}

}  // namespace millrace
