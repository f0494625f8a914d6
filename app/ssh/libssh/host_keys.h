#pragma once
// Verifies a host's identity: compares its key with the known_hosts files, plain or hashed, and
// reports and asks as ssh(1) does if the key is missing.
//
// Threads: the session's. Failure: kPermissionDenied with ssh(1)'s own lines.
#include <string>
#include <vector>

#include "app/ssh/libssh/libssh_handles.h"
#include "app/ssh/libssh/questions.h"
#include "app/ssh/libssh/settings.h"
#include "backend/core/status.h"

namespace millrace::libssh {

/// Call after the key exchange and before authentication. `address`: the host's, if it is known;
/// empty behind a proxy.
Status checkHostKey(ssh_session session, const Settings& settings, const std::string& address,
                    Questions& questions);

/// "ED25519", "RSA", "ECDSA" as ssh(1) calls them.
std::string keyTypeName(ssh_keytypes_e type);

/// "host" for the standard port, else "[host]:port".
std::string knownHostsName(const std::string& host, int port);

/// "SHA256:..."; empty when there is none.
std::string fingerprintOf(ssh_key key);

/// The host's line in a known_hosts file, and how its key there relates to `key`.
struct KnownPlace {
    std::string file;
    int line = 0;
    bool isSameType = false;
    bool isSame = false;  ///< exactly that key
    bool isRevoked = false;
};
std::vector<KnownPlace> findKnown(const std::vector<std::string>& files, const std::string& name,
                                  ssh_key key);

}  // namespace millrace::libssh
