#include "app/gui/models/live/rank_lane.h"

#include <QObject>
#include <algorithm>
#include <cmath>

#include "app/gui/models/run_text.h"
#include "app/session/figures.h"
#include "app/session/rank_view.h"

namespace millrace::gui {
namespace {

RankLane& laneOf(std::vector<RankLane>& ranks, int rank) {
    const auto place =
        std::lower_bound(ranks.begin(), ranks.end(), rank,
                         [](const RankLane& lane, int wanted) { return lane.now.rank < wanted; });
    if (place != ranks.end() && place->now.rank == rank) {
        return *place;
    }
    RankLane lane;
    lane.now.rank = rank;
    return *ranks.insert(place, std::move(lane));
}

void follow(RankLane& lane, const values::RunSummary& run, std::int64_t nowMs) {
    lane.view = session::seenBy(lane.now, run);
    lane.progress.note(lane.view, nowMs);
    lane.tracker.update(lane.view, nowMs);
}

}  // namespace

QString RankLane::title() const {
    return QObject::tr("rank %1").arg(now.rank);
}

QString RankLane::state(std::int64_t nowMs) const {
    if (values::isEnded(view.state)) {
        return QObject::tr("ended");
    }
    const std::string_view word = session::rankWord(now);
    const QString text = qtext(word);
    const auto stands = session::standsSeconds(now, nowMs);
    return stands ? QString("%1, %2").arg(text, durationText(std::floor(*stands) * 1e3)) : text;
}

QString RankLane::sentence(std::int64_t nowMs) const {
    if (!now.trouble.empty() && !values::isEnded(view.state)) {
        const double stands = session::standsSeconds(now, nowMs).value_or(0);
        return QObject::tr("%1, for %2").arg(qtext(now.trouble), durationText(stands * 1e3));
    }
    QString text = title() + ": " + state(nowMs);
    if (now.step > 0) {
        text += ", " + stepText();
    }
    if (now.stepMs) {
        text += QObject::tr("; its last step took %1").arg(stepTimeText());
        if (now.stepStallPercent) {
            text += QObject::tr(", %1 % of it waiting for data")
                        .arg(std::lround(*now.stepStallPercent));
        }
    }
    return text;
}

bool RankLane::stands() const {
    return session::standsItself(now);
}

QString RankLane::stepText() const {
    return now.step > 0 ? QObject::tr("step %1").arg(countText(static_cast<double>(now.step)))
                        : QString();
}

QString RankLane::stepTimeText() const {
    return now.stepMs ? qtext(session::stepTimeText(now)) : QString();
}

QString RankLane::oldStepText(std::int64_t nowMs) const {
    const auto old =
        values::isEnded(view.state) ? std::nullopt : session::oldStepSeconds(now, nowMs);
    return old ? QObject::tr("%1 old").arg(durationText(std::floor(*old) * 1e3)) : QString();
}

QString ranksText(const std::vector<RankLane>& ranks) {
    std::vector<values::RankNow> now;
    for (const RankLane& lane : ranks) {
        now.push_back(lane.now);
        now.back().standsSinceMs = values::isEnded(lane.view.state) ? 0 : lane.now.standsSinceMs;
    }
    return qtext(session::ranksText(now));
}

void followRanks(std::vector<RankLane>& ranks, const values::RunSummary& run, std::int64_t nowMs) {
    if (!run.ranks.empty()) {
        std::erase_if(ranks, [&](const RankLane& lane) {
            return std::ranges::none_of(
                run.ranks, [&](const auto& told) { return told.rank == lane.now.rank; });
        });
    }
    for (const values::RankNow& told : run.ranks) {
        laneOf(ranks, told.rank).now = told;
    }
    for (RankLane& lane : ranks) {
        follow(lane, run, nowMs);
    }
}

void setRankHistory(std::vector<RankLane>& ranks, int rank, const values::RunSummary& run,
                    std::span<const LaneTracker::Point> points, std::int64_t nowMs) {
    RankLane& lane = laneOf(ranks, rank);
    if (lane.view.id.empty()) {
        follow(lane, run, nowMs);
    }
    lane.tracker.setHistory(points);
}

}  // namespace millrace::gui
