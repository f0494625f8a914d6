#include "daemon/worker/wire/sender.h"

#include <cstdlib>

#include <unistd.h>

#include "backend/core/status.h"

namespace millrace::wire {
namespace {

constexpr std::size_t kNameMost = 200;

std::string hostName() {
    char host[256] = "";
    ::gethostname(host, sizeof host - 1);
    return host;
}

std::string givenOr(const char* variable, std::string fallback) {
    const char* const given = std::getenv(variable);
    return given != nullptr && *given != '\0' ? given : std::move(fallback);
}

}  // namespace

Sender ownSender() {
    return {givenOr("MR_NODE", hostName()), givenOr("MR_WORKER", strCat("pid ", ::getpid()))};
}

void nameSender(v1::JoinRequest& request) {
    const Sender sender = ownSender();
    request.set_name(strCat(hostName(), "/", ::getpid()));
    request.set_node(sender.node);
    request.set_worker(sender.worker);
}

Sender senderOf(const v1::JoinRequest& request) {
    return {request.node().substr(0, kNameMost), request.worker().substr(0, kNameMost)};
}

}  // namespace millrace::wire
