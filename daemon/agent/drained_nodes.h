#pragma once
// DrainedNodes: the names of nodes that nothing is placed on, also for the next daemon.
//
// Threads: any; contains() does not wait for the disk. Failure: set() changes nothing when the file
// cannot be written; a file that cannot be read leaves no node drained, and the log says so.
#include <set>
#include <string>

#include "backend/core/mutex.h"
#include "backend/core/status.h"

namespace millrace::agent {

class DrainedNodes {
 public:
    /// `path` "": kept in memory only.
    explicit DrainedNodes(std::string path);
    bool contains(const std::string& node) const;
    Status set(const std::string& node, bool isDrained);

 private:
    const std::string path_;
    Mutex writing_;  ///< held while the file is written; before mutex_
    mutable Mutex mutex_;
    std::set<std::string> names_ MR_GUARDED_BY(mutex_);
};

}  // namespace millrace::agent
