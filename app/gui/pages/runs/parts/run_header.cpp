#include "app/gui/pages/runs/parts/run_header.h"

#include <QPainter>

#include "app/gui/charts/parts/line_dash.h"
#include "app/gui/models/run_colors.h"
#include "app/gui/models/runs/run_diff.h"
#include "app/gui/widgets/theme.h"

namespace millrace::gui {

RunHeader::RunHeader(const RunColors& colors, QWidget* parent)
    : QHeaderView(Qt::Horizontal, parent), colors_(colors) {
    setSectionsClickable(false);
    setHighlightSections(false);
    setMinimumSectionSize(60);
}

void RunHeader::paintSection(QPainter* painter, const QRect& rect, int section) const {
    const ThemeColors& theme = colorsOf(palette());
    painter->save();
    painter->fillRect(rect, theme.sunken);
    painter->fillRect(QRect(rect.left(), rect.bottom(), rect.width(), 1), theme.border);
    const QString id = model()->headerData(section, orientation(), RunDiff::kRunIdRole).toString();
    QRect text = rect.adjusted(8, 0, -8, 0);
    if (!id.isEmpty()) {
        painter->setRenderHint(QPainter::Antialiasing);
        const RunColors::Look look = colors_.of(id.toStdString());
        paintSwatch(*painter, QRectF(text.left(), text.center().y() - 1.5, 16, 4), look.color,
                    look.dash);
        text.setLeft(text.left() + 22);
    }
    painter->setPen(theme.text);
    const QString name = model()->headerData(section, orientation()).toString();
    painter->drawText(text, Qt::AlignVCenter | Qt::AlignLeft,
                      fontMetrics().elidedText(name, Qt::ElideMiddle, text.width()));
    painter->restore();
}

}  // namespace millrace::gui
