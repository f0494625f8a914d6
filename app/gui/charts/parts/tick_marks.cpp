#include "app/gui/charts/parts/tick_marks.h"

#include <QDateTime>
#include <QLocale>
#include <algorithm>
#include <array>
#include <cmath>

#include "app/gui/charts/parts/value_text.h"

namespace millrace::gui {
namespace {

constexpr double kSecond = 1000, kMinute = 60 * kSecond, kHour = 60 * kMinute, kDay = 24 * kHour;

// One prefix for the whole axis, so that neighbours can be compared at a glance.
struct Scale {
    double divisor = 1;
    QString unit;
};

Scale siScale(double size) {
    static constexpr std::array kNames = {"k", "M", "G", "T", "P"};
    Scale scale;
    for (std::size_t i = 0; i < kNames.size() && size >= 1000 * scale.divisor; ++i) {
        scale = {scale.divisor * 1000, QLatin1StringView(kNames.at(i))};
    }
    return scale;
}

Scale byteScale(double size, const QString& behind) {
    static constexpr std::array kNames = {"kB", "MB", "GB", "TB", "PB"};
    Scale scale{1, QStringLiteral("B")};
    for (std::size_t i = 0; i < kNames.size() && size >= 1000 * scale.divisor; ++i) {
        scale = {scale.divisor * 1000, QLatin1StringView(kNames.at(i))};
    }
    scale.unit += behind;
    return scale;
}

Scale secondScale(double size) {
    if (size < 1e-3) {
        return {1e-6, QStringLiteral("µs")};
    }
    return size < 1 ? Scale{1e-3, QStringLiteral("ms")} : Scale{1, QStringLiteral("s")};
}

Scale scaleFor(double size, const Unit& unit) {
    switch (unit.kind) {
        case UnitKind::kPlain:
        case UnitKind::kCount:
            // Up to 99,999 the digits fit and are easier to compare.
            return size >= 1e5 ? siScale(size) : Scale{};
        case UnitKind::kBytes:
            return byteScale(size, {});
        case UnitKind::kBytesPerSecond:
            return byteScale(size, QStringLiteral("/s"));
        case UnitKind::kPercent:
            return {1, QStringLiteral("%")};
        case UnitKind::kFraction:
            return {0.01, QStringLiteral("%")};
        case UnitKind::kSeconds:
            return secondScale(size);
        case UnitKind::kMilliseconds: {
            Scale scale = secondScale(size / 1000);
            scale.divisor *= 1000;
            return scale;
        }
    }
    return {};
}

int decimalsOf(double step) {
    for (int decimals = 0; decimals < 12; ++decimals) {
        const double scaled = step * std::pow(10, decimals);
        // A step such as 0.1 is not exact in binary.
        if (std::abs(scaled - std::nearbyint(scaled)) < 1e-6 * scaled) {
            return decimals;
        }
    }
    return 12;
}

QString scaledText(double value, double step, const Scale& scale) {
    const double scaled = value / scale.divisor;
    const double scaledStep = step / scale.divisor;
    QString text;
    // More than five decimals do not fit beside an axis.
    if (scaledStep < 1e-5 && scaled != 0) {
        text = shortText(scaled, {});
    } else {
        text = groupedText(scaled, decimalsOf(scaledStep));
    }
    if (scale.unit.isEmpty() || (scaled == 0 && scale.unit != QLatin1Char('%'))) {
        return text;
    }
    return text + QLatin1Char(' ') + scale.unit;
}

template <typename Text>
TickMarks evenMarks(double low, double high, double step, const Text& text) {
    TickMarks ticks;
    // A mark at the very end counts in spite of rounding. Each value is a multiple of the step, not
    // a sum, so errors do not add up; and 0 is never -0.
    const double slack = 1e-9 * (high - low);
    const double first = std::ceil((low - slack) / step), last = std::floor((high + slack) / step);
    for (double i = first; i <= last && ticks.marks.size() < 200; ++i) {
        const double value = i == 0 ? 0.0 : i * step;
        ticks.marks.push_back({value, text(value)});
    }
    return ticks;
}

double timeStep(double range, int numMax) {
    // Steps by which people count time.
    static constexpr std::array kSteps = {
        kSecond,  2 * kSecond, 5 * kSecond, 10 * kSecond, 15 * kSecond, 30 * kSecond,
        kMinute,  2 * kMinute, 5 * kMinute, 10 * kMinute, 15 * kMinute, 30 * kMinute,
        kHour,    2 * kHour,   3 * kHour,   6 * kHour,    12 * kHour,   kDay,
        2 * kDay, 7 * kDay,    14 * kDay,   28 * kDay};
    if (range / numMax < kSteps.front()) {
        return niceStep(range, numMax);
    }
    for (const double step : kSteps) {
        if (range / step <= numMax) {
            return step;
        }
    }
    return niceStep(range / kDay, numMax) * kDay;
}

// "45 s", "1 m", "1 m 30 s", "2 h", "1 d 12 h": omits parts that are zero.
QString durationMark(double ms, double step) {
    if (ms == 0) {
        return QStringLiteral("0");
    }
    const double size = std::abs(ms);
    QString text = ms < 0 ? QStringLiteral("-") : QString();
    if (step < kSecond && size < kMinute) {
        return step < 10 ? text + groupedText(size, decimalsOf(step)) + QStringLiteral(" ms")
                         : text + groupedText(size / 1000, decimalsOf(step / 1000)) +
                               QStringLiteral(" s");
    }
    struct Part {
        double ms;
        const char* name;
    };
    static constexpr std::array kParts = {Part{kDay, "d"}, Part{kHour, "h"}, Part{kMinute, "m"}};
    double rest = size;
    QStringList parts;
    for (const Part& part : kParts) {
        const double count = std::floor(rest / part.ms + 1e-9);
        rest -= count * part.ms;
        if (count > 0) {
            parts << groupedText(count, 0) + QLatin1Char(' ') + QLatin1StringView(part.name);
        }
    }
    if (rest >= step / 2) {
        parts << groupedText(rest / 1000, decimalsOf(step / 1000)) + QStringLiteral(" s");
    }
    return text + parts.join(QLatin1Char(' '));
}

QString timeOfDay(const QDateTime& time, double step) {
    const QLocale english(QLocale::English, QLocale::UnitedStates);
    if (step >= kDay || (time.time() == QTime(0, 0) && step >= kMinute)) {
        return english.toString(time, QStringLiteral("d MMM"));
    }
    return english.toString(time, step >= kMinute   ? QStringLiteral("HH:mm")
                                  : step >= kSecond ? QStringLiteral("HH:mm:ss")
                                                    : QStringLiteral("HH:mm:ss.zzz"));
}

TickMarks wallTicks(double low, double high, int numMax) {
    const double step = timeStep(high - low, numMax);
    const QDateTime start = QDateTime::fromMSecsSinceEpoch(static_cast<qint64>(low));
    // Marks are at whole local hours and days in any time zone.
    const double offset = start.offsetFromUtc() * kSecond;
    TickMarks ticks =
        evenMarks(low + offset, high + offset, step, [](double) { return QString(); });
    for (TickMark& mark : ticks.marks) {
        mark.value -= offset;
        mark.text = timeOfDay(
            QDateTime::fromMSecsSinceEpoch(static_cast<qint64>(std::llround(mark.value))), step);
    }
    ticks.context =
        QLocale(QLocale::English, QLocale::UnitedStates)
            .toString(start, step >= kDay ? QStringLiteral("yyyy") : QStringLiteral("d MMM yyyy"));
    return ticks;
}

QString powerText(double value, const Unit& unit) {
    if (unit.kind == UnitKind::kPlain && (value < 1e-3 || value >= 1e5)) {
        return shortText(value, {});
    }
    Unit bare = unit;
    bare.suffix.clear();
    return shortText(value, bare);
}

}  // namespace

double niceStep(double range, int numMax) {
    const double raw = range / std::max(1, numMax);
    const double power = std::pow(10, std::floor(std::log10(raw)));
    for (const double factor : {1.0, 2.0, 2.5, 5.0}) {
        if (factor * power >= raw * (1 - 1e-9)) {
            return factor * power;
        }
    }
    return 10 * power;
}

TickMarks valueTicks(double low, double high, int numMax, const Unit& unit) {
    const double size = std::max(std::abs(low), std::abs(high));
    const bool isTime = unit.kind == UnitKind::kSeconds || unit.kind == UnitKind::kMilliseconds;
    const double toMs = unit.kind == UnitKind::kSeconds ? 1000 : 1;
    if (isTime && size * toMs >= 2 * kMinute) {
        const double step = timeStep((high - low) * toMs, numMax) / toMs;
        return evenMarks(low, high, step,
                         [&](double v) { return durationMark(v * toMs, step * toMs); });
    }
    const Scale scale = scaleFor(size, unit);
    const double step = niceStep((high - low) / scale.divisor, numMax) * scale.divisor;
    return evenMarks(low, high, step, [&](double v) { return scaledText(v, step, scale); });
}

TickMarks logTicks(double low, double high, int numMax, const Unit& unit) {
    TickMarks ticks;
    const int first = static_cast<int>(std::floor(std::log10(low) + 1e-9));
    const int last = static_cast<int>(std::floor(std::log10(high) + 1e-9));
    const double decades = std::log10(high / low);
    // Less than a factor of 5: no more than one power of ten would be visible.
    if (decades < 0.7) {
        return valueTicks(low, high, numMax, unit);
    }
    const int stride =
        std::max(1, static_cast<int>(std::ceil((last - first + 1) / double(numMax))));
    // Three marks for each decade: 1, 2 and 5.
    const bool hasHalves = decades < numMax / 3.0;
    for (int power = first; power <= last; ++power) {
        for (int digit = 1; digit <= 9; ++digit) {
            const double value = digit * std::pow(10, power);
            if (value < low * (1 - 1e-9) || value > high * (1 + 1e-9)) {
                continue;
            }
            const bool isNamed = (digit == 1 && (power - first) % stride == 0) ||
                                 (hasHalves && (digit == 2 || digit == 5));
            if (isNamed || (stride == 1 && digit > 1) || digit == 1) {
                ticks.marks.push_back({value, isNamed ? powerText(value, unit) : QString()});
            }
        }
    }
    return ticks;
}

TickMarks axisTicks(double low, double high, int numMax, XAxis axis) {
    if (axis == XAxis::kWallTime) {
        return wallTicks(low, high, numMax);
    }
    if (axis == XAxis::kRelativeTime) {
        const double step = timeStep(high - low, numMax);
        return evenMarks(low, high, step, [step](double v) { return durationMark(v, step); });
    }
    const double nice = std::max(1.0, niceStep(high - low, numMax));
    const double step = nice == 2.5 ? 5 : nice;  // no half steps or half rows
    const Scale scale = scaleFor(std::max(std::abs(low), std::abs(high)), {UnitKind::kCount, {}});
    return evenMarks(low, high, step, [&](double v) { return scaledText(v, step, scale); });
}

}  // namespace millrace::gui
