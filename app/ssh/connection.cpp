#include "app/ssh/connection.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "app/ssh/failure.h"
#include "app/ssh/private_directory.h"
#include "backend/core/thread.h"
#include "backend/system/pipe.h"
#include "backend/system/unix_socket.h"
#include "backend/system/write_all.h"

namespace millrace::ssh {
namespace {

using Clock = std::chrono::steady_clock;

// Of what the program said: its end says why it ended.
constexpr std::size_t kWordsBytesMax = 16'384, kSaidBytesMax = 65'536;
constexpr std::chrono::milliseconds kPollEvery{50}, kForwardTimeout{10'000}, kEndPatience{1'000};

// Reads what is there into the end of `into`; false at the end of the stream.
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

std::vector<std::string> Connection::commandLine(const std::string& command) const {
    return {
        options_.program, "-S",   directory_ + "/ctl", "-F", "none", "-T", "-o", "LogLevel=ERROR",
        options_.to.host, command};
}

std::string Connection::programName() const {
    return std::filesystem::path(options_.program).filename().string();
}

Status Connection::start() {
    host_ = options_.to.text();
    ASSIGN_OR_RETURN(directory_, makePrivateDirectoryForSockets());
    SubprocessOptions child;
    child.newSession = true;  // no terminal: what it asks comes through the door
    child.argv = masterArguments();
    if (options_.ask != nullptr && !options_.isStrict) {
        ASSIGN_OR_RETURN(askpass_, AskpassDoor::open(directory_, host_, options_.ask));
        child.environment = askpass_->environment(options_.askpassProgram);
    }
    UniqueFd theirInput, theirOutput, theirErrors;
    RETURN_IF_ERROR(makePipe(theirInput, input_));
    RETURN_IF_ERROR(makePipe(output_, theirOutput));
    RETURN_IF_ERROR(makePipe(errors_, theirErrors));
    RETURN_IF_ERROR(makePipe(wakeRead_, wakeWrite_));
    child.stdinFd = theirInput.get();
    child.stdoutFd = theirOutput.get();
    child.stderrFd = theirErrors.get();
    Result<Subprocess> started = Subprocess::start(child);
    if (!started.ok()) {
        return failedPrecondition("ssh cannot be started: ", messageOf(started.status()));
    }
    program_.emplace(std::move(*started));
    // Fits into the pipe: nobody waits.
    if (!writeAll(input_.get(), holdScript(options_.to.unixPath))) {
        return errnoStatus(errno, "ssh's input");
    }
    reader_ = startThread("mr-ssh", [this](std::stop_token) { read(); });
    return okStatus();
}

Connection::~Connection() {
    input_.reset();  // what runs there ends, and the program with it
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

// To the end of the program's output, or of this object.
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
        isUp_ = isUp_ || isWholeLook(said_);
        // The program's children may hold stderr open beyond its end; its output is its own.
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
    while (readSome(errors_.get(), words_, kWordsBytesMax) && errno != EAGAIN) {
    }
    exitCode_ = code;
    hasEnded_ = true;
    changed_.notifyAll();
}

// Its output is closed: it ends by itself, or is ended after a second.
int Connection::endOfProgram() {
    constexpr int kLooks = 20;
    int code = 255;
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
    program_->signal(SIGTERM);
    return program_->wait().value_or(255);
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
        if (stop.stop_requested() || (options_.isUnwanted && options_.isUnwanted())) {
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
    // What ended by itself without a look was not sh.
    const bool isSomethingElse = !isUp_ && exitCode_ != 255 && !said_.empty();
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

Result<std::string> Connection::forward(const std::string& path) {
    const auto known = forwards_.find(path);
    if (known != forwards_.end()) {
        return known->second;
    }
    const std::string local = strCat(directory_, "/", forwards_.size());
    SubprocessOptions child;
    child.argv = {options_.program,
                  "-S",
                  directory_ + "/ctl",
                  "-F",
                  "none",
                  "-O",
                  "forward",
                  "-L",
                  strCat(local, ":", path),
                  options_.to.host};
    child.timeout = kForwardTimeout;
    ASSIGN_OR_RETURN(const SubprocessOutput output, Subprocess::run(child));
    if (output.exitCode != 0) {
        RETURN_IF_ERROR(state());
        return unavailable(host_, ": ", path, " cannot be forwarded: ",
                           output.err.substr(0, output.err.find_last_not_of("\r\n") + 1));
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
    child.input = std::move(script);
    child.timeout = timeout;
    child.isUnwanted = [&stop] { return stop.stop_requested(); };
    Result<SubprocessOutput> output = Subprocess::run(child);
    constexpr int kSshsOwn = 255;
    if (output.ok() && output->exitCode == kSshsOwn) {
        waitForEnd();
    }
    RETURN_IF_ERROR(state());
    if (output.ok() && output->exitCode == kSshsOwn && output->out.empty()) {
        return unavailable(
            "ssh to ", host_, ": ",
            output->err.substr(0, std::min(output->err.find('\n'), output->err.size())));
    }
    return output;
}

// A command through a connection that breaks may end before the connection is known to have ended.
void Connection::waitForEnd() const {
    MutexLock lock(mutex_);
    const Clock::time_point end = Clock::now() + kEndPatience;
    while (!hasEnded_ && Clock::now() < end) {
        changed_.waitFor(mutex_, kPollEvery);
    }
}

}  // namespace millrace::ssh
