#pragma once
// The Slot's interfaces to the head: Uplink, the connection; PartTunnel, the ranks' connections;
// HeadFiles, transfers of checkpoints and scores.
//
// While it is open, the connection gives a sign of life each second by itself, also while its owner
// is busy: a start of many workers takes a while. Threads: one owner. Failure: none that ends it;
// it is made again whenever it ends.
#include <optional>
#include <string>
#include <vector>

#include "backend/core/status.h"
#include "backend/values/hand_over.h"
#include "millrace/v1/agent.pb.h"

namespace millrace::nodes {

class Uplink {
 public:
    virtual ~Uplink() = default;
    virtual bool isOpen() const = 0;
    /// Not open and due for another attempt.
    virtual bool isDue() const = 0;
    /// Why the head does not take this agent in, and would not if it were asked again; OK: none is
    /// known.
    virtual Status refusal() const = 0;
    /// Calls the head; `first` is sent with the token. Whether it takes us in, its first orders
    /// say.
    virtual void open(v1::AgentReport first) = 0;
    /// The connection may take more.
    virtual bool isReady() const = 0;
    virtual void send(v1::AgentReport report) = 0;
    /// What has come, in order. Notices the connection's end: isOpen() is false then.
    virtual std::vector<v1::HeadOrders> take() = 0;
};

/// The way from the workers of one part to their attempt's door at the head; RankTunnel is the real
/// one. It is there as long as the object is.
class PartTunnel {
 public:
    virtual ~PartTunnel() = default;
};

/// Checkpoints and scores of the parts here, which the head is to have, or has; FileMover is the
/// real one. No call waits for the head.
class HeadFiles {
 public:
    virtual ~HeadFiles() = default;
    /// Brings what the gang's job reads. OK: it is here. kUnavailable: it is on its way, or cannot
    /// come now: a sentence. Another error: the head does not have it.
    virtual Status fetch(const std::string& key) = 0;
    /// Sees to it that the head gets what part 0 of an attempt has written: the file that is on its
    /// way; nothing: the head has all, or does without.
    virtual std::optional<values::HandOver> handOver(const std::string& key) = 0;
    /// The gang's files are about to go.
    virtual void drop(const std::string& key) = 0;
};

}  // namespace millrace::nodes
