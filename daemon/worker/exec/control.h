#pragma once
// ControlSocket: the guardian's unix socket. Its owner uses it to ask for an end, or to show that
// it is alive. One JSON object a line, one answer a line, {"ok": true, ...} or {"ok": false,
// "error"}:
//   {"stop": true, "grace": SECONDS, "why": WORDS}   {"kill": true}   {"keepalive": true}
//   {"status": true}
//
// Threads: one, driven by poll(). Never blocks: a peer that does not read its answers is dropped. A
// connection may be permanent: an owner keeps one. If there is no room for another, the connection
// that has been silent for longest is closed. Failure: invalid input is answered with an error and
// ends only that connection.
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <poll.h>

#include "backend/core/unique_fd.h"
#include "backend/system/unix_listener.h"
#include "backend/text/json.h"

namespace millrace::exec {

struct ControlRequest {
    bool isStop = false, isKill = false;
    std::optional<double> graceSeconds;
    std::string why;  ///< of a stop, for the command's log; "": not given
};

class ControlSocket {
 public:
    /// Acts on a request and returns the members of its answer.
    using Handler = std::function<Json(const ControlRequest&)>;

    ControlSocket() = default;
    ControlSocket(UnixListener listener, Handler handler);
    /// Adds the descriptors to poll; returns the time by which serve() must be called in any case.
    UnixListener::Time watch(std::vector<pollfd>& fds) const;
    /// Accepts, reads and answers whatever is ready.
    void serve();

 private:
    struct Client {
        UniqueFd fd;
        std::string input;
        UnixListener::Time heardAt{};
    };
    void admit();
    bool serveClient(Client& client);
    std::string answer(std::string_view line);

    std::optional<UnixListener> listener_;
    Handler handler_;
    std::vector<Client> clients_;
};

}  // namespace millrace::exec
