#pragma once
// The trainer's connection to the daemon: it sends reports and receives stop requests. RankReporter
// uses the rank socket; tests record into a list instead.
#include <string>
#include <vector>

#include "backend/core/status.h"
#include "backend/rank/rank_client.h"

namespace millrace::train {

class Reporter {
 public:
    virtual ~Reporter() = default;
    /// Never blocks on the daemon.
    virtual Status send(rank::Body body) = 0;
    /// Sends the last line and waits until the daemon has stored everything.
    virtual Status finish(rank::Body body) = 0;
    /// Sets what is wrong with `what` now, as one sentence; "" clears it.
    virtual void setTrouble(const std::string& what, std::string sentence) = 0;
    /// All lines not yet acknowledged, for the checkpoint.
    virtual Result<std::vector<std::string>> unacked() const = 0;
    /// Number of checkpoints that the daemon has not stored yet.
    virtual std::int64_t unackedCheckpoints() = 0;
    /// True if this rank may take `step`, whose data it has. False if the run stops before it; all
    /// ranks then stop before the same step.
    virtual bool begin(std::int64_t step) = 0;
    /// True if the run stops before `step`, for which this rank waits.
    virtual bool isOver(std::int64_t step) = 0;
};

class RankReporter final : public Reporter {
 public:
    /// `client` must have a page.
    explicit RankReporter(rank::RankClient& client) : client_(client) {}
    Status send(rank::Body body) override {
        const bool isCheckpoint = std::holds_alternative<rank::Checkpoint>(body);
        ASSIGN_OR_RETURN(const std::uint64_t seq, client_.send(std::move(body)));
        if (isCheckpoint) {
            checkpoints_.push_back(seq);
        }
        return okStatus();
    }
    Status finish(rank::Body body) override { return client_.finish(std::move(body)); }
    void setTrouble(const std::string& what, std::string sentence) override {
        client_.setTrouble(what, std::move(sentence));
    }
    Result<std::vector<std::string>> unacked() const override { return client_.unacked(); }
    std::int64_t unackedCheckpoints() override {
        std::erase_if(checkpoints_,
                      [acked = client_.ackedSeq()](auto seq) { return seq <= acked; });
        return static_cast<std::int64_t>(checkpoints_.size());
    }
    bool begin(std::int64_t step) override { return client_.begin(step); }
    bool isOver(std::int64_t step) override { return client_.isOver(step); }

 private:
    rank::RankClient& client_;
    std::vector<std::uint64_t> checkpoints_;  // sequence numbers not yet acknowledged
};

}  // namespace millrace::train
