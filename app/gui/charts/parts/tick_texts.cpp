#include "app/gui/charts/parts/tick_texts.h"

#include <algorithm>

namespace millrace::gui {
namespace {

constexpr double kGap = 12, kBeyond = 4, kBefore = 10;  // pixels between texts, and over the ends

}  // namespace

std::vector<TickText> placeTexts(const TickMarks& ticks, const QString& axisName,
                                 const PlotScale& scale, const QFontMetricsF& metrics) {
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
    double end = from;
    for (const TickMark& mark : ticks.marks) {
        const double width = metrics.horizontalAdvance(mark.text), at = scale.xToPixel(mark.value);
        const double x = std::max(scale.area.left() - kBefore,
                                  std::min(at - width / 2, scale.area.right() + kBeyond - width));
        const bool isInside = at >= scale.area.left() - 1 && at <= scale.area.right() + 1;
        if (!isInside || x < from || mark.text.isEmpty()) {
            continue;
        }
        if (x + width <= to) {
            texts.push_back({x, mark.text});
            end = x + width + kGap;
        } else if (isNamed && !isDate && !name.contains(' ')) {
            // A name below the grid line of a number would read as the number.
            const QString both = mark.text + ' ' + name;
            const double left =
                std::min(x, scale.area.right() + kBeyond - metrics.horizontalAdvance(both));
            if (left >= end && x - left <= width / 2) {
                texts.front() = {left, both};
            }
        }
    }
    return texts;
}

}  // namespace millrace::gui
