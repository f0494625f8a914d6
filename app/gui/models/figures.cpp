#include "app/gui/models/figures.h"

#include <QDateTime>
#include <QLocale>
#include <cmath>

namespace millrace::gui {
namespace {

// 1.23, 12.3, 123: three figures.
QString threeFigures(double value) {
    const double size = std::fabs(value);
    const int digits = size < 9.995 ? 2 : size < 99.95 ? 1 : 0;
    return QString::number(value, 'f', digits);
}

QString twoParts(std::int64_t high, const char* highUnit, std::int64_t low, const char* lowUnit) {
    return QStringLiteral("%1 %2 %3 %4")
        .arg(high)
        .arg(QLatin1String(highUnit))
        .arg(low, 2, 10, QLatin1Char('0'))
        .arg(QLatin1String(lowUnit));
}

}  // namespace

QString wholeNumber(std::int64_t value) {
    return QLocale::c().toString(static_cast<qlonglong>(value));
}

QString shortNumber(double value) {
    if (!std::isfinite(value)) {
        return kNoFigure;
    }
    const char* const units[] = {"", " k", " M", " G", " T"};
    int unit = 0;
    while (std::fabs(value) >= 999.5 && unit < 4) {
        value /= 1000;
        ++unit;
    }
    if (unit == 0 && value == std::floor(value)) {
        return QString::number(value, 'f', 0);
    }
    return threeFigures(value) + QLatin1String(units[unit]);
}

QString byteSize(double bytes) {
    if (!std::isfinite(bytes)) {
        return kNoFigure;
    }
    const char* const units[] = {" B", " KiB", " MiB", " GiB", " TiB", " PiB"};
    int unit = 0;
    while (bytes >= 1000 && unit < 5) {
        bytes /= 1024;
        ++unit;
    }
    const int digits = unit == 0 || bytes >= 99.5 ? 0 : bytes < 9.95 ? 1 : 0;
    return QString::number(bytes, 'f', digits) + QLatin1String(units[unit]);
}

QString byteSize(std::optional<std::uint64_t> bytes) {
    return bytes.has_value() ? byteSize(static_cast<double>(*bytes)) : kNoFigure;
}

QString duration(double ms) {
    if (!std::isfinite(ms) || ms < 0) {
        return kNoFigure;
    }
    if (ms < 1000) {
        return QString::number(std::floor(ms), 'f', 0) + QLatin1String(" ms");
    }
    if (ms < 60'000) {
        return QString::number(std::floor(ms / 100) / 10, 'f', 1) + QLatin1String(" s");
    }
    const auto seconds = static_cast<std::int64_t>(ms / 1000);
    if (seconds < 3600) {
        return twoParts(seconds / 60, "m", seconds % 60, "s");
    }
    if (seconds < 86'400) {
        return twoParts(seconds / 3600, "h", seconds / 60 % 60, "m");
    }
    return twoParts(seconds / 86'400, "d", seconds / 3600 % 24, "h");
}

QString percent(double value) {
    if (!std::isfinite(value)) {
        return kNoFigure;
    }
    const double size = std::fabs(value);
    if (value != 0 && size < 0.1) {
        return QStringLiteral("< 0.1 %");
    }
    // 99.96 % is not all of it.
    const bool isWhole = value == std::floor(value) || (size >= 10 && size < 99);
    return QString::number(isWhole ? std::round(value) : std::floor(value * 10) / 10, 'f',
                           isWhole ? 0 : 1) +
           QLatin1String(" %");
}

QString ago(std::int64_t timeMs, std::int64_t nowMs) {
    const std::int64_t seconds = (nowMs - timeMs) / 1000;
    if (timeMs == 0) {
        return kNoFigure;
    }
    if (seconds < 5) {
        return QStringLiteral("just now");
    }
    if (seconds < 60) {
        return QStringLiteral("%1 s ago").arg(seconds);
    }
    if (seconds < 3600) {
        return QStringLiteral("%1 m ago").arg(seconds / 60);
    }
    if (seconds < 86'400) {
        return QStringLiteral("%1 h ago").arg(seconds / 3600);
    }
    if (seconds < 7 * 86'400) {
        return QStringLiteral("%1 d ago").arg(seconds / 86'400);
    }
    return QDateTime::fromMSecsSinceEpoch(timeMs).toString(QStringLiteral("yyyy-MM-dd"));
}

QString clockTime(std::int64_t timeMs) {
    return timeMs == 0 ? QString()
                       : QDateTime::fromMSecsSinceEpoch(timeMs).toString(
                             QStringLiteral("yyyy-MM-dd HH:mm:ss"));
}

QString counted(std::int64_t count, const QString& one, const QString& many) {
    return wholeNumber(count) + QLatin1Char(' ') + (count == 1 ? one : many);
}

}  // namespace millrace::gui
