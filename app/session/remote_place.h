#pragma once
// Prepares a submission for a run on another host: its directory, its environment, a spec stored
// there, and side tables that are uploaded.
//
// Threads: one per call; blocks. Failure: as ssh::Host; the error for a missing spec or file names
// it.
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "app/ssh/host.h"
#include "app/ssh/transfer.h"
#include "backend/core/mutex.h"
#include "backend/values/submit.h"

namespace millrace::session {

struct RemoteRequests {
    std::string remoteDir;                 ///< base of relative paths; "" or relative: in the home
    std::vector<std::string> uploads;      ///< files of this machine that the spec names
    std::vector<std::string> environment;  ///< --env
    bool isSpecThere = false;              ///< the spec's path is a path on the host
    /// Called while a file is sent; empty: no progress reports.
    std::function<ssh::Progress(const std::string& file)> progressOf;
};

/// Sets the parts of `request` that depend on the host: base directory, launch place, and the
/// spec's text if it names uploaded files. `request` comes from readSubmission(), or has its
/// fileName set if isSpecThere.
Status completeThere(ssh::Host& host, const RemoteRequests& wishes, values::SubmitRequest& request);

/// The absolute path there of `remoteDir` ("" or relative: in the home).
Result<std::string> directoryThere(ssh::Host& host, const std::string& remoteDir);

/// Maps a directory of this machine to one of a host: the same path if the host has it (a shared
/// home), else the named host's remote_dir, else the home there. Asks the host once per path.
/// Threads: any; blocks.
class DirectoriesThere {
 public:
    explicit DirectoriesThere(ssh::Hosts& hosts) : hosts_(hosts) {}
    Result<std::string> standsFor(const std::string& address, const std::string& directory)
        MR_EXCLUDES(mutex_);
    /// Calls completeThere() with the mapped directory.
    Status complete(const std::string& address, values::SubmitRequest& request);

 private:
    ssh::Hosts& hosts_;
    Mutex mutex_;
    std::map<std::pair<std::string, std::string>, std::string> known_ MR_GUARDED_BY(mutex_);
};

/// `text` with each scalar that is exactly `name` replaced by `path`; kInvalidArgument when there
/// is none.
Result<std::string> withPath(const std::string& text, const std::string& name,
                             const std::string& path);

}  // namespace millrace::session
