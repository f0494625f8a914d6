#include "app/gui/widgets/console_style.h"

#include <QAbstractItemView>
#include <QAbstractSpinBox>
#include <QComboBox>
#include <QFrame>
#include <QHeaderView>
#include <QPainter>
#include <QPlainTextEdit>
#include <QScrollArea>
#include <QScrollBar>
#include <QStyleFactory>
#include <QStyleOption>
#include <QTabBar>
#include <QTextEdit>
#include <algorithm>

#include "app/gui/widgets/console_style_parts.h"
#include "app/gui/widgets/look.h"
#include "app/gui/widgets/theme_colors.h"

namespace millrace::gui {
namespace {

enum class FrameKind {
    kFusions,  ///< drawn by Fusion
    kNone,
    kCard,
    kBar,
    kView,
    kText,
    kPopup
};

bool isListOfComboBox(const QWidget* widget) {
    return widget != nullptr && widget->inherits("QComboBoxListView");  // a private class of Qt
}

FrameKind frameKindOf(const QWidget* widget) {
    switch (lookOf(widget)) {
        case Look::kCard:
            return FrameKind::kCard;
        case Look::kBar:
            return FrameKind::kBar;
        case Look::kBare:
            return FrameKind::kNone;
        default:
            break;
    }
    if (qobject_cast<const QAbstractItemView*>(widget) != nullptr) {
        const bool isPart =
            qobject_cast<const QHeaderView*>(widget) != nullptr || isListOfComboBox(widget);
        return isPart ? FrameKind::kNone : FrameKind::kView;
    }
    if (qobject_cast<const QPlainTextEdit*>(widget) != nullptr ||
        qobject_cast<const QTextEdit*>(widget) != nullptr) {
        return FrameKind::kText;
    }
    if (qobject_cast<const QScrollArea*>(widget) != nullptr) {
        return FrameKind::kNone;
    }
    const bool isPopup = widget != nullptr && widget->inherits("QComboBoxPrivateContainer");
    return isPopup ? FrameKind::kPopup : FrameKind::kFusions;
}

bool drawFrame(const QStyleOption& option, QPainter& painter, const QWidget* widget) {
    const ThemeColors& c = colorsOf(option.palette);
    const QColor line = option.state & QStyle::State_HasFocus ? c.accent : c.border;
    const QRect& rect = option.rect;
    switch (frameKindOf(widget)) {
        case FrameKind::kFusions:
            return false;
        case FrameKind::kNone:
            break;
        case FrameKind::kCard:
            drawBox(painter, rect, c.surface, c.border);
            break;
        case FrameKind::kBar:
            painter.fillRect(rect, c.sunken);
            painter.fillRect(rect.left(), rect.bottom(), rect.width(), 1, c.border);
            break;
        case FrameKind::kText:
            drawBox(painter, rect, c.surface, line);
            break;
        case FrameKind::kView:
        case FrameKind::kPopup:
            painter.fillRect(rect, line);
            painter.fillRect(rect.adjusted(1, 1, -1, -1), c.surface);
            break;
    }
    return true;
}

QRect insideFrame(const QRect& rect, FrameKind kind) {
    switch (kind) {
        case FrameKind::kCard:
        case FrameKind::kView:
        case FrameKind::kPopup:
            return rect.adjusted(1, 1, -1, -1);
        case FrameKind::kText:
            return rect.adjusted(7, 4, -7, -4);
        case FrameKind::kBar:
            return rect.adjusted(0, 0, 0, -1);
        case FrameKind::kFusions:
        case FrameKind::kNone:
            break;
    }
    return rect;
}

// The field inside a combo box or a number field has their box.
bool isInABox(const QWidget* field) {
    const QWidget* parent = field == nullptr ? nullptr : field->parentWidget();
    return qobject_cast<const QComboBox*>(parent) != nullptr ||
           qobject_cast<const QAbstractSpinBox*>(parent) != nullptr;
}

void drawLineEdit(const QStyleOption& option, QPainter& painter, const QWidget* widget) {
    if (isInABox(widget)) {
        return;
    }
    const ThemeColors& c = colorsOf(option.palette);
    const bool hasFocus = option.state & QStyle::State_HasFocus;
    const bool isWrong = lookOf(widget) == Look::kError;
    drawBox(painter, option.rect, c.surface,
            isWrong    ? c.bad
            : hasFocus ? c.accent
                       : c.border,
            isWrong && hasFocus ? 2 : 1);
}

void drawToolTip(const QStyleOption& option, QPainter& painter) {
    const ThemeColors& c = colorsOf(option.palette);
    painter.fillRect(option.rect, c.border);
    painter.fillRect(option.rect.adjusted(1, 1, -1, -1), c.raised);
}

void drawEdge(const QStyleOption& option, QPainter& painter, int y) {
    painter.fillRect(option.rect.left(), y, option.rect.width(), 1,
                     colorsOf(option.palette).border);
}

// Buttons, fields and views show the focus by their border; widgets without one get a ring.
void drawFocusRing(const QStyleOption& option, QPainter& painter) {
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(colorsOf(option.palette).accent);
    painter.setBrush(Qt::NoBrush);
    painter.drawRoundedRect(QRectF(option.rect).adjusted(0.5, 0.5, -0.5, -0.5), 3, 3);
    painter.restore();
}

}  // namespace

void drawBox(QPainter& painter, const QRectF& rect, const QColor& ground, const QColor& line,
             double width) {
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(line, width));
    painter.setBrush(ground);
    const double half = width / 2;  // the line is inside `rect`
    painter.drawRoundedRect(rect.adjusted(half, half, -half, -half), kControlRadius,
                            kControlRadius);
    painter.restore();
}

