#include "app/gui/pages/data/data_delegates.h"

#include <QApplication>
#include <QPainter>
#include <algorithm>

#include "app/gui/models/data/dataset_model.h"
#include "app/gui/models/data/sample_model.h"
#include "app/gui/widgets/badge.h"
#include "app/gui/widgets/theme.h"

namespace millrace::gui {
namespace {

constexpr int kCellPad = 8;

void fillCell(QPainter& painter, const QStyleOptionViewItem& option, const QColor& ground) {
    painter.fillRect(option.rect, ground);
    if (option.state & QStyle::State_Selected) {
        painter.fillRect(option.rect, colorsOf(option.palette).selection);
    }
}

void drawCellText(QPainter& painter, const QStyleOptionViewItem& option, const QModelIndex& index,
                  const QColor& color) {
    const QRect room = option.rect.adjusted(kCellPad, 0, -kCellPad, 0);
    const int alignment = index.data(Qt::TextAlignmentRole).toInt();
    painter.setPen(color);
    painter.drawText(room, alignment | Qt::TextSingleLine,
                     painter.fontMetrics().elidedText(index.data().toString().left(400),
                                                      Qt::ElideRight, room.width()));
}

CellState stateOf(const QVariant& value) {
    return static_cast<CellState>(value.toInt());
}

QColor groundOf(CellState state, const ThemeColors& colors) {
    switch (state) {
        case CellState::kAdded:
            return colors.goodBack;
        case CellState::kChanged:
            return colors.warnBack;
        case CellState::kRemoved:
            return colors.badBack;
        case CellState::kGap:
            return mixed(colors.surface, colors.sunken, 0.8);
        case CellState::kSame:
            break;
    }
    return colors.surface;
}

void paintGap(QPainter& painter, const QRect& rect, const ThemeColors& colors) {
    painter.save();
    painter.setClipRect(rect);
    painter.setPen(QPen(colors.border, 1));
    // Hatching continues across cells: lines start at multiples of the step in the viewport.
    const int step = 7, sum = rect.left() + rect.top();
    for (int s = sum - sum % step; s < rect.right() + rect.bottom() + step; s += step) {
        painter.drawLine(s - rect.top(), rect.top(), s - rect.bottom() - 1, rect.bottom() + 1);
    }
    painter.restore();
}

}  // namespace

void ShareDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option,
                          const QModelIndex& index) const {
    const ThemeColors& colors = colorsOf(option.palette);
    painter->save();
    fillCell(*painter, option, colors.surface);
    const QVariant share = index.data(kShareRole);
    if (share.isValid()) {
        const QRect room = option.rect.adjusted(kCellPad, 0, -kCellPad, 0);
        const double part = std::clamp(share.toDouble(), 0.0, 1.0);
        const QRectF track(room.left(), room.bottom() - 4, room.width(), 3);
        painter->setRenderHint(QPainter::Antialiasing);
        painter->setPen(Qt::NoPen);
        painter->setBrush(mixed(colors.surface, colors.text, 0.08));
        painter->drawRoundedRect(track, 1.5, 1.5);
        if (part > 0) {
            painter->setBrush(colors.accent);
            painter->drawRoundedRect(
                QRectF(track.left(), track.top(), std::max(2.0, track.width() * part), 3), 1.5,
                1.5);
        }
    }
    painter->setFont(option.font);
    QStyleOptionViewItem above = option;
    above.rect.adjust(0, 0, 0, share.isValid() ? -4 : 0);
    drawCellText(*painter, above, index, colors.text);
    painter->restore();
}

void StripDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option,
                          const QModelIndex& index) const {
    const ThemeColors& colors = colorsOf(option.palette);
    painter->save();
    fillCell(*painter, option, colors.surface);
    const auto shares = index.data(DatasetFilesModel::kStripRole).value<QList<double>>();
    const QRectF room = QRectF(option.rect).adjusted(kCellPad, 6, -kCellPad, -6);
    double x = room.left();
    bool isOdd = false;
    for (const double share : shares) {
        const double width = share * room.width();
        // Blocks thinner than their gap are separated by shades only.
        const double gap = width > 4 ? 1 : 0;
        painter->fillRect(QRectF(x, room.top(), std::max(0.5, width - gap), room.height()),
                          mixed(colors.surface, colors.accent, isOdd ? 0.55 : 0.75));
        x += width;
        isOdd = !isOdd;
    }
    painter->restore();
}

void SampleDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option,
                           const QModelIndex& index) const {
    const ThemeColors& colors = colorsOf(option.palette);
    const CellState state = stateOf(index.data(SampleModel::kStateRole));
    painter->save();
    fillCell(*painter, option, groundOf(state, colors));
    if (state == CellState::kGap) {
        paintGap(*painter, option.rect, colors);
        painter->restore();
        return;
    }
    QFont font = option.font;
    font.setStrikeOut(state == CellState::kRemoved);
    const bool isNull = index.data(SampleModel::kIsNullRole).toBool();
    font.setItalic(isNull);
    painter->setFont(font);
    QColor color = isNull ? colors.faint : colors.text;
    if (state == CellState::kRemoved) {
        color = colors.bad;
    } else if (state == CellState::kChanged) {
        color = colors.warn;
    } else if (state == CellState::kAdded && !isNull) {
        color = colors.good;
    }
    drawCellText(*painter, option, index, color);
    painter->restore();
}

