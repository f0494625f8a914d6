#include "app/gui/pages/runs/parts/wrapped_header.h"

#include <QStyle>
#include <QStyleOptionHeader>
#include <algorithm>

#include "app/gui/widgets/theme.h"

namespace millrace::gui {
namespace {

struct Lines {
    QString first, second;
    int width = 0;  // of the longer line
};

// Splits into the two lines whose longer one is shortest; one line if nothing splits it.
Lines divided(const QString& heading, const QFontMetrics& metrics) {
    Lines best{heading, {}, metrics.horizontalAdvance(heading)};
    for (qsizetype i = 1; i < heading.size(); ++i) {
        if (!QStringLiteral(" ._/").contains(heading[i - 1])) {
            continue;
        }
        Lines lines{heading.left(i).trimmed(), heading.mid(i), 0};
        lines.width = std::max(metrics.horizontalAdvance(lines.first),
                               metrics.horizontalAdvance(lines.second));
        if (lines.width < best.width) {
            best = std::move(lines);
        }
    }
    return best;
}

}  // namespace

QString wrappedHeading(const QString& heading, const QFontMetrics& metrics, int width) {
    if (metrics.horizontalAdvance(heading) <= width) {
        return heading;
    }
    const Lines lines = divided(heading, metrics);
    const QString first = metrics.elidedText(lines.first, Qt::ElideMiddle, width);
    return lines.second.isEmpty() ? first
                                  : first + QLatin1Char('\n') +
                                        metrics.elidedText(lines.second, Qt::ElideMiddle, width);
}

WrappedHeader::WrappedHeader(QWidget* parent) : QHeaderView(Qt::Horizontal, parent) {
    setTextElideMode(Qt::ElideNone);  // shownText() elides
}

// The space beside the text: the style's margins, and the sort arrow.
int WrappedHeader::edges() const {
    return 2 * (style()->pixelMetric(QStyle::PM_HeaderMargin, nullptr, this) + kSpaceSmall) +
           style()->pixelMetric(QStyle::PM_HeaderMarkSize, nullptr, this) + kSpaceSmall;
}

int WrappedHeader::widthFor(const QString& heading) const {
    return divided(heading, fontMetrics()).width + 1 + edges();  // advances are rounded
}

QString WrappedHeader::shownText(int section) const {
    return wrappedHeading(model()->headerData(section, orientation()).toString(), fontMetrics(),
                          sectionSize(section) - edges());
}

QSize WrappedHeader::sizeHint() const {
    int numLines = 1;
    for (int section = 0; section < count(); ++section) {
        if (!isSectionHidden(section) && shownText(section).contains(QLatin1Char('\n'))) {
            numLines = 2;
        }
    }
    return {QHeaderView::sizeHint().width(), numLines * fontMetrics().height() + kSpaceMedium};
}

void WrappedHeader::initStyleOptionForIndex(QStyleOptionHeader* option, int section) const {
    QHeaderView::initStyleOptionForIndex(option, section);
    option->text = shownText(section);
}

}  // namespace millrace::gui
