#pragma once
// Prints what happens while runs are followed without a screen: lines for people, or one JSON
// object per line.
#include <map>
#include <set>
#include <string>

#include "app/cli/frame/context.h"
#include "app/session/live_model.h"

namespace millrace::cli {

class FollowPrinter {
 public:
    virtual ~FollowPrinter() = default;
    /// Call after `model` has applied the event.
    virtual void take(const session::FollowEvent& event, const session::LiveModel& model) = 0;
};

/// Prints a line per change of state and per evaluation, and one every two seconds while a run
/// trains.
class LinePrinter final : public FollowPrinter {
 public:
    LinePrinter(CliContext& context, bool isQuiet) : context_(context), isQuiet_(isQuiet) {}
    void take(const session::FollowEvent& event, const session::LiveModel& model) override;

 private:
    void introduce(const session::LiveNode* node);
    void takeRun(const session::LiveRun& run, const session::LiveNode* node);
    void takeMetrics(const session::MetricsAdded& added, const session::LiveModel& model);
    void takeLink(const session::Link& link);
    void line(const values::RunSummary& run, const std::string& text);

    CliContext& context_;
    bool isQuiet_;
    bool wasLost_ = false;
    std::map<std::string, std::string> lastState_;
    std::map<std::string, std::int64_t> lastLineNs_;
    std::set<std::string> introduced_;    ///< machines
    std::set<std::string> heardMetrics_;  ///< runs
};

/// {"type": "state" | "progress" | "metrics" | "connection", ...}
class JsonPrinter final : public FollowPrinter {
 public:
    explicit JsonPrinter(CliContext& context) : context_(context) {}
    void take(const session::FollowEvent& event, const session::LiveModel& model) override;

 private:
    void takeRun(const values::RunSummary& run);

    CliContext& context_;
    std::map<std::string, std::string> lastState_;
    std::map<std::string, std::int64_t> lastStep_;
};

}  // namespace millrace::cli
