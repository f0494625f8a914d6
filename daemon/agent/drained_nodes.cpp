#include "daemon/agent/drained_nodes.h"

#include <utility>

#include "backend/core/files.h"
#include "backend/core/json.h"
#include "backend/core/log.h"

namespace millrace::agent {
namespace {

constexpr std::size_t kBytesMost = std::size_t{1} << 20;

}  // namespace

DrainedNodes::DrainedNodes(std::string path) : path_(std::move(path)) {
    const auto text = readFile(path_, kBytesMost);
    const auto names = text.ok() ? parseJson(*text, path_) : Result<Json>(Json());
    if (!names.ok()) {
        logWarn("nodes: not known which are drained", {{"why", messageOf(names.status())}});
        return;
    }
    for (const Json& name : *names) {
        names_.insert(name.is_string() ? name.get<std::string>() : "");
    }
}

bool DrainedNodes::contains(const std::string& node) const {
    MutexLock lock(mutex_);
    return names_.contains(node);
}

Status DrainedNodes::set(const std::string& node, bool isDrained) {
    MutexLock writing(writing_);
    std::set<std::string> names;
    {
        MutexLock lock(mutex_);
        names = names_;
    }
    const bool isChange = isDrained ? names.insert(node).second : names.erase(node) > 0;
    if (isChange && !path_.empty()) {
        RETURN_IF_ERROR(writeFileAtomic(path_, dumpJson(Json(names)) + "\n", 0600));
    }
    MutexLock lock(mutex_);
    names_ = std::move(names);
    return okStatus();
}

}  // namespace millrace::agent
