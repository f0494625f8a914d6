#include "daemon/config/premises.h"

#include <filesystem>

#include <poll.h>
#include <sys/stat.h>

#include "backend/core/files.h"
#include "backend/system/unix_socket.h"

namespace millrace::config {
namespace {

constexpr std::chrono::milliseconds kPatience{3'000};

// A directory for a socket: made private; an existing one must be safe for a socket.
Status prepareSocketDirectory(const std::string& path) {
    struct stat info{};
    if (::stat(path.c_str(), &info) != 0 || path == runtimeDirectory()) {
        return makePrivateDirectory(path);
    }
    return checkSocketDirectory(path);
}

}  // namespace

Result<StateLock> takeStateDirectory(const DaemonConfig& config) {
    RETURN_IF_ERROR(makePrivateDirectory(config.stateDir));
    StateLockTerms terms;
    terms.what = "the state directory " + config.stateDir;
    terms.here = PidScope::ofThisProcess();
    terms.patience = kPatience;
    terms.takesOver = config.takesOver;
    terms.pause = [](std::chrono::milliseconds time) {
        ::poll(nullptr, 0, static_cast<int>(time.count()));
    };
    return StateLock::take(config.stateDir + "/millraced.lock", std::move(terms));
}

Result<Premises> takePremises(const DaemonConfig& config) {
    RETURN_IF_ERROR(makePrivateDirectory(config.stateDir));
    const bool isUnix = config.address.isUnix();
    const std::string& path = config.address.unixPath;
    if (isUnix) {
        RETURN_IF_ERROR(prepareSocketDirectory(std::filesystem::path(path).parent_path().string()));
    }
    // Two daemons on one port are refused by the kernel; the file only keeps both cases alike.
    ASSIGN_OR_RETURN(InstanceLock socket,
                     InstanceLock::take(isUnix ? path + ".lock" : config.stateDir + "/port.lock",
                                        {isUnix ? "the socket " + path : config.address.text(),
                                         PidScope::ofThisProcess(), kPatience}));
    ASSIGN_OR_RETURN(StateLock state, takeStateDirectory(config));
    return Premises{std::move(state), std::move(socket)};
}

}  // namespace millrace::config
