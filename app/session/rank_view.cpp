#include "app/session/rank_view.h"

#include <algorithm>

#include "app/session/figures.h"
#include "backend/core/status.h"
#include "backend/text/text.h"
#include "backend/values/metric_names.h"

namespace millrace::session {
namespace {

constexpr std::int64_t kOldStepMs = 5'000;
constexpr double kSlowSteps = 3;  // a long step is not old before the next one is late

}  // namespace

std::string_view rankWord(const values::RankNow& rank) {
    if (rank.state == "silent") {
        return "says nothing";
    }
    if (rank.state == "hung") {
        return "takes no step";
    }
    if (rank.state == "waiting") {
        return "starved of data";
    }
    if (rank.state == "unguarded") {
        return "without a guardian";
    }
    if (rank.state != "running") {
        return rank.state;
    }
    const std::string_view doing = nameOf(rank.phase);
    return doing.empty() ? "no report yet" : doing;
}

bool standsItself(const values::RankNow& rank) {
    return rank.standsSinceMs != 0 && rank.state != "waiting";
}

std::optional<double> standsSeconds(const values::RankNow& rank, std::int64_t nowMs) {
    if (rank.standsSinceMs == 0) {
        return std::nullopt;
    }
    return static_cast<double>(std::max<std::int64_t>(0, nowMs - rank.standsSinceMs)) / 1e3;
}

std::optional<double> oldStepSeconds(const values::RankNow& rank, std::int64_t nowMs) {
    const auto ageMs = static_cast<double>(nowMs - rank.steppedMs);
    const bool isOld =
        rank.steppedMs != 0 && ageMs > kOldStepMs && ageMs > kSlowSteps * rank.stepMs.value_or(0);
    return isOld ? std::optional(ageMs / 1e3) : std::nullopt;
}

std::string stepTimeText(const values::RankNow& rank) {
    return rank.stepMs ? preciseDuration(*rank.stepMs) : "n/a";
}

std::string ranksText(const std::vector<values::RankNow>& ranks) {
    const auto stands = [](const values::RankNow& rank) { return rank.standsSinceMs != 0; };
    const auto first = std::find_if(ranks.begin(), ranks.end(), stands);
    const auto number = std::count_if(first, ranks.end(), stands);
    std::string text = countText(static_cast<std::int64_t>(ranks.size()), "rank");
    if (number == 1) {
        strAppend(&text, ", rank ", first->rank, " is stalled");
    } else if (number > 1) {
        strAppend(&text, ", ", number, " are stalled");
    }
    return text;
}

values::RunSummary seenBy(const values::RankNow& rank, const values::RunSummary& run) {
    values::RunSummary view;
    view.id = run.id;
    view.name = run.name;
    view.state = run.state;
    view.attempt = run.attempt;
    view.startedMs = run.startedMs;
    view.endedMs = run.endedMs;
    view.host = run.host;
    view.trouble = rank.trouble;
    view.standsSinceMs = rank.standsSinceMs;
    view.progress = run.progress;
    view.progress.step = rank.step;
    view.progress.phase = rank.phase;
    view.progress.times = rank.times;
    view.progress.stallPercentNow = rank.stallPercentNow;
    view.progress.timeMs = rank.timeMs;
    return view;
}

}  // namespace millrace::session
