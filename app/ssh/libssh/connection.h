#pragma once
// A session with a host that proved its identity and accepted this user. Sets up the transport
// (TCP, a proxy command, or a session of ours through another host), checks the host's key,
// authenticates.
//
// Threads: the thread that opens it, which also asks the questions; a jump runs a thread of its own
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

/// The user and the options that all sessions of one program share.
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
    ssh_session session() { return session_.get(); }

 private:
    Connection() = default;
    Status prepare(const Settings& settings);
    Status takeWay(const Settings& settings, const ConnectContext& context, int depth);
    Status shakeHands(const Settings& settings);

    // Declared first: the transport of the session outlives it.
    std::unique_ptr<Jump> jump_;
    std::optional<Subprocess> proxy_;
    Session session_;
    std::string address_;
};

}  // namespace millrace::libssh
