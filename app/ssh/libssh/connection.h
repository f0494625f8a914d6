#pragma once
// A session with a host that is who it says and takes this user: the way there (TCP, a proxy's
// command, or a session of ours through another host), the host's key, the user's proof.
//
// Threads: the one that opens it, which also asks the questions; a jump runs a thread of its own
// for its session. Owns: the session and those on the way to it. Failure: ssh(1)'s lines, for
// stderr.
#include <memory>
#include <optional>
#include <string>

#include "app/ssh/libssh/libssh_handles.h"
#include "app/ssh/libssh/questions.h"
#include "app/ssh/libssh/settings.h"
#include "backend/core/status.h"
#include "backend/core/unique_fd.h"
#include "backend/system/subprocess.h"

namespace millrace::libssh {

class Jump;

/// Whom and what all sessions of one program are opened for.
struct ConnectContext {
    const Invocation& invocation;
    const LocalUser& local;
    Questions& questions;
};

class Connection {
 public:
    static Result<std::unique_ptr<Connection>> open(const Settings& settings,
                                                    const ConnectContext& context, int depth = 0);
    ~Connection();
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;
    ssh_session session() { return session_.get(); }

 private:
    Connection() = default;
    Status prepare(const Settings& settings);
    Status takeWay(const Settings& settings, const ConnectContext& context, int depth);
    Status shakeHands(const Settings& settings);

    // What the session goes through outlives it.
    std::unique_ptr<Jump> jump_;
    std::optional<Subprocess> proxy_;
    Session session_;
    std::string address_;
};

}  // namespace millrace::libssh
