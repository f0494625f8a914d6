#include "backend/core/paths.h"

#include <cstdlib>
#include <filesystem>

#include <unistd.h>

#include <absl/strings/numbers.h>

#include "backend/core/directories.h"
#include "backend/core/log.h"

namespace millrace {
namespace {

std::string absoluteVariable(const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr && value[0] == '/' ? value : "";
}

Result<std::string> fromEnvironment(const char* name, const std::string& belowHome) {
    const std::string given = absoluteVariable(name);
    const std::string home = absoluteVariable("HOME");
    if (given.empty() && home.empty()) {
        return failedPrecondition("neither HOME nor ", name, " is set to an absolute path");
    }
    return given.empty() ? strCat(home, belowHome, "/millrace") : given + "/millrace";
}

}  // namespace

std::string runtimeDirectory() {
    const char* value = std::getenv("XDG_RUNTIME_DIR");
    if (value != nullptr && value[0] == '/') {
        return strCat(value, "/millrace");
    }
    return strCat("/tmp/millrace-", ::geteuid());
}

Result<std::string> stateDirectory() {
    return fromEnvironment("XDG_STATE_HOME", "/.local/state");
}

std::string cacheDirectory(std::string_view part) {
    const Result<std::string> path = fromEnvironment("XDG_CACHE_HOME", "/.cache");
    const Status usable = path.ok() ? makeOwnDirectory(*path) : path.status();
    if (!usable.ok()) {
        logWarn("cache: not used", {{"why", messageOf(usable)}});
        return "";
    }
    return strCat(*path, "/", part);
}

std::string defaultSocketPath() {
    return runtimeDirectory() + "/millraced.sock";
}

std::string programDirectory() {
    std::error_code error;
    const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
    return error ? std::string(".") : self.parent_path().string();
}

bool Address::isLoopback() const {
    return isUnix() || host == "localhost" || host == "::1" || host.rfind("127.", 0) == 0;
}

std::string Address::text() const {
    if (isUnix()) {
        return "unix:" + unixPath;
    }
    const bool isV6 = host.find(':') != std::string::npos;
    return isV6 ? strCat("[", host, "]:", port) : strCat(host, ":", port);
}

Result<Address> Address::parse(std::string_view text) {
    Address address;
    if (text.rfind("unix:", 0) == 0 || text.rfind('/', 0) == 0) {
        address.unixPath = std::string(text.rfind("unix:", 0) == 0 ? text.substr(5) : text);
        if (address.unixPath.empty()) {
            return invalidArgument("'unix:' needs a path, as unix:/run/millrace.sock");
        }
        return address;
    }
    const std::size_t colon = text.rfind(':');
    int port = -1;
    if (colon == std::string_view::npos ||
        !absl::SimpleAtoi(std::string(text.substr(colon + 1)), &port) || port < 0 || port > 65535 ||
        colon == 0) {
        return invalidArgument("'", text, "' is no address; write HOST:PORT or unix:PATH");
    }
    std::string_view host = text.substr(0, colon);
    if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
        host = host.substr(1, host.size() - 2);
    }
    address.host = std::string(host);
    address.port = port;
    return address;
}

}  // namespace millrace
