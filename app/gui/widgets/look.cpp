#include "app/gui/widgets/look.h"

#include <QApplication>
#include <QFontDatabase>
#include <QFrame>
#include <QHash>
#include <QLabel>
#include <QVariant>
#include <algorithm>
#include <cmath>

#include "app/gui/widgets/theme_colors.h"

namespace millrace::gui {
namespace {

constexpr const char* kProperty = "look";

Look parseLook(const QString& word) {
    static const QHash<QString, Look> kLooks = {
        {"primary", Look::kPrimary}, {"danger", Look::kDanger},   {"flat", Look::kFlat},
        {"title", Look::kTitle},     {"heading", Look::kHeading}, {"caption", Look::kCaption},
        {"dim", Look::kDim},         {"mono", Look::kMono},       {"error", Look::kError},
        {"card", Look::kCard},       {"bar", Look::kBar},         {"bare", Look::kBare}};
    return kLooks.value(word, Look::kPlain);
}

QFont scaled(const QFont& base, double factor) {
    QFont font = base;
    if (base.pointSizeF() > 0) {
        font.setPointSizeF(base.pointSizeF() * factor);
    } else {
        font.setPixelSize(std::max(1, static_cast<int>(std::lround(base.pixelSize() * factor))));
    }
    return font;
}

void applyFont(QWidget& widget, Look look) {
    const QFont base = QApplication::font();
    QFont heavy;  // sets only the weight: the parent's other attributes stay
    switch (look) {
        case Look::kTitle:
            return widget.setFont(titleFont(base));
        case Look::kHeading:
            return widget.setFont(headingFont(base));
        case Look::kCaption:
            return widget.setFont(captionFont(base));
        case Look::kMono:
            return widget.setFont(monoFont(base));
        case Look::kPrimary:
            heavy.setWeight(QFont::DemiBold);
            return widget.setFont(heavy);
        default:
            return;
    }
}

QPalette::ColorRole roleOf(Look look) {
    switch (look) {
        case Look::kCaption:
        case Look::kDim:
            return kDimRole;
        case Look::kError:
            return kBadRole;
        default:
            return QPalette::NoRole;  // the usual one
    }
}

}  // namespace

QFont monoFont(const QFont& base) {
    static const QString kFamily = QFontDatabase::systemFont(QFontDatabase::FixedFont).family();
    QFont font = scaled(base, 0.96);
    font.setFamily(kFamily);
    font.setStyleHint(QFont::Monospace);
    font.setFixedPitch(true);
    return font;
}

QFont titleFont(const QFont& base) {
    QFont font = scaled(base, 1.45);
    font.setWeight(QFont::DemiBold);
    return font;
}

QFont headingFont(const QFont& base) {
    QFont font = scaled(base, 1.04);
    font.setWeight(QFont::DemiBold);
    return font;
}

QFont captionFont(const QFont& base) {
    return scaled(base, 0.88);
}

Look lookOf(const QWidget* widget) {
    return widget == nullptr ? Look::kPlain : parseLook(widget->property(kProperty).toString());
}

void setLook(QWidget& widget, const char* look) {
    const QString word = QString::fromLatin1(look);
    if (widget.property(kProperty).toString() == word) {
        return;
    }
    widget.setProperty(kProperty, word);
    const Look parsed = parseLook(word);
    applyFont(widget, parsed);
    if (qobject_cast<QLabel*>(&widget) != nullptr) {
        widget.setForegroundRole(roleOf(parsed));
    } else if (auto* frame = qobject_cast<QFrame*>(&widget)) {
        frame->setFrameStyle(frame->frameStyle());  // makes Qt ask the style for its width again
    }
    widget.update();
}

}  // namespace millrace::gui
