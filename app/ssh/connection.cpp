#include "app/ssh/connection.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <absl/strings/numbers.h>

#include "app/ssh/failure.h"
#include "backend/core/thread.h"
#include "backend/core/whole_io.h"
#include "backend/filesystem/files.h"
#include "backend/system/pipe.h"
#include "backend/system/unix_socket.h"

namespace millrace::ssh {
namespace {

using Clock = std::chrono::steady_clock;

// How much of the program's output is kept: the end, which explains why it ended.
constexpr std::size_t kWordsBytesMax = 16'384, kSaidBytesMax = 65'536;
constexpr std::chrono::milliseconds kPollEvery{50}, kForwardTimeout{10'000}, kEndWait{1'000};
constexpr int kSshFailed = 255;
// Printed before a script's own output, to skip what the login shell prints first.
constexpr std::string_view kMark = "millrace-script begins";

std::string behindMark(std::string text) {
    const std::size_t at = text.find(strCat(kMark, "\n"));
    return at == std::string::npos ? text : text.substr(at + kMark.size() + 1);
}

// Escapes a path for ssh's -L, where a colon ends it. ssh would expand '%' and "${...}" with values
// of this machine, and they cannot be escaped: a socket path that contains them is rejected.
Result<std::string> forwardWord(const std::string& host, const std::string& path) {
    const auto isControl = [](unsigned char c) { return std::iscntrl(c) != 0; };
    if (path.empty() || path.front() != '/' || path.find('%') != std::string::npos ||
        path.find("${") != std::string::npos || std::ranges::any_of(path, isControl)) {
        return failedPrecondition(host, ": ssh cannot forward '", path,
                                  "': a socket's path begins with '/' and has no '%', no '${' and "
                                  "no control character");
    }
    std::string word;
    for (const char c : path) {
        word += c == ':' || c == '\\' ? strCat("\\", std::string(1, c)) : std::string(1, c);
    }
    return word;
}

// Appends available bytes to `into`; returns false at the end of the stream.
bool readSome(int fd, std::string& into, std::size_t most) {
    char buffer[8'192];
    const ssize_t n = ::read(fd, buffer, sizeof buffer);
    if (n > 0) {
        into.append(buffer, static_cast<std::size_t>(n));
        if (into.size() > most) {
            into.erase(0, into.size() - most);
        }
    }
    return n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN));
}

constexpr std::string_view kDirectoryPrefix = "ssh-";
constexpr std::size_t kPathBytesMax = 70;

// Whether `name` is "ssh-PID-XXXXXX" of a process that no longer exists.
bool isLeftBehind(const std::string& name) {
    if (name.rfind(kDirectoryPrefix, 0) != 0) {
        return false;
    }
    int pid = 0;
    const std::string number = name.substr(
        kDirectoryPrefix.size(), name.find('-', kDirectoryPrefix.size()) - kDirectoryPrefix.size());
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

// Makes a directory for this process alone (0700), for sockets with short paths. It is below the
// runtime directory if that leaves room for ssh's socket names (108 bytes, of which ssh takes 17
// for a temporary one), else below /tmp. Directories of killed processes are removed.
Result<std::string> makePrivateDirectoryForSockets() {
    std::string base = runtimeDirectory();
    const std::string name = strCat("/", kDirectoryPrefix, ::getpid(), "-XXXXXX");
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

}  // namespace

Result<std::unique_ptr<Connection>> Connection::open(ConnectionOptions options,
                                                     const std::stop_token& stop) {
    std::unique_ptr<Connection> connection(new Connection(std::move(options)));
    RETURN_IF_ERROR(connection->start());
    RETURN_IF_ERROR(connection->waitUntilUp(stop));
    return connection;
}

// -a -x and ClearAllForwardings: nothing of the user's configuration is forwarded to the host.
std::vector<std::string> Connection::masterArguments() const {
    const Address& to = options_.to;
    std::vector<std::string> argv = {
        options_.program, "-M", "-S", directory_ + "/ctl", "-T", "-a", "-x"};
    if (!options_.configFile.empty()) {
        argv.insert(argv.end(), {"-F", options_.configFile});
    }
    if (to.port != 0) {
        argv.insert(argv.end(), {"-p", std::to_string(to.port)});
    }
    if (!to.user.empty()) {
        argv.insert(argv.end(), {"-l", to.user});
    }
    const bool isAsking = options_.ask != nullptr && !options_.isStrict;
    const std::string settings[] = {"ControlMaster=yes",
                                    "ControlPersist=no",
                                    "ForwardAgent=no",
                                    "ForwardX11=no",
                                    "ClearAllForwardings=yes",
                                    "PermitLocalCommand=no",
                                    "RemoteCommand=none",
                                    "RequestTTY=no",
                                    "LogLevel=INFO",
                                    "ServerAliveInterval=1",
                                    strCat("ServerAliveCountMax=", kSilence.count() - 1),
                                    strCat("ConnectTimeout=", options_.connectTimeout.count()),
                                    strCat("BatchMode=", isAsking ? "no" : "yes")};
    for (const std::string& setting : settings) {
        argv.insert(argv.end(), {"-o", setting});
    }
    if (options_.isStrict) {
        argv.insert(argv.end(), {"-o", "StrictHostKeyChecking=yes"});
    }
    argv.insert(argv.end(), {to.host, std::string(kReadScript)});
    return argv;
}

// If ssh cannot use the master, it connects by itself, to whatever has that name without the user's
// configuration. Such a connection knows no host key and asks nobody, so it fails.
std::vector<std::string> Connection::commandLine(const std::string& command) const {
    std::vector<std::string> argv = {options_.program, "-S", directory_ + "/ctl", "-F",
                                     "none",           "-T"};
    for (const char* setting :
         {"LogLevel=ERROR", "BatchMode=yes", "StrictHostKeyChecking=yes",
          "UserKnownHostsFile=/dev/null", "GlobalKnownHostsFile=/dev/null", "ConnectTimeout=2"}) {
        argv.insert(argv.end(), {"-o", setting});
    }
    argv.insert(argv.end(), {options_.to.host, command});
    return argv;
}

bool Connection::isUnwanted(const std::stop_token& stop) const {
    return stop.stop_requested() || (options_.isUnwanted && options_.isUnwanted());
}

std::string Connection::programName() const {
    return std::filesystem::path(options_.program).filename().string();
}

Status Connection::start() {
    host_ = options_.to.text();
    ASSIGN_OR_RETURN(directory_, makePrivateDirectoryForSockets());
    SubprocessOptions child;
    child.newSession = true;  // no terminal: its questions come through the askpass socket
    child.argv = masterArguments();
    if (options_.ask != nullptr && !options_.isStrict) {
        ASSIGN_OR_RETURN(askpass_, AskpassListener::open(directory_, host_, options_.ask));
        child.environment = askpass_->environment(options_.askpassProgram);
    }
    UniqueFd theirInput, theirOutput, theirErrors;
    RETURN_IF_ERROR(makePipe(theirInput, input_));
    RETURN_IF_ERROR(makePipe(output_, theirOutput));
    RETURN_IF_ERROR(makePipe(errors_, theirErrors));
    RETURN_IF_ERROR(makePipe(wakeRead_, wakeWrite_));
    // Other processes may hold these pipes open after the program's end: do not block on them.
    ::fcntl(output_.get(), F_SETFL, O_NONBLOCK);
    ::fcntl(errors_.get(), F_SETFL, O_NONBLOCK);
    child.stdinFd = theirInput.get();
    child.stdoutFd = theirOutput.get();
    child.stderrFd = theirErrors.get();
    Result<Subprocess> started = Subprocess::start(child);
    if (!started.ok()) {
        return failedPrecondition("ssh cannot be started: ", messageOf(started.status()));
    }
    program_.emplace(std::move(*started));
    // Fits into the pipe: does not block.
    if (!writeAll(input_.get(), holdScript(options_.to.unixPath))) {
        return errnoStatus(errno, "ssh's input");
    }
    reader_ = startThread("mr-ssh", [this](std::stop_token) { read(); });
    return okStatus();
}

Connection::~Connection() {
    input_.reset();  // ends the script there, and the program with it
    wakeWrite_.reset();
    if (reader_.joinable()) {
        reader_.join();
    }
    if (program_.has_value()) {
        program_->signal(SIGTERM);
        program_.reset();
    }
    askpass_.reset();
    if (!directory_.empty()) {
        std::error_code ignored;
        std::filesystem::remove_all(directory_, ignored);
    }
}

// Reads until the program's output ends, or this object is destroyed.
void Connection::read() {
    bool hasOutput = true, hasErrors = true, isOurEnd = false;
    while ((hasOutput || hasErrors) && !isOurEnd) {
        pollfd fds[3] = {{hasOutput ? output_.get() : -1, POLLIN, 0},
                         {hasErrors ? errors_.get() : -1, POLLIN, 0},
                         {wakeRead_.get(), POLLIN, 0}};
        if (::poll(fds, 3, -1) < 0) {
            continue;
        }
        isOurEnd = fds[2].revents != 0;
        MutexLock lock(mutex_);
        if (fds[0].revents != 0) {
            hasOutput = readSome(output_.get(), said_, kSaidBytesMax);
        }
        if (fds[1].revents != 0) {
            hasErrors = readSome(errors_.get(), words_, kWordsBytesMax);
        }
        ++numWords_;
        if (!isUp_ && isWholeLook(said_)) {
            isUp_ = true;
            words_.clear();  // a banner or a warning: does not explain a later end
        }
        // The program's children may keep stderr open after its end; stdout is the program's alone.
        if (!hasOutput) {
            break;
        }
        changed_.notifyAll();
    }
    if (isOurEnd) {
        return;
    }
    const int code = endOfProgram();
    MutexLock lock(mutex_);
    constexpr int kPipesReads = 8;  // enough to read a full pipe
    for (int i = 0; i < kPipesReads && readSome(errors_.get(), words_, kWordsBytesMax); ++i) {
    }
    exitCode_ = code;
    hasEnded_ = true;
    changed_.notifyAll();
}

// Its output is closed: waits a second for it to end by itself, sends SIGTERM, waits another
// second, then kills it.
int Connection::endOfProgram() {
    constexpr int kLooks = 20;
    int code = kSshFailed;
    for (const int number : {0, SIGTERM}) {
        program_->signal(number);
        for (int look = 0; look < kLooks; ++look) {
            const Result<bool> hasEnded = program_->poll(code);
            if (!hasEnded.ok() || *hasEnded) {
                return code;
            }
            pollfd ourEnd{wakeRead_.get(), POLLIN, 0};
            if (::poll(&ourEnd, 1, static_cast<int>(kPollEvery.count())) > 0) {
                return code;
            }
        }
    }
    program_->signal(SIGKILL);
    return program_->wait().value_or(kSshFailed);
}

Status Connection::ending(int exitCode) const {
    Ending ending;
    ending.host = host_;
    ending.words = words_;
    ending.exitCode = exitCode;
    ending.wasUp = isUp_;
    ending.wasAsked = askpass_ != nullptr;
    ending.wasGivenUp = askpass_ != nullptr && askpass_->wasGivenUp();
    ending.isStrict = options_.isStrict;
    return failureOf(ending);
}

Status Connection::waitUntilUp(const std::stop_token& stop) {
    MutexLock lock(mutex_);
    std::uint64_t heard = 0;
    Clock::time_point end = Clock::now() + kPatience;
    while (!isUp_ && !hasEnded_) {
        changed_.waitFor(mutex_, kPollEvery);
        if (isUnwanted(stop)) {
            return cancelled("the connection to ", host_, " was given up");
        }
        const bool isAlive = heard != numWords_ || (askpass_ != nullptr && askpass_->isAsking());
        heard = numWords_;
        if (isAlive) {
            end = Clock::now() + kPatience + options_.connectTimeout;
        } else if (Clock::now() >= end) {
            return unavailable("no connection to ", host_, ": it did not answer in time");
        }
    }
    // A program that ended by itself and printed no look was not sh.
    const bool isSomethingElse = !isUp_ && exitCode_ != kSshFailed && !said_.empty();
    if (hasEnded_ && !isSomethingElse) {
        return ending(exitCode_);
    }
    ASSIGN_OR_RETURN(facts_, parseFacts(said_, host_));
    return okStatus();
}

Status Connection::state() const {
    MutexLock lock(mutex_);
    return hasEnded_ ? ending(exitCode_) : okStatus();
}

Status Connection::failed(const std::string& what, const std::string& words) {
    const std::string said = words.substr(0, words.find_last_not_of("\r\n") + 1);
    MutexLock lock(mutex_);
    // A command that fails because the connection broke may end a moment before the connection
    // does.
    const Clock::time_point end = Clock::now() + kEndWait;
    while (!hasEnded_ && Clock::now() < end) {
        changed_.waitFor(mutex_, kPollEvery);
    }
    return hasEnded_ ? ending(exitCode_) : unavailable(host_, ": ", what, ": ", said);
}

Result<std::string> Connection::forward(const std::string& path) {
    const auto known = forwards_.find(path);
    if (known != forwards_.end()) {
        return known->second;
    }
    ASSIGN_OR_RETURN(const std::string word, forwardWord(host_, path));
    // Each number is used once: an attempt that was given up may have left its socket.
    const std::string local = strCat(directory_, "/", numForwards_++);
    SubprocessOptions child;
    child.argv = {options_.program,
                  "-S",
                  directory_ + "/ctl",
                  "-F",
                  "none",
                  "-O",
                  "forward",
                  "-L",
                  strCat(local, ":", word),
                  options_.to.host};
    child.timeout = kForwardTimeout;
    ASSIGN_OR_RETURN(const SubprocessOutput output, Subprocess::run(child));
    if (output.exitCode != 0) {
        return failed(path + " cannot be forwarded", output.err);
    }
    forwards_[path] = local;
    return local;
}

Result<UniqueFd> Connection::dial(const std::string& path) {
    RETURN_IF_ERROR(state());
    std::string local;
    {
        MutexLock lock(forwardMutex_);
        ASSIGN_OR_RETURN(local, forward(path));
    }
    Result<UniqueFd> fd = connectOwnUnix(local);
    RETURN_IF_ERROR(state());
    return fd;
}

Result<SubprocessOutput> Connection::run(std::string script, std::chrono::milliseconds timeout,
                                         const std::stop_token& stop) {
    SubprocessOptions child;
    child.argv = commandLine(std::string(kReadScript));
    child.input = strCat("echo '", kMark, "'; echo '", kMark, "' >&2\n", script);
    child.timeout = timeout;
    child.isUnwanted = [&] { return isUnwanted(stop); };
    Result<SubprocessOutput> output = Subprocess::run(child);
    RETURN_IF_ERROR(state());
    if (absl::IsCancelled(output.status())) {
        return cancelled("what was asked of ", host_, " was given up");
    }
    RETURN_IF_ERROR(annotate(output.status(), host_));
    if (output->exitCode == kSshFailed) {
        return failed("ssh could not run a command there", output->err);
    }
    output->out = behindMark(std::move(output->out));
    output->err = behindMark(std::move(output->err));
    return output;
}

void Connection::remove(const std::string& name, std::chrono::milliseconds timeout) {
    if (!state().ok()) {
        return;
    }
    SubprocessOptions child;
    child.argv = commandLine(std::string(kReadScript));
    child.input = strCat("rm -f -- ", shellWord(name), "\n");
    child.timeout = timeout;
    Subprocess::run(child).status().IgnoreError();
}

}  // namespace millrace::ssh
