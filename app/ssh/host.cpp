#include "app/ssh/host.h"

#include <algorithm>
#include <chrono>

#include <unistd.h>

#include <absl/strings/str_split.h>

namespace millrace::ssh {
namespace {

constexpr std::chrono::milliseconds kLookTimeout{10'000}, kWait{100};
constexpr std::chrono::seconds kFirstConnect{10}, kLeastConnect{2};

std::string onPath(const std::string& searchPath, const std::string& name) {
    for (const auto directory : absl::StrSplit(searchPath, ':', absl::SkipEmpty())) {
        const std::string path = strCat(directory, "/", name);
        if (::access(path.c_str(), X_OK) == 0) {
            return path;
        }
    }
    return "";
}

bool isRefusal(const Status& status) {
    return status.code() == absl::StatusCode::kPermissionDenied ||
           status.code() == absl::StatusCode::kFailedPrecondition;
}

}  // namespace

Result<Transport> parseTransport(std::string_view word) {
    if (word.empty() || word == "auto") {
        return Transport::kAuto;
    }
    if (word == "ssh") {
        return Transport::kSystem;
    }
    if (word == "libssh") {
        return Transport::kLibssh;
    }
    return invalidArgument("'", word, "' is no way over ssh; write auto, ssh or libssh");
}

Result<std::string> programOf(const Settings& settings) {
    const std::string system = onPath(settings.searchPath, "ssh");
    const std::string own = onPath(settings.programDirectory, "millrace-ssh");
    if (settings.transport != Transport::kLibssh && !system.empty()) {
        return system;
    }
    if (settings.transport != Transport::kSystem && !own.empty()) {
        return own;
    }
    switch (settings.transport) {
        case Transport::kSystem:
            return failedPrecondition(
                "there is no ssh program on the PATH: install OpenSSH's client, or take "
                "--ssh-transport libssh");
        case Transport::kLibssh:
            return failedPrecondition(
                "there is no millrace-ssh beside this program (the wheel has none): take "
                "--ssh-transport ssh");
        case Transport::kAuto:
            break;
    }
    return failedPrecondition(
        "there is neither an ssh program on the PATH nor millrace-ssh beside this program: install "
        "OpenSSH's client");
}

// Short if the host is known to answer soon: its return is then noticed soon.
std::chrono::seconds Host::connectTimeout() const {
    if (!firstTook_.has_value()) {
        return kFirstConnect;
    }
    return std::clamp(std::chrono::ceil<std::chrono::seconds>(*firstTook_ * 4), kLeastConnect,
                      kFirstConnect);
}

Result<std::shared_ptr<Connection>> Host::attempt(const std::stop_token& stop) {
    ConnectionOptions options;
    options.to = address_;
    options.askpassProgram = settings_.ownProgram;
    options.configFile = settings_.configFile;
    options.isStrict = settings_.isStrict;
    options.ask = settings_.ask;
    options.isUnwanted = settings_.isUnwanted;
    {
        MutexLock lock(mutex_);
        options.connectTimeout = connectTimeout();
    }
    ASSIGN_OR_RETURN(options.program, programOf(settings_));
    ASSIGN_OR_RETURN(std::unique_ptr<Connection> made, Connection::open(std::move(options), stop));
    return std::shared_ptr<Connection>(std::move(made));
}

Result<std::shared_ptr<Connection>> Host::connection(const std::stop_token& stop) {
    {
        MutexLock lock(mutex_);
        const std::uint64_t before = numAttempts_;
        while (isOpening_) {
            changed_.waitFor(mutex_, kWait);
            if (stop.stop_requested()) {
                return cancelled("the connection to ", address_.text(), " was given up");
            }
        }
        if (connection_ != nullptr && connection_->state().ok()) {
            return connection_;
        }
        const bool isOthers = numAttempts_ != before && !last_.ok();
        const bool wasGivenUp = last_.code() == absl::StatusCode::kCancelled;
        if (isRefusal(last_) || (isOthers && !wasGivenUp)) {
            return last_;
        }
        isOpening_ = true;
    }
    const auto begin = std::chrono::steady_clock::now();
    Result<std::shared_ptr<Connection>> made = attempt(stop);
    const auto took = std::chrono::steady_clock::now() - begin;
    std::shared_ptr<Connection> old;  // destroyed without the lock
    MutexLock lock(mutex_);
    isOpening_ = false;
    ++numAttempts_;
    // forgive() was called during the attempt: its refusal must not count against waiting callers.
    last_ =
        std::exchange(isForgiven_, false) && isRefusal(made.status()) ? okStatus() : made.status();
    if (made.ok()) {
        old = std::exchange(connection_, *made);
        firstTook_ =
            firstTook_.value_or(std::chrono::duration_cast<std::chrono::milliseconds>(took));
    }
    changed_.notifyAll();
    return made;
}

Result<RemoteHostInfo> Host::look(const std::string& path, const std::stop_token& stop) {
    ASSIGN_OR_RETURN(const auto link, connection(stop));
    ASSIGN_OR_RETURN(const SubprocessOutput output,
                     link->run(lookScript(path), kLookTimeout, stop));
    return parseFacts(output.out, address_.text());
}

// The socket that was found last; "" if it must be looked up.
std::string Host::knownSocket(const Connection& link) {
    MutexLock lock(mutex_);
    if (mustLook_) {
        return "";
    }
    if (socket_.empty() && link.facts().hasSocket) {
        socket_ = link.facts().socket;
    }
    return socket_;
}

Result<UniqueFd> Host::dial(const std::string& path, const std::stop_token& stop) {
    ASSIGN_OR_RETURN(const auto link, connection(stop));
    const std::string known = path.empty() ? knownSocket(*link) : "";
    if (!known.empty()) {
        return link->dial(known);
    }
    ASSIGN_OR_RETURN(const RemoteHostInfo facts, look(path, stop));
    if (!facts.hasSocket) {
        return noDaemonThere(facts, address_.text());
    }
    if (path.empty()) {
        MutexLock lock(mutex_);
        socket_ = facts.socket;
        mustLook_ = false;
    }
    return link->dial(facts.socket);
}

Status Host::whyClosed(const std::string& path, const std::stop_token& stop) {
    {
        MutexLock lock(mutex_);
        mustLook_ = true;  // a daemon that was restarted may listen elsewhere
        if (connection_ != nullptr) {
            RETURN_IF_ERROR(connection_->state());
        }
    }
    ASSIGN_OR_RETURN(const RemoteHostInfo facts, look(path, stop));
    return noDaemonThere(facts, address_.text());
}

void Host::forgive() {
    MutexLock lock(mutex_);
    last_ = okStatus();
    isForgiven_ = isOpening_;
}

Host& Hosts::at(const Address& address) {
    Address bare = address;
    bare.unixPath.clear();
    MutexLock lock(mutex_);
    std::unique_ptr<Host>& host = hosts_[bare.text()];
    if (host == nullptr) {
        host = std::make_unique<Host>(bare, settings_);
    }
    return *host;
}

}  // namespace millrace::ssh
