#pragma once
// A daemon that only listens.
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "backend/core/status.h"
#include "backend/feed/link/step_page.h"
#include "backend/train/reporter.h"
#include "tests/unit/train/scratch.h"

namespace millrace::train::test {

class RecordingReporter final : public Reporter {
 public:
    Status send(rank::Body body) override {
        if (const auto* m = std::get_if<rank::Metrics>(&body)) {
            metrics.push_back(*m);
            if (m->step == stopAt) {
                page->stop();
            }
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
    bool begin(std::int64_t step) override {
        return page->begin(static_cast<std::uint64_t>(step)) == ring::StepPage::Answer::kGo;
    }
    bool isOver(std::int64_t step) override {
        return page->isOver(static_cast<std::uint64_t>(step));
    }
    /// What the ranks of an attempt share; ranks that are threads get one of theirs.
    static std::shared_ptr<ring::StepPage> newPage() {
        const Scratch scratch;
        auto page = std::make_shared<ring::StepPage>();
        std::string why;
        INVARIANT(page->open(scratch / "steps.page", why), "a page in the temporary directory");
        return page;
    }

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
    bool isDone = false, isDaemonAway = false;
    std::int64_t stopAt = -1;
    std::shared_ptr<ring::StepPage> page = newPage();
};

}  // namespace millrace::train::test
