#include "app/gui/widgets/theme_colors.h"

#include <algorithm>
#include <cmath>

namespace millrace::gui {
namespace {

ThemeColors makeDark() {
    ThemeColors c;
    c.isDark = true;
    c.window = QColor(0x14, 0x17, 0x1c);
    c.surface = QColor(0x1b, 0x1f, 0x26);
    c.raised = QColor(0x25, 0x2a, 0x33);
    c.sunken = QColor(0x10, 0x13, 0x17);
    c.text = QColor(0xe8, 0xeb, 0xf0);
    c.dim = QColor(0xaa, 0xb2, 0xbf);
    c.faint = QColor(0x87, 0x90, 0x9f);
    c.border = QColor(0x2d, 0x33, 0x3e);
    c.strongBorder = QColor(0x6b, 0x74, 0x84);
    c.accent = QColor(0x56, 0xb4, 0xe9);
    c.onAccent = QColor(0x07, 0x18, 0x22);
    c.selection = QColor(0x1d, 0x3d, 0x54);
    c.good = QColor(0x45, 0xc9, 0x95);
    c.warn = QColor(0xf0, 0xb4, 0x3c);
    c.bad = QColor(0xff, 0x8b, 0x7b);
    c.info = QColor(0x7c, 0xc4, 0xee);
    c.goodBack = QColor(0x14, 0x33, 0x2a);
    c.warnBack = QColor(0x3a, 0x2d, 0x12);
    c.badBack = QColor(0x42, 0x1f, 0x1f);
    c.infoBack = QColor(0x17, 0x2f, 0x40);
    c.neutralBack = QColor(0x2a, 0x30, 0x3a);
    return c;
}

ThemeColors makeLight() {
    ThemeColors c;
    c.window = QColor(0xf3, 0xf5, 0xf8);
    c.surface = QColor(0xff, 0xff, 0xff);
    c.raised = QColor(0xff, 0xff, 0xff);
    c.sunken = QColor(0xea, 0xed, 0xf1);
    c.text = QColor(0x18, 0x1d, 0x25);
    c.dim = QColor(0x4c, 0x55, 0x63);
    c.faint = QColor(0x5f, 0x68, 0x76);
    c.border = QColor(0xd8, 0xdd, 0xe4);
    c.strongBorder = QColor(0x7c, 0x85, 0x94);
    c.accent = QColor(0x00, 0x66, 0xa1);
    c.onAccent = QColor(0xff, 0xff, 0xff);
    c.selection = QColor(0xd3, 0xe7, 0xf6);
    c.good = QColor(0x00, 0x6b, 0x4a);
    c.warn = QColor(0x80, 0x52, 0x00);
    c.bad = QColor(0xb0, 0x23, 0x1b);
    c.info = QColor(0x00, 0x5f, 0x96);
    c.goodBack = QColor(0xdc, 0xf3, 0xea);
    c.warnBack = QColor(0xfb, 0xee, 0xd3);
    c.badBack = QColor(0xfc, 0xe4, 0xe1);
    c.infoBack = QColor(0xdf, 0xef, 0xf9);
    c.neutralBack = QColor(0xe4, 0xe8, 0xed);
    return c;
}

double linear(double channel) {
    return channel <= 0.04045 ? channel / 12.92 : std::pow((channel + 0.055) / 1.055, 2.4);
}

double luminance(const QColor& color) {
    return 0.2126 * linear(color.redF()) + 0.7152 * linear(color.greenF()) +
           0.0722 * linear(color.blueF());
}

}  // namespace

const ThemeColors& darkColors() {
    static const ThemeColors kColors = makeDark();
    return kColors;
}

const ThemeColors& lightColors() {
    static const ThemeColors kColors = makeLight();
    return kColors;
}

const ThemeColors& colorsOf(const QPalette& palette) {
    const QColor& ground = palette.color(QPalette::Active, QPalette::Window);
    return ground.lightness() < 128 ? darkColors() : lightColors();
}

QPalette paletteOf(const ThemeColors& c) {
    QPalette p;
    p.setColor(QPalette::Window, c.window);
    p.setColor(QPalette::WindowText, c.text);
    p.setColor(QPalette::Base, c.surface);
    p.setColor(QPalette::AlternateBase, c.surface);
    p.setColor(QPalette::Text, c.text);
    p.setColor(QPalette::PlaceholderText, c.faint);
    p.setColor(QPalette::Button, c.raised);
    p.setColor(QPalette::ButtonText, c.text);
    p.setColor(kBadRole, c.bad);
    p.setColor(QPalette::ToolTipBase, c.raised);
    p.setColor(QPalette::ToolTipText, c.text);
    p.setColor(QPalette::Highlight, c.accent);
    p.setColor(QPalette::HighlightedText, c.onAccent);
    p.setColor(QPalette::Link, c.accent);
    p.setColor(kDimRole, c.dim);
    p.setColor(QPalette::Light, mixed(c.raised, Qt::white, 0.1));
    p.setColor(QPalette::Midlight, c.raised);
    p.setColor(QPalette::Mid, c.border);
    p.setColor(QPalette::Dark, c.strongBorder);
    p.setColor(QPalette::Shadow, c.isDark ? QColor(0, 0, 0) : QColor(0x60, 0x68, 0x74));
    for (const QPalette::ColorRole role :
         {QPalette::WindowText, QPalette::Text, QPalette::ButtonText}) {
        p.setColor(QPalette::Disabled, role, c.faint);
    }
    return p;
}

double contrastRatio(const QColor& a, const QColor& b) {
    const double one = luminance(a), other = luminance(b);
    return (std::max(one, other) + 0.05) / (std::min(one, other) + 0.05);
}

QColor mixed(const QColor& under, const QColor& over, double share) {
    const auto mix = [share](int from, int to) {
        return static_cast<int>(std::lround(from + (to - from) * share));
    };
    return {mix(under.red(), over.red()), mix(under.green(), over.green()),
            mix(under.blue(), over.blue())};
}

}  // namespace millrace::gui
