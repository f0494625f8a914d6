#pragma once
// JoinTokens: the tokens with which an agent may attach, and the node name that each is valid for.
// Used by AgentListener, HostAgents and the service Nodes.
//
// Each invited node has a token of its own; its SHA-256 is on the disk, the token itself only in
// the node's join file. One more token, that of nodes.join, is valid for any name that was neither
// invited nor forgotten. Threads: any. Bounded: kNamesMost names. Failure: invite() and forget()
// change nothing when the file cannot be written.
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "backend/core/mutex.h"
#include "backend/core/status.h"

namespace millrace::agent {

class JoinTokens {
 public:
    static constexpr std::size_t kNamesMost = 4096;
    /// Returns the text of the join file of `node`, with `token`.
    using Writer = std::function<std::string(const std::string& node, const std::string& token)>;

    /// Reads the names and their tokens from the file `path`. Starts with none if the file does not
    /// exist. kDataLoss: the file is damaged.
    static Result<std::unique_ptr<JoinTokens>> open(std::string path);
    /// Starts with no names. `path` "": kept in memory only.
    explicit JoinTokens(std::string path) : path_(std::move(path)) {}

    /// From now on agents may attach: with the token `shared`, and with those of join files that
    /// `write` makes.
    void serve(const std::string& shared, Writer write);

    /// Returns a new join file for `node`. The previous one stays valid until the new one has been
    /// used, so that an agent that did not get its new file is not shut out. kFailedPrecondition:
    /// no agent may attach.
    Result<std::string> invite(const std::string& node);
    bool isInvited(const std::string& node) const;
    /// Makes all tokens of `node` invalid until it is invited again.
    Status forget(const std::string& node);
    /// kUnauthenticated: the token is not valid for `node`.
    Status admit(const std::string& node, std::string_view token);
    /// Returns whether the token is valid for any node.
    bool isToken(std::string_view token) const;

 private:
    using Hashes = std::deque<std::string>;  ///< one or two, the newest last; empty: forgotten
    using Names = std::map<std::string, Hashes>;

    Status keep(Names names) MR_REQUIRES(writing_);

    const std::string path_;
    Mutex writing_;  ///< held while the file is written; locked before mutex_
    mutable Mutex mutex_;
    Names names_ MR_GUARDED_BY(mutex_);
    std::string shared_ MR_GUARDED_BY(mutex_);  ///< hash; "": none
    Writer write_ MR_GUARDED_BY(mutex_);
};

}  // namespace millrace::agent
