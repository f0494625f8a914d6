#include "daemon/agent/run/gang_termination.h"

#include <utility>

#include "backend/core/clock.h"
#include "backend/text/text.h"

namespace millrace::agent {
namespace {

// After the ranks' end: how long the feed may take to notice.
constexpr std::int64_t kLingerNs = 5'000 * kNsPerMs;
// A rank must wait this long for data before a rank that left the stream counts as the cause.
constexpr std::int64_t kStarvedNs = 10'000 * kNsPerMs;

// How long ranks may hold each other up, in units of the silence limit. The feed hangs up on a
// rank, which connects again at once, so such a wait never ends by itself.
constexpr std::int64_t kHeldUpSilences = 4;

}  // namespace

bool GangTermination::isDue(const GangView& view) {
    std::optional<Cut> found = find(view);
    if (found.has_value()) {
        cut_ = *std::move(found);
    }
    return found.has_value();
}

std::chrono::milliseconds GangTermination::grace(std::int64_t leftNs) const {
    return spec_->hasDataset() ? kGrace
                               : std::max(kGrace, std::chrono::milliseconds(leftNs / kNsPerMs));
}

std::optional<GangTermination::Cut> GangTermination::find(const GangView& view) const {
    if (view.isStopRequested && !spec_->hasDataset()) {
        return Cut();  // without a stream no step is known to stop after: a signal asks to end
    }
    if (view.isGraceOver) {
        const bool areDone = done_.ranks().size() == static_cast<std::size_t>(spec_->train.ranks);
        return Cut{.event = areDone ? "done, and still leaving after the grace: ended"
                                    : "no checkpoint within the grace: ended"};
    }
    if (view.stage == Stage::kLingering && view.stageNs >= lingerNs(view)) {
        return Cut();
    }
    if (!view.isStopRequested) {
        return findAmongRanks(view);
    }
    // A user's stop lets the ranks use all of its grace. A node that is to be left gives them ten
    // minutes, in which a silent rank would hold up all others.
    return view.isMove && view.stage == Stage::kRunning ? findSilent() : std::nullopt;
}

std::optional<GangTermination::Cut> GangTermination::findAmongRanks(const GangView& view) const {
    const auto left = spec_->hasDataset()
                          ? done_.leftBy(view.gang, done_.idleRanks(view.extent, health_))
                          : std::nullopt;  // without a stream each rank ends when its work is done
    if (left.has_value()) {
        const std::string why = strCat("rank", *left, " ended and was not done");
        return Cut{.event = why + ": its gang is ended", .why = why};
    }
    if (view.stage != Stage::kRunning) {
        return std::nullopt;
    }
    std::optional<Cut> found = findLeftAlone(view);
    found = found.has_value() ? found : findLate();
    found = found.has_value() ? found : findSilent();
    return found.has_value() ? found : findHeldUp();
}

// The feed gives the share of a rank that has left to no other rank.
std::optional<GangTermination::Cut> GangTermination::findLeftAlone(const GangView& view) const {
    const auto left = isScript(*spec_) ? done_.leftEarly(view.extent) : std::nullopt;
    const auto waiting = left.has_value() ? health_.waitingRank(kStarvedNs) : std::nullopt;
    if (!waiting.has_value() || waiting->second < left->second) {
        return std::nullopt;
    }
    const std::string why =
        strCat("rank", left->first, " left the stream after step ", left->second, ", so ",
               waiting->first, " gets no data after step ", waiting->second,
               "; all ranks of a run have to leave it after the same step");
    return Cut{.event = why + ": its gang is ended", .why = why, .reason = why};
}

// A process that takes long to leave does work of its own: it is ended only after a long time.
std::optional<GangTermination::Cut> GangTermination::findLate() const {
    const auto late = health_.lateRank();
    if (!late.has_value()) {
        return std::nullopt;
    }
    return Cut{
        .event = strCat(late->sentence, ": its gang is ended, and judged by what was reported"),
        .why = late->sentence,
        .reason = late->hasSaidDone ? "" : late->sentence};
}

// Ranks wait for each other without a limit: a stopped rank would hold them forever.
std::optional<GangTermination::Cut> GangTermination::findSilent() const {
    const bool holdsOthers = isScript(*spec_) || spec_->train.ranks > 1;
    const auto silent = holdsOthers ? health_.silentRank(silentNs_) : std::nullopt;
    if (!silent.has_value()) {
        return std::nullopt;
    }
    return Cut{.event = strCat(silent->second, ": its gang is ended"),
               .why = silent->second,
               .stillRank = silent->first};
}

std::optional<GangTermination::Cut> GangTermination::findHeldUp() const {
    const auto heldUp = health_.heldUp(kHeldUpSilences * silentNs_);
    if (!heldUp.has_value()) {
        return std::nullopt;
    }
    return Cut{.event = strCat(heldUp->sentence, ": its gang is ended"),
               .why = heldUp->sentence,
               .stillRank = heldUp->worker};
}

// The feed cannot know that a rank that left before the stream's end was done or stops: it would
// wait for the rank to connect again.
std::int64_t GangTermination::lingerNs(const GangView& view) const {
    const bool areDone = done_.ranks().size() == static_cast<std::size_t>(spec_->train.ranks);
    const bool isOver = areDone || (isScript(*spec_) && (view.isStopRequested || done_.hasRank0()));
    return isOver ? 0 : kLingerNs;
}

void GangTermination::tell(AttemptReports& facts) const {
    facts.cutReason = cut_.reason;
    facts.stoodStill = isStandstill();
    if (isStandstill()) {
        facts.errors[cut_.stillRank] = cut_.why;
    }
}

}  // namespace millrace::agent
