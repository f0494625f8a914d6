#include "daemon/agent/run/gang_listener.h"

namespace millrace::agent {

Status GangListener::open(const std::string& socketPath, const std::string& runId, int attempt,
                          RankCallbacks listener, std::set<std::int64_t> done) {
    close();
    done_ = std::move(done);
    ASSIGN_OR_RETURN(listener_, maker_.open(socketPath, runId, attempt, std::move(listener)));
    attempt_ = attempt;
    return okStatus();
}

void GangListener::close() {
    connections_.clear();
    dropped_.clear();
    held_.clear();
    agreement_.reset();
    done_.clear();
    listener_.reset();
}

void GangListener::hello(rank::ConnectionId connection, const rank::Sender& sender) {
    connections_[connection] = sender;
}

void GangListener::closed(rank::ConnectionId connection) {
    connections_.erase(connection);
    dropped_.erase(connection);
}

void GangListener::drop(rank::ConnectionId connection) {
    dropped_.insert(connection);
    if (listener_ != nullptr) {
        listener_->close(connection);
    }
}

void GangListener::stop(rank::ConnectionId connection) {
    if (listener_ == nullptr) {
        return;
    }
    if (agreeing_ > 0 && !agreement_) {
        agreement_.emplace(agreeing_);
        for (const std::int64_t rank : done_) {
            agreement_->done(rank);
        }
    }
    listener_->stop(connection, agreement_ ? agreement_->word() : rank::Stop{});
}

void GangListener::heard(const rank::Sender& sender, const rank::RankLine& line) {
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

void GangListener::stopRanks() {
    for (const auto& [connection, sender] : connections_) {
        if (sender.role == "rank") {
            stop(connection);
        }
    }
}

void GangListener::ack(const AckOrder& order, bool isHeld) {
    if (isHeld) {
        held_[{order.connection, order.attempt}] = order;
    } else if (listener_ != nullptr && order.doorAttempt == attempt_) {
        listener_->ack(order.connection, order.attempt, order.seq);
    }
}

void GangListener::releaseAcks() {
    for (const auto& [key, order] : std::exchange(held_, {})) {
        ack(order, false);
    }
}

}  // namespace millrace::agent
