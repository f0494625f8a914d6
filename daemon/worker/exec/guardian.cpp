#include "daemon/worker/exec/guardian.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/system/pipe.h"
#include "backend/system/worker_group.h"

namespace millrace::exec {
namespace {

using Milliseconds = std::chrono::milliseconds;

// Processes that a finished command left behind have this long after SIGTERM.
constexpr Milliseconds kLeftoverGrace{1000};
// Between rounds of SIGKILL: new children may appear while their parents die.
constexpr Milliseconds kKillAgain{100};
constexpr int kStoppingPollMs = 20;

void addChildren(const std::string& path, std::vector<pid_t>& all) {
    if (std::FILE* file = std::fopen(path.c_str(), "re")) {
        int child = 0;
        while (std::fscanf(file, "%d", &child) == 1) {
            all.push_back(child);
        }
        std::fclose(file);
    }
}

// A child is in the list of the thread that forked it, so the list of every thread is read.
void addDescendants(pid_t pid, std::vector<pid_t>& all) {
    const std::size_t from = all.size();
    std::error_code error;
    std::filesystem::directory_iterator tasks(strCat("/proc/", pid, "/task"), error), end;
    for (; !error && tasks != end; tasks.increment(error)) {
        addChildren(tasks->path().string() + "/children", all);
    }
    for (std::size_t i = from, n = all.size(); i < n; ++i) {
        addDescendants(all[i], all);
    }
}

std::vector<pid_t> descendants() {
    std::vector<pid_t> all;
    addDescendants(::getpid(), all);
    return all;
}

// A worker's memory and environment may hold keys of an object store, which must not get into a
// core file. To debug a worker, set MILLRACE_CORE_DUMPS=1 for the daemon.
void forbidCoreDumps() {
    const char* wanted = std::getenv("MILLRACE_CORE_DUMPS");
    if (wanted == nullptr || std::strcmp(wanted, "1") != 0) {
        const rlimit none{0, 0};
        ::setrlimit(RLIMIT_CORE, &none);
    }
}

sigset_t guardedSignals() {
    sigset_t set;
    sigemptyset(&set);
    for (const int number : {SIGCHLD, SIGTERM, SIGINT, SIGHUP}) {
        sigaddset(&set, number);
    }
    return set;
}

double secondsOf(const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

// Usage of all processes that were waited for: the command, its children through it, and processes
// that the subreaper adopted.
Usage usageOfChildren() {
    constexpr std::int64_t kBytesPerKiB = 1024;
    rusage usage{};
    ::getrusage(RUSAGE_CHILDREN, &usage);
    return {secondsOf(usage.ru_utime) + secondsOf(usage.ru_stime), usage.ru_maxrss * kBytesPerKiB};
}

void redirectToNull(std::initializer_list<int> fds) {
    const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
    for (const int fd : fds) {
        ::dup2(null.get(), fd);
    }
}

}  // namespace

Guardian::Guardian(const GuardianOptions& options, UniqueFd life, UniqueFd stub)
    : options_(options), life_(std::move(life)), stub_(std::move(stub)) {}

Status Guardian::prepareDirectory() {
    ASSIGN_OR_RETURN(WorkerDirectory directory, WorkerDirectory::take(options_.directory));
    directory_.emplace(std::move(directory));
    log_ = std::make_unique<WorkerLog>(directory_->path(), options_.logBytesMax);
    ASSIGN_OR_RETURN(UnixListener listener,
                     UnixListener::open(directory_->socketPath(), "guardian"));
    control_ = ControlSocket(std::move(listener),
                             [this](const ControlRequest& request) { return onRequest(request); });
    return okStatus();
}

Status Guardian::start() {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    const sigset_t set = guardedSignals();
    ::sigprocmask(SIG_SETMASK, &set, nullptr);
    ::signal(SIGPIPE, SIG_IGN);
    signals_.reset(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
    UniqueFd goRead, goWrite, outWrite, errWrite;
    RETURN_IF_ERROR(makePipe(goRead, goWrite));
    if (!options_.directory.empty()) {
        RETURN_IF_ERROR(prepareDirectory());
        RETURN_IF_ERROR(makePipe(out_, outWrite));
        RETURN_IF_ERROR(makePipe(err_, errWrite));
        ::fcntl(out_.get(), F_SETFL, O_NONBLOCK);
        ::fcntl(err_.get(), F_SETFL, O_NONBLOCK);
    }
    const pid_t guardian = ::getpid();
    command_ = ::fork();
    if (command_ < 0) {
        return errnoStatus(errno, "fork");
    }
    if (command_ == 0) {
        goWrite.reset();
        becomeCommand(guardian, goRead.get(), outWrite.get(), errWrite.get());
    }
    ::setpgid(command_, command_);
    if (directory_) {
        takeGroup();
        // The command starts only when others can find the guardian.
        if (const Status written = directory_->writeGuardian(command_, group_); !written.ok()) {
            goWrite.reset();
            ::kill(command_, SIGKILL);
            ::waitpid(command_, nullptr, 0);
            endGroup();
            return written;
        }
    }
    [[maybe_unused]] const ssize_t n = ::write(goWrite.get(), "g", 1);
    leaseEnds_ = std::chrono::steady_clock::now() + options_.orphanLease;
    return okStatus();
}

// A group can exist and yet not be entered: if the members of its parent are threads, or if a
// starting daemon removed it as empty. The command then runs without it.
void Guardian::takeGroup() {
    group_ = makeWorkerGroup(directory_->path()).value_or("");
    if (!group_.empty() && !enterGroup(group_, command_).ok()) {
        endGroup();
        group_.clear();
    }
}

void Guardian::becomeCommand(pid_t guardian, int go, int out, int err) {
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    char word = 0;
    if (::getppid() != guardian || ::read(go, &word, 1) != 1) {
        ::_exit(125);
    }
    for (int number = 1; number < NSIG; ++number) {
        ::signal(number, SIG_DFL);
    }
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    forbidCoreDumps();
    if (out >= 0) {
        redirectToNull({0});
        ::dup2(out, 1);
        ::dup2(err, 2);
    }
    ::execvp(options_.argv[0], options_.argv.data());
    const int error = errno;
    ::dprintf(2, "millrace-exec: %s: %s\n", options_.argv[0], std::strerror(error));
    ::_exit(error == ENOENT ? 127 : 126);
}

int Guardian::guard() {
    redirectToNull({0, 1, 2});  // an owner that reads our output must see its end
    for (;;) {
        waitForEvents();
        readSignals();
        control_.serve();
        drainOutput(out_, 'o', false);
        drainOutput(err_, 'e', false);
        reap();
        enforce();
        if (isGone_ && descendants().empty() && endGroup()) {
            return finish();
        }
    }
}

void Guardian::waitForEvents() {
    std::vector<pollfd> fds = {{signals_.get(), POLLIN, 0},
                               {isStopping_ ? -1 : stub_.get(), 0, 0},
                               {isStopping_ ? -1 : life_.get(), 0, 0},
                               {out_.get(), POLLIN, 0},
                               {err_.get(), POLLIN, 0}};
    const Time controlAt = control_.watch(fds);
    if (::poll(fds.data(), fds.size(), waitMs(controlAt)) < 0) {
        return;
    }
    constexpr short kClosed = POLLHUP | POLLERR | POLLNVAL;
    if ((fds[1].revents & kClosed) != 0) {
        stop(options_.grace, "the stub ended");
    }
    if ((fds[2].revents & kClosed) != 0) {
        stop(options_.grace, "the life line closed");
    }
}

int Guardian::waitMs(Time controlAt) const {
    if (isStopping_) {
        return kStoppingPollMs;
    }
    const Time earliest = directory_ ? std::min(leaseEnds_, controlAt) : Time::max();
    return pollTimeout(std::chrono::steady_clock::now(), earliest);
}

void Guardian::drainOutput(UniqueFd& pipe, char stream, bool toEnd) {
    char buffer[1 << 16];
    while (pipe.isOpen()) {
        const ssize_t n = ::read(pipe.get(), buffer, sizeof buffer);
        if (n > 0) {
            log_->add(stream, std::string_view(buffer, static_cast<std::size_t>(n)));
        } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
            pipe.reset();
        }
        if (n < 0 || !toEnd) {
            return;
        }
    }
}

void Guardian::readSignals() {
    signalfd_siginfo info{};
    while (::read(signals_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
        if (info.ssi_signo != SIGCHLD) {
            stop(options_.grace, strCat("signal ", info.ssi_signo));
        }
    }
}

void Guardian::reap() {
    int status = 0;
    pid_t pid = 0;
    bool justGone = false;
    while ((pid = ::waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid == command_) {
            justGone = true;
            status_ = status;
        }
    }
    if (!justGone) {
        return;
    }
    isGone_ = true;
    const Time killAt = std::chrono::steady_clock::now() + kLeftoverGrace;
    killAt_ = isStopping_ ? std::min(killAt_, killAt) : killAt;
    isStopping_ = true;
    for (const pid_t left : descendants()) {
        ::kill(left, SIGTERM);
    }
}

void Guardian::stop(Milliseconds grace, std::string_view why) {
    const Time killAt = std::chrono::steady_clock::now() + grace;
    if (isStopping_) {
        killAt_ = std::min(killAt_, killAt);
        return;
    }
    isStopping_ = true;
    killAt_ = killAt;
    reason_ = why;
    if (log_) {
        log_->note(strCat("ending the command: ", why));
    }
    if (!isGone_ && grace.count() > 0) {
        ::kill(-command_, SIGTERM);
    }
}

void Guardian::enforce() {
    const Time now = std::chrono::steady_clock::now();
    if (directory_ && !isStopping_ && now >= leaseEnds_) {
        stop(options_.grace, "nobody asked for it during the orphan lease");
    }
    if (isStopping_ && now >= killAt_) {
        for (const pid_t left : descendants()) {
            ::kill(left, SIGKILL);
        }
        endGroup();
        killAt_ = now + kKillAgain;
    }
}

Json Guardian::onRequest(const ControlRequest& request) {
    leaseEnds_ = std::chrono::steady_clock::now() + options_.orphanLease;
    if (request.isKill) {
        stop(Milliseconds(0), "kill was asked for");
    } else if (request.isStop) {
        const Milliseconds grace = request.graceSeconds
                                       ? Milliseconds(std::llround(*request.graceSeconds * 1000))
                                       : options_.grace;
        stop(grace, request.why.empty() ? "stop was asked for" : request.why);
    }
    return {{"command_pid", command_},
            {"running", !isGone_},
            {"stopping", isStopping_},
            {"dropped_lines", log_->numDropped()}};
}

bool Guardian::endGroup() {
    return group_.empty() || millrace::endGroup(group_);
}

int Guardian::finish() {
    const int signal = WIFSIGNALED(status_) ? WTERMSIG(status_) : 0;
    const int code = signal != 0 ? 128 + signal : WEXITSTATUS(status_);
    if (directory_) {
        drainOutput(out_, 'o', true);
        drainOutput(err_, 'e', true);
        log_->flush();
        if (const Status s =
                directory_->writeExit(code, signal, reason_, log_->numDropped(), usageOfChildren());
            !s.ok()) {
            log_->note(strCat("exit record: ", messageOf(s)));
        }
    }
    return code;
}

}  // namespace millrace::exec
