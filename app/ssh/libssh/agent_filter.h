#pragma once
// AgentFilter: implements IdentitiesOnly, an agent that shows only some of its keys.
//
// libssh offers every key that its agent lists. This filter sits between libssh and the agent, on a
// socket of its own, and removes the other keys from the list; all other messages, such as signing,
// pass unchanged. Source: draft-miller-ssh-agent, IDENTITIES_ANSWER. Threads: one of its own,
// joined by the destructor. Failure: a broken agent ends the socket, which libssh treats as an
// agent without keys.
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "backend/core/status.h"
#include "backend/core/unique_fd.h"

namespace millrace::libssh {

class AgentFilter {
 public:
    /// `agent`: the agent's socket; `blobs`: the public keys that may be shown, as they are sent.
    static Result<std::unique_ptr<AgentFilter>> open(const std::string& agent,
                                                     std::vector<std::string> blobs);
    ~AgentFilter();
    /// libssh's end of the socket; libssh closes it.
    int releaseEnd() { return theirs_.release(); }

 private:
    AgentFilter(UniqueFd agent, UniqueFd ours, UniqueFd theirs, std::vector<std::string> blobs);
    void serve();

    UniqueFd agent_, ours_, theirs_;
    std::vector<std::string> blobs_;
    std::jthread thread_;
};

/// The message (without its length) with only these keys; other messages unchanged.
std::string filteredIdentities(const std::string& message, const std::vector<std::string>& blobs);

}  // namespace millrace::libssh
