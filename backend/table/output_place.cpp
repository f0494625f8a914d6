#include "backend/table/output_place.h"

#include <cerrno>
#include <filesystem>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/core/unique_fd.h"
#include "backend/filesystem/files.h"
#include "backend/text/numbers.h"

namespace millrace::table {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPartial = ".partial-";

std::string asidePrefix(const fs::path& target) {
    return strCat(".", target.filename().string(), kPartial);
}

// Removes directories whose writers are dead.
void removeLeftovers(const fs::path& target) {
    std::error_code error;
    const std::string prefix = asidePrefix(target);
    std::vector<fs::path> stale;
    for (const auto& entry : fs::directory_iterator(target.parent_path(), error)) {
        const std::string name = entry.path().filename().string();
        if (!name.starts_with(prefix)) {
            continue;
        }
        const auto pid = parseNumber<pid_t>(std::string_view(name).substr(prefix.size()));
        if (pid && *pid > 0 && ::kill(*pid, 0) != 0 && errno == ESRCH) {
            stale.push_back(entry.path());
        }
    }
    for (const fs::path& path : stale) {
        fs::remove_all(path, error);
    }
}

bool isTableFile(const fs::directory_entry& entry) {
    const std::string name = entry.path().filename().string();
    const std::string ending = entry.path().extension().string();
    const bool isPart = name.starts_with("part-") &&
                        (ending == ".parquet" || ending == ".arrow" || ending == ".csv");
    return entry.is_regular_file() && (isPart || name == "_table.json");
}

// --force may replace only a directory of a table's files, or an empty one.
Status checkReplaceable(const std::string& target) {
    std::error_code error;
    if (!fs::is_directory(fs::symlink_status(target, error))) {
        return failedPrecondition(target,
                                  ": exists and is not a directory; choose another --output");
    }
    for (const auto& entry : fs::directory_iterator(target, error)) {
        if (!isTableFile(entry)) {
            return failedPrecondition(target, ": holds '", entry.path().filename().string(),
                                      "', which is not a file of a table: --force does not replace "
                                      "it; choose another --output");
        }
    }
    return error ? failedPrecondition(target, ": ", error.message()) : okStatus();
}

Status systemError(const std::string& path, const char* what) {
    return errnoStatus(errno, strCat(path, ": ", what));
}

Status syncPath(const std::string& path) {
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (fd.get() < 0 || ::fsync(fd.get()) != 0) {
        return systemError(path, "cannot be written to the disk");
    }
    return okStatus();
}

}  // namespace

Result<OutputPlace> OutputPlace::open(const std::string& target, bool isForced) {
    std::error_code error;
    fs::path path = fs::path(absolutePath(target, fs::current_path(error).string()));
    if (!path.has_filename()) {
        path = path.parent_path();
    }
    if (path == path.root_path()) {
        return invalidArgument("--output: '", target, "' is not a directory that can be made");
    }
    if (fs::exists(fs::symlink_status(path, error))) {
        if (!isForced) {
            return failedPrecondition(path.string(),
                                      ": exists; choose another --output, or --force replaces it");
        }
        RETURN_IF_ERROR(checkReplaceable(path.string()));
    }
    RETURN_IF_ERROR(makeDirectories(path.parent_path().string()));
    removeLeftovers(path);
    const std::string aside = (path.parent_path() / strCat(asidePrefix(path), ::getpid())).string();
    fs::remove_all(aside, error);
    if (::mkdir(aside.c_str(), 0777) != 0) {
        return systemError(aside, "cannot be made");
    }
    return OutputPlace(path.string(), aside, isForced);
}

OutputPlace::OutputPlace(OutputPlace&& other) noexcept
    : target_(std::move(other.target_)),
      aside_(std::exchange(other.aside_, "")),
      isForced_(other.isForced_) {}

OutputPlace::~OutputPlace() {
    if (!aside_.empty()) {
        std::error_code error;
        fs::remove_all(aside_, error);
    }
}

Status OutputPlace::commit() {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(aside_, error)) {
        RETURN_IF_ERROR(syncPath(entry.path().string()));
    }
    RETURN_IF_ERROR(syncPath(aside_));
    const std::string old = aside_ + ".old";
    bool hasOld = false;
    if (fs::exists(fs::symlink_status(target_, error))) {
        if (!isForced_) {
            return failedPrecondition(target_, ": was made by somebody else meanwhile");
        }
        RETURN_IF_ERROR(checkReplaceable(target_));
        if (::rename(target_.c_str(), old.c_str()) != 0) {
            return systemError(target_, "cannot be replaced");
        }
        hasOld = true;
    }
    if (::rename(aside_.c_str(), target_.c_str()) != 0) {
        const Status status = systemError(target_, "cannot be given its name");
        if (hasOld && ::rename(old.c_str(), target_.c_str()) != 0) {
            return failedPrecondition(messageOf(status), "; the table before is in ", old);
        }
        return status;
    }
    aside_.clear();
    if (hasOld) {
        fs::remove_all(old, error);
    }
    return syncPath(fs::path(target_).parent_path().string());
}

}  // namespace millrace::table
