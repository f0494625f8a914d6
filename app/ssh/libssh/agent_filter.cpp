#include "app/ssh/libssh/agent_filter.h"

#include <algorithm>
#include <cerrno>

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include "app/ssh/libssh/frames.h"
#include "backend/core/thread.h"
#include "backend/system/unix_socket.h"

namespace millrace::libssh {
namespace {

constexpr std::size_t kMessageBytes = 256 << 10;
constexpr char kIdentitiesAnswer = 12;

// Reads the length-prefixed piece at `at` and moves `at` past it; false if the message is too
// short.
bool takePiece(const std::string& message, std::size_t* at, std::string* piece) {
    if (message.size() < *at + 4) {
        return false;
    }
    const std::size_t size = readLength(message.data() + *at);
    if (message.size() - *at - 4 < size) {
        return false;
    }
    *piece = message.substr(*at + 4, size);
    *at += 4 + size;
    return true;
}

}  // namespace

std::string filteredIdentities(const std::string& message, const std::vector<std::string>& blobs) {
    if (message.size() < 5 || message[0] != kIdentitiesAnswer) {
        return message;
    }
    std::string kept, blob, comment;
    std::size_t at = 5, count = 0;
    while (takePiece(message, &at, &blob) && takePiece(message, &at, &comment)) {
        if (std::ranges::find(blobs, blob) != blobs.end()) {
            kept += lengthBytes(blob.size()) + blob + lengthBytes(comment.size()) + comment;
            ++count;
        }
    }
    return std::string(1, kIdentitiesAnswer) + lengthBytes(count) + kept;
}

Result<std::unique_ptr<AgentFilter>> AgentFilter::open(const std::string& agent,
                                                       std::vector<std::string> blobs) {
    ASSIGN_OR_RETURN(UniqueFd socket, connectUnix(agent));
    UniqueFd ours, theirs;
    RETURN_IF_ERROR(makeSocketPair(ours, theirs));
    return std::unique_ptr<AgentFilter>(
        new AgentFilter(std::move(socket), std::move(ours), std::move(theirs), std::move(blobs)));
}

AgentFilter::AgentFilter(UniqueFd agent, UniqueFd ours, UniqueFd theirs,
                         std::vector<std::string> blobs)
    : agent_(std::move(agent)),
      ours_(std::move(ours)),
      theirs_(std::move(theirs)),
      blobs_(std::move(blobs)),
      thread_(startThread("ssh-agent", [this](std::stop_token) { serve(); })) {}

AgentFilter::~AgentFilter() {
    // Ends the reads in progress, even while the agent is asking a person.
    ::shutdown(ours_.get(), SHUT_RDWR);
    ::shutdown(agent_.get(), SHUT_RDWR);
}

void AgentFilter::serve() {
    while (true) {
        const Result<std::string> request = receiveFrame(ours_.get(), kMessageBytes);
        if (!request.ok() || request->empty() || !sendFrame(agent_.get(), *request).ok()) {
            break;
        }
        const Result<std::string> answer = receiveFrame(agent_.get(), kMessageBytes);
        if (!answer.ok() || answer->empty() ||
            !sendFrame(ours_.get(), filteredIdentities(*answer, blobs_)).ok()) {
            break;
        }
    }
    ::shutdown(ours_.get(), SHUT_RDWR);
}

}  // namespace millrace::libssh
