#pragma once
// Host: a host on which daemons are reached, with one connection that all callers share; opened
// when first needed, reopened after it broke. Hosts: all hosts of this process.
//
// A refusal (no key fits, a host key that changed, a question that was given up) is remembered, so
// that a person is not asked again and again; forgive() clears it. Threads: any; callers of one
// host wait for the one attempt in progress. Failure: as Connection; kCancelled after `stop`.
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "app/ssh/connection.h"
#include "backend/core/mutex.h"

namespace millrace::ssh {

/// The program that makes connections.
enum class Transport {
    kAuto,    ///< the system's ssh, or millrace-ssh if there is none
    kSystem,  ///< "ssh"
    kLibssh,  ///< "libssh": millrace-ssh
};

Result<Transport> parseTransport(std::string_view word);

struct Settings {
    Transport transport = Transport::kAuto;
    bool isStrict = false;
    Ask ask;
    std::string ownProgram;            ///< this program's path: ssh runs it to ask
                                       ///< (answerAsAskpass)
    std::string programDirectory;      ///< where millrace-ssh may be
    std::string searchPath;            ///< PATH
    std::string configFile;            ///< instead of ~/.ssh/config
    std::function<bool()> isUnwanted;  ///< checked while waiting: true gives up
};

/// The path of the program; kFailedPrecondition tells what to install.
Result<std::string> programOf(const Settings& settings);

class Host {
 public:
    /// `address`: without a socket.
    Host(Address address, Settings settings)
        : address_(std::move(address)), settings_(std::move(settings)) {}

    const Address& address() const { return address_; }
    Result<std::shared_ptr<Connection>> connection(const std::stop_token& stop = {})
        MR_EXCLUDES(mutex_);
    /// A connected socket that ends at the daemon behind the unix socket `path` there; "": the
    /// socket of the user's daemon.
    Result<UniqueFd> dial(const std::string& path, const std::stop_token& stop = {})
        MR_EXCLUDES(mutex_);
    /// Why a socket from dial() was closed without an error.
    Status whyClosed(const std::string& path, const std::stop_token& stop = {}) MR_EXCLUDES(mutex_);
    /// Reads the present facts of the host, such as program and socket.
    Result<RemoteHostInfo> look(const std::string& path, const std::stop_token& stop = {})
        MR_EXCLUDES(mutex_);
    void forgive() MR_EXCLUDES(mutex_);

 private:
    Result<std::shared_ptr<Connection>> attempt(const std::stop_token& stop) MR_EXCLUDES(mutex_);
    std::chrono::seconds connectTimeout() const MR_REQUIRES(mutex_);
    std::string knownSocket(const Connection& link) MR_EXCLUDES(mutex_);

    const Address address_;
    const Settings settings_;
    Mutex mutex_;
    CondVar changed_;
    std::shared_ptr<Connection> connection_ MR_GUARDED_BY(mutex_);
    bool isOpening_ MR_GUARDED_BY(mutex_) = false;
    std::uint64_t numAttempts_ MR_GUARDED_BY(mutex_) = 0;
    bool isForgiven_ MR_GUARDED_BY(mutex_) = false;  // the attempt in progress
    Status last_ MR_GUARDED_BY(mutex_);              // of the last attempt
    std::string socket_ MR_GUARDED_BY(mutex_);       // of the user's daemon there
    bool mustLook_ MR_GUARDED_BY(mutex_) = false;
    std::optional<std::chrono::milliseconds> firstTook_ MR_GUARDED_BY(mutex_);
};

class Hosts {
 public:
    explicit Hosts(Settings settings) : settings_(std::move(settings)) {}
    /// The host of an ssh address, whichever socket it names; lives as long as this object.
    Host& at(const Address& address) MR_EXCLUDES(mutex_);
    void setTransport(Transport transport) { settings_.transport = transport; }
    void setStrict(bool isStrict) { settings_.isStrict = isStrict; }

 private:
    Settings settings_;  // for hosts that are requested from now on
    Mutex mutex_;
    std::map<std::string, std::unique_ptr<Host>> hosts_ MR_GUARDED_BY(mutex_);
};

}  // namespace millrace::ssh
