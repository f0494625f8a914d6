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

constexpr int kArrowSize = 12, kLeastContents = 18;

struct ButtonColors {
    QColor ground, line, text;
    double lineWidth = 1;
};

ButtonColors primaryColors(const ThemeColors& c, bool isEnabled, QStyle::State state) {
    if (!isEnabled) {
        return {c.neutralBack, c.border, c.dim};
    }
    ButtonColors colors{c.accent, c.accent, c.onAccent};
    if (state & (QStyle::State_MouseOver | QStyle::State_Sunken)) {
        colors.ground = mixed(c.accent, c.isDark ? Qt::white : Qt::black, 0.15);
    }
    if (state & QStyle::State_HasFocus) {
        colors.line = c.text;
        colors.lineWidth = 2;
    }
    return colors;
}

ButtonColors buttonColors(const QStyleOption& option, Look look) {
    const ThemeColors& c = colorsOf(option.palette);
    const bool isEnabled = option.state & QStyle::State_Enabled;
    const bool isHovered = isEnabled && (option.state & QStyle::State_MouseOver);
    if (look == Look::kPrimary) {
        return primaryColors(c, isEnabled, option.state);
    }
    const bool isDanger = look == Look::kDanger && isEnabled, isFlat = look == Look::kFlat;
    ButtonColors colors{isEnabled ? c.raised : c.window, isHovered ? c.strongBorder : c.border,
                        isEnabled ? c.text : c.faint};
    if (isFlat) {
        colors.ground = isHovered ? mixed(c.window, c.text, 0.08) : QColor(Qt::transparent);
        colors.line = Qt::transparent;
    }
    if (isDanger) {
        colors.ground = isHovered ? c.badBack : c.raised;
        colors.line = colors.text = c.bad;
    }
    if (option.state & (QStyle::State_Sunken | QStyle::State_On)) {
        colors.ground = c.selection;
    }
    if (isEnabled && (option.state & QStyle::State_HasFocus)) {
        colors.line = c.accent;
        colors.lineWidth = isDanger ? 2 : 1;
    }
    return colors;
}

template <typename Option>
Option withText(const Option& option, const QColor& text) {
    Option copy(option);
    copy.palette.setColor(QPalette::ButtonText, text);
    return copy;
}

}  // namespace

QSize pushButtonSize(const QSize& contents) {
    return {contents.width() + 26, std::max(contents.height(), kLeastContents) + 10};
}

QSize toolButtonSize(const QSize& contents) {
    return {contents.width() + 17, std::max(contents.height(), kLeastContents) + 11};
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

bool ConsoleStyle::drawButtonControl(ControlElement element, const QStyleOption& option,
                                     QPainter& painter, const QWidget* widget) const {
    const auto* button = qstyleoption_cast<const QStyleOptionButton*>(&option);
    if (element != CE_PushButton || button == nullptr) {
        return false;
    }
    drawPushButton(*button, painter, widget);
    return true;
}

void ConsoleStyle::drawPushButton(const QStyleOptionButton& option, QPainter& painter,
                                  const QWidget* widget) const {
    const ButtonColors colors = buttonColors(option, lookOf(widget));
    drawBox(painter, option.rect, colors.ground, colors.line, colors.lineWidth);
    QStyleOptionButton label = withText(option, colors.text);
    label.rect = option.rect.adjusted(kSpaceMedium, 0, -kSpaceMedium, 0);
    if (option.features & QStyleOptionButton::HasMenu) {
        const QRect arrow(label.rect.right() - kArrowSize, option.rect.top(), kArrowSize,
                          option.rect.height());
        paintGlyph(painter, centredIn(arrow, kArrowSize), Glyph::kChevronDown, colors.text);
        label.rect.setRight(arrow.left());
        label.features &= ~QStyleOptionButton::HasMenu;
    }
    proxy()->drawControl(CE_PushButtonLabel, &label, &painter, widget);
}

void ConsoleStyle::drawToolButton(const QStyleOptionToolButton& option, QPainter& painter,
                                  const QWidget* widget) const {
    const ButtonColors colors = buttonColors(option, lookOf(widget));
    drawBox(painter, option.rect, colors.ground, colors.line, colors.lineWidth);
    QStyleOptionToolButton label = withText(option, colors.text);
    label.rect = option.rect.adjusted(kSpaceTiny, 2, -kSpaceTiny, -2);
    label.state &= ~State_Sunken;
    proxy()->drawControl(CE_ToolButtonLabel, &label, &painter, widget);
}

void ConsoleStyle::drawComboBox(const QStyleOptionComboBox& option, QPainter& painter,
                                const QWidget* widget) const {
    const ThemeColors& colors = colorsOf(option.palette);
    drawFieldBox(painter, option, option.editable ? colors.surface : colors.raised);
    const QRect arrow = proxy()->subControlRect(CC_ComboBox, &option, SC_ComboBoxArrow, widget);
    paintGlyph(painter, centredIn(arrow, kArrowSize), Glyph::kChevronDown,
               option.state & State_Enabled ? colors.dim : colors.faint);
}

void ConsoleStyle::drawSpinBox(const QStyleOptionSpinBox& option, QPainter& painter,
                               const QWidget* widget) const {
    const ThemeColors& colors = colorsOf(option.palette);
    drawFieldBox(painter, option, colors.surface);
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
}

}  // namespace millrace::gui
