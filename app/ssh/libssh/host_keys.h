#pragma once
// Whether the host is the one that it says to be: its key against the known_hosts files, plain or
// hashed, and what ssh(1) says and asks when it is not there.
//
// Threads: the session's. Failure: kPermissionDenied with ssh(1)'s own lines.
#include <string>
#include <vector>

#include "app/ssh/libssh/libssh_handles.h"
#include "app/ssh/libssh/questions.h"
#include "app/ssh/libssh/settings.h"
#include "backend/core/status.h"

namespace millrace::libssh {

/// After the key exchange and before anything is said of the user. `address`: the host's, as far as
/// it is known; empty behind a proxy.
Status checkHostKey(ssh_session session, const Settings& settings, const std::string& address,
                    Questions& questions);

/// "ED25519", "RSA", "ECDSA" as ssh(1) calls them.
std::string keyTypeName(ssh_keytypes_e type);

/// "host" for the standard port, else "[host]:port".
std::string knownHostsName(const std::string& host, int port);

/// "SHA256:..."; empty when there is none.
std::string fingerprintOf(ssh_key key);

/// Where in a known_hosts file the host stands, and how its key there is to `key`.
struct KnownPlace {
    std::string file;
    int line = 0;
    bool isSameType = false;
    bool isSame = false;  ///< that very key
    bool isRevoked = false;
};
std::vector<KnownPlace> findKnown(const std::vector<std::string>& files, const std::string& name,
                                  ssh_key key);

}  // namespace millrace::libssh
