#pragma once
// Numbers, sizes, times and counts as people read them, with their units. An empty optional is
// "–" (kNoFigure), never zero.
//
// Threads: any.
#include <QString>
#include <cstdint>
#include <optional>

namespace millrace::gui {

inline const QString kNoFigure = QStringLiteral("\u2013");

/// "12,345"
QString wholeNumber(std::int64_t value);
/// Three figures and k, M, G: "12.3 k", "999", "1.20 M".
QString shortNumber(double value);
/// "0 B", "999 B", "1.5 KiB", "12 MiB": two to three figures.
QString byteSize(double bytes);
QString byteSize(std::optional<std::uint64_t> bytes);
/// "34 ms", "3.4 s", "2 m 05 s", "3 h 12 m", "4 d 02 h".
QString duration(double ms);
/// "42 %", "0.3 %": of 100.
QString percent(double value);
/// "just now", "12 s ago", "5 m ago", "3 h ago", "2 d ago", then the date.
QString ago(std::int64_t timeMs, std::int64_t nowMs);
/// "2026-11-21 21:08:03", in the zone of the machine; "" for 0.
QString clockTime(std::int64_t timeMs);
/// "1 file", "1,234 files".
QString counted(std::int64_t count, const QString& one, const QString& many);

}  // namespace millrace::gui