void drawFieldBox(QPainter& painter, const QStyleOption& option, const QColor& ground) {
    const ThemeColors& c = colorsOf(option.palette);
    const bool isEnabled = option.state & QStyle::State_Enabled;
    QColor line = c.border;
    if (isEnabled && (option.state & QStyle::State_HasFocus)) {
        line = c.accent;
    } else if (isEnabled && (option.state & QStyle::State_MouseOver)) {
        line = c.strongBorder;
    }
    drawBox(painter, option.rect, isEnabled ? ground : c.window, line);
}

QRectF centredIn(const QRect& rect, double size) {
    return {rect.center().x() + 0.5 - size / 2, rect.center().y() + 0.5 - size / 2, size, size};
}

ConsoleStyle::ConsoleStyle() : QProxyStyle(QStyleFactory::create(QStringLiteral("Fusion"))) {}

void ConsoleStyle::polish(QWidget* widget) {
    QProxyStyle::polish(widget);
    if (qobject_cast<QScrollBar*>(widget) != nullptr) {
        widget->setAttribute(Qt::WA_OpaquePaintEvent, false);  // its background is that of the view
    } else if (qobject_cast<QTabBar*>(widget) != nullptr) {
        widget->setAttribute(Qt::WA_Hover);
    } else if (auto* area = qobject_cast<QScrollArea*>(widget)) {
        // Scrolled content shows the background behind the area.
        area->viewport()->setAutoFillBackground(false);
        if (area->widget() != nullptr) {
            area->widget()->setAutoFillBackground(false);
        }
    }
    if (auto* frame = qobject_cast<QFrame*>(widget);
        frame != nullptr && frameKindOf(frame) != FrameKind::kFusions) {
        frame->setFrameStyle(frame->frameStyle());  // Qt reads its width again
    }
}

void ConsoleStyle::drawControl(ControlElement element, const QStyleOption* option,
                               QPainter* painter, const QWidget* widget) const {
    if (element == CE_ShapedFrame && drawFrame(*option, *painter, widget)) {
        return;
    }
    if (element == CE_Splitter) {
        drawSplitter(*option, *painter);
        return;
    }
    if (!drawButtonControl(element, *option, *painter, widget) &&
        !drawViewControl(element, *option, *painter, widget) &&
        !drawMenuControl(element, *option, *painter, widget)) {
        QProxyStyle::drawControl(element, option, painter, widget);
    }
}

void ConsoleStyle::drawComplexControl(ComplexControl control, const QStyleOptionComplex* option,
                                      QPainter* painter, const QWidget* widget) const {
    if (const auto* combo = qstyleoption_cast<const QStyleOptionComboBox*>(option);
        control == CC_ComboBox && combo != nullptr) {
        drawComboBox(*combo, *painter, widget);
    } else if (const auto* spin = qstyleoption_cast<const QStyleOptionSpinBox*>(option);
               control == CC_SpinBox && spin != nullptr) {
        drawSpinBox(*spin, *painter, widget);
    } else if (const auto* tool = qstyleoption_cast<const QStyleOptionToolButton*>(option);
               control == CC_ToolButton && tool != nullptr) {
        drawToolButton(*tool, *painter, widget);
    } else if (const auto* bar = qstyleoption_cast<const QStyleOptionSlider*>(option);
               control == CC_ScrollBar && bar != nullptr) {
        drawScrollBar(*bar, *painter, widget);
    } else {
        QProxyStyle::drawComplexControl(control, option, painter, widget);
    }
}

void ConsoleStyle::drawPrimitive(PrimitiveElement element, const QStyleOption* option,
                                 QPainter* painter, const QWidget* widget) const {
    switch (element) {
        case PE_IndicatorCheckBox:
        case PE_IndicatorItemViewItemCheck:
            return drawCheckBox(*option, *painter);
        case PE_PanelLineEdit:
            return drawLineEdit(*option, *painter, widget);
        case PE_PanelItemViewRow:
        case PE_PanelItemViewItem:
            if (const auto* row = qstyleoption_cast<const QStyleOptionViewItem*>(option)) {
                const QStyleOptionViewItem quiet = quietRow(*row);
                return QProxyStyle::drawPrimitive(element, &quiet, painter, widget);
            }
            return QProxyStyle::drawPrimitive(element, option, painter, widget);
        case PE_FrameFocusRect:
            return drawFocusRing(*option, *painter);
        case PE_PanelTipLabel:
            return drawToolTip(*option, *painter);
        case PE_PanelMenu:
            return drawMenuPanel(*option, *painter);
        case PE_FrameTabBarBase:  // an empty box below the tabs
            return drawEdge(*option, *painter, option->rect.top() - 1);
        case PE_FrameTabWidget:
            return drawEdge(*option, *painter, option->rect.top());
        case PE_FrameMenu:
        case PE_PanelScrollAreaCorner:
            return;
        default:
            QProxyStyle::drawPrimitive(element, option, painter, widget);
    }
}

