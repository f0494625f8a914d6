#pragma once
// libssh's things with an owner.
//
// Threads: a session and all that belongs to it are one thread's at a time.
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

/// Ends the connection at once: who wants the other side to know says ssh_disconnect() before.
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

}  // namespace millrace::libssh
