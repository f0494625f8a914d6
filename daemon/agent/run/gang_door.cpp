#include "daemon/agent/run/gang_door.h"

namespace millrace::agent {

Status GangDoor::open(const std::string& socketPath, const std::string& runId, int attempt,
                      DoorListener listener, std::set<std::int64_t> done) {
    close();
    done_ = std::move(done);
    ASSIGN_OR_RETURN(door_, maker_.open(socketPath, runId, attempt, std::move(listener)));
    attempt_ = attempt;
    return okStatus();
}

void GangDoor::close() {
    connections_.clear();
    dropped_.clear();
    held_.clear();
    agreement_.reset();
    done_.clear();
    door_.reset();
}

void GangDoor::hello(rank::ConnectionId connection, const rank::Sender& sender) {
    connections_[connection] = sender;
}

void GangDoor::closed(rank::ConnectionId connection) {
    connections_.erase(connection);
    dropped_.erase(connection);
}

void GangDoor::drop(rank::ConnectionId connection) {
    dropped_.insert(connection);
    if (door_ != nullptr) {
        door_->close(connection);
    }
}

void GangDoor::stop(rank::ConnectionId connection) {
    if (door_ == nullptr) {
        return;
    }
    if (agreeing_ > 0 && !agreement_) {
        agreement_.emplace(agreeing_);
        for (const std::int64_t rank : done_) {
            agreement_->done(rank);
        }
    }
    door_->stop(connection, agreement_ ? agreement_->word() : rank::Stop{});
}

void GangDoor::heard(const rank::Sender& sender, const rank::RankLine& line) {
    if (sender.role != "rank" || line.attempt != attempt_) {
        return;  // an older attempt's line, sent again
    }
    bool isAgreed = false;
    if (const auto* held = std::get_if<rank::Held>(&line.body)) {
        isAgreed = agreement_ && agreement_->held(sender.rank, held->step);
    } else if (std::holds_alternative<rank::Done>(line.body)) {
        done_.insert(sender.rank);
        isAgreed = agreement_ && agreement_->done(sender.rank);
    }
    if (isAgreed) {
        stopRanks();
    }
}

void GangDoor::stopRanks() {
    for (const auto& [connection, sender] : connections_) {
        if (sender.role == "rank") {
            stop(connection);
        }
    }
}

void GangDoor::ack(const AckOrder& order, bool isHeld) {
    if (isHeld) {
        held_[{order.connection, order.attempt}] = order;
    } else if (door_ != nullptr && order.doorAttempt == attempt_) {
        door_->ack(order.connection, order.attempt, order.seq);
    }
}

void GangDoor::releaseAcks() {
    for (const auto& [key, order] : std::exchange(held_, {})) {
        ack(order, false);
    }
}

}  // namespace millrace::agent
