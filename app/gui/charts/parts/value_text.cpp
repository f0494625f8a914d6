#include "app/gui/charts/parts/value_text.h"

#include <QDateTime>
#include <QLocale>
#include <QObject>
#include <array>
#include <cmath>

namespace millrace::gui {
namespace {

const QLocale& plainLocale() {
    static const QLocale kLocale(QLocale::English, QLocale::UnitedStates);
    return kLocale;
}

QString withSuffix(const QString& number, const QString& suffix) {
    return suffix.isEmpty() ? number : number + QLatin1Char(' ') + suffix;
}

QString notANumber(double value) {
    return std::isnan(value) ? QStringLiteral("n/a")
           : value > 0       ? QStringLiteral("infinite")
                             : QStringLiteral("-infinite");
}

// "1e-05" as "1e-5".
QString exponentText(double value, int significant) {
    QString text = QString::number(value, 'e', significant - 1);
    const qsizetype e = text.indexOf(QLatin1Char('e'));
    QString mantissa = text.left(e);
    while (mantissa.contains(QLatin1Char('.')) &&
           (mantissa.endsWith(QLatin1Char('0')) || mantissa.endsWith(QLatin1Char('.')))) {
        mantissa.chop(1);
    }
    return mantissa + QLatin1Char('e') + QString::number(text.mid(e + 1).toInt());
}

QString significantText(double value, int significant) {
    const double size = std::abs(value);
    if (size == 0) {
        return QStringLiteral("0");
    }
    if (size < 1e-4 || size >= 1e15) {
        return exponentText(value, significant);
    }
    const int before = static_cast<int>(std::floor(std::log10(size))) + 1;
    QString text = groupedText(value, std::max(0, significant - before));
    while (text.contains(QLatin1Char('.')) &&
           (text.endsWith(QLatin1Char('0')) || text.endsWith(QLatin1Char('.')))) {
        text.chop(1);
    }
    return text;
}

// As logged where that is short: 0.1f as "0.1", 0.48211 as it is.
QString loggedText(double value) {
    const double size = std::abs(value);
    if (size != 0 && (size < 1e-4 || size >= 1e15)) {
        return exponentText(value, 6);
    }
    const double asFloat = static_cast<float>(value);
    if (asFloat == value && std::nearbyint(value) != value) {
        for (int digits = 1; digits <= 7; ++digits) {
            const QString shorter = QString::number(value, 'g', digits);
            if (shorter.toFloat() == static_cast<float>(value)) {
                return significantText(shorter.toDouble(), digits);
            }
        }
        return significantText(value, 7);
    }
    return significantText(value, std::nearbyint(value) == value ? 15 : 7);
}

QString prefixedText(double value, double base, int significant) {
    static constexpr std::array kSi = {"", "k", "M", "G", "T", "P"};
    std::size_t power = 0;
    double scaled = value;
    while (std::abs(scaled) >= base * 0.99995 && power + 1 < kSi.size()) {
        scaled /= base;
        ++power;
    }
    const QString number = significantText(scaled, significant);
    return power == 0 ? number : number + QLatin1Char(' ') + QLatin1StringView(kSi.at(power));
}

QString bytesText(double value, const QString& behind) {
    static constexpr std::array kUnits = {"B", "kB", "MB", "GB", "TB", "PB"};
    std::size_t power = 0;
    while (std::abs(value) >= 999.95 && power + 1 < kUnits.size()) {
        value /= 1000;
        ++power;
    }
    return significantText(value, 4) + QLatin1Char(' ') + QLatin1StringView(kUnits.at(power)) +
           behind;
}

QString twoParts(qint64 big, const char* bigUnit, qint64 small, const char* smallUnit) {
    return QStringLiteral("%1 %2 %3 %4")
        .arg(big)
        .arg(QLatin1StringView(bigUnit))
        .arg(small, 2, 10, QLatin1Char('0'))
        .arg(QLatin1StringView(smallUnit));
}

}  // namespace

QString groupedText(double value, int decimals) {
    const double rounded = std::abs(value) * std::pow(10, decimals) < 0.5 ? 0 : value;
    return plainLocale().toString(rounded, 'f', decimals);
}

QString valueText(double value, const Unit& unit) {
    if (!std::isfinite(value)) {
        return notANumber(value);
    }
    switch (unit.kind) {
        case UnitKind::kBytes:
            return bytesText(value, unit.suffix);
        case UnitKind::kBytesPerSecond:
            return bytesText(value, QStringLiteral("/s"));
        case UnitKind::kPercent:
            return significantText(value, 4) + QStringLiteral(" %");
        case UnitKind::kFraction:
            return significantText(100 * value, 4) + QStringLiteral(" %");
        case UnitKind::kSeconds:
            return durationLabel(1000 * value);
        case UnitKind::kMilliseconds:
            return durationLabel(value);
        case UnitKind::kCount:
        case UnitKind::kPlain:
            break;
    }
    return withSuffix(loggedText(value), unit.suffix);
}

QString shortText(double value, const Unit& unit) {
    if (!std::isfinite(value) || (unit.kind != UnitKind::kPlain && unit.kind != UnitKind::kCount)) {
        return valueText(value, unit);
    }
    if (unit.kind == UnitKind::kCount || std::abs(value) >= 1e5) {
        return withSuffix(prefixedText(value, 1000, 3), unit.suffix);
    }
    return withSuffix(significantText(value, 4), unit.suffix);
}

QString exactText(double value) {
    return std::isnan(value) ? QString()
                             : QString::number(value, 'g', QLocale::FloatingPointShortest);
}

QString durationLabel(double ms) {
    const double size = std::abs(ms);
    const QString sign = ms < 0 ? QStringLiteral("-") : QString();
    if (size < 1) {
        return sign + significantText(1000 * size, 3) +
               (size == 0 ? QStringLiteral(" s") : QStringLiteral(" µs"));
    }
    if (size < 999.5) {
        return sign + significantText(size, 3) + QStringLiteral(" ms");
    }
    if (size < 59'950) {
        return sign + significantText(size / 1000, 3) + QStringLiteral(" s");
    }
    const auto seconds = static_cast<qint64>(std::llround(size / 1000));
    if (seconds < 3600) {
        return sign + twoParts(seconds / 60, "m", seconds % 60, "s");
    }
    const qint64 minutes = seconds / 60;
    if (minutes < 24 * 60) {
        return sign + twoParts(minutes / 60, "h", minutes % 60, "m");
    }
    const qint64 hours = minutes / 60;
    return sign + twoParts(hours / 24, "d", hours % 24, "h");
}

QString wallTimeText(double msSinceEpoch) {
    return plainLocale().toString(
        QDateTime::fromMSecsSinceEpoch(static_cast<qint64>(std::floor(msSinceEpoch))),
        QStringLiteral("d MMM yyyy, HH:mm:ss"));
}

QString axisPlaceText(double x, XAxis axis) {
    switch (axis) {
        case XAxis::kStep:
            return QObject::tr("step %1").arg(groupedText(x, 0));
        case XAxis::kRows:
            return QObject::tr("%1 rows").arg(groupedText(x, 0));
        case XAxis::kRelativeTime:
            return durationLabel(x);
        case XAxis::kWallTime:
            break;
    }
    return wallTimeText(x);
}

QString axisName(XAxis axis) {
    switch (axis) {
        case XAxis::kStep:
            return QObject::tr("step");
        case XAxis::kRows:
            return QObject::tr("rows");
        case XAxis::kRelativeTime:
            return QObject::tr("time since the start");
        case XAxis::kWallTime:
            break;
    }
    return QObject::tr("time");
}

}  // namespace millrace::gui
