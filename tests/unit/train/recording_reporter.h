#pragma once
// A daemon that only listens.
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "backend/train/reporter.h"

namespace millrace::train::test {

class RecordingReporter final : public Reporter {
 public:
    Status send(rank::Body body) override {
        if (const auto* m = std::get_if<rank::Metrics>(&body)) {
            metrics.push_back(*m);
            const bool isStep = m->values.contains("loss");
            checkpointAsked = checkpointAsked || (isStep && m->step == askCheckpointAt);
            stop = stop || m->step == stopAt;
        } else if (const auto* c = std::get_if<rank::Checkpoint>(&body)) {
            checkpoints.push_back(*c);
        } else if (const auto* p = std::get_if<rank::Progress>(&body)) {
            progress.push_back(*p);
        }
        return okStatus();
    }
    Status finish(rank::Body body) override {
        done = std::get<rank::Done>(body);
        isDone = true;
        return okStatus();
    }
    void setTrouble(const std::string& what, std::string sentence) override {
        troubles.emplace_back(what, std::move(sentence));
    }
    Result<std::vector<std::string>> unacked() const override {
        return std::vector<std::string>{"line 1", "line 2"};
    }
    std::int64_t unackedCheckpoints() override {
        return isDaemonAway ? static_cast<std::int64_t>(checkpoints.size()) : 0;
    }
    bool stopRequested() const override { return stop; }
    bool takeCheckpointRequest() override { return std::exchange(checkpointAsked, false); }

    /// Losses by step.
    std::vector<double> losses() const {
        std::vector<double> out;
        for (const rank::Metrics& m : metrics) {
            if (const auto found = m.values.find("loss"); found != m.values.end()) {
                out.push_back(found->second);
            }
        }
        return out;
    }
    std::vector<std::int64_t> evaluatedSteps() const {
        std::vector<std::int64_t> out;
        for (const rank::Metrics& m : metrics) {
            if (m.values.contains("eval.auc")) {
                out.push_back(m.step);
            }
        }
        return out;
    }
    std::vector<rank::Metrics> metrics;
    std::vector<rank::Checkpoint> checkpoints;
    std::vector<rank::Progress> progress;
    std::vector<std::pair<std::string, std::string>> troubles;
    rank::Done done;
    bool isDone = false, stop = false, checkpointAsked = false, isDaemonAway = false;
    std::int64_t stopAt = -1, askCheckpointAt = -1;
};

}  // namespace millrace::train::test
