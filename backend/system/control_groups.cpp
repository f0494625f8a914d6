#include "backend/system/control_groups.h"

#include <algorithm>

#include <unistd.h>

#include "backend/filesystem/files.h"

namespace millrace {
namespace {

constexpr std::size_t kListBytesMost = 64 << 10;

bool isAmong(std::string_view controller, std::string_view list) {
    while (!list.empty()) {
        const std::string_view one = list.substr(0, list.find(','));
        if (one == controller) {
            return true;
        }
        list.remove_prefix(std::min(one.size() + 1, list.size()));
    }
    return false;
}

}  // namespace

// A line is "0::/user.slice/a" in version 2, "4:cpu,cpuacct:/user.slice/a" in version 1. In a
// container the path may be the host's, whose directories do not exist here; the root is then the
// container's own group.
std::vector<std::string> ControlGroups::directoriesOf(std::string_view controller) const {
    std::vector<std::string> directories;
    const std::string text = readFile(proc + "/self/cgroup", kListBytesMost).value_or("");
    for (std::string_view rest = text; !rest.empty();) {
        const std::string_view line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(line.size() + 1, rest.size()));
        const std::size_t first = line.find(':'), second = line.find(':', first + 1);
        if (second == std::string_view::npos) {
            continue;
        }
        const std::string_view list = line.substr(first + 1, second - first - 1);
        if (!list.empty() && !isAmong(controller, list)) {
            continue;
        }
        const std::string root = list.empty() ? mount : strCat(mount, "/", list);
        for (std::string group(line.substr(second + 1)); group.size() > 1;
             group.resize(group.rfind('/') == std::string::npos ? 0 : group.rfind('/'))) {
            directories.push_back(root + group);
        }
        directories.push_back(root);
    }
    if (text.empty()) {
        directories.push_back(mount);
    }
    return directories;
}

Result<std::string> ControlGroups::ownOfVersion2() const {
    ASSIGN_OR_RETURN(const std::string text, readFile(proc + "/self/cgroup", kListBytesMost));
    const std::size_t line = text.starts_with("0::") ? 0 : text.find("\n0::");
    if (line == std::string::npos) {
        return notFound(proc, "/self/cgroup: names no group of version 2");
    }
    const std::size_t from = text.find("::", line) + 2;
    std::string path = text.substr(from, text.find('\n', from) - from);
    path = path == "/" ? "" : path;
    for (const char* unified : {"", "/unified"}) {
        const std::string group = strCat(mount, unified, path);
        if (::access((group + "/cgroup.procs").c_str(), F_OK) == 0 &&
            ::access((group + "/cgroup.controllers").c_str(), F_OK) == 0) {
            return group;
        }
    }
    return notFound(mount, path, ": has no control group of version 2");
}

}  // namespace millrace
