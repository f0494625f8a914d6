#include <QPainter>
#include <QStyleOption>
#include <algorithm>

#include "app/gui/widgets/console_style.h"
#include "app/gui/widgets/console_style_parts.h"
#include "app/gui/widgets/icons.h"
#include "app/gui/widgets/look.h"
#include "app/gui/widgets/theme_colors.h"

namespace millrace::gui {
namespace {

constexpr int kMark = 16, kItemEdge = 12, kItemEnd = 20;

// Width left of the text for a tick or an icon, in every row of a menu that has one.
int markWidth(const QStyleOptionMenuItem& option) {
    const bool hasMarks = option.menuHasCheckableItems || option.maxIconWidth > 0 ||
                          option.checkType != QStyleOptionMenuItem::NotCheckable;
    return hasMarks ? kMark + kSpaceTiny : 0;
}

void drawMark(const QStyleOptionMenuItem& option, QPainter& painter, const QColor& color) {
    const QRect rect(option.rect.left() + kItemEdge - kSpaceTiny, option.rect.top(), kMark,
                     option.rect.height());
    if (option.checkType != QStyleOptionMenuItem::NotCheckable && option.checked) {
        paintGlyph(painter, centredIn(rect, 12), Glyph::kTick, color);
    } else if (!option.icon.isNull()) {
        const bool isEnabled = option.state & QStyle::State_Enabled;
        option.icon.paint(&painter, centredIn(rect, kMark).toRect(), Qt::AlignCenter,
                          isEnabled ? QIcon::Normal : QIcon::Disabled);
    }
}

}  // namespace

QSize menuItemSize(const QStyleOptionMenuItem& option, const QSize& contents) {
    if (option.menuItemType == QStyleOptionMenuItem::Separator) {
        return {contents.width(), 2 * kSpaceTiny + 1};
    }
    int width = contents.width() + kItemEdge + kItemEnd + markWidth(option);
    if (option.text.contains(u'\t')) {
        width += kSpaceLarge;
    }
    return {width, std::max(contents.height(), option.fontMetrics.height()) + 10};
}

void drawMenuPanel(const QStyleOption& option, QPainter& painter) {
    const ThemeColors& c = colorsOf(option.palette);
    painter.fillRect(option.rect, c.border);
    painter.fillRect(option.rect.adjusted(1, 1, -1, -1), c.raised);
}

bool ConsoleStyle::drawMenuControl(ControlElement element, const QStyleOption& option,
                                   QPainter& painter, const QWidget* widget) const {
    if (element == CE_MenuEmptyArea) {
        return true;  // the panel draws it already
    }
    const auto* item = qstyleoption_cast<const QStyleOptionMenuItem*>(&option);
    if (element != CE_MenuItem || item == nullptr) {
        return false;
    }
    drawMenuItem(*item, painter, widget);
    return true;
}

void ConsoleStyle::drawMenuItem(const QStyleOptionMenuItem& option, QPainter& painter,
                                const QWidget* widget) const {
    const ThemeColors& c = colorsOf(option.palette);
    const QRect& rect = option.rect;
    if (option.menuItemType == QStyleOptionMenuItem::Separator) {
        painter.fillRect(rect.left() + kSpaceSmall, rect.center().y(),
                         rect.width() - 2 * kSpaceSmall, 1, c.border);
        return;
    }
    const bool isEnabled = option.state & State_Enabled;
    if (isEnabled && (option.state & State_Selected)) {
        drawBox(painter, rect, c.selection, c.selection);
    }
    const QColor color = isEnabled ? c.text : c.faint;
    drawMark(option, painter, color);
    QRect room = rect.adjusted(kItemEdge + markWidth(option), 0, -kItemEdge, 0);
    const bool isMenu = option.menuItemType == QStyleOptionMenuItem::SubMenu;
    if (isMenu) {
        const QRect arrow(room.right() - 10, rect.top(), 12, rect.height());
        paintGlyph(painter, centredIn(arrow, 12), Glyph::kChevronRight, color);
    }
    const bool isUnderlined = proxy()->styleHint(SH_UnderlineShortcut, &option, widget, nullptr);
    const int flags = Qt::AlignVCenter | Qt::TextSingleLine |
                      (isUnderlined ? Qt::TextShowMnemonic : Qt::TextHideMnemonic);
    painter.save();
    painter.setFont(option.font);
    painter.setPen(color);
    painter.drawText(room, flags | Qt::AlignLeft, option.text.section(u'\t', 0, 0));
    painter.setPen(isEnabled ? c.dim : c.faint);
    painter.drawText(room, flags | Qt::AlignRight, option.text.section(u'\t', 1));
    painter.restore();
}

}  // namespace millrace::gui
