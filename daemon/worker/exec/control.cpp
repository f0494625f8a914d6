#include "daemon/worker/exec/control.h"

#include <algorithm>
#include <cerrno>

#include <sys/socket.h>
#include <unistd.h>

#include "backend/text/json_bounds.h"

namespace millrace::exec {
namespace {

constexpr std::size_t kLineMax = 4096;
constexpr std::size_t kClientsMax = 16;

Result<ControlRequest> readRequest(std::string_view line) {
    ASSIGN_OR_RETURN(const Json json, parseBounded(line, "control", {kLineMax}));
    ControlRequest request;
    request.isStop = jsonBool(json, "stop");
    request.isKill = jsonBool(json, "kill");
    request.why = jsonString(json, "why");
    if (json.is_object() && json.contains("grace")) {
        const double grace = jsonReal(json, "grace", -1);
        if (!(grace >= 0 && grace <= 1e6)) {
            return invalidArgument("control: grace is a number of seconds from 0");
        }
        request.graceSeconds = grace;
    }
    if (!request.isStop && !request.isKill && !jsonBool(json, "keepalive") &&
        !jsonBool(json, "status")) {
        return invalidArgument("control: unknown request; known: stop, kill, keepalive, status");
    }
    return request;
}

}  // namespace

ControlSocket::ControlSocket(UnixListener listener, Handler handler)
    : listener_(std::move(listener)), handler_(std::move(handler)) {}

UnixListener::Time ControlSocket::watch(std::vector<pollfd>& fds) const {
    if (!listener_) {
        return UnixListener::Time::max();
    }
    const UnixListener::Time now = std::chrono::steady_clock::now();
    fds.push_back({listener_->pollFd(now), POLLIN, 0});
    for (const Client& client : clients_) {
        fds.push_back({client.fd.get(), POLLIN, 0});
    }
    return listener_->wakeAt(now);
}

void ControlSocket::admit() {
    const UnixListener::Time now = std::chrono::steady_clock::now();
    if (!listener_ || listener_->pollFd(now) < 0) {
        return;
    }
    while (std::optional<UniqueFd> fd = listener_->accept()) {
        if (clients_.size() >= kClientsMax) {
            clients_.erase(std::min_element(
                clients_.begin(), clients_.end(),
                [](const Client& a, const Client& b) { return a.heardAt < b.heardAt; }));
        }
        clients_.push_back({std::move(*fd), {}, now});
    }
}

void ControlSocket::serve() {
    admit();
    for (Client& client : clients_) {
        if (!serveClient(client)) {
            client.fd.reset();
        }
    }
    clients_.erase(std::remove_if(clients_.begin(), clients_.end(),
                                  [](const Client& c) { return !c.fd.isOpen(); }),
                   clients_.end());
}

bool ControlSocket::serveClient(Client& client) {
    char buffer[kLineMax];
    const ssize_t n = ::read(client.fd.get(), buffer, sizeof buffer);
    if (n < 0) {
        return errno == EAGAIN || errno == EINTR;
    }
    client.heardAt = std::chrono::steady_clock::now();
    client.input.append(buffer, static_cast<std::size_t>(n));
    for (;;) {
        const std::size_t end = client.input.find('\n');
        if (end == std::string::npos) {
            return n > 0 && client.input.size() <= kLineMax;
        }
        const std::string reply = answer(std::string_view(client.input).substr(0, end));
        client.input.erase(0, end + 1);
        if (::send(client.fd.get(), reply.data(), reply.size(), MSG_NOSIGNAL | MSG_DONTWAIT) !=
            static_cast<ssize_t>(reply.size())) {
            return false;
        }
    }
}

std::string ControlSocket::answer(std::string_view line) {
    const Result<ControlRequest> request = readRequest(line);
    Json reply = {{"ok", request.ok()}};
    if (request.ok()) {
        reply.update(handler_(*request));
    } else {
        reply["error"] = std::string(messageOf(request.status()));
    }
    return dumpJson(reply) + "\n";
}

}  // namespace millrace::exec
