#pragma once
// ControlDoor: the guardian's unix socket, on which its owner asks for an end or shows that it is
// there. One JSON object a line, one answer a line, {"ok": true, ...} or {"ok": false, "error"}:
//   {"stop": true, "grace": SECONDS, "why": WORDS}   {"kill": true}   {"keepalive": true}
//   {"status": true}
//
// Threads: one, driven by poll(). Never blocks: a peer that does not read its answers is dropped.
// A connection may last: an owner keeps one. When there is no room for another, the one that has
// been quiet for longest goes.
// Failure: garbage is answered with an error and ends that connection only.
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <poll.h>

#include "backend/core/json.h"
#include "backend/core/unique_fd.h"
#include "backend/system/unix_listener.h"

namespace millrace::exec {

struct ControlRequest {
    bool isStop = false, isKill = false;
    std::optional<double> graceSeconds;
    std::string why;  ///< of a stop, for the command's log; "": nobody said
};

class ControlDoor {
 public:
    /// Acts on a request and returns the members of its answer.
    using Handler = std::function<Json(const ControlRequest&)>;

    ControlDoor() = default;
    ControlDoor(UnixListener listener, Handler handler);
    /// Adds what poll() has to watch; the time by which serve() is to be called in any case.
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
