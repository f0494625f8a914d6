#pragma once
// Owning handles for libssh's objects.
//
// Threads: a session and all that belongs to it are used by one thread at a time.
#include <memory>
#include <string>

#include <libssh/libssh.h>

namespace millrace::libssh {

struct FreeKey {
    void operator()(ssh_key key) const { ssh_key_free(key); }
};
using Key = std::unique_ptr<ssh_key_struct, FreeKey>;

struct FreeText {
    void operator()(char* text) const { ssh_string_free_char(text); }
};
using Text = std::unique_ptr<char, FreeText>;

/// Closes the connection at once: call ssh_disconnect() first to notify the other side.
struct FreeSession {
    void operator()(ssh_session session) const {
        ssh_disconnect(session);
        ssh_free(session);
    }
};
using Session = std::unique_ptr<ssh_session_struct, FreeSession>;

inline std::string errorOf(ssh_session session) {
    return ssh_get_error(session);
}

/// The host's reason for ending the connection, as "2:Too many authentication failures", else "".
/// (From libssh's error: ssh_get_disconnect_message() overwrites it when there is none.)
inline std::string farewellOf(ssh_session session) {
    const std::string error = errorOf(session), mark = "SSH_MSG_DISCONNECT: ";
    const std::size_t at = error.find(mark);
    return at == std::string::npos ? "" : error.substr(at + mark.size());
}

}  // namespace millrace::libssh
