#include "backend/system/subprocess.h"

#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/system/pipe.h"

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
        const bool isReplaced =
            std::ranges::any_of(added, [&](const std::string& a) { return a.rfind(name, 0) == 0; });
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

// Runs in the child after fork: only async-signal-safe calls; writes errno to `report` on failure.
[[noreturn]] void becomeChild(const SubprocessOptions& o, char** argv, char** env, int report,
                              pid_t parent) {
    if (o.newSession) {
        ::setsid();
    } else if (o.newGroup) {
        ::setpgid(0, 0);
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

// Reads the available bytes; closes the descriptor at end of file.
void drain(UniqueFd& fd, std::string& into) {
    char buffer[1 << 16];
    const ssize_t n = ::read(fd.get(), buffer, sizeof buffer);
    if (n > 0) {
        into.append(buffer, static_cast<std::size_t>(n));
    } else if (n == 0 || (errno != EINTR && errno != EAGAIN)) {
        fd.reset();
    }
}

// Turns a child that ends before it has read everything into a write error instead of a SIGPIPE.
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

std::int64_t memoryShareOf(int children, std::int64_t memory) {
    return std::max<std::int64_t>(memory / std::max(children, 1), std::int64_t{1} << 30);
}

Result<Subprocess> Subprocess::start(const SubprocessOptions& options) {
    INVARIANT(!options.argv.empty(), "a command has a name");
    std::vector<std::string> argvTexts = options.argv;
    std::vector<std::string> envTexts =
        options.isWholeEnvironment ? options.environment : mergedEnvironment(options.environment);
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
    const bool hasGroup = options.newSession || options.newGroup;
    if (hasGroup && !options.newSession) {
        ::setpgid(pid, pid);  // in both processes, whichever runs first
    }
    Subprocess child(pid, hasGroup);
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

namespace {

using Time = std::chrono::steady_clock::time_point;

// One run(): our ends of the child's pipes, and its deadline.
class Conversation {
 public:
    explicit Conversation(const SubprocessOptions& options)
        : options_(options), rest_(options.input) {}

    Status makePipes(SubprocessOptions& child) {
        RETURN_IF_ERROR(makePipe(inRead_, in_));
        RETURN_IF_ERROR(makePipe(out_, outWrite_));
        RETURN_IF_ERROR(makePipe(err_, errWrite_));
        ::fcntl(in_.get(), F_SETFL, O_NONBLOCK);
        child.stdinFd = inRead_.get();
        child.stdoutFd = outWrite_.get();
        child.stderrFd = errWrite_.get();
        return okStatus();
    }

    Status begin(pid_t child) {
        inRead_.reset();
        outWrite_.reset();
        errWrite_.reset();
        if (rest_.empty()) {
            in_.reset();
        }
        if (options_.timeout.count() > 0) {
            end_ = std::chrono::steady_clock::now() + options_.timeout;
        }
        ended_.reset(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
        return ended_.isOpen() ? okStatus() : errnoStatus(errno, "pidfd");
    }

    // Waits until the child has ended and its outputs are closed, or waiting is over. The child is
    // a zombie then, so the number of its process group is still its own.
    Status hold(SubprocessOutput& output) {
        while (ended_.isOpen() || out_.isOpen() || err_.isOpen()) {
            const Time now = std::chrono::steady_clock::now();
            if (!ended_.isOpen() && now >= leftoversEnd_) {
                return okStatus();
            }
            if (options_.isUnwanted && options_.isUnwanted()) {
                return cancelled(options_.argv[0], ": nobody waits for it any more");
            }
            if (now >= end_) {
                return deadlineExceeded(options_.argv[0], ": did not end within ",
                                        static_cast<double>(options_.timeout.count()) / 1000, " s");
            }
            RETURN_IF_ERROR(exchange(output, waitMs(now)));
        }
        return okStatus();
    }

 private:
    int waitMs(Time now) const {
        constexpr std::int64_t kLookMs = 100, kMostMs = 3'600'000;
        const std::int64_t most = options_.isUnwanted ? kLookMs : kMostMs;
        const Time until = std::min(end_, leftoversEnd_);
        if (until == Time::max()) {
            return options_.isUnwanted ? static_cast<int>(most) : -1;
        }
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - now);
        return static_cast<int>(std::clamp<std::int64_t>(left.count() + 1, 1, most));
    }

    Status exchange(SubprocessOutput& output, int waitMs) {
        pollfd fds[4] = {{out_.get(), POLLIN, 0},
                         {err_.get(), POLLIN, 0},
                         {in_.get(), POLLOUT, 0},
                         {ended_.get(), POLLIN, 0}};
        if (::poll(fds, 4, waitMs) < 0) {
            return errno == EINTR ? okStatus() : errnoStatus(errno, "poll");
        }
        if (out_.isOpen() && fds[0].revents != 0) {
            drain(out_, output.out);
        }
        if (err_.isOpen() && fds[1].revents != 0) {
            drain(err_, output.err);
        }
        if (in_.isOpen() && fds[2].revents != 0) {
            feed(in_, rest_);
        }
        if (ended_.isOpen() && fds[3].revents != 0) {
            ended_.reset();
            leftoversEnd_ = std::chrono::steady_clock::now() + kLeftoversWait;
        }
        if (static_cast<std::int64_t>(output.out.size() + output.err.size()) >
            options_.maxOutputBytes) {
            return resourceExhausted(options_.argv[0], ": more than ", options_.maxOutputBytes,
                                     " bytes of output");
        }
        return okStatus();
    }

    // Limit for a descendant that keeps an output open after the child's end.
    static constexpr std::chrono::seconds kLeftoversWait{1};

    const SubprocessOptions& options_;
    std::string_view rest_;
    UniqueFd inRead_, outWrite_, errWrite_;  ///< the child's, until it is started
    UniqueFd in_, out_, err_;
    UniqueFd ended_;  ///< readable once the child has ended; closed after that
    Time end_ = Time::max(), leftoversEnd_ = Time::max();
};

}  // namespace

Result<SubprocessOutput> Subprocess::run(const SubprocessOptions& options) {
    SubprocessOptions o = options;
    o.newGroup = true;
    o.dieWithParent = true;  // safe: this thread waits for the child, so it outlives it
    Conversation conversation(options);
    RETURN_IF_ERROR(conversation.makePipes(o));
    ASSIGN_OR_RETURN(Subprocess child, start(o));
    RETURN_IF_ERROR(conversation.begin(child.pid()));
    SubprocessOutput output;
    RETURN_IF_ERROR(conversation.hold(output));
    child.killAll();
    ASSIGN_OR_RETURN(output.exitCode, child.wait());
    return output;
}

Subprocess& Subprocess::operator=(Subprocess&& other) noexcept {
    std::swap(pid_, other.pid_);
    std::swap(hasGroup_, other.hasGroup_);
    return *this;
}

Subprocess::~Subprocess() {
    if (pid_ > 0) {
        killAll();
        (void)wait();
    }
}

// Call it before the child is reaped: until then no other group can have its number.
void Subprocess::killAll() {
    ::kill(hasGroup_ ? -pid_ : pid_, SIGKILL);
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
