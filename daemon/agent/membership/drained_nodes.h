#pragma once
// DrainedNodes: the names of nodes on which nothing is placed. They are kept for the next daemon.
// Used by NodeTable.
//
// Threads: any; contains() does not wait for the disk. Failure: set() changes nothing when the file
// cannot be written.
#include <set>
#include <string>

#include "backend/core/mutex.h"
#include "backend/core/status.h"

namespace millrace::agent {

class DrainedNodes {
 public:
    /// Reads the names from the file `path`. Returns an empty set if the file does not exist.
    /// kDataLoss: the file is damaged.
    static Result<std::set<std::string>> read(const std::string& path);

    /// `path` "": kept in memory only. `names`: the names in the file.
    DrainedNodes(std::string path, std::set<std::string> names);
    bool contains(const std::string& node) const;
    Status set(const std::string& node, bool isDrained);

 private:
    const std::string path_;
    Mutex writing_;  ///< held while the file is written; locked before mutex_
    mutable Mutex mutex_;
    std::set<std::string> names_ MR_GUARDED_BY(mutex_);
};

}  // namespace millrace::agent
