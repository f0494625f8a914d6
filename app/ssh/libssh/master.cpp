#include "app/ssh/libssh/master.h"

#include <algorithm>
#include <cerrno>

#include <unistd.h>

#include "app/ssh/libssh/control.h"
#include "app/ssh/libssh/frames.h"
#include "app/ssh/libssh/questions.h"
#include "backend/system/unix_socket.h"

namespace millrace::libssh {
namespace {

// Normal use does not reach these bounds: they keep a process that loops from exhausting the
// master.
constexpr std::size_t kMostClients = 256;
constexpr std::size_t kMostForwards = 64;
constexpr std::size_t kMostStreams = 1024;
constexpr std::size_t kReadBytes = 64 << 10;

}  // namespace

Result<std::unique_ptr<Master>> Master::open(Pump& pump, const std::string& controlPath,
                                             int signals) {
    Result<UnixListener> listener = UnixListener::open(controlPath, "control");
    if (!listener.ok()) {
        return unavailable("ControlPath ", controlPath, ": ", messageOf(listener.status()));
    }
    return std::unique_ptr<Master>(new Master(pump, std::move(*listener), signals));
}

Master::~Master() {
    ::unlink(listener_.path().c_str());
    for (const Forward& forward : forwards_) {
        ::unlink(forward.listener.path().c_str());
    }
}

void Master::start(const std::string& command) {
    StreamEnds ends;
    ends.in = duplicate(STDIN_FILENO);
    ends.out = duplicate(STDOUT_FILENO);
    ends.error = duplicate(STDERR_FILENO);
    // Channels are numbered as by ssh(1), from 0: its message "channel 0: open failed" is about the
    // master's own command.
    ++numChannels_;
    pump_.add(
        {StreamGoal::Kind::kCommand, command, 0}, std::move(ends), [this](const StreamEnd& e) {
            end(e.failure.empty() ? e.exitCode : 255, e.failure.empty() ? "" : sentenceOf(0, e));
        });
}

void Master::end(int exitCode, const std::string& sentence) {
    if (!isOver_) {
        isOver_ = true;
        exitCode_ = exitCode;
        if (!sentence.empty()) {
            sayOnStderr(sentence);
        }
    }
}

PumpGuest::Time Master::wakeAt() const {
    const Time now = std::chrono::steady_clock::now();
    Time earliest = listener_.wakeAt(now);
    for (const Forward& forward : forwards_) {
        earliest = std::min(earliest, forward.listener.wakeAt(now));
    }
    for (const auto& client : clients_) {
        if (!client->isAsked) {
            earliest = std::min(earliest, client->since + kHelloLimit);
        }
    }
    return earliest;
}

void Master::wish(PollSet& fds) {
    const Time now = std::chrono::steady_clock::now();
    polledSignals_ = addTo(fds, signals_, POLLIN);
    polledListener_ = addTo(fds, listener_.pollFd(now), POLLIN);
    for (const auto& client : clients_) {
        client->polled = addTo(fds, client->fd.get(), client->answer.empty() ? POLLIN : POLLOUT);
    }
    for (Forward& forward : forwards_) {
        forward.polled = addTo(fds, forward.listener.pollFd(now), POLLIN);
    }
}

void Master::act(const PollSet& fds) {
    if (isReady(fds, polledSignals_)) {
        char number = 0;
        if (::read(signals_, &number, 1) == 1) {
            end(255, strCat("Killed by signal ", static_cast<int>(number), "."));
        }
    }
    // Descriptors that they add are polled in the next round.
    const std::size_t numForwards = forwards_.size();
    for (const auto& client : clients_) {
        if (isReady(fds, client->polled)) {
            if (client->answer.empty()) {
                hear(*client);
            } else {
                speak(*client);
            }
        }
        if (!client->isAsked && std::chrono::steady_clock::now() > client->since + kHelloLimit) {
            client->isGone = true;
        }
    }
    for (std::size_t i = 0; i < numForwards; ++i) {
        if (isReady(fds, forwards_[i].polled)) {
            connectForward(forwards_[i]);
        }
    }
    if (isReady(fds, polledListener_)) {
        acceptClient();
    }
    for (const auto& client : clients_) {
        if (client->isGone) {
            leave(*client);
        }
    }
    std::erase_if(clients_, [](const auto& client) { return client->isGone; });
}

void Master::acceptClient() {
    if (clients_.size() >= kMostClients) {
        listener_.turnAway(clients_.size());
        return;
    }
    std::optional<UniqueFd> peer = listener_.accept();
    if (peer.has_value()) {
        auto client = std::make_unique<Client>();
        client->fd = std::move(*peer);
        client->since = std::chrono::steady_clock::now();
        clients_.push_back(std::move(client));
    }
}

void Master::hear(Client& client) {
    if (client.isAsked) {
        // The client sends nothing more: it has ended.
        client.isGone = true;
        return;
    }
    // A request is a length of four bytes and words; exec's three descriptors come with any part of
    // it.
    const Result<std::string> bytes = receiveWithFds(client.fd.get(), kReadBytes, client.given);
    if (!bytes.ok() || bytes->empty()) {
        client.isGone = true;
        return;
    }
    client.bytes += *bytes;
    if (client.bytes.size() < 4) {
        return;
    }
    const std::size_t length = readLength(client.bytes.data());
    if (length > kRequestBytes) {
        client.isGone = true;
    } else if (client.bytes.size() >= 4 + length) {
        client.isAsked = true;
        serve(client, splitWords(client.bytes.substr(4, length)));
    }
}

void Master::serve(Client& client, const std::vector<std::string>& words) {
    const std::string& verb = words[0];
    if (verb == "exec" && words.size() == 2 && client.given.size() == 3) {
        exec(client, words[1]);
    } else if (verb == "forward" && words.size() == 3) {
        forward(client, words[1], words[2]);
    } else if (verb == "check") {
        answer(client, {"ok", strCat("Master running (pid=", ::getpid(), ")")});
    } else if (verb == "exit") {
        answer(client, {"ok", "Exit request sent."});
        end(255, "");
    } else {
        answer(client, {"error", strCat("the master knows no request '", verb, "'")});
    }
}

void Master::exec(Client& client, const std::string& command) {
    if (pump_.numStreams() >= kMostStreams) {
        answer(client, {"error", strCat("the master has ", kMostStreams, " channels: no more")});
        return;
    }
    StreamEnds ends;
    ends.in = std::move(client.given[0]);
    ends.out = std::move(client.given[1]);
    ends.error = std::move(client.given[2]);
    client.given.clear();
    const int number = numChannels_++;
    client.stream = pump_.add({StreamGoal::Kind::kCommand, command, 0}, std::move(ends),
                              // The pointer is valid while the stream calls back: clients_ holds
                              // pointers, so that it may grow, and leave() abandons the stream
                              // before its client is erased.
                              [this, number, asking = &client](const StreamEnd& e) {
                                  asking->stream = nullptr;
                                  if (e.failure.empty()) {
                                      answer(*asking, {"ended", strCat(e.exitCode)});
                                  } else {
                                      answer(*asking, {"error", sentenceOf(number, e)});
                                  }
                              });
}

void Master::forward(Client& client, const std::string& local, const std::string& remote) {
    if (forwards_.size() >= kMostForwards) {
        answer(client, {"error", strCat("the master has ", kMostForwards, " forwards: no more")});
        return;
    }
    Result<UnixListener> listener = UnixListener::open(local, "forward");
    if (!listener.ok()) {
        answer(client, {"error", strCat("mux_client_forward: forwarding request failed: ",
                                        messageOf(listener.status()))});
        return;
    }
    forwards_.push_back({std::move(*listener), remote, -1});
    answer(client, {"ok", ""});
}

void Master::connectForward(Forward& forward) {
    if (pump_.numStreams() >= kMostStreams) {
        forward.listener.turnAway(pump_.numStreams());
        return;
    }
    std::optional<UniqueFd> peer = forward.listener.accept();
    if (!peer.has_value()) {
        return;
    }
    StreamEnds ends;
    ends.in = std::move(*peer);
    ends.isSocket = true;
    const int number = numChannels_++;
    pump_.add({StreamGoal::Kind::kUnixSocket, forward.remote, 0}, std::move(ends),
              [number](const StreamEnd& e) {
                  if (!e.failure.empty()) {
                      sayOnStderr(sentenceOf(number, e));
                  }
              });
}

void Master::answer(Client& client, const std::vector<std::string>& words) {
    const std::string message = joinWords(words);
    client.answer = lengthBytes(message.size()) + message;
    speak(client);
}

void Master::speak(Client& client) {
    const ssize_t n = ::write(client.fd.get(), client.answer.data(), client.answer.size());
    if (n > 0) {
        client.answer.erase(0, static_cast<std::size_t>(n));
    }
    // A client leaves once its answer is sent: it asks one thing per connection.
    const bool waits = n < 0 && (errno == EAGAIN || errno == EINTR);
    client.isGone = !waits && (n <= 0 || client.answer.empty());
}

void Master::leave(Client& client) {
    if (client.stream != nullptr) {
        client.stream->abandon();
        client.stream = nullptr;
    }
}

}  // namespace millrace::libssh
