#pragma once
// Figures of runs for the console: session/figures.h as QString, with typographic signs.
//
// Decimal point, commas between thousands, times in the machine's time zone. Threads: any.
#include <QString>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "app/session/words.h"

namespace millrace::gui {

namespace word = session::word;

/// Whether the character moves the text after it elsewhere in the line.
bool isBidiControl(QChar c);
/// Shown for an unknown value: an en dash.
QString noneText();

/// "0.7934", "42,100", "1.2e-07", "NaN", "∞": enough digits to tell runs apart.
QString numberText(double value);
/// "+0.0021", "−0.0104", "+10" beside 41,639: as many decimals as the value it belongs to, more if
/// the difference would vanish. The sign is U+2212; "±0" for no difference.
QString differenceText(double difference, double value);
/// "241,683".
QString countText(double value);
/// "241.7 k", "1.3 M": for narrow spaces.
QString shortCountText(double value);
/// "36 %", "3.4 %", "0 %".
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
/// "No daemon answers at unix:/x.sock." for a message that begins in lower case.
QString asSentence(const std::string& message);
/// UTF-8 to QString.
QString qtext(std::string_view text);
/// With a capital first letter.
QString capital(QString text);
/// The word in a sentence: "rows trained".
QString labelOf(const session::Word& word);
/// The word as a title: "Rows trained".
QString titleOf(const session::Word& word);

}  // namespace millrace::gui
