#include "app/gui/widgets/live/lane_layout.h"

#include <QFontMetrics>
#include <algorithm>

#include "app/gui/widgets/theme.h"

namespace millrace::gui {
namespace {

constexpr int kWide = 860;      // below this width, columns are as narrow as their texts allow
constexpr int kWithLeft = 720;  // from this width on the time left has a column

}  // namespace

LaneColumns LaneColumns::of(int width, int unit) {
    LaneColumns c;
    c.hasLeft = width >= kWithLeft;
    c.end = width - kSpaceSmall;
    c.button = c.end - 24;
    c.left = c.button - (!c.hasLeft ? kSpaceSmall : width >= kWide ? 15 * unit : 11 * unit);
    c.stall = c.left - 8 * unit;
    c.rate = c.stall - 9 * unit;
    c.name = kLanePad;
    c.state = c.name + std::clamp(width / 6, 14 * unit, 36 * unit) + kLanePad;
    const int stateWidth = width >= kWide ? 25 * unit : 22 * unit;
    c.strip = c.state + stateWidth + kLanePad;
    return c;
}

bool LaneLayout::arrange(const QFont& font) {
    const QFontMetrics metrics(font), small(captionFont(font));
    unit_ = metrics.horizontalAdvance(QLatin1Char('0'));
    headerHeight_ = small.height() + 10;
    footHeight_ = small.height() + 8;
    rowHeight_ = metrics.height() + small.height() + 20;
    rankHeight_ = small.height() + 6;
    columns_ = LaneColumns::of(size_.width(), unit_);
    std::vector<int> tops = {0};
    for (int row = 0; row < model_.numLanes(); ++row) {
        const LaneState& lane = model_.lane(row);
        const auto ranks = isOpen(lane) ? static_cast<int>(lane.ranks.size()) : 0;
        const int below = ranks > 0 ? ranks * rankHeight_ + 4 : 0;
        tops.push_back(tops.back() + rowHeight_ + below);
    }
    std::erase_if(chosen_, [this](const auto& one) { return model_.rowOf(one.first) < 0; });
    return std::exchange(tops_, tops) != tops;
}

void LaneLayout::setView(const QSize& size, int scrolled) {
    scrolled_ = scrolled;
    if (size != size_) {
        size_ = size;
        columns_ = LaneColumns::of(size.width(), unit_);
    }
}

bool LaneLayout::isOpen(const LaneState& lane) const {
    const auto chosen = chosen_.find(lane.run.id);
    const bool isOpen = !lane.isEnded() && lane.ranks.size() <= kRanksOpen;
    return hasRanks(lane) && (chosen != chosen_.end() ? chosen->second : isOpen);
}

QRect LaneLayout::rowRect(int row) const {
    return {0, headerHeight_ + topOf(row) - scrolled_, size_.width(), rowHeight_};
}

QRect LaneLayout::wholeRect(int row) const {
    return {0, headerHeight_ + topOf(row) - scrolled_, size_.width(), topOf(row + 1) - topOf(row)};
}

QRect LaneLayout::rankRect(int row, int place) const {
    return {0, rowRect(row).top() + rowHeight_ + place * rankHeight_, size_.width(), rankHeight_};
}

QRect LaneLayout::stripRect(int row) const {
    const int width = std::max(0, columns_.rate - columns_.strip - kLanePad);
    return {columns_.strip, rowRect(row).top() + 8, width, kStripHeight};
}

QRect LaneLayout::rankStripRect(int row, int place) const {
    const QRect rect = rankRect(row, place);
    const QRect above = stripRect(row);
    return {above.left(), rect.top() + (rect.height() - kRankStripHeight) / 2, above.width(),
            kRankStripHeight};
}

QRect LaneLayout::buttonRect(int row) const {
    return {columns_.button, rowRect(row).center().y() - 11, 24, 24};
}

QRect LaneLayout::foldRect(int row) const {
    if (!hasRanks(model_.lane(row))) {
        return {};
    }
    const QRect rect = rowRect(row);
    const int height = footHeight_;
    const int name = columns_.state - columns_.name - kLanePad;
    const int width = (name >= 20 * unit_ ? 11 : 5) * unit_;  // beside a run's id
    return {columns_.state - kLanePad - width, rect.bottom() - height - 2, width, height};
}

int LaneLayout::rowAt(const QPoint& position) const {
    if (position.y() < headerHeight_ || position.y() >= size_.height() - footHeight_) {
        return -1;
    }
    const int y = position.y() - headerHeight_ + scrolled_;
    const auto next = std::upper_bound(tops_.begin(), tops_.end(), y);
    return next == tops_.end() ? -1 : static_cast<int>(next - tops_.begin()) - 1;
}

std::optional<int> LaneLayout::rankAt(int row, const QPoint& position) const {
    const LaneState& lane = model_.lane(row);
    const int y = position.y() - rowRect(row).top() - rowHeight_;
    const int place = y >= 0 ? y / rankHeight_ : -1;
    const bool isThere = isOpen(lane) && place >= 0 && place < static_cast<int>(lane.ranks.size());
    return isThere ? std::optional(place) : std::nullopt;
}

}  // namespace millrace::gui
