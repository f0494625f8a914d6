#include "app/gui/pages/runs/parts/run_cell_delegate.h"

#include <QPainter>
#include <QPainterPath>
#include <algorithm>

#include "app/gui/charts/parts/line_dash.h"
#include "app/gui/charts/parts/sparkline.h"
#include "app/gui/models/run_colors.h"
#include "app/gui/models/run_text.h"
#include "app/gui/models/runs/run_rows.h"
#include "app/gui/models/runs/run_trends.h"
#include "app/gui/widgets/badge.h"
#include "app/gui/widgets/icons.h"
#include "app/gui/widgets/theme.h"

namespace millrace::gui {
namespace {

using Verdict = BaseDifference::Verdict;

constexpr int kCellPadding = 8, kIndent = 18, kFoldSize = 16, kTickSize = 15, kDifferenceGap = 6;

bool isMetricSource(const RunColumnInfo& facts) {
    return facts.source == RunColumnSource::kMetric || facts.source == RunColumnSource::kBest ||
           facts.source == RunColumnSource::kLow || facts.source == RunColumnSource::kHigh ||
           facts.key == QLatin1String("rate");
}

QFont smaller(QFont font) {
    if (font.pointSizeF() > 0) {
        font.setPointSizeF(font.pointSizeF() * 0.9);
    }
    return font;
}

// Replaces the difference if the cell is too narrow for both.
QString labelMark() {
    return QObject::tr("\u2260 label");
}

}  // namespace

struct RunCellDelegate::Cell {
    QPainter& painter;
    const QStyleOptionViewItem& option;
    const QModelIndex& index;
    const ThemeColors& colors;
    // Context: a base that does not match the filter, shown for the sake of its variations.
    bool isSelected, isContext;
    QRect inner() const { return option.rect.adjusted(kCellPadding, 0, -kCellPadding, 0); }
    QColor textColor() const { return isContext ? colors.dim : colors.text; }
};

RunCellDelegate::RunCellDelegate(const RunRows& rows, const RunTrends& trends,
                                 const RunColors& colors, QObject* parent)
    : QStyledItemDelegate(parent), rows_(rows), trends_(trends), colors_(colors) {}

int RunCellDelegate::rowHeight(const QFont& font) {
    return QFontMetrics(font).height() + 13;
}

QRect RunCellDelegate::foldRect(const QRect& cell, int depth) {
    return {cell.left() + kCellPadding / 2 + depth * kIndent, cell.center().y() - kFoldSize / 2 + 1,
            kFoldSize, kFoldSize};
}

QSize RunCellDelegate::sizeHint(const QStyleOptionViewItem& option,
                                const QModelIndex& index) const {
    return {widthOf(index, option.font), rowHeight(option.font)};
}

int RunCellDelegate::widthOf(const QModelIndex& index, const QFont& font) const {
    if (index.column() == RunRows::kTickColumn) {
        return 34;
    }
    const RunColumnInfo& facts = rows_.columnAt(index.column()).facts();
    const QFontMetrics metrics(font);
    int width = metrics.horizontalAdvance(index.data().toString()) + 2 * kCellPadding + 2;
    if (facts.kind == RunColumnKind::kState) {
        const auto state = rows_.run(index.row()).state;
        width = badgeSize(badgeOf(state), font).width() + 2 * kCellPadding;
    } else if (facts.kind == RunColumnKind::kTrend) {
        width = facts.width;
    } else if (facts.key == QLatin1String("name")) {
        width += kFoldSize + kIndent * rows_.depth(index.row());
    }
    return width + differenceWidth(index, font);
}

QString RunCellDelegate::differenceAt(const QModelIndex& index) const {
    const auto against = rows_.difference(index.row(), index.column());
    return !against                                   ? QString()
           : against->verdict == Verdict::kOtherLabel ? labelMark()
                                                      : differenceLabel(*against);
}

// Most differences get the same width, so that a column's figures are aligned.
int RunCellDelegate::differenceWidth(const QModelIndex& index, const QFont& font) const {
    if (!rows_.isNested() || !isMetricSource(rows_.columnAt(index.column()).facts())) {
        return 0;
    }
    const QFontMetrics metrics(smaller(font));
    return kDifferenceGap + std::max(metrics.horizontalAdvance("+0.0000"),
                                     metrics.horizontalAdvance(differenceAt(index)));
}

void RunCellDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option,
                            const QModelIndex& index) const {
    const Cell cell{*painter,
                    option,
                    index,
                    colorsOf(option.palette),
                    (option.state & QStyle::State_Selected) != 0,
                    rows_.isContext(index.row())};
    painter->save();
    painter->setClipRect(option.rect);
    painter->setFont(option.font);
    paintBack(cell);
    // Behind paintBack(): the selection stays clear while the values are dimmed.
    painter->setOpacity(isAway_ ? kOldOpacity : 1);
    if (index.column() == RunRows::kTickColumn) {
        paintTick(cell);
    } else {
        const RunColumnInfo& facts = rows_.columnAt(index.column()).facts();
        if (facts.kind == RunColumnKind::kState) {
            paintState(cell);
        } else if (facts.kind == RunColumnKind::kTrend) {
            paintTrend(cell);
        } else if (facts.key == QLatin1String("name")) {
            paintName(cell);
        } else {
            paintValue(cell);
        }
    }
    painter->restore();
}

