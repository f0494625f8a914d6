#include "app/gui/charts/parts/tick_texts.h"

#include <QObject>
#include <algorithm>

#include "app/gui/charts/parts/value_text.h"

namespace millrace::gui {
namespace {

constexpr double kDayMs = 24 * 3.6e6;
constexpr double kGap = 12, kBeyond = 4, kBefore = 10;  // pixels between texts, and beyond the
                                                        // axis' ends

// The left edge of a text centred below its position, shifted to stay within the axis.
double leftOf(double at, double width, const QRectF& area) {
    return std::max(area.left() - kBefore,
                    std::min(at - width / 2, area.right() + kBeyond - width));
}

}  // namespace

std::vector<TickText> placeTexts(const TickMarks& ticks, const QString& axisName,
                                 const PlotScale& scale, const QFontMetricsF& metrics,
                                 std::optional<double> nowMs) {
    std::vector<TickText> texts;
    const bool isDate = !ticks.context.isEmpty();
    const QString name = isDate ? ticks.context : axisName;
    const double nameWidth = metrics.horizontalAdvance(name);
    double from = scale.area.left() - kBefore, to = scale.area.right() + kBeyond;
    const bool isNamed = 4 * nameWidth < scale.area.width();
    if (isNamed) {
        texts.push_back({isDate ? scale.area.left() : scale.area.right() - nameWidth, name});
        (isDate ? from : to) =
            isDate ? scale.area.left() + nameWidth + kGap : scale.area.right() - nameWidth - kGap;
    }
    // The newest time: "now" displaces marks, the axis' end yields to them.
    const bool isShort = scale.x.high - scale.x.low < kDayMs;
    const QString newest = nowMs               ? QObject::tr("now")
                           : isDate && isShort ? wallTimeText(scale.x.high).section(", ", 1)
                                               : QString();
    const double newestWidth = metrics.horizontalAdvance(newest);
    const double newestLeft =
        leftOf(scale.xToPixel(nowMs.value_or(scale.x.high)), newestWidth, scale.area);
    const bool isNow = nowMs && newestLeft >= from;
    double end = from;
    for (const TickMark& mark : ticks.marks) {
        const double width = metrics.horizontalAdvance(mark.text), at = scale.xToPixel(mark.value);
        const double x = leftOf(at, width, scale.area);
        const bool isInside = at >= scale.area.left() - 1 && at <= scale.area.right() + 1;
        const bool isBelowNow =
            isNow && x + width + kGap > newestLeft && x < newestLeft + newestWidth + kGap;
        if (!isInside || x < end || mark.text.isEmpty() || isBelowNow) {
            continue;
        }
        if (x + width <= to) {
            texts.push_back({x, mark.text});
            end = x + width + kGap;
        } else if (isNamed && !isDate && !name.contains(' ')) {
            // An axis name below the grid line of a number would be read as part of that number.
            const QString both = mark.text + ' ' + name;
            const double left =
                std::min(x, scale.area.right() + kBeyond - metrics.horizontalAdvance(both));
            if (left >= end && x - left <= width / 2) {
                texts.front() = {left, both};
            }
        }
    }
    if (isNamed && isDate && texts.size() == 1) {
        TickMarks times = ticks;  // a time is more useful than the date that would displace it
        times.context.clear();
        return placeTexts(times, {}, scale, metrics, nowMs);
    }
    if (isNow || (!nowMs && !newest.isEmpty() && newestLeft >= end)) {
        texts.push_back({newestLeft, newest});
    }
    return texts;
}

}  // namespace millrace::gui
