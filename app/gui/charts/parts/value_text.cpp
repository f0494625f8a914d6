#include "app/gui/charts/parts/value_text.h"

#include <QDateTime>
#include <QLocale>
#include <QObject>
#include <cmath>

#include "app/session/figures.h"

namespace millrace::gui {
namespace {

QString withSuffix(const QString& number, const QString& suffix) {
    return suffix.isEmpty() ? number : number + QLatin1Char(' ') + suffix;
}

QString notANumber(double value) {
    return std::isnan(value) ? QStringLiteral("n/a")
           : value > 0       ? QStringLiteral("infinite")
                             : QStringLiteral("-infinite");
}

QString bytesText(double value, const QString& behind) {
    return QString::fromStdString(session::preciseBytes(value, 4)) + behind;
}

QString significantText(double value) {
    return QString::fromStdString(session::significantNumber(value, 4));
}

}  // namespace

QString groupedText(double value, int decimals) {
    return QString::fromStdString(session::groupedNumber(value, decimals));
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
            return significantText(value) + QStringLiteral(" %");
        case UnitKind::kFraction:
            return significantText(100 * value) + QStringLiteral(" %");
        case UnitKind::kSeconds:
            return durationLabel(1000 * value);
        case UnitKind::kMilliseconds:
            return durationLabel(value);
        case UnitKind::kCount:
        case UnitKind::kPlain:
            break;
    }
    return withSuffix(QString::fromStdString(session::loggedNumber(value)), unit.suffix);
}

QString shortText(double value, const Unit& unit) {
    if (!std::isfinite(value) || (unit.kind != UnitKind::kPlain && unit.kind != UnitKind::kCount)) {
        return valueText(value, unit);
    }
    if (unit.kind == UnitKind::kCount || std::abs(value) >= 1e5) {
        return withSuffix(QString::fromStdString(session::prefixedNumber(value, 3)), unit.suffix);
    }
    return withSuffix(significantText(value), unit.suffix);
}

QString exactText(double value) {
    return std::isnan(value) ? QString()
                             : QString::number(value, 'g', QLocale::FloatingPointShortest);
}

QString durationLabel(double ms) {
    return QString::fromStdString(session::preciseDuration(ms));
}

Unit chartUnit(session::MetricUnit unit) {
    switch (unit) {
        case session::MetricUnit::kNone:
            break;
        case session::MetricUnit::kCount:
            return {UnitKind::kCount, {}};
        case session::MetricUnit::kPerSecond:
            return {UnitKind::kCount, QStringLiteral("/s")};
        case session::MetricUnit::kPercent:
            return {UnitKind::kPercent, {}};
        case session::MetricUnit::kBytes:
            return {UnitKind::kBytes, {}};
        case session::MetricUnit::kBytesPerSecond:
            return {UnitKind::kBytesPerSecond, {}};
        case session::MetricUnit::kNanoseconds:
            return {UnitKind::kCount, QStringLiteral("ns")};
        case session::MetricUnit::kMilliseconds:
            return {UnitKind::kMilliseconds, {}};
        case session::MetricUnit::kSeconds:
            return {UnitKind::kSeconds, {}};
    }
    return {};
}

QString wallTimeText(double msSinceEpoch) {
    return QLocale(QLocale::English, QLocale::UnitedStates)
        .toString(QDateTime::fromMSecsSinceEpoch(static_cast<qint64>(std::floor(msSinceEpoch))),
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
