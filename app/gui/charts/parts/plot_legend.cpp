#include "app/gui/charts/parts/plot_legend.h"

#include <QFontMetricsF>
#include <QObject>
#include <QPainter>
#include <algorithm>

#include "app/gui/charts/parts/chart_style.h"
#include "app/gui/charts/parts/line_dash.h"

namespace millrace::gui {
namespace {

constexpr double kChip = 16, kChipGap = 6, kEntryGap = 16, kMoreWidth = 40;

}  // namespace

void PlotLegend::place(std::vector<LegendEntry> entries, double width, int numRowsMax,
                       const QFont& font) {
    font_ = font;
    entries_ = std::move(entries);
    width_ = width;
    more_ = {};
    placed_.clear();
    height_ = 0;
    if (entries_.empty() || width < 40) {
        return;
    }
    // Tries full names first, then shorter and shorter ones, before any entry is left out.
    for (const double nameMax : {260.0, 180.0, 120.0, 84.0}) {
        if (placeAll(width, numRowsMax, nameMax)) {
            break;
        }
    }
    const double rowHeight = QFontMetricsF(font_).height() + 4;
    height_ = placed_.empty() ? 0 : placed_.back().rect.top() + rowHeight;
    if (placed_.size() < entries_.size()) {
        placeMore(width);
    }
}

bool PlotLegend::placeAll(double width, int numRowsMax, double nameMax) {
    const QFontMetricsF metrics(font_);
    const double rowHeight = metrics.height() + 4;
    placed_.clear();
    double x = 0;
    int row = 0;
    for (const LegendEntry& entry : entries_) {
        const double room = std::min(nameMax, width - kChip - kChipGap);
        const QString text = metrics.elidedText(entry.name, Qt::ElideMiddle, room);
        const double entryWidth = kChip + kChipGap + metrics.horizontalAdvance(text) + 2;
        if (x > 0 && x + entryWidth > width) {
            x = 0;
            ++row;
        }
        if (row >= numRowsMax) {
            return false;
        }
        placed_.push_back({QRectF(x, row * rowHeight, entryWidth, rowHeight), text});
        x += entryWidth + kEntryGap;
    }
    return true;
}

void PlotLegend::placeMore(double width) {
    while (!placed_.empty() && placed_.back().rect.right() + kMoreWidth > width) {
        const double top = placed_.back().rect.top();
        if (placed_.size() < 2 || placed_[placed_.size() - 2].rect.top() != top) {
            break;
        }
        placed_.pop_back();
    }
    const QRectF last = placed_.empty() ? QRectF(0, 0, 0, height_) : placed_.back().rect;
    more_ = QRectF(last.right() + kEntryGap / 2, last.top(), kMoreWidth, last.height());
}

void PlotLegend::paint(QPainter& painter, const QPointF& at, const QString& highlighted,
                       const ChartColors& colors) const {
    painter.setFont(font_);
    for (std::size_t i = 0; i < placed_.size(); ++i) {
        const LegendEntry& entry = entries_[i];
        const QRectF rect = placed_[i].rect.translated(at);
        const bool isDimmed = !highlighted.isEmpty() && highlighted != entry.id;
        const double middle = rect.center().y();
        QColor chip = entry.color;
        chip.setAlphaF(entry.isHidden ? 0.25F : isDimmed ? 0.5F : 1.0F);
        paintSwatch(painter, QRectF(rect.left(), middle - 1.5, kChip, 3), chip, entry.dash);
        QColor text = highlighted == entry.id ? colors.text : colors.muted;
        text.setAlphaF(entry.isHidden ? 0.5F : 1.0F);
        painter.setPen(text);
        QFont font = font_;
        font.setStrikeOut(entry.isHidden);
        painter.setFont(font);
        painter.drawText(rect.adjusted(kChip + kChipGap, 0, 8, 0),
                         Qt::AlignVCenter | Qt::AlignLeft | Qt::TextDontClip, placed_[i].text);
    }
    if (!more_.isNull()) {
        painter.setFont(font_);
        painter.setPen(colors.muted);
        painter.drawText(more_.translated(at), Qt::AlignVCenter | Qt::AlignLeft,
                         QStringLiteral("+ %1").arg(entries_.size() - placed_.size()));
    }
}

QString PlotLegend::idAt(const QPointF& position) const {
    for (std::size_t i = 0; i < placed_.size(); ++i) {
        if (placed_[i].rect.adjusted(-4, 0, 4, 0).contains(position)) {
            return entries_[i].id;
        }
    }
    return {};
}

QString PlotLegend::toolTipAt(const QPointF& position) const {
    if (more_.contains(position)) {
        QStringList names;
        for (std::size_t i = placed_.size(); i < entries_.size(); ++i) {
            names << entries_[i].name;
        }
        return names.join(QLatin1Char('\n'));
    }
    for (std::size_t i = 0; i < placed_.size(); ++i) {
        if (placed_[i].rect.contains(position)) {
            const QString hint = entries_[i].isHidden
                                     ? QObject::tr("Click to show it")
                                     : QObject::tr("Click to hide it, Ctrl+click to see it alone");
            return entries_[i].name + QLatin1Char('\n') + hint;
        }
    }
    return {};
}

}  // namespace millrace::gui
