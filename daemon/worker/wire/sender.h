#pragma once
// Sender: how a feed, relay or data worker is named in tables of traffic and in requests to join.
//
// A node's agent sets MR_NODE and MR_WORKER for the processes of a run. A process that was started
// by hand uses its host's name and its pid. Threads: any.
#include <string>

#include "millrace/v1/data.pb.h"

namespace millrace::wire {

struct Sender {
    std::string node, worker;
    auto operator<=>(const Sender&) const = default;
};

/// This process.
Sender ownSender();
void nameSender(v1::JoinRequest& request);
/// Returns the names in a request, cut to a few hundred bytes.
Sender senderOf(const v1::JoinRequest& request);

}  // namespace millrace::wire
