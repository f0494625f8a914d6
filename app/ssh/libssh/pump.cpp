#include "app/ssh/libssh/pump.h"

#include <algorithm>
#include <cerrno>

#include <libssh/callbacks.h>
#include <libssh/server.h>

#include "backend/system/unix_listener.h"

namespace millrace::libssh {
namespace {

// libssh reads 4 KB from its socket per turn; after this many turns the streams get theirs.
constexpr int kTurns = 64;

}  // namespace

Pump::Pump(ssh_session session, PumpOptions options)
    : session_(session),
      options_(std::move(options)),
      event_(ssh_event_new()),
      lastByte_(std::chrono::steady_clock::now()) {
    ssh_set_blocking(session_, 0);
    ssh_set_counters(session_, &socketCount_, &packetCount_);
    // Channels that a host asks us for (to an agent or a window) are refused at once.
    ssh_set_message_callback(session_, [](ssh_session, ssh_message, void*) { return 1; }, nullptr);
    ssh_event_add_session(event_, session_);
}

Pump::~Pump() {
    streams_.clear();
    ssh_event_remove_session(event_, session_);
    ssh_event_free(event_);
    ssh_set_counters(session_, nullptr, nullptr);
}

Stream* Pump::add(StreamGoal goal, StreamEnds ends, Stream::OnEnd onEnd) {
    streams_.push_back(
        std::make_unique<Stream>(session_, std::move(goal), std::move(ends), std::move(onEnd)));
    hasNew_ = true;
    return streams_.back().get();
}

Status Pump::run(PumpGuest& guest) {
    PollSet fds;
    while (!guest.isOver()) {
        const bool sessionTakes = (ssh_get_poll_flags(session_) & SSH_WRITE_PENDING) == 0;
        fds.clear();
        fds.push_back(
            {ssh_get_fd(session_), static_cast<short>(POLLIN | (sessionTakes ? 0 : POLLOUT)), 0});
        guest.wish(fds);
        for (const auto& stream : streams_) {
            stream->wish(fds, sessionTakes);
        }
        const int ready = ::poll(fds.data(), fds.size(), timeout(guest.wakeAt()));
        if (ready < 0 && errno != EINTR) {
            return errnoStatus(errno, "poll");
        }
        hasNew_ = false;
        const Status alive = drive();
        // Runs even if the connection is gone: bytes that arrived before are still delivered.
        for (const auto& stream : streams_) {
            stream->act(fds);
        }
        reap();
        guest.act(fds);
        reap();  // streams that the guest has abandoned
        if (!guest.isOver()) {
            RETURN_IF_ERROR(alive);
            RETURN_IF_ERROR(keepAlive());
        }
    }
    return okStatus();
}

Status Pump::drive() {
    for (int turn = 0; turn < kTurns; ++turn) {
        const std::uint64_t before = numBytes();
        if (ssh_event_dopoll(event_, 0) == SSH_ERROR || ssh_is_connected(session_) == 0 ||
            (ssh_get_status(session_) & (SSH_CLOSED | SSH_CLOSED_ERROR)) != 0) {
            return lost();
        }
        if (numBytes() == before) {
            break;
        }
    }
    return okStatus();
}

Status Pump::lost() const {
    const std::string farewell = farewellOf(session_);
    if (!farewell.empty()) {
        return unavailable("Received disconnect from ", options_.hostName, ": ", farewell);
    }
    return unavailable("Connection to ", options_.hostName, " closed by remote host.");
}

Status Pump::keepAlive() {
    const Time now = std::chrono::steady_clock::now();
    const std::uint64_t bytes = numBytes();
    if (bytes != seen_) {
        seen_ = bytes;
        lastByte_ = now;
        unanswered_ = 0;
    }
    if (options_.aliveInterval.count() == 0 ||
        now < lastByte_ + options_.aliveInterval * (unanswered_ + 1)) {
        return okStatus();
    }
    if (unanswered_ >= options_.aliveCountMax) {
        return unavailable("Timeout, server ", options_.hostName, " not responding.");
    }
    ++unanswered_;
    // The first call records the last one's answer, the second one asks (both return at once).
    ssh_send_keepalive(session_);
    ssh_send_keepalive(session_);
    return okStatus();
}

int Pump::timeout(Time guestTime) const {
    if (hasNew_) {
        return 0;
    }
    Time earliest = guestTime;
    if (options_.aliveInterval.count() > 0) {
        earliest = std::min(earliest, lastByte_ + options_.aliveInterval * (unanswered_ + 1));
    }
    return pollTimeout(std::chrono::steady_clock::now(), earliest);
}

void Pump::reap() {
    for (std::size_t i = 0; i < streams_.size();) {
        if (!streams_[i]->isOver()) {
            ++i;
            continue;
        }
        const std::unique_ptr<Stream> ended = std::move(streams_[i]);
        streams_.erase(streams_.begin() + static_cast<std::ptrdiff_t>(i));
        ended->tellEnd();
    }
}

}  // namespace millrace::libssh
