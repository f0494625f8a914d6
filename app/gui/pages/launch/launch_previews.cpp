#include "app/gui/pages/launch/launch_previews.h"

#include <algorithm>
#include <utility>

#include "app/gui/models/run_text.h"

namespace millrace::gui {
LaunchPreviews::LaunchPreviews(DaemonBridge& daemon, QObject* parent)
    : QObject(parent), daemon_(daemon) {
    timer_.setSingleShot(true);
    timer_.setInterval(kRestMs);
    connect(&timer_, &QTimer::timeout, this, [this] { askNext(); });
}

void LaunchPreviews::want(const values::SpecSource& spec,
                          const std::vector<values::CheckedRun>& runs, const QStringList& first) {
    spec_ = spec;
    wanted_.clear();
    for (const values::CheckedRun& run : runs) {
        wanted_.push_back({run.variation, run.planHash + "/" + run.streamHash});
    }
    std::stable_partition(wanted_.begin(), wanted_.end(),
                          [&](const Wanted& one) { return first.contains(qtext(one.variation)); });
    // Retry failed ones with the new text: the key does not cover everything that they depend on.
    std::erase_if(
        kept_, [](const Kept& one) { return one.preview.state == SheetPreview::State::kFailed; });
    isStopped_ = false;
    if (!isWanted(askedKey_)) {
        asking_.reset();
        askedKey_.clear();
    }
    if (asking_ == nullptr && isInSight_) {
        timer_.start();
    }
    Q_EMIT changed();
}

void LaunchPreviews::setInSight(bool isInSight) {
    if (std::exchange(isInSight_, isInSight) == isInSight) {
        return;
    }
    if (isInSight) {
        timer_.start();
        return;
    }
    timer_.stop();
    asking_.reset();
    askedKey_.clear();
    Q_EMIT changed();
}

void LaunchPreviews::stop() {
    timer_.stop();
    isStopped_ = true;
    asking_.reset();
    askedKey_.clear();
    Q_EMIT changed();
}

void LaunchPreviews::forget() {
    kept_.clear();
    wanted_.clear();
    stop();
}

bool LaunchPreviews::isWanted(const std::string& key) const {
    return std::ranges::any_of(wanted_, [&](const Wanted& one) { return one.key == key; });
}

const SheetPreview* LaunchPreviews::find(const std::string& key) const {
    const auto found = std::ranges::find_if(kept_, [&](const Kept& one) { return one.key == key; });
    return found == kept_.end() ? nullptr : &found->preview;
}

void LaunchPreviews::keep(const std::string& key, SheetPreview preview) {
    if (kept_.size() >= kMostKept) {
        std::erase_if(kept_, [this](const Kept& one) { return !isWanted(one.key); });
    }
    kept_.push_back({key, std::move(preview)});
}

void LaunchPreviews::askNext() {
    const auto next = std::ranges::find_if(
        wanted_, [this](const Wanted& one) { return find(one.key) == nullptr; });
    if (isStopped_ || !isInSight_ || asking_ != nullptr || next == wanted_.end()) {
        return;
    }
    values::PreviewRequest request;
    request.spec = spec_;
    request.variation = next->variation;
    request.seconds = kSampleSeconds;
    askedKey_ = next->key;
    asking_ = daemon_.preview(
        std::move(request), this,
        [this, key = next->key](Result<values::PreviewReply> reply) { answered(key, reply); });
    Q_EMIT changed();
}

void LaunchPreviews::answered(const std::string& key, const Result<values::PreviewReply>& reply) {
    SheetPreview preview;
    if (!reply.ok()) {
        preview.state = SheetPreview::State::kFailed;
        preview.why = qtext(std::string(messageOf(reply.status())));
    } else if (!reply->errors.empty()) {
        preview.state = SheetPreview::State::kFailed;
        preview.why = qtext(reply->errors.front().message);
    } else {
        preview.state = SheetPreview::State::kKnown;
        preview.figures = *reply;
    }
    keep(key, std::move(preview));
    askedKey_.clear();
    asking_.reset();
    askNext();
    Q_EMIT changed();
}

QHash<QString, SheetPreview> LaunchPreviews::previews() const {
    QHash<QString, SheetPreview> all;
    for (const Wanted& one : wanted_) {
        SheetPreview preview;
        if (const SheetPreview* known = find(one.key)) {
            preview = *known;
        } else if (!isStopped_) {
            preview.state = one.key == askedKey_ ? SheetPreview::State::kCounting
                                                 : SheetPreview::State::kWaiting;
        }
        all.insert(qtext(one.variation), std::move(preview));
    }
    return all;
}

}  // namespace millrace::gui