void RunCellDelegate::paintBack(const Cell& cell) const {
    const QRect& rect = cell.option.rect;
    const QColor back = cell.isSelected                   ? cell.colors.selection
                        : cell.index.row() == hoveredRow_ ? cell.colors.raised
                                                          : cell.colors.surface;
    cell.painter.fillRect(rect, back);
    cell.painter.fillRect(QRect(rect.left(), rect.bottom(), rect.width(), 1),
                          mixed(cell.colors.surface, cell.colors.border, 0.6));
}

void RunCellDelegate::paintTick(const Cell& cell) const {
    QPainter& painter = cell.painter;
    const QRect& rect = cell.option.rect;
    if (cell.index.row() == focusRow_) {
        painter.fillRect(QRect(rect.left(), rect.top(), 3, rect.height()), cell.colors.accent);
    }
    const std::string& id = rows_.idAt(cell.index.row());
    const bool isTicked = rows_.isTicked(id);
    QRectF square(0, 0, kTickSize, kTickSize);
    square.moveCenter(QRectF(rect).center() + QPointF(1, 0));
    painter.setRenderHint(QPainter::Antialiasing);
    const bool isNear = cell.isSelected || cell.index.row() == hoveredRow_;
    const auto [color, dash] = colors_.of(id);
    const bool isDashed = isTicked && dash > 0;
    QPen outline(isTicked ? color
                 : isNear ? cell.colors.strongBorder
                          : cell.colors.border,
                 isDashed ? 2 : 1.2);
    if (isDashed) {
        const DashLengths lengths = dashLengths(dash);
        // Qt counts dashes in widths of the pen, here 2: these are half as long as the curve's.
        outline.setDashPattern({lengths.on / 4, lengths.off / 4});
    }
    painter.setPen(outline);
    painter.setBrush(isTicked && !isDashed ? QBrush(color) : QBrush(Qt::NoBrush));
    painter.drawRoundedRect(square, 3, 3);
    if (isTicked) {
        paintMark(painter, square.adjusted(2, 2, -2, -2), Mark::kTick,
                  isDashed ? color
                  // Black or white, whichever is readable on the run's colour.
                  : color.lightnessF() > 0.62 ? QColor(Qt::black)
                                              : QColor(Qt::white));
    }
}

void RunCellDelegate::paintState(const Cell& cell) const {
    paintBadge(cell.painter, cell.inner(), badgeOf(rows_.run(cell.index.row())),
               cell.option.palette);
}