QSize ConsoleStyle::sizeFromContents(ContentsType type, const QStyleOption* option,
                                     const QSize& size, const QWidget* widget) const {
    switch (type) {
        case CT_PushButton:
            return pushButtonSize(size);
        case CT_ToolButton:
            return toolButtonSize(size);
        case CT_TabBarTab:
            return size;
        case CT_LineEdit:
            if (isInABox(widget)) {
                break;
            }
            return {size.width() + 14, std::max(size.height(), kControlHeight - 2) + 2};
        case CT_MenuItem:
            if (const auto* item = qstyleoption_cast<const QStyleOptionMenuItem*>(option)) {
                return menuItemSize(*item, size);
            }
            break;
        default:
            break;
    }
    QSize full = QProxyStyle::sizeFromContents(type, option, size, widget);
    if (type == CT_ComboBox || type == CT_SpinBox) {
        full.setHeight(std::max(full.height(), kControlHeight));
    } else if (type == CT_HeaderSection) {
        full += QSize(17, 9);
    } else if (type == CT_ItemViewItem && isListOfComboBox(widget)) {
        full += QSize(kSpaceSmall, 6);
    }
    return full;
}

QRect ConsoleStyle::subElementRect(SubElement element, const QStyleOption* option,
                                   const QWidget* widget) const {
    if (element == SE_ShapedFrameContents) {
        const FrameKind kind = frameKindOf(widget);
        if (kind != FrameKind::kFusions) {
            return insideFrame(option->rect, kind);
        }
    } else if (element == SE_LineEditContents && !isInABox(widget)) {
        return option->rect.adjusted(7, 1, -7, -1);
    } else if (element == SE_TabWidgetTabContents) {
        return QProxyStyle::subElementRect(SE_TabWidgetTabPane, option, widget)
            .adjusted(0, 1, 0, 0);
    }
    return QProxyStyle::subElementRect(element, option, widget);
}

QRect ConsoleStyle::subControlRect(ComplexControl control, const QStyleOptionComplex* option,
                                   SubControl part, const QWidget* widget) const {
    const auto* bar = qstyleoption_cast<const QStyleOptionSlider*>(option);
    if (control != CC_ScrollBar || bar == nullptr) {
        return QProxyStyle::subControlRect(control, option, part, widget);
    }
    const QRect handle = scrollHandle(*bar);
    const QRect& all = bar->rect;
    const bool isAcross = bar->orientation == Qt::Horizontal;
    switch (part) {
        case SC_ScrollBarGroove:
            return all;
        case SC_ScrollBarSlider:
            return handle;
        case SC_ScrollBarSubPage:
            return isAcross ? QRect(all.topLeft(), QSize(handle.left() - all.left(), all.height()))
                            : QRect(all.topLeft(), QSize(all.width(), handle.top() - all.top()));
        case SC_ScrollBarAddPage:
            return isAcross ? QRect(QPoint(handle.right() + 1, all.top()), all.bottomRight())
                            : QRect(QPoint(all.left(), handle.bottom() + 1), all.bottomRight());
        default:
            return {};  // no arrow buttons
    }
}

int ConsoleStyle::pixelMetric(PixelMetric metric, const QStyleOption* option,
                              const QWidget* widget) const {
    switch (metric) {
        case PM_IndicatorWidth:
        case PM_IndicatorHeight:
            return kCheckSize;
        case PM_SplitterWidth:
            return 8;
        case PM_ScrollBarExtent:
            return 11;
        case PM_ScrollBarSliderMin:
            return 28;
        case PM_ToolTipLabelFrameWidth:
        case PM_MenuHMargin:
        case PM_MenuVMargin:
            return kSpaceTiny;
        case PM_MenuPanelWidth:
            return 1;
        case PM_TabBarTabHSpace:
            return 2 * kSpaceMedium;
        case PM_TabBarTabVSpace:
            return 14;
        case PM_TabBarTabOverlap:
        case PM_TabBarBaseOverlap:
        case PM_TabBarTabShiftHorizontal:
        case PM_TabBarTabShiftVertical:
        case PM_ScrollView_ScrollBarSpacing:
            return 0;
        default:
            return QProxyStyle::pixelMetric(metric, option, widget);
    }
}

int ConsoleStyle::styleHint(StyleHint hint, const QStyleOption* option, const QWidget* widget,
                            QStyleHintReturn* answer) const {
    if (hint == SH_Table_GridLineColor && option != nullptr) {
        return static_cast<int>(colorsOf(option->palette).border.rgb());
    }
    if (hint == SH_ComboBox_Popup) {
        return 0;  // a list below the box, like every other list
    }
    return QProxyStyle::styleHint(hint, option, widget, answer);
}

}  // namespace millrace::gui
