#pragma once
// Reads ssh_config(5) files: the lines that apply to one host, in order of precedence.
//
// libssh reads these files too, but returns only the first of a host's keys and nothing of
// ServerAliveInterval, IdentitiesOnly and ProxyJump. It is given the values found here, and reads
// only ciphers and the like by itself. Host, Match (all, host, originalhost, user, localuser, exec)
// and Include are followed. Source: OpenSSH, ssh_config(5). Threads: any. Failure: a file that is
// named and cannot be read is an error; without a name a missing file counts as empty.
#include <functional>
#include <string>
#include <vector>

#include "app/ssh/libssh/options.h"
#include "backend/core/status.h"

namespace millrace::libssh {

/// The host that a file is read for, and what Match lines test.
struct ConfigSubject {
    std::string host;  ///< as given on the command line
    std::string user;  ///< given there; empty: the file's or this user
    std::string localUser;
    std::string home;                              ///< for ~
    std::function<bool(const std::string&)> runs;  ///< whether a Match exec command ends with 0
};

struct ConfigLine {
    std::string key;  ///< in lower case
    std::string value;
    std::string place;  ///< FILE:LINE
    std::string name;   ///< the key as written in the file
};

/// The lines for `subject` of `file`, or, when that is empty, of ~/.ssh/config and the system's.
Result<std::vector<ConfigLine>> readConfig(const std::string& file, const ConfigSubject& subject);

/// The lines of `text`, for tests. `directory`: where relative includes are.
Result<std::vector<ConfigLine>> parseConfig(const std::string& text, const std::string& place,
                                            const std::string& directory,
                                            const ConfigSubject& subject);

/// Whether `name` is one of "a*,!b": comma- or blank-separated patterns, the negated ones win.
bool matchesPatterns(const std::string& name, const std::string& patterns);

/// ~ and ~/ at the beginning, as a shell does.
std::string expandHome(const std::string& path, const std::string& home);

/// Expands %h %n %p %r %u %d %% (not %L and %l); unknown tokens stay as they are.
struct Tokens {
    std::string host, originalHost, user, localUser, home;
    int port = 0;
};
std::string expandTokens(const std::string& text, const Tokens& tokens);

/// The keys that neither this program nor libssh obeys, each once and as "PLACE: KEY".
std::vector<std::string> unheededKeys(const std::vector<ConfigLine>& lines);

}  // namespace millrace::libssh
