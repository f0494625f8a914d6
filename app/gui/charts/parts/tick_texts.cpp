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
    if (4 * nameWidth < scale.area.width()) {
        texts.push_back({isDate ? scale.area.left() : scale.area.right() - nameWidth, name});
        (isDate ? from : to) =
            isDate ? scale.area.left() + nameWidth + kGap : scale.area.right() - nameWidth - kGap;
    }
    for (const TickMark& mark : ticks.marks) {
        const double width = metrics.horizontalAdvance(mark.text), at = scale.xToPixel(mark.value);
        const double x = std::max(scale.area.left() - kBefore,
                                  std::min(at - width / 2, scale.area.right() + kBeyond - width));
        const bool isInside = at >= scale.area.left() - 1 && at <= scale.area.right() + 1;
        if (isInside && x >= from && x + width <= to && !mark.text.isEmpty()) {
            texts.push_back({x, mark.text});
        }
    }
    return texts;
}

}  // namespace millrace::gui
