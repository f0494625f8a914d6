#pragma once
// The hosts that a user has named: one JSON file, read by every user interface.
//
// {"version": 1, "hosts": {"gpu1": {"address": "ssh://alice@gpu1", "remote_dir": "work"}}}, in
// $XDG_CONFIG_HOME/millrace/hosts.json. Written to a temporary file and renamed under a lock file,
// so that no update is lost between two writers. It never contains a secret. Threads: plain values;
// change() from any. Failure: the error for an unreadable file names it; the file is left as it is.
#include <functional>
#include <string>
#include <vector>

#include "backend/core/status.h"
#include "backend/filesystem/paths.h"

namespace millrace::session {

struct NamedHost {
    std::string name;
    std::string address;    ///< as Address::text()
    std::string remoteDir;  ///< base of a spec's relative paths on that host; "": the home
};

class HostBook {
 public:
    /// $XDG_CONFIG_HOME/millrace/hosts.json.
    static Result<std::string> defaultPath();
    /// Empty if the file does not exist.
    static Result<HostBook> read(const std::string& path);
    /// Reads, changes, writes; nothing is written if `change` returns an error.
    static Status change(const std::string& path, const std::function<Status(HostBook&)>& change);

    const std::vector<NamedHost>& all() const { return hosts_; }  ///< sorted by name
    const NamedHost* find(std::string_view name) const;
    /// Adds or replaces; kInvalidArgument for an invalid name or address.
    Status put(NamedHost host);
    /// kNotFound lists the existing names.
    Status remove(std::string_view name);

 private:
    std::vector<NamedHost> hosts_;
};

/// A letter or digit, then letters, digits, '.', '-' and '_': never a valid address.
bool isHostName(std::string_view word);

struct DaemonPlace {
    Address address;
    std::string remoteDir;  ///< of a named host
};
/// `word`: an address, or a name in the book at `path`.
Result<DaemonPlace> placeOf(std::string_view word, const std::string& path);

}  // namespace millrace::session
