#pragma once
// How figures of runs are written: session/figures.h as QString, with typographic signs.
//
// Decimal point, thousands by commas, times in the zone of the machine. Threads: any.
#include <QString>
#include <cstdint>
#include <optional>
#include <string>

namespace millrace::gui {

/// What stands where a value is unknown: an en dash.
QString noneText();

/// "0.7934", "42,100", "1.2e-07", "NaN", "∞": as many digits as tell runs apart.
QString numberText(double value);
/// "+0.0021", "−0.0104", "+10" beside 41,639: as many decimals as the value it belongs to has,
/// more where it would be lost. The sign is U+2212, "±0" stands for no difference.
QString differenceText(double difference, double value);
/// "241,683".
QString countText(double value);
/// "241.7 k", "1.3 M": where there is little room.
QString shortCountText(double value);
/// "36 %": whole percents.
QString percentText(double percent);
/// "12.5 MB": powers of ten, as everywhere.
QString bytesText(double bytes);
/// "< 0.1 s", "0.4 s", "12.5 s", "3 m 20 s", "2 h 05 m", "3 d 04 h".
QString durationText(double ms);
/// "14:03" today, "21 Nov 14:03" this year, "2025-11-21" before; "" for 0.
QString timeText(std::int64_t timeMs, std::int64_t nowMs);
/// "2026-11-21 14:03:10"; "" for 0.
QString fullTimeText(std::int64_t timeMs);
/// The first 12 digits of a hash.
QString shortHash(const std::string& hash);
/// "No daemon answers at unix:/x.sock." of a message that begins in lower case.
QString asSentence(const std::string& message);
/// UTF-8 to QString.
QString qtext(const std::string& text);

}  // namespace millrace::gui
