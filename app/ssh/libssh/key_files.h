#pragma once
// Reads key files: the public half without a question, the private half with its passphrase.
//
// Threads: the session's. Failure: a missing file is an empty Key; an unreadable one is reported on
// stderr and is an empty Key too, as in ssh(1).
#include <string>

#include "app/ssh/libssh/libssh_handles.h"
#include "app/ssh/libssh/questions.h"

namespace millrace::libssh {

/// Reads PATH.pub, or PATH itself if its format contains the public key (OpenSSH's does, even with
/// a passphrase).
Key publicKeyOf(const std::string& path);

/// Asks for the passphrase, if there is one, at most `tries` times.
Key privateKeyOf(const std::string& path, int tries, Questions& questions);

/// PATH-cert.pub, or an empty Key.
Key certificateOf(const std::string& path);

/// The public key in its wire format; "" if it cannot be exported.
std::string blobOf(ssh_key key);

}  // namespace millrace::libssh
