#include "app/session/run_progress.h"

#include <algorithm>

#include "app/session/figures.h"
#include "backend/core/status.h"
#include "backend/text/text.h"

namespace millrace::session {
bool isGoing(const values::RunSummary& run) {
    return !values::isEnded(run.state) && run.state != values::RunState::kQueued;
}

std::optional<double> shareDone(const values::RunSummary& run) {
    if (run.state == values::RunState::kFinished) {
        return 1.0;
    }
    if (run.progress.stepsTotal <= 0) {
        return std::nullopt;
    }
    return std::clamp(
        static_cast<double>(run.progress.step) / static_cast<double>(run.progress.stepsTotal), 0.0,
        1.0);
}

double elapsedSeconds(const values::RunSummary& run, std::int64_t nowMs) {
    if (run.startedMs <= 0) {
        return 0;
    }
    const std::int64_t end = run.endedMs > 0 ? run.endedMs : nowMs;
    return static_cast<double>(std::max<std::int64_t>(0, end - run.startedMs)) / 1e3;
}

std::optional<double> stallNow(const values::RunSummary& run) {
    return isGoing(run) ? run.progress.stallPercentNow : std::nullopt;
}

std::string slowLinkText(const values::RunSummary& run, const values::FrameTraffic& traffic) {
    // Below both, waits are normal variation of the queues.
    constexpr double kLeastStall = 5, kLeastAwaited = 50;
    const auto link = std::ranges::find_if(traffic.slowest, [](const values::LinkTraffic& one) {
        return one.awaitedPercent >= kLeastAwaited;
    });
    if (stallNow(run).value_or(0) < kLeastStall || link == traffic.slowest.end()) {
        return "";
    }
    const bool isToRelay = link->toWorker != "feed";
    return strCat(isToRelay ? "the ranks on " : "the leading feed on ", link->toNode,
                  isToRelay ? " wait" : " waits", " for frames from ", link->fromNode, " (",
                  link->fromWorker, " sends ", rateText(link->bytesPerSecond()),
                  " while they are awaited, ", percentText(link->awaitedPercent), " of the time)");
}

std::string stallText(const values::RunSummary& run, bool isNowOld) {
    const std::optional<double> now = isNowOld ? std::nullopt : stallNow(run);
    const std::optional<double> whole = run.stallPercent();
    if ((!now && !whole) || run.dataset.empty()) {
        return "-";
    }
    if (isGoing(run) && !now) {
        return strCat("run ", percentText(whole));
    }
    return !isGoing(run) ? percentText(whole)
                         : strCat("now ", percentText(now), ", run ", percentText(whole));
}

std::string timesText(const values::PhaseTimes& times) {
    std::string text;
    const auto add = [&](double ms, std::string_view doing) {
        if (ms >= 50) {
            strAppend(&text, text.empty() ? "" : ", ", durationText(ms), " ", doing);
        }
    };
    add(times.startMs, "starting");
    add(times.busyMs, "training");
    add(times.stallMs, "waiting for data");
    add(times.evaluateMs, "evaluating");
    add(times.checkpointMs, "in checkpoints");
    add(times.endingMs, "ending");
    return text;
}

std::string handOverText(const std::optional<values::HandOver>& handOver) {
    if (!handOver.has_value()) {
        return "";
    }
    const std::string others =
        handOver->numWaiting == 0 ? "" : strCat("; ", handOver->numWaiting, " more wait");
    if (handOver->step == 0) {
        return "what its node has for the head cannot be read";
    }
    const std::string what =
        strCat(handOver->areScores ? "scores" : "checkpoint", " of step ", handOver->step);
    const std::string all = formatBytes(static_cast<double>(handOver->bytes));
    if (handOver->sent == 0) {
        return strCat(what, handOver->bytes == 0 ? "" : strCat(" (", all, ")"),
                      handOver->areScores ? " are" : " is", " about to go to the head", others);
    }
    return strCat(what, handOver->areScores ? " are on their" : " is on its",
                  " way to the head: ", formatBytes(static_cast<double>(handOver->sent)), " of ",
                  all, others);
}

std::optional<double> RunProgress::secondsLeft(const values::RunSummary& run,
                                               std::int64_t nowMs) const {
    return rateAge_.isForecastVoid(run, nowMs) ? std::nullopt : run.secondsLeft();
}

std::optional<double> RunProgress::oldRatesSeconds(const values::RunSummary& run,
                                                   std::int64_t nowMs) const {
    return isGoing(run) ? rateAge_.oldSeconds(run, nowMs) : std::nullopt;
}

}  // namespace millrace::session
