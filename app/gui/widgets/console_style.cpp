#include "app/gui/widgets/console_style.h"

#include <QPainter>
#include <QStyleFactory>
#include <QStyleOption>
#include <algorithm>

#include "app/gui/widgets/icons.h"
#include "app/gui/widgets/theme.h"

namespace millrace::gui {
namespace {

constexpr int kControlHeight = 28, kArrowSize = 12, kCheckSize = 16, kRadius = 5;

void drawBox(QPainter& painter, const QStyleOption& option, const QColor& ground) {
    const ThemeColors& colors = colorsOf(option.palette);
    const bool isEnabled = option.state & QStyle::State_Enabled;
    QColor border = colors.border;
    if (isEnabled && (option.state & QStyle::State_HasFocus)) {
        border = colors.accent;
    } else if (isEnabled && (option.state & QStyle::State_MouseOver)) {
        border = colors.strongBorder;
    }
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(border);
    painter.setBrush(isEnabled ? ground : colors.window);
    painter.drawRoundedRect(QRectF(option.rect).adjusted(0.5, 0.5, -0.5, -0.5), kRadius, kRadius);
}

QRectF centredIn(const QRect& rect, double size) {
    return {rect.center().x() + 0.5 - size / 2, rect.center().y() + 0.5 - size / 2, size, size};
}

void drawCheckBox(const QStyleOption& option, QPainter& painter) {
    const ThemeColors& colors = colorsOf(option.palette);
    const bool isEnabled = option.state & QStyle::State_Enabled;
    const bool isOn = option.state & (QStyle::State_On | QStyle::State_NoChange);
    const double size = std::min({option.rect.width(), option.rect.height(), kCheckSize});
    const QRectF box = centredIn(option.rect, size);
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    const QColor line = option.state & QStyle::State_HasFocus ? colors.text : colors.strongBorder;
    painter.setPen(QPen(isOn && isEnabled ? colors.accent : line, 1));
    painter.setBrush(!isOn ? colors.surface : isEnabled ? colors.accent : colors.neutralBack);
    painter.drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), 3.5, 3.5);
    if (option.state & QStyle::State_NoChange) {
        painter.fillRect(centredIn(option.rect, 2).adjusted(-3, 0, 3, 0), colors.onAccent);
    } else if (isOn) {
        paintGlyph(painter, box.adjusted(1.5, 1.5, -1.5, -1.5), Glyph::kTick,
                   isEnabled ? colors.onAccent : colors.dim);
    }
    painter.restore();
}

}  // namespace

ConsoleStyle::ConsoleStyle() : QProxyStyle(QStyleFactory::create(QStringLiteral("Fusion"))) {}

void ConsoleStyle::drawComboBox(const QStyleOptionComboBox& option, QPainter& painter,
                                const QWidget* widget) const {
    const ThemeColors& colors = colorsOf(option.palette);
    painter.save();
    drawBox(painter, option, option.editable ? colors.surface : colors.raised);
    const QRect arrow = proxy()->subControlRect(CC_ComboBox, &option, SC_ComboBoxArrow, widget);
    paintGlyph(painter, centredIn(arrow, kArrowSize), Glyph::kChevronDown,
               option.state & State_Enabled ? colors.dim : colors.faint);
    painter.restore();
}

void ConsoleStyle::drawSpinBox(const QStyleOptionSpinBox& option, QPainter& painter,
                               const QWidget* widget) const {
    const ThemeColors& colors = colorsOf(option.palette);
    painter.save();
    drawBox(painter, option, colors.surface);
    const std::pair<SubControl, Glyph> buttons[] = {{SC_SpinBoxUp, Glyph::kChevronUp},
                                                    {SC_SpinBoxDown, Glyph::kChevronDown}};
    for (const auto& [control, glyph] : buttons) {
        const QRect rect = proxy()->subControlRect(CC_SpinBox, &option, control, widget);
        const bool canGo =
            (option.state & State_Enabled) &&
            (option.stepEnabled & (control == SC_SpinBoxUp ? QAbstractSpinBox::StepUpEnabled
                                                           : QAbstractSpinBox::StepDownEnabled));
        const bool isPressed =
            (option.activeSubControls & control) && (option.state & State_Sunken);
        paintGlyph(painter, centredIn(rect, 9), glyph,
                   isPressed ? colors.accent
                   : canGo   ? colors.dim
                             : mixed(colors.surface, colors.faint, 0.5));
    }
    painter.restore();
}

void ConsoleStyle::drawComplexControl(ComplexControl control, const QStyleOptionComplex* option,
                                      QPainter* painter, const QWidget* widget) const {
    if (control == CC_ComboBox) {
        if (const auto* box = qstyleoption_cast<const QStyleOptionComboBox*>(option)) {
            drawComboBox(*box, *painter, widget);
            return;
        }
    }
    if (control == CC_SpinBox) {
        if (const auto* box = qstyleoption_cast<const QStyleOptionSpinBox*>(option)) {
            drawSpinBox(*box, *painter, widget);
            return;
        }
    }
    QProxyStyle::drawComplexControl(control, option, painter, widget);
}

void ConsoleStyle::drawPrimitive(PrimitiveElement element, const QStyleOption* option,
                                 QPainter* painter, const QWidget* widget) const {
    if (element == PE_IndicatorCheckBox || element == PE_IndicatorItemViewItemCheck) {
        drawCheckBox(*option, *painter);
        return;
    }
    QProxyStyle::drawPrimitive(element, option, painter, widget);
}

QSize ConsoleStyle::sizeFromContents(ContentsType type, const QStyleOption* option,
                                     const QSize& size, const QWidget* widget) const {
    QSize full = QProxyStyle::sizeFromContents(type, option, size, widget);
    if (type == CT_ComboBox || type == CT_SpinBox) {
        full.setHeight(std::max(full.height(), kControlHeight));
    }
    return full;
}

int ConsoleStyle::pixelMetric(PixelMetric metric, const QStyleOption* option,
                              const QWidget* widget) const {
    switch (metric) {
        case PM_IndicatorWidth:
        case PM_IndicatorHeight:
            return kCheckSize;
        case PM_SplitterWidth:
            return 8;
        default:
            return QProxyStyle::pixelMetric(metric, option, widget);
    }
}

}  // namespace millrace::gui
