#include <QPainter>
#include <QStyleOption>

#include "app/gui/widgets/console_style.h"
#include "app/gui/widgets/console_style_parts.h"
#include "app/gui/widgets/theme_colors.h"

namespace millrace::gui {
namespace {

constexpr int kHeaderEdge = 6;  // in addition to Fusion's margin

void drawHeaderGround(const QStyleOption& option, QPainter& painter) {
    const ThemeColors& c = colorsOf(option.palette);
    const QRect& rect = option.rect;
    painter.fillRect(rect, c.sunken);
    painter.fillRect(rect.right(), rect.top(), 1, rect.height(), c.border);
    painter.fillRect(rect.left(), rect.bottom(), rect.width(), 1, c.border);
}

void drawTabGround(const QStyleOption& option, QPainter& painter) {
    if (option.state & QStyle::State_Selected) {
        const QRect& rect = option.rect;
        painter.fillRect(rect.left(), rect.bottom() - 1, rect.width(), 2,
                         colorsOf(option.palette).accent);
    }
}

void drawProgress(const QStyleOptionProgressBar& option, QPainter& painter) {
    const double range = static_cast<double>(option.maximum) - option.minimum;
    const double share = (static_cast<double>(option.progress) - option.minimum) / range;
    QRectF done(option.rect);
    done.setWidth(done.width() * share);
    painter.fillRect(done, colorsOf(option.palette).accent);
}

bool isBusy(const QStyleOptionProgressBar& option) {
    return option.minimum >= option.maximum;
}

}  // namespace

QStyleOptionViewItem quietRow(const QStyleOptionViewItem& option) {
    QStyleOptionViewItem row(option);
    if (option.state & QStyle::State_Selected) {
        const ThemeColors& c = colorsOf(option.palette);
        row.palette.setColor(QPalette::Highlight, c.selection);
        row.palette.setColor(QPalette::HighlightedText, c.text);
    }
    return row;
}

bool ConsoleStyle::drawViewControl(ControlElement element, const QStyleOption& option,
                                   QPainter& painter, const QWidget* widget) const {
    if (element == CE_HeaderSection) {
        drawHeaderGround(option, painter);
        return true;
    }
    if (element == CE_HeaderEmptyArea) {
        painter.fillRect(option.rect, colorsOf(option.palette).sunken);
        return true;
    }
    if (element == CE_TabBarTabShape) {
        drawTabGround(option, painter);
        return true;
    }
    if (element == CE_ProgressBarGroove) {
        return true;
    }
    if (const auto* bar = qstyleoption_cast<const QStyleOptionProgressBar*>(&option);
        element == CE_ProgressBarContents && bar != nullptr && !isBusy(*bar)) {
        drawProgress(*bar, painter);
        return true;
    }
    if (const auto* row = qstyleoption_cast<const QStyleOptionViewItem*>(&option);
        element == CE_ItemViewItem && row != nullptr) {
        drawRow(element, *row, painter, widget);
        return true;
    }
    if (const auto* header = qstyleoption_cast<const QStyleOptionHeader*>(&option);
        element == CE_HeaderLabel && header != nullptr) {
        drawHeaderText(*header, painter, widget);
        return true;
    }
    if (const auto* tab = qstyleoption_cast<const QStyleOptionTab*>(&option);
        element == CE_TabBarTabLabel && tab != nullptr) {
        drawTabText(*tab, painter, widget);
        return true;
    }
    return false;
}

// The focus needs no ring if the current row is selected.
void ConsoleStyle::drawRow(ControlElement element, const QStyleOptionViewItem& option,
                           QPainter& painter, const QWidget* widget) const {
    QStyleOptionViewItem row = quietRow(option);
    if (row.state & State_Selected) {
        row.state &= ~State_HasFocus;
    }
    QProxyStyle::drawControl(element, &row, &painter, widget);
}

void ConsoleStyle::drawHeaderText(const QStyleOptionHeader& option, QPainter& painter,
                                  const QWidget* widget) const {
    QStyleOptionHeader header(option);
    header.palette.setColor(QPalette::ButtonText, colorsOf(option.palette).dim);
    insetHeader(header, kHeaderEdge);
    QProxyStyle::drawControl(CE_HeaderLabel, &header, &painter, widget);
}

void ConsoleStyle::drawTabText(const QStyleOptionTab& option, QPainter& painter,
                               const QWidget* widget) const {
    const ThemeColors& c = colorsOf(option.palette);
    const bool isSeen = option.state & (State_Selected | State_MouseOver);
    QStyleOptionTab tab(option);
    const QColor text = option.state & State_HasFocus ? c.accent : isSeen ? c.text : c.dim;
    tab.palette.setColor(QPalette::WindowText, text);
    tab.palette.setColor(QPalette::ButtonText, text);
    QProxyStyle::drawControl(CE_TabBarTabLabel, &tab, &painter, widget);
}

}  // namespace millrace::gui
