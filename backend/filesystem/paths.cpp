#include "backend/filesystem/paths.h"

#include <cstdlib>
#include <filesystem>
#include <optional>

#include <unistd.h>

#include "backend/core/log.h"
#include "backend/filesystem/directories.h"
#include "backend/text/numbers.h"

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

struct HostAndPort {
    std::string host;
    std::optional<int> port;
};

std::optional<int> portIn(std::string_view text) {
    const auto port = parseNumber<int>(text);
    return port && *port >= 0 && *port <= 65'535 ? port : std::nullopt;
}

// Splits "HOST", "HOST:PORT", "[V6]", "[V6]:PORT" or "V6". Returns nothing for other text.
std::optional<HostAndPort> splitHost(std::string_view text) {
    HostAndPort split;
    std::string_view rest;
    if (text.starts_with('[')) {
        const std::size_t end = text.find(']');
        if (end == std::string_view::npos || text.substr(1, end - 1).find(':') == text.npos) {
            return std::nullopt;
        }
        split.host = text.substr(1, end - 1);
        rest = text.substr(end + 1);
    } else if (text.find(':') != text.rfind(':')) {
        split.host = text;
    } else {
        split.host = text.substr(0, text.find(':'));
        rest = text.substr(split.host.size());
    }
    if (!rest.empty()) {
        split.port = rest.front() == ':' ? portIn(rest.substr(1)) : std::nullopt;
        if (!split.port) {
            return std::nullopt;
        }
    }
    const bool isHost = !split.host.empty() && split.host.find_first_of("[]") == std::string::npos;
    return isHost ? std::optional(split) : std::nullopt;
}

// Returns an error sentence if the port of a rejected address is invalid, else "".
std::string portTrouble(std::string_view text) {
    const std::size_t colon = text.rfind(':');
    const bool isV6 = text.find(':') != colon && !text.starts_with('[');
    const bool hasPort = colon != std::string_view::npos && colon + 1 < text.size();
    if (!hasPort || colon == 0 || isV6 || text.ends_with(']') || portIn(text.substr(colon + 1))) {
        return "";
    }
    return strCat("'", text, "': the port '", text.substr(colon + 1),
                  "' is not a number from 0 to 65535");
}

// A name that ssh cannot mistake for an option and a shell cannot interpret.
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
    const auto split = splitHost(rest);
    if (!split.has_value() || split->port == 0 || !isSshName(split->host)) {
        return invalidArgument("'", whole, "' names no host, or no port behind the ':'; write ",
                               kForm);
    }
    address.host = split->host;
    address.port = split->port.value_or(0);
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
    const auto split = splitHost(text);
    if (const std::string trouble = portTrouble(text); !trouble.empty()) {
        return invalidArgument(trouble);
    }
    if (!split.has_value() || !split->port.has_value()) {
        return invalidArgument("'", text,
                               "' is not an address; write HOST:PORT ([fd00::1]:PORT for IPv6), "
                               "unix:PATH or ssh://HOST");
    }
    address.host = split->host;
    address.port = *split->port;
    return address;
}

Result<Address> Address::parseHost(std::string_view text) {
    const auto split = splitHost(text);
    if (const std::string trouble = portTrouble(text); !trouble.empty()) {
        return invalidArgument(trouble);
    }
    if (!split.has_value()) {
        return invalidArgument("'", text,
                               "' names no host; write HOST or HOST:PORT, for IPv6 [fd00::1] or "
                               "[fd00::1]:PORT");
    }
    Address address;
    address.host = split->host;
    address.port = split->port.value_or(0);
    return address;
}

}  // namespace millrace
