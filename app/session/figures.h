#pragma once
// Formats figures for people: for the command line, the terminal views and the console. Every kind
// of figure is formatted here, or in core's formatBytes(), formatCount() and formatDuration(), and
// nowhere else. The console turns them into QStrings at its edge and adds only typography (U+2212,
// an infinity sign).
//
// Decimal point, commas between thousands, bytes in powers of ten. An unknown figure is "n/a" or
// "-", never 0. Threads: any.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace millrace::session {

// Numbers.
/// "12,345.60": `decimals` digits behind the point; never "-0.00".
std::string groupedNumber(double value, int decimals);
/// Short, for lists and axes of a terminal: "0.5123", "42,123", "1.05 M", "n/a".
std::string shortNumber(double value);
std::string numberText(const std::optional<double>& value, const char* unknown = "-");
/// Enough digits to tell runs apart: "0.7934", "42,100", "1.2e-07", "NaN", "inf".
std::string figureText(double value);
/// "+0.0021", "-0.0104", "+10" beside 41,639: as many decimals as the value it belongs to, more if
/// the difference would vanish; "0" for no difference.
std::string differenceText(double difference, double value);
/// Rounded to `digits` significant digits, without trailing zeros: "0.4931", "1.2e-5", "1,235".
std::string significantNumber(double value, int digits);
/// The digits that were logged if they are few (0.1f is "0.1"), otherwise 7 digits.
std::string loggedNumber(double value);
/// With an SI prefix: "1.23 M".
std::string prefixedNumber(double value, int digits);
/// "241.7 k", "1.3 M".
std::string shortCount(double value);
/// "1 run", "2 runs", "1,024 files".
std::string countText(std::int64_t count, std::string_view noun);

// Shares, bytes and rates.
/// "36 %", "3.4 %", "0 %" or "n/a".
std::string percentText(const std::optional<double>& value);
/// "1.234 GB", with `digits` digits; formatBytes() has two or three.
std::string preciseBytes(double bytes, int digits);
/// "1.2 MB/s" or "n/a".
std::string rateText(const std::optional<double>& bytesPerSecond);
/// "3.2/23.9 GB" or "n/a".
std::string usedText(const std::optional<std::uint64_t>& used,
                     const std::optional<std::uint64_t>& total);

// Times.
/// "< 0.1 s", "0.4 s", "3 m 20 s", "2 h 05 m", "3 d 04 h"; "" if unknown (below 0).
std::string durationText(double ms);
/// The same, but in milliseconds and microseconds below one second; accepts negative times.
std::string preciseDuration(double ms);
/// durationText() of seconds: "12.0 s", "1 h 05 m", "-" if unknown.
std::string secondsText(const std::optional<double>& seconds);
/// "2026-11-21 19:20:53" in local time.
std::string localTime(std::int64_t utcMs);
/// Hours, minutes and seconds in local time.
std::string timeOfDay(std::int64_t utcMs);
/// "+01:00": how far the local clock is ahead of UTC at that time; "UTC" if it is not.
std::string zoneText(std::int64_t utcMs);
/// "5 s ago", "3 min ago", "2 d ago".
std::string ageText(std::int64_t utcMs, std::int64_t nowMs);
/// "samples/s", "samples/s, 2 m 03 s old".
std::string withAge(const std::string& text, const std::optional<double>& oldSeconds);

}  // namespace millrace::session
