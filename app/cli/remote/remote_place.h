#pragma once
// What a run on another host needs from there: its directory, its environment, a spec that lies
// there, side tables that are brought.
//
// Threads: one; blocks. Failure: as Connection; a spec or file that is not there names it.
#include <string>
#include <vector>

#include "app/cli/frame/context.h"
#include "backend/values/run_list.h"

namespace millrace::cli {

struct RemoteWishes {
    std::string remoteDir;                 ///< where relative paths begin, "" or relative: the home
    std::vector<std::string> uploads;      ///< files of this machine that the spec names
    std::vector<std::string> environment;  ///< --env
    bool isSpecThere = false;              ///< the spec's path is one of the host
};

/// Sets what of `request` is about the host behind `address`: base directory, launch place, the
/// spec's text where it names what was brought. A request of readSubmission(), or with isSpecThere
/// one whose fileName is set.
Status completeThere(const CliContext& context, const Address& address, const RemoteWishes& wishes,
                     values::SubmitRequest& request);

/// `text` with each scalar that is exactly `name` replaced by `path`; kNotFound when there is none.
Result<std::string> withPath(const std::string& text, const std::string& name,
                             const std::string& path);

}  // namespace millrace::cli
