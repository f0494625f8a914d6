#pragma once
// Authenticates the user to a host whose key is known: agent, key files, keyboard-interactive and
// password, in ssh(1)'s order, as many methods as the host requires.
//
// Threads: the session's. Failure: kPermissionDenied with ssh(1)'s line, kUnavailable when the host
// has ended the connection.
#include <memory>
#include <set>
#include <string>

#include "app/ssh/libssh/agent_filter.h"
#include "app/ssh/libssh/libssh_handles.h"
#include "app/ssh/libssh/questions.h"
#include "app/ssh/libssh/settings.h"
#include "backend/core/status.h"

namespace millrace::libssh {

class Authentication {
 public:
    Authentication(ssh_session session, const Settings& settings, Questions& questions)
        : session_(session), settings_(settings), questions_(questions) {}

    /// OK: the host accepts channels of this user.
    Status run();

 private:
    /// Each returns an ssh_auth_e. kDenied also if there is nothing to offer.
    int tryMethods(int methods);
    int tryPublicKeys();
    int tryAgent();
    int tryKeyFile(const std::string& path);
    int tryKeyboard();
    int answerPrompts();
    int tryPassword();
    Status denied(int methods) const;
    Status broken() const;

    ssh_session session_;
    const Settings& settings_;
    Questions& questions_;
    std::unique_ptr<AgentFilter> filter_;
    bool isAgentTried_ = false, isKeyboardTried_ = false, isPasswordTried_ = false;
    bool hasGivenUp_ = false;  ///< a question about the account was given up: ask no other
    std::set<std::string> triedFiles_;
};

/// "publickey,password" of libssh's bits, in the order in which sshd names them.
std::string methodNames(int methods);

}  // namespace millrace::libssh
