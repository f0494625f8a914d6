#include "app/ssh/failure.h"

#include <algorithm>
#include <vector>

namespace millrace::ssh {
namespace {

bool has(std::string_view text, std::string_view words) {
    return text.find(words) != std::string_view::npos;
}

// The text after the first `words`, up to one of `ends`; "" if they are missing.
std::string_view behind(std::string_view text, std::string_view words, std::string_view ends) {
    const std::size_t at = text.find(words);
    const std::string_view rest =
        at == std::string_view::npos ? std::string_view() : text.substr(at + words.size());
    return rest.substr(0, std::min(rest.find_first_of(ends), rest.size()));
}

// The word before the first `words`; "" if there is none.
std::string wordBefore(std::string_view text, std::string_view words) {
    const std::string_view before = text.substr(0, std::min(text.find(words), text.size()));
    const std::size_t blank = before.find_last_of(" \t\r\n");
    return before.size() == text.size() ? std::string() : std::string(before.substr(blank + 1));
}

std::string lastLine(std::string_view words) {
    while (!words.empty() && (words.back() == '\n' || words.back() == '\r')) {
        words.remove_suffix(1);
    }
    const std::size_t end = words.rfind('\n');
    return std::string(end == std::string_view::npos ? words : words.substr(end + 1));
}

Status changedKey(const Ending& ending) {
    constexpr std::string_view kLine = "\r\n";
    const std::string_view now = behind(ending.words, "SHA256:", " \t\r\n.");
    const std::string_view place =
        behind(behind(ending.words, "Offending ", kLine), " key in ", kLine);
    const std::string_view remedy = behind(ending.words, "ssh-keygen -f ", kLine);
    return failedPrecondition(
        "the host key of ", ending.host, " has changed",
        now.empty() ? "" : strCat(" (it is now SHA256:", now, ")"),
        ": another machine may be listening in, or the host was set up anew; nothing was sent. If "
        "you know that it was, remove the old key",
        place.empty() ? "" : strCat(", ", place),
        remedy.empty() ? "" : strCat(", with ssh-keygen -f ", remedy));
}

Status unknownKey(const Ending& ending) {
    if (ending.wasGivenUp) {
        return failedPrecondition("the host key of ", ending.host,
                                  " was not accepted; nothing was sent");
    }
    return failedPrecondition("the host key of ", ending.host, " is not known",
                              ending.isStrict ? ", and --ssh-strict asks nobody: "
                                              : ", and there is nobody to ask here: ",
                              "connect to it once on a terminal ('millrace host test ", ending.host,
                              "' shows its fingerprint), or add it to ~/.ssh/known_hosts");
}

Status denied(const Ending& ending) {
    const std::string who = wordBefore(ending.words, ": Permission denied");
    const std::string_view ways = behind(ending.words, "Permission denied (", ")");
    if (ending.wasGivenUp) {
        return failedPrecondition(ending.host, ": its question was not answered; nothing was sent");
    }
    return permissionDenied(
        ending.host, " lets ", who.empty() ? "this user" : who, " in by none of ",
        ways.empty() ? std::string_view("its ways") : ways,
        ": name the user (ssh://USER@HOST), a key ('ssh-add FILE', or IdentityFile in "
        "~/.ssh/config)",
        ending.wasAsked ? "" : "; nobody could be asked for a passphrase or password here");
}

struct Known {
    const char* words;
    const char* sentence;
};

// Failures that a person at this end cannot fix; they are retried.
constexpr Known kAway[] = {
    {"Could not resolve hostname", "the host name is not known (or there is no network)"},
    {"Connection refused", "no SSH server answers there"},
    {"Network is unreachable", "there is no way to it: the network or the VPN is down"},
    {"No route to host", "there is no way to it: the network or the VPN is down"},
    {"not responding", "the connection was cut: it has not answered for some seconds"},
    {"timed out", "it did not answer in time"},
    {"Connection reset", "it closed the connection"},
    {"Connection closed", "it closed the connection"},
    {"Broken pipe", "it closed the connection"},
    {"closed by remote host", "it closed the connection"},
};

// Files and settings: ssh's own line names the one at fault.
constexpr const char* kSettings[] = {"Bad configuration option",
                                     "Bad owner or permissions",
                                     "UNPROTECTED PRIVATE KEY FILE",
                                     "terminating, ",
                                     "Too many authentication failures",
                                     "no matching ",
                                     "Unsupported option",
                                     "keyword",
                                     "is refused"};

}  // namespace

Status failureOf(const Ending& ending) {
    const std::string_view words = ending.words;
    if (has(words, "IDENTIFICATION HAS CHANGED")) {
        return changedKey(ending);
    }
    if (has(words, "Host key verification failed")) {
        return unknownKey(ending);
    }
    if (has(words, "Permission denied (") || has(words, "Permission denied, please")) {
        return denied(ending);
    }
    const std::string line = lastLine(words);
    for (const char* setting : kSettings) {
        if (has(words, setting)) {
            return failedPrecondition("ssh to ", ending.host, ": ", line);
        }
    }
    for (const Known& known : kAway) {
        if (has(words, known.words)) {
            return unavailable("no connection to ", ending.host, ": ", known.sentence);
        }
    }
    if (ending.wasGivenUp && !ending.wasUp) {
        return failedPrecondition(ending.host, ": its question was not answered; nothing was sent");
    }
    return unavailable("the connection to ", ending.host, ending.wasUp ? " ended" : " failed",
                       " (ssh: exit code ", ending.exitCode, line.empty() ? "" : strCat(", ", line),
                       ")");
}

}  // namespace millrace::ssh
