#pragma once
// What a run on another host needs from there: its directory, its environment, a spec that lies
// there, side tables that are brought.
//
// Threads: one a call; blocks. Failure: as ssh::Host; a spec or file that is not there names it.
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

struct RemoteWishes {
    std::string remoteDir;                 ///< where relative paths begin, "" or relative: the home
    std::vector<std::string> uploads;      ///< files of this machine that the spec names
    std::vector<std::string> environment;  ///< --env
    bool isSpecThere = false;              ///< the spec's path is one of the host
    /// Told while a file is sent; empty: nobody.
    std::function<ssh::Progress(const std::string& file)> progressOf;
};

/// Sets what of `request` is about the host: base directory, launch place, the spec's text where it
/// names what was brought. A request of readSubmission(), or with isSpecThere one whose fileName is
/// set.
Status completeThere(ssh::Host& host, const RemoteWishes& wishes, values::SubmitRequest& request);

/// The absolute path there of `remoteDir` ("" or relative: in the home).
Result<std::string> directoryThere(ssh::Host& host, const std::string& remoteDir);

/// Which directory of a host stands for one of this machine: the same path where the host has it (a
/// shared home), else the named host's remote_dir, else the home there. Asked once a path.
/// Threads: any; blocks.
class DirectoriesThere {
 public:
    explicit DirectoriesThere(ssh::Hosts& hosts) : hosts_(hosts) {}
    Result<std::string> standsFor(const std::string& address, const std::string& directory)
        MR_EXCLUDES(mutex_);
    /// completeThere() with it.
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
