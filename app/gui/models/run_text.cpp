#include "app/gui/models/run_text.h"

#include <QDateTime>
#include <QLocale>
#include <cmath>

namespace millrace::gui {
namespace {

QString withMinus(QString text) {
    return text.replace('-', QChar(0x2212));
}

QString grouped(double value, int decimals) {
    return QLocale(QLocale::English, QLocale::UnitedStates).toString(value, 'f', decimals);
}

QString notFinite(double value) {
    return std::isnan(value) ? QStringLiteral("NaN")
           : value > 0       ? QString(QChar(0x221e))
                             : QString(QChar(0x2212)) + QChar(0x221e);
}

QString scaled(double value, double base, const QStringList& units) {
    int unit = 0;
    while (std::abs(value) >= base * 0.9995 && unit + 1 < units.size()) {
        value /= base;
        ++unit;
    }
    const int decimals = unit == 0 || std::abs(value) >= 99.95 ? 0 : 1;
    const QString number = grouped(value, decimals);
    return units[unit].isEmpty() ? number : number + ' ' + units[unit];
}

}  // namespace

QString noneText() {
    return QString(QChar(0x2013));
}

QString qtext(const std::string& text) {
    return QString::fromStdString(text);
}

QString asSentence(const std::string& message) {
    QString text = qtext(message);
    if (!text.isEmpty()) {
        text[0] = text[0].toUpper();
    }
    return text.isEmpty() || text.endsWith('.') || text.endsWith('?') ? text : text + '.';
}

QString numberText(double value) {
    if (!std::isfinite(value)) {
        return notFinite(value);
    }
    const double size = std::abs(value);
    if (size != 0 && (size < 1e-4 || size >= 1e9)) {
        return withMinus(QString::number(value, 'g', 4));
    }
    if (value == std::floor(value) && size >= 10) {
        return withMinus(grouped(value, 0));
    }
    return withMinus(grouped(value, size < 10 ? 4 : size < 100 ? 2 : size < 1000 ? 1 : 0));
}

QString differenceText(double difference, double value) {
    if (!std::isfinite(difference)) {
        return notFinite(difference);
    }
    if (difference == 0) {
        return QString(QChar(0x00b1)) + '0';
    }
    const double size = std::abs(difference);
    const double beside = std::abs(value);
    const int decimals = beside < 10 ? 4 : beside < 100 ? 2 : beside < 1000 ? 1 : 0;
    const bool isLost = size < 0.5 * std::pow(10, -decimals);
    const QString text = isLost ? QString::number(size, 'g', 2) : grouped(size, decimals);
    return (difference > 0 ? QString('+') : QString(QChar(0x2212))) + withMinus(text);
}

QString countText(double value) {
    return std::isfinite(value) ? withMinus(grouped(value, 0)) : notFinite(value);
}

QString shortCountText(double value) {
    return std::isfinite(value) ? withMinus(scaled(value, 1000, {"", "k", "M", "G", "T"}))
                                : notFinite(value);
}

QString bytesText(double bytes) {
    return scaled(bytes, 1000, {"B", "kB", "MB", "GB", "TB", "PB"});
}

QString durationText(double ms) {
    if (!(ms >= 0)) {
        return {};
    }
    const double seconds = ms / 1000;
    if (seconds > 0 && seconds < 0.05) {
        return "< 0.1 s";  // something, and not nothing
    }
    if (seconds < 59.95) {
        return QString::number(seconds, 'f', 1) + " s";
    }
    const auto whole = static_cast<std::int64_t>(seconds + 0.5);
    const auto two = [](std::int64_t n) { return QString("%1").arg(n, 2, 10, QChar('0')); };
    if (whole < 3600) {
        return QString("%1 min %2 s").arg(whole / 60).arg(two(whole % 60));
    }
    if (whole < 86'400) {
        return QString("%1 h %2 min").arg(whole / 3600).arg(two(whole % 3600 / 60));
    }
    return QString("%1 d %2 h").arg(whole / 86'400).arg(whole % 86'400 / 3600);
}

QString timeText(std::int64_t timeMs, std::int64_t nowMs) {
    if (timeMs <= 0) {
        return {};
    }
    const QDateTime time = QDateTime::fromMSecsSinceEpoch(timeMs);
    const QDate today = QDateTime::fromMSecsSinceEpoch(nowMs).date();
    if (time.date() == today) {
        return time.toString("HH:mm:ss");
    }
    return time.date().year() == today.year()
               ? QLocale(QLocale::English).toString(time, "d MMM HH:mm")
               : time.toString("yyyy-MM-dd");
}

QString fullTimeText(std::int64_t timeMs) {
    return timeMs <= 0 ? QString()
                       : QDateTime::fromMSecsSinceEpoch(timeMs).toString("yyyy-MM-dd HH:mm:ss");
}

QString shortHash(const std::string& hash) {
    return QString::fromStdString(hash.substr(0, 12));
}

}  // namespace millrace::gui