void RunCellDelegate::paintName(const Cell& cell) const {
    const int row = cell.index.row();
    const int depth = rows_.depth(row);
    QPainter& painter = cell.painter;
    if (rows_.numVariations(row) > 0) {
        paintGlyph(painter, foldRect(cell.option.rect, depth),
                   rows_.isExpanded(row) ? Glyph::kChevronDown : Glyph::kChevronRight,
                   cell.colors.dim);
    }
    QRect rect = cell.option.rect.adjusted(kCellPadding / 2 + kFoldSize + 2 + depth * kIndent, 0,
                                           -kCellPadding, 0);
    QString suffix;
    if (rows_.numVariations(row) > 0 && !rows_.isExpanded(row)) {
        suffix = QString("  +%1").arg(rows_.numVariations(row));
    }
    const QFontMetrics metrics(painter.font());
    const QString name = metrics.elidedText(cell.index.data().toString(), Qt::ElideMiddle,
                                            rect.width() - metrics.horizontalAdvance(suffix));
    painter.setPen(depth > 0 ? cell.colors.dim : cell.textColor());
    painter.drawText(rect, Qt::AlignVCenter | Qt::AlignLeft, name);
    rect.setLeft(rect.left() + metrics.horizontalAdvance(name));
    painter.setPen(cell.colors.dim);
    painter.drawText(rect, Qt::AlignVCenter | Qt::AlignLeft, suffix);
}

void RunCellDelegate::paintTrend(const Cell& cell) const {
    const std::string& id = rows_.idAt(cell.index.row());
    const RunColumnInfo& facts = rows_.columnAt(cell.index.column()).facts();
    const RunTrend* trend = trends_.find(id, facts.name);
    if (trend == nullptr || trend->values.empty()) {
        return;
    }
    SparklineStyle style;
    // A run has its colour only while it is compared, as in the charts.
    style.line = rows_.isTicked(id) ? colors_.of(id).color : cell.colors.dim;
    paintSparkline(cell.painter, QRectF(cell.inner()).adjusted(0, 5, -2, -6), trend->values, style);
}

void RunCellDelegate::paintValue(const Cell& cell) const {
    QPainter& painter = cell.painter;
    const RunColumnInfo& facts = rows_.columnAt(cell.index.column()).facts();
    QRect rect = cell.inner();
    const int reserved = differenceWidth(cell.index, cell.option.font);
    if (reserved > 0) {
        // The difference is at the right edge, the value left of it, at the same place in each row.
        if (const auto against = rows_.difference(cell.index.row(), cell.index.column())) {
            painter.setFont(smaller(cell.option.font));
            painter.setPen(differenceColor(*against, cell.colors));
            painter.drawText(rect, Qt::AlignRight | Qt::AlignVCenter, differenceAt(cell.index));
            painter.setFont(cell.option.font);
        }
        rect.setRight(rect.right() - reserved);
    }
    const QString text = cell.index.data().toString();
    const bool isLine = text.contains('\n');
    const QFontMetrics metrics(painter.font());
    const QString shown =
        metrics.elidedText(isLine ? text.section('\n', 0, 0) + " …" : text,
                           facts.isNumeric() ? Qt::ElideRight : Qt::ElideMiddle, rect.width());
    painter.setPen(text.isEmpty() ? cell.colors.faint : cell.textColor());
    const bool hasDash = text.isEmpty() && facts.isNumeric();
    painter.drawText(rect, (facts.isNumeric() ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter,
                     hasDash ? noneText() : shown);
}

QString differenceLabel(const BaseDifference& difference) {
    if (difference.verdict == Verdict::kOtherRows ||
        difference.verdict == Verdict::kOtherTraining) {
        return QObject::tr("\u2260 rows");
    }
    const QString text = differenceText(difference.value, difference.other);
    return difference.verdict == Verdict::kOtherLabel ? text + ' ' + labelMark() : text;
}

QColor differenceColor(const BaseDifference& difference, const ThemeColors& colors) {
    switch (difference.verdict) {
        case Verdict::kOtherLabel:
        case Verdict::kOtherRows:
        case Verdict::kOtherTraining:
            return colors.warn;
        default:
            return colors.dim;
    }
}

}  // namespace millrace::gui
