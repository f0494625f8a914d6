#include "app/ssh/remote_look.h"

#include <map>

namespace millrace::ssh {
namespace {

constexpr std::string_view kFirstLine = "millrace-look 1";
constexpr std::string_view kLastLine = "millrace-look end";

// Does not rely on a login shell's PATH: also looks where pip, --install and packages put programs.
// `millrace socket-path` prints the daemon's socket; without the program, assumes this user's
// default (backend/filesystem/paths.h).
constexpr std::string_view kLookScript = R"sh(
PATH="$PATH:$HOME/.local/bin:/usr/local/bin:/opt/millrace/bin"; export PATH
echo 'millrace-look 1'
echo "user=$(id -un)"
say() { printf '%s\n' "$1=$2"; }
say home "$HOME"
echo "system=$(uname -sm)"
program=$(command -v millrace 2>/dev/null)
if [ -n "$program" ]; then
    say program "$program"
    echo "version=$("$program" version 2>/dev/null </dev/null | sed -n 's/^millrace \([^,]*\).*/\1/p')"
    [ -n "$socket" ] || socket=$("$program" socket-path 2>/dev/null </dev/null)
fi
uid=$(id -u)
if [ -z "$socket" ]; then
    socket=/tmp/millrace-$uid/millraced.sock
    if [ -n "$XDG_RUNTIME_DIR" ]; then
        socket=$XDG_RUNTIME_DIR/millrace/millraced.sock
    elif [ -S "/run/user/$uid/millrace/millraced.sock" ]; then
        socket=/run/user/$uid/millrace/millraced.sock
    fi
fi
say socket "$socket"
[ -S "$socket" ] && echo "listens=yes"
place=$socket
while [ ! -e "$place" ] && [ "$place" != / ] && [ "$place" != . ]; do place=$(dirname "$place"); done
if [ "$place" = "$socket" ] || [ ! -x "$place" ]; then
    echo "owner=$(ls -ld "$place" 2>/dev/null | awk '{print $3}')"
fi
echo 'millrace-look end'
)sh";

}  // namespace

std::string lookScript(std::string_view socket) {
    return strCat("socket=", shellWord(socket), kLookScript);
}

std::string holdScript(std::string_view socket) {
    return strCat(lookScript(socket), "exec cat >/dev/null\n");
}

bool isWholeLook(std::string_view output) {
    return output.find(strCat("\n", kLastLine, "\n")) != std::string_view::npos;
}

Result<RemoteHostInfo> parseFacts(std::string_view output, std::string_view host) {
    const std::size_t begin = output.find(kFirstLine);
    if (begin == std::string_view::npos || !isWholeLook(output)) {
        return failedPrecondition(host, " does not run a command for sh; it said: ",
                                  output.substr(0, std::min<std::size_t>(output.size(), 200)));
    }
    std::map<std::string, std::string, std::less<>> values;
    for (std::string_view rest = output.substr(begin); !rest.empty();) {
        const std::size_t end = std::min(rest.find('\n'), rest.size());
        const std::string_view line = rest.substr(0, end);
        if (line == kLastLine) {
            break;
        }
        const std::size_t equals = std::min(line.find('='), line.size());
        values.emplace(line.substr(0, equals), line.substr(std::min(equals + 1, line.size())));
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    RemoteHostInfo facts;
    facts.user = values["user"];
    facts.home = values["home"];
    facts.system = values["system"];
    facts.program = values["program"];
    facts.version = values["version"];
    facts.socket = values["socket"];
    facts.hasSocket = values["listens"] == "yes";
    facts.owner = values["owner"];
    return facts;
}

Status noDaemonThere(const RemoteHostInfo& facts, std::string_view host) {
    const bool isOthers =
        !facts.owner.empty() && facts.owner != facts.user && facts.owner != "root";
    if (isOthers && facts.user != "root") {
        return permissionDenied("the daemon at ", facts.socket, " on ", host, " runs as ",
                                facts.owner, "; you are ", facts.user,
                                " there, and a daemon is its user's alone");
    }
    if (facts.program.empty()) {
        return unavailable("no daemon answers on ", host, " (", facts.socket,
                           "), and millrace is not installed there for ", facts.user,
                           "; 'millrace up --install --host ", host, "' brings it and starts one");
    }
    return unavailable("no daemon answers on ", host, " (",
                       facts.hasSocket ? "nobody listens at " : "there is no socket ", facts.socket,
                       "); 'millrace up --host ", host, "' starts one");
}

}  // namespace millrace::ssh
