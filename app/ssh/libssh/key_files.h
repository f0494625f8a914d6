#pragma once
// Key files: the public half without a question, the private one with its passphrase.
//
// Threads: the session's. Failure: a file that is not there is an empty Key; one that cannot be
// read is said on stderr and is an empty Key too, as ssh(1) does.
#include <string>

#include "app/ssh/libssh/libssh_handles.h"
#include "app/ssh/libssh/questions.h"

namespace millrace::libssh {

/// Of PATH.pub, or of PATH itself where its format tells (OpenSSH's does, also with a passphrase).
Key publicKeyOf(const std::string& path);

/// Asks for the passphrase, at most `tries` times, when there is one.
Key privateKeyOf(const std::string& path, int tries, Questions& questions);

/// PATH-cert.pub, or an empty Key.
Key certificateOf(const std::string& path);

/// The public key as it is sent; "" when it cannot be.
std::string blobOf(ssh_key key);

}  // namespace millrace::libssh
