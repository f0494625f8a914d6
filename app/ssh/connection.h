#pragma once
// One SSH connection to a host, made by a program of its own: the system's ssh or millrace-ssh.
//
// The program is the master of a private control socket (ssh(1), -M); further commands and the
// forwarding of the daemon's socket go through it, so that a person is asked once. It lives as long
// as this object: what runs there waits on its input, which ends with this process however that
// ends. Agent, X11 and whatever else ~/.ssh/config forwards are left out. A cut link is noticed
// after kSilence.
//
// Threads: any, but open() and the destructor. Inside: one that reads the program's output
// ("mr-ssh") and the askpass door's. Owns: the program, its directory with the sockets (0700).
// Failure: as failureOf(); while the program is connecting it is given up kPatience after its last
// word or question.
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
#include "backend/core/paths.h"
#include "backend/core/status.h"
#include "backend/core/unique_fd.h"
#include "backend/system/subprocess.h"

namespace millrace::ssh {

inline constexpr std::chrono::seconds kSilence{4};
inline constexpr std::chrono::seconds kPatience{20};

struct ConnectionOptions {
    Address to;                        ///< isSsh
    std::string program = "ssh";       ///< or the path of millrace-ssh
    std::string askpassProgram;        ///< this program's own path (answerAsAskpass)
    std::string configFile;            ///< in place of ~/.ssh/config; "": that
    bool isStrict = false;             ///< never asks, takes no new host key
    Ask ask;                           ///< empty: nobody can be asked
    std::function<bool()> isUnwanted;  ///< asked while it is opened or waited for; empty: never
    std::chrono::seconds connectTimeout{10};
};

class Connection {
 public:
    static Result<std::unique_ptr<Connection>> open(ConnectionOptions options,
                                                    const std::stop_token& stop);
    ~Connection();
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    /// The program that made it: "ssh" or "millrace-ssh".
    std::string programName() const;
    /// What was found there when it was opened.
    const RemoteFacts& facts() const { return facts_; }
    /// A connected socket that ends at the unix socket `path` there. That nobody listens there is
    /// seen when it is used: it is closed then.
    Result<UniqueFd> dial(const std::string& path) MR_EXCLUDES(forwardMutex_);
    /// Runs a script for sh there; the exit code and both outputs are the script's. kCancelled when
    /// it is unwanted meanwhile. A script does not end with 255: that is ssh's, and a failure.
    Result<SubprocessOutput> run(std::string script, std::chrono::milliseconds timeout,
                                 const std::stop_token& stop = {});
    /// Removes a file of the home there, also when everything is unwanted by now; tells nobody.
    void remove(const std::string& name, std::chrono::milliseconds timeout);
    /// The command line of a command there through this connection, for a Subprocess of the
    /// caller's: its descriptors are the command's.
    std::vector<std::string> commandLine(const std::string& command) const;
    /// Whether what is done through it is to be given up: after `stop`, or as its options say.
    bool isUnwanted(const std::stop_token& stop) const;
    /// OK while it stands, else why it ended.
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
    std::unique_ptr<AskpassDoor> askpass_;
    std::optional<Subprocess> program_;
    UniqueFd input_, output_, errors_, wakeRead_, wakeWrite_;
    RemoteFacts facts_;

    mutable Mutex mutex_;
    mutable CondVar changed_;
    std::string said_ MR_GUARDED_BY(mutex_), words_ MR_GUARDED_BY(mutex_);
    bool isUp_ MR_GUARDED_BY(mutex_) = false, hasEnded_ MR_GUARDED_BY(mutex_) = false;
    int exitCode_ MR_GUARDED_BY(mutex_) = 0;
    std::uint64_t numWords_ MR_GUARDED_BY(mutex_) = 0;  // outputs heard so far

    Mutex forwardMutex_;
    int numForwards_ MR_GUARDED_BY(forwardMutex_) = 0;                          // attempts
    std::map<std::string, std::string> forwards_ MR_GUARDED_BY(forwardMutex_);  // there -> here
    std::jthread reader_;
};

}  // namespace millrace::ssh
