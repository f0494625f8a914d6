#pragma once
// The hosts that a user gave names to: one JSON file, read by every face.
//
// {"version": 1, "hosts": {"gpu1": {"address": "ssh://alice@gpu1", "remote_dir": "work"}}}, in
// $XDG_CONFIG_HOME/millrace/hosts.json. Written aside and renamed under a lock file, so that two
// writers lose nothing. No secret is ever in it. Threads: plain values; change() from any. Failure:
// a file that cannot be read names itself and is left as it is.
#include <functional>
#include <string>
#include <vector>

#include "backend/core/paths.h"
#include "backend/core/status.h"

namespace millrace::session {

struct NamedHost {
    std::string name;
    std::string address;    ///< as Address::text()
    std::string remoteDir;  ///< where relative paths of a spec begin there; "": the home
};

class HostBook {
 public:
    /// $XDG_CONFIG_HOME/millrace/hosts.json.
    static Result<std::string> defaultPath();
    /// Empty where there is no file.
    static Result<HostBook> read(const std::string& path);
    /// Reads, changes, writes; what `change` refuses is not written.
    static Status change(const std::string& path, const std::function<Status(HostBook&)>& change);

    const std::vector<NamedHost>& all() const { return hosts_; }  ///< by name
    const NamedHost* find(std::string_view name) const;
    /// Adds or replaces; kInvalidArgument for a name or address that cannot be one.
    Status put(NamedHost host);
    /// kNotFound with the names that are there.
    Status remove(std::string_view name);

 private:
    std::vector<NamedHost> hosts_;
};

/// A letter or digit, then letters, digits, '.', '-' and '_': nothing that an address could be.
bool isHostName(std::string_view word);

struct DaemonPlace {
    Address address;
    std::string remoteDir;  ///< of a named host
};
/// `word`: an address, or a name in the book at `path`.
Result<DaemonPlace> placeOf(std::string_view word, const std::string& path);

}  // namespace millrace::session
