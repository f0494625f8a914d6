#include "app/gui/pages/runs/parts/diff_delegate.h"

#include <QPainter>
#include <algorithm>

#include "app/gui/models/details/fact_table.h"
#include "app/gui/models/runs/run_diff.h"
#include "app/gui/pages/runs/parts/run_cell_delegate.h"
#include "app/gui/widgets/theme.h"

namespace millrace::gui {
namespace {

constexpr int kPadding = 8;

void paintBack(QPainter& painter, const QStyleOptionViewItem& option, const ThemeColors& colors,
               bool isSection) {
    const bool isSelected = (option.state & QStyle::State_Selected) != 0;
    painter.fillRect(option.rect, isSelected  ? colors.selection
                                  : isSection ? colors.sunken
                                              : colors.surface);
    painter.fillRect(QRect(option.rect.left(), option.rect.bottom(), option.rect.width(), 1),
                     mixed(colors.surface, colors.border, 0.6));
}

void paintText(QPainter& painter, const QRect& rect, const QString& text, const QColor& color,
               Qt::TextElideMode mode = Qt::ElideRight) {
    painter.setPen(color);
    const QString line = text.contains('\n') ? text.section('\n', 0, 0) + " …" : text;
    painter.drawText(rect, Qt::AlignLeft | Qt::AlignVCenter,
                     painter.fontMetrics().elidedText(line, mode, rect.width()));
}

void paintSection(QPainter& painter, const QStyleOptionViewItem& option, const QString& title,
                  const ThemeColors& colors) {
    paintBack(painter, option, colors, true);
    painter.setFont(captionFont(option.font));
    paintText(painter, option.rect.adjusted(kPadding, 0, -kPadding, 0), title, colors.dim);
}

}  // namespace

DiffDelegate::DiffDelegate(const RunDiff& diff, QObject* parent)
    : QStyledItemDelegate(parent), diff_(diff) {}

void DiffDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option,
                         const QModelIndex& index) const {
    const ThemeColors& colors = colorsOf(option.palette);
    painter->save();
    if (diff_.isSection(index.row())) {
        paintSection(*painter, option, index.data().toString(), colors);
        painter->restore();
        return;
    }
    paintBack(*painter, option, colors, false);
    QRect rect = option.rect.adjusted(kPadding, 0, -kPadding, 0);
    const bool differs = index.data(RunDiff::kDiffersRole).toBool();
    if (index.column() == 0) {
        paintText(*painter, rect, index.data().toString(), colors.dim, Qt::ElideMiddle);
        painter->restore();
        return;
    }
    if (const auto against = diff_.difference(index.row(), index.column())) {
        const QString label = differenceLabel(*against);
        painter->setFont(captionFont(option.font));
        painter->setPen(differenceColor(*against, colors));
        painter->drawText(rect, Qt::AlignRight | Qt::AlignVCenter, label);
        rect.setRight(rect.right() - painter->fontMetrics().horizontalAdvance(label) - kPadding);
    }
    QFont font = option.font;
    const bool isOther =
        differs && index.column() > 1 && index.data() != index.siblingAtColumn(1).data();
    font.setBold(isOther);
    painter->setFont(font);
    paintText(*painter, rect, index.data().toString(), differs ? colors.text : colors.dim,
              Qt::ElideMiddle);
    painter->restore();
}

int DiffDelegate::figureWidth(int column, const QFont& font) const {
    QFont bold = font;
    bold.setBold(true);
    const QFontMetrics figures(bold), captions(captionFont(font));
    int most = 0;
    for (int row = 0; row < diff_.rowCount(); ++row) {
        if (const auto against = diff_.difference(row, column)) {
            const QString figure = diff_.index(row, column).data().toString();
            most = std::max(most, figures.horizontalAdvance(figure) +
                                      captions.horizontalAdvance(differenceLabel(*against)));
        }
    }
    return most == 0 ? 0 : most + 3 * kPadding + 1;  // rounding may elide
}

void FactDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option,
                         const QModelIndex& index) const {
    const ThemeColors& colors = colorsOf(option.palette);
    painter->save();
    if (index.data(FactTable::kIsSectionRole).toBool()) {
        paintSection(*painter, option, index.data().toString(), colors);
        painter->restore();
        return;
    }
    paintBack(*painter, option, colors, false);
    const bool isMarked = index.data(FactTable::kIsMarkedRole).toBool();
    if (isMarked) {
        painter->fillRect(option.rect.adjusted(0, 0, 0, -1), colors.infoBack);
    }
    QFont font = option.font;
    font.setBold(isMarked && index.column() == 1);
    painter->setFont(font);
    paintText(*painter, option.rect.adjusted(kPadding, 0, -kPadding, 0), index.data().toString(),
              index.column() == 0 ? (isMarked ? colors.text : colors.dim) : colors.text,
              Qt::ElideMiddle);
    painter->restore();
}

}  // namespace millrace::gui
