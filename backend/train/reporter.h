#pragma once
// The trainer's door to the daemon: what it says, what it is asked. RankReporter is the rank
// socket; tests put a list in its place.
#include <memory>
#include <string>
#include <vector>

#include "backend/core/status.h"
#include "backend/rank/rank_client.h"

namespace millrace::train {

class Reporter {
 public:
    virtual ~Reporter() = default;
    /// Never waits for the daemon.
    virtual Status send(rank::Body body) = 0;
    /// The last line; waits until the daemon has stored everything.
    virtual Status finish(rank::Body body) = 0;
    /// What is wrong with `what` now, one sentence; "": it is well again.
    virtual void setTrouble(const std::string& what, std::string sentence) = 0;
    /// Lines not yet acknowledged, all of them, for the checkpoint.
    virtual Result<std::vector<std::string>> unacked() const = 0;
    /// How many checkpoints the daemon has not stored yet.
    virtual std::int64_t unackedCheckpoints() = 0;
    /// Whether this rank may take `step`, whose data it has: false where the run stops before it,
    /// which all ranks hear of the same step.
    virtual bool begin(std::int64_t step) = 0;
    /// Whether the run stops before `step`, which this rank waits for.
    virtual bool isOver(std::int64_t step) = 0;
};

class RankReporter final : public Reporter {
 public:
    /// `client` has a page.
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
    std::vector<std::uint64_t> checkpoints_;  // seqs, not yet acknowledged
};

}  // namespace millrace::train
