#pragma once
// One SSH connection to a host, made by a child program: the system's ssh or millrace-ssh. Host
// opens it and shares it.
//
// The program is the master of a private control socket (ssh(1), -M). Further commands and the
// forwarding of the daemon's socket go through it, so that a person is asked only once. It lives as
// long as this object: the script on the host waits on its input, which is closed however this
// process ends. Agent, X11 and all other forwards of ~/.ssh/config are off. A broken link is
// noticed after kSilence.
//
// Threads: any, except open() and the destructor. Inside: one that reads the program's output
// ("mr-ssh") and the askpass listener's. Owns: the program, its directory with the sockets (0700).
// Failure: as failureOf(). A program that is connecting is given up kPatience after its last output
// or question.
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "app/ssh/askpass.h"
#include "app/ssh/remote_look.h"
#include "backend/core/mutex.h"
#include "backend/core/status.h"
#include "backend/core/unique_fd.h"
#include "backend/filesystem/paths.h"
#include "backend/system/subprocess.h"

namespace millrace::ssh {

inline constexpr std::chrono::seconds kSilence{4};
inline constexpr std::chrono::seconds kPatience{20};

struct ConnectionOptions {
    Address to;                        ///< isSsh
    std::string program = "ssh";       ///< or the path of millrace-ssh
    std::string askpassProgram;        ///< this program's own path (answerAsAskpass)
    std::string configFile;            ///< instead of ~/.ssh/config; "": that file
    bool isStrict = false;             ///< never asks, takes no new host key
    Ask ask;                           ///< empty: nobody can be asked
    std::function<bool()> isUnwanted;  ///< checked while opening or waiting; empty: never
    std::chrono::seconds connectTimeout{10};
};

class Connection {
 public:
    static Result<std::unique_ptr<Connection>> open(ConnectionOptions options,
                                                    const std::stop_token& stop);
    ~Connection();

    /// The program that makes the connection: "ssh" or "millrace-ssh".
    std::string programName() const;
    /// The facts found on the host when the connection was opened.
    const RemoteHostInfo& facts() const { return facts_; }
    /// A connected socket that ends at the unix socket `path` there. If nothing listens there, the
    /// socket is closed at its first use.
    Result<UniqueFd> dial(const std::string& path) MR_EXCLUDES(forwardMutex_);
    /// Runs a script for sh there; exit code and both outputs are the script's. kCancelled when the
    /// connection becomes unwanted. A script must not end with 255: that is ssh's code for a
    /// failure.
    Result<SubprocessOutput> run(std::string script, std::chrono::milliseconds timeout,
                                 const std::stop_token& stop = {});
    /// Removes a file of the home there, even when everything is unwanted; reports no failure.
    void remove(const std::string& name, std::chrono::milliseconds timeout);
    /// The command line that runs a command there through this connection, for a Subprocess of the
    /// caller's: its descriptors are the command's.
    std::vector<std::string> commandLine(const std::string& command) const;
    /// Whether to give up work on this connection: `stop` is set, or isUnwanted() of the options.
    bool isUnwanted(const std::stop_token& stop) const;
    /// OK while the connection is up, else why it ended.
    Status state() const MR_EXCLUDES(mutex_);

 private:
    explicit Connection(ConnectionOptions options) : options_(std::move(options)) {}
    Status start();
    std::vector<std::string> masterArguments() const;
    Status waitUntilUp(const std::stop_token& stop) MR_EXCLUDES(mutex_);
    void read() MR_EXCLUDES(mutex_);
    int endOfProgram();
    Status ending(int exitCode) const MR_REQUIRES(mutex_);
    Status failed(const std::string& what, const std::string& words) MR_EXCLUDES(mutex_);
    Result<std::string> forward(const std::string& path) MR_REQUIRES(forwardMutex_);

    const ConnectionOptions options_;
    std::string host_, directory_;
    std::unique_ptr<AskpassListener> askpass_;
    std::optional<Subprocess> program_;
    UniqueFd input_, output_, errors_, wakeRead_, wakeWrite_;
    RemoteHostInfo facts_;

    mutable Mutex mutex_;
    mutable CondVar changed_;
    std::string said_ MR_GUARDED_BY(mutex_), words_ MR_GUARDED_BY(mutex_);
    bool isUp_ MR_GUARDED_BY(mutex_) = false, hasEnded_ MR_GUARDED_BY(mutex_) = false;
    int exitCode_ MR_GUARDED_BY(mutex_) = 0;
    std::uint64_t numWords_ MR_GUARDED_BY(mutex_) = 0;  // outputs read so far

    Mutex forwardMutex_;
    int numForwards_ MR_GUARDED_BY(forwardMutex_) = 0;                          // attempts
    std::map<std::string, std::string> forwards_ MR_GUARDED_BY(forwardMutex_);  // there -> here
    std::jthread reader_;
};

}  // namespace millrace::ssh