SampleHeader::SampleHeader(QWidget* parent) : QHeaderView(Qt::Horizontal, parent) {
    setSectionsClickable(true);
    setHighlightSections(false);
    setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
}

void SampleHeader::paintSection(QPainter* painter, const QRect& rect, int section) const {
    const ThemeColors& colors = colorsOf(palette());
    const CellState state =
        stateOf(model()->headerData(section, Qt::Horizontal, SampleModel::kStateRole));
    painter->save();
    painter->fillRect(rect, state == CellState::kSame ? colors.sunken : groundOf(state, colors));
    painter->setPen(colors.border);
    painter->drawLine(rect.topRight(), rect.bottomRight());
    painter->drawLine(rect.bottomLeft(), rect.bottomRight());
    QFont title = font();
    title.setStrikeOut(state == CellState::kRemoved);
    title.setWeight(state == CellState::kAdded ? QFont::DemiBold : QFont::Normal);
    painter->setFont(title);
    painter->setPen(state == CellState::kAdded     ? colors.good
                    : state == CellState::kRemoved ? colors.bad
                                                   : colors.dim);
    QString text = model()->headerData(section, Qt::Horizontal).toString();
    if (state == CellState::kAdded) {
        text.prepend(QStringLiteral("+ "));
    }
    const int alignment =
        model()->headerData(section, Qt::Horizontal, Qt::TextAlignmentRole).toInt();
    const QRect room = rect.adjusted(kCellPad, 0, -kCellPad, 0);
    painter->drawText(room, alignment,
                      painter->fontMetrics().elidedText(text, Qt::ElideRight, room.width()));
    painter->restore();
}

QSize SampleHeader::sectionSizeFromContents(int section) const {
    const QString text = model()->headerData(section, Qt::Horizontal).toString();
    return {fontMetrics().horizontalAdvance(text) + 2 * kCellPad +
                fontMetrics().horizontalAdvance(QStringLiteral("+ ")) + 6,
            fontMetrics().height() + 10};
}

QSize StepDelegate::sizeHint(const QStyleOptionViewItem& option, const QModelIndex&) const {
    return {160, 2 * option.fontMetrics.height() + 18};
}

void StepDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option,
                         const QModelIndex& index) const {
    const ThemeColors& colors = colorsOf(option.palette);
    const bool isOn = index.data(SampleStepsModel::kEnabledRole).toBool();
    painter->save();
    fillCell(*painter, option, colors.surface);
    if (option.state & QStyle::State_Selected) {
        painter->fillRect(QRect(option.rect.left(), option.rect.top(), 3, option.rect.height()),
                          colors.accent);
    }
    const QRect room = option.rect.adjusted(kSpaceMedium, 6, -kSpaceMedium, -6);
    const int line = option.fontMetrics.height();
    const QRect first(room.left(), room.top(), room.width(), line);
    painter->setFont(captionFont(option.font));
    painter->setPen(colors.dim);
    const QString rows =
        isOn ? index.data(SampleStepsModel::kRowsRole).toString() : tr("switched off");
    const int width = painter->fontMetrics().horizontalAdvance(rows) + kSpaceSmall;
    painter->drawText(first, Qt::AlignRight | Qt::AlignVCenter, rows);
    painter->drawText(
        QRect(room.left(), room.top() + line + 2, room.width(), line),
        Qt::AlignLeft | Qt::AlignVCenter,
        painter->fontMetrics().elidedText(index.data(SampleStepsModel::kTextRole).toString(),
                                          Qt::ElideRight, room.width()));
    QFont name = option.font;
    name.setWeight(QFont::DemiBold);
    name.setStrikeOut(!isOn);
    painter->setFont(name);
    painter->setPen(isOn ? colors.text : colors.faint);
    const QString title = QStringLiteral("%1  %2").arg(index.row()).arg(index.data().toString());
    painter->drawText(
        first.adjusted(0, 0, -width, 0), Qt::AlignLeft | Qt::AlignVCenter,
        painter->fontMetrics().elidedText(title, Qt::ElideRight, first.width() - width));
    const double kept = std::clamp(index.data(SampleStepsModel::kKeptRole).toDouble(), 0.0, 1.0);
    const QRectF track(room.left(), option.rect.bottom() - 3, room.width(), 2);
    painter->fillRect(track, mixed(colors.surface, colors.text, 0.08));
    if (isOn) {
        painter->fillRect(QRectF(track.left(), track.top(), track.width() * kept, 2),
                          kept < 1 ? colors.warn : colors.accent);
    }
    painter->restore();
}

}  // namespace millrace::gui
