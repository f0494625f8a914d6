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

std::string_view withoutBrackets(std::string_view host) {
    const bool hasBrackets = host.size() > 2 && host.front() == '[' && host.back() == ']';
    return hasBrackets ? host.substr(1, host.size() - 2) : host;
}

// A name that ssh takes as a name: no option, no word of a shell.
bool isSshName(std::string_view name) {
    return !name.empty() && name.front() != '-' &&
           name.find_first_of(" \t\r\n'\"`$;&|<>(){}\\*?!#~") == std::string_view::npos;
}

Result<Address> parseSsh(std::string_view rest) {
    constexpr std::string_view kForm = "ssh://[USER@]HOST[:PORT][/SOCKET]";
    const std::string whole = strCat("ssh://", rest);
    Address address;
    address.isSsh = true;
    const std::size_t slash = rest.find('/');
    if (slash != std::string_view::npos) {
        address.unixPath = std::string(rest.substr(slash));
        rest = rest.substr(0, slash);
        if (address.unixPath == "/") {
            address.unixPath.clear();
        }
    }
    const std::size_t at = rest.rfind('@');
    if (at != std::string_view::npos) {
        address.user = std::string(rest.substr(0, at));
        rest = rest.substr(at + 1);
        if (address.user.find(':') != std::string::npos) {
            return invalidArgument(
                "an ssh:// address takes no password, which others could read in it: leave it, and "
                "it is asked for");
        }
        if (!isSshName(address.user)) {
            return invalidArgument("'", whole, "' has no user before the '@'; write ", kForm);
        }
    }
    const std::size_t colon = rest.rfind(':');
    const bool hasPort = colon != std::string_view::npos && rest.back() != ']';
    if (hasPort && (!absl::SimpleAtoi(std::string(rest.substr(colon + 1)), &address.port) ||
                    address.port < 1 || address.port > 65535)) {
        return invalidArgument("'", whole, "' has no port behind the ':'; write ", kForm);
    }
    address.host = std::string(withoutBrackets(hasPort ? rest.substr(0, colon) : rest));
    if (!isSshName(address.host)) {
        return invalidArgument("'", whole, "' names no host; write ", kForm);
    }
    return address;
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

Result<std::string> configDirectory() {
    return fromEnvironment("XDG_CONFIG_HOME", "/.config");
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

std::vector<std::string> usualSocketPaths() {
    const std::string session = strCat("/run/user/", ::geteuid());
    const std::string chosen = absoluteVariable("XDG_RUNTIME_DIR");
    std::vector<std::string> paths = {defaultSocketPath()};
    if (chosen.empty()) {
        paths.push_back(session + "/millrace/millraced.sock");
    } else if (chosen == session) {
        paths.push_back(strCat("/tmp/millrace-", ::geteuid(), "/millraced.sock"));
    }
    return paths;
}

std::string programPath() {
    std::error_code error;
    const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
    return error ? std::string() : self.string();
}

std::string programDirectory() {
    const std::string program = programPath();
    return program.empty() ? "." : std::filesystem::path(program).parent_path().string();
}

bool Address::isLoopback() const {
    return !isSsh &&
           (isUnix() || host == "localhost" || host == "::1" || host.rfind("127.", 0) == 0);
}

std::string Address::text() const {
    if (isUnix()) {
        return "unix:" + unixPath;
    }
    const bool isV6 = host.find(':') != std::string::npos;
    const std::string shown = isV6 ? strCat("[", host, "]") : host;
    if (!isSsh) {
        return strCat(shown, ":", port);
    }
    return strCat("ssh://", user, user.empty() ? "" : "@", shown,
                  port == 0 ? "" : strCat(":", port), unixPath);
}

Result<Address> Address::parse(std::string_view text) {
    constexpr std::string_view kSsh = "ssh://";
    if (text.rfind(kSsh, 0) == 0) {
        return parseSsh(text.substr(kSsh.size()));
    }
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
        return invalidArgument("'", text,
                               "' is no address; write HOST:PORT, unix:PATH or ssh://HOST");
    }
    address.host = std::string(withoutBrackets(text.substr(0, colon)));
    address.port = port;
    return address;
}

}  // namespace millrace
