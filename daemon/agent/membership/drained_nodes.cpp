#include "daemon/agent/membership/drained_nodes.h"

#include <algorithm>
#include <utility>

#include "backend/filesystem/files.h"
#include "backend/text/json.h"

namespace millrace::agent {
namespace {

constexpr std::size_t kBytesMost = std::size_t{1} << 20;

}  // namespace

// Without these names the head would place work on nodes that an operator has drained.
Result<std::set<std::string>> DrainedNodes::read(const std::string& path) {
    std::set<std::string> names;
    const auto text = readFile(path, kBytesMost);
    if (absl::IsNotFound(text.status())) {
        return names;
    }
    RETURN_IF_ERROR(text.status());
    const auto json = parseJson(*text, path);
    const auto isName = [](const Json& name) { return name.is_string(); };
    if (!json.ok() || !json->is_array() || !std::ranges::all_of(*json, isName)) {
        return dataLoss(path,
                        ": is damaged: the drained nodes are not known from it; write their names "
                        "into it, as in [\"node1\", \"node2\"], or [] if none is drained");
    }
    return json->get<std::set<std::string>>();
}

DrainedNodes::DrainedNodes(std::string path, std::set<std::string> names)
    : path_(std::move(path)), names_(std::move(names)) {}

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
