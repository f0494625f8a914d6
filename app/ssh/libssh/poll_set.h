#pragma once
// The descriptors that one round of a loop waits for, and the index of each member in it.
#include <vector>

#include <poll.h>

namespace millrace::libssh {

using PollSet = std::vector<pollfd>;

/// Returns the index; a descriptor of -1 is never ready.
inline int addTo(PollSet& fds, int fd, int events) {
    fds.push_back({fd, static_cast<short>(events), 0});
    return static_cast<int>(fds.size()) - 1;
}

/// Index -1: not in the set.
inline bool isReady(const PollSet& fds, int place) {
    return place >= 0 && fds[static_cast<std::size_t>(place)].revents != 0;
}

}  // namespace millrace::libssh
