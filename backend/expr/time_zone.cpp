#include "backend/expr/time_zone.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <optional>

#include "backend/filesystem/files.h"

namespace millrace {
namespace {

constexpr std::size_t kFileBytesMax = std::size_t{1} << 20, kHeaderBytes = 44;
constexpr std::int64_t kDaySeconds = 86'400, kHourSeconds = 3'600;
// Weekdays and leap years repeat after 400 years, and the rules with them.
constexpr std::int64_t kCycleYears = 400, kCycleSeconds = 146'097 * kDaySeconds;
constexpr std::int64_t kEarliest = -100 * 366 * kDaySeconds;  // rules are younger than 1870
constexpr std::int64_t kFarAway = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kOffsetMax = 26 * kHourSeconds;  // RFC 8536 allows 25 and 26 hours at most

std::int64_t daysOf(std::int64_t year, unsigned month, unsigned day) {
    const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(year)),
                                           std::chrono::month(month), std::chrono::day(day)};
    return std::chrono::sys_days(date).time_since_epoch().count();
}

std::int64_t yearOf(std::int64_t seconds) {
    const auto day = std::chrono::floor<std::chrono::days>(
        std::chrono::sys_seconds(std::chrono::seconds(seconds)));
    return static_cast<int>(std::chrono::year_month_day(day).year());
}

// When clocks change in a year: "M3.2.0/2", "J60" or "59".
struct RuleDate {
    char kind = 'M';
    std::int64_t month = 0, week = 0, day = 0;
    std::int64_t seconds = 2 * kHourSeconds;  ///< since the local midnight; may be negative

    std::int64_t in(std::int64_t year) const { return dayIn(year) * kDaySeconds + seconds; }
    std::int64_t dayIn(std::int64_t year) const {
        const std::int64_t first = daysOf(year, 1, 1);
        if (kind == 'J') {  // 1 to 365: February 29th is not counted
            const bool isLeap = std::chrono::year(static_cast<int>(year)).is_leap();
            return first + day - 1 + (isLeap && day >= 60 ? 1 : 0);
        }
        if (kind == 'N') {
            return first + day;
        }
        const auto in = static_cast<unsigned>(month);
        const std::int64_t start = daysOf(year, in, 1);
        const std::int64_t next = month == 12 ? daysOf(year + 1, 1, 1) : daysOf(year, in + 1, 1);
        const std::int64_t weekday = ((start + 4) % 7 + 7) % 7;  // January 1st, 1970 was a Thursday
        std::int64_t found = start + (day - weekday + 7) % 7 + (week - 1) * 7;
        while (found >= next) {  // week 5 is the last one
            found -= 7;
        }
        return found;
    }
};

struct Rule {
    std::int64_t standard = 0;  ///< seconds east of UTC
    bool hasSummer = false;
    std::int64_t summer = 0;
    RuleDate begin, end;  ///< of summer time
};

// Parses a rule such as "CET-1CEST,M3.5.0,M10.5.0/3".
class RuleReader {
 public:
    explicit RuleReader(std::string_view text) : text_(text) {}

    std::optional<Rule> read() {
        Rule rule;
        if (!name() || !time(rule.standard)) {
            return std::nullopt;
        }
        rule.standard = -rule.standard;
        if (text_.empty()) {
            return rule;
        }
        rule.hasSummer = true;
        rule.summer = rule.standard + kHourSeconds;
        if (!name()) {
            return std::nullopt;
        }
        if (!text_.starts_with(',')) {
            if (!time(rule.summer)) {
                return std::nullopt;
            }
            rule.summer = -rule.summer;
        }
        const bool isWhole = date(rule.begin) && date(rule.end) && text_.empty();
        return isWhole ? std::optional(rule) : std::nullopt;
    }

 private:
    bool take(char wanted) {
        if (!text_.starts_with(wanted)) {
            return false;
        }
        text_.remove_prefix(1);
        return true;
    }
    bool name() {
        const bool isQuoted = take('<');
        std::size_t n = 0;
        while (n < text_.size() &&
               (std::isalpha(static_cast<unsigned char>(text_[n])) != 0 ||
                (isQuoted && (std::isdigit(static_cast<unsigned char>(text_[n])) != 0 ||
                              text_[n] == '+' || text_[n] == '-')))) {
            ++n;
        }
        text_.remove_prefix(n);
        return n >= 3 && (!isQuoted || take('>'));
    }
    bool number(std::int64_t most, std::int64_t& value) {
        std::size_t n = 0;
        value = 0;
        while (n < text_.size() && n < 4 &&
               std::isdigit(static_cast<unsigned char>(text_[n])) != 0) {
            value = value * 10 + (text_[n++] - '0');
        }
        text_.remove_prefix(n);
        return n > 0 && value <= most;
    }
    // Parses [+-]hh[:mm[:ss]].
    bool time(std::int64_t& seconds) {
        const bool isNegative = take('-');
        std::int64_t hours = 0, minutes = 0, rest = 0;
        if (!isNegative) {
            take('+');
        }
        if (!number(167, hours) || (take(':') && !number(59, minutes)) ||
            (take(':') && !number(59, rest))) {
            return false;
        }
        seconds = hours * kHourSeconds + minutes * 60 + rest;
        seconds = isNegative ? -seconds : seconds;
        return true;
    }
    bool date(RuleDate& date) {
        if (!take(',')) {
            return false;
        }
        if (take('M')) {
            if (!number(12, date.month) || date.month < 1 || !take('.') || !number(5, date.week) ||
                date.week < 1 || !take('.') || !number(6, date.day)) {
                return false;
            }
        } else {
            date.kind = take('J') ? 'J' : 'N';
            if (!number(365, date.day) || (date.kind == 'J' && date.day < 1)) {
                return false;
            }
        }
        return !take('/') || time(date.seconds);
    }

    std::string_view text_;
};

std::int64_t bigEndian(std::string_view bytes) {
    std::uint64_t value = 0;
    for (const char byte : bytes) {
        value = value << 8 | static_cast<unsigned char>(byte);
    }
    const unsigned unused = 64 - 8 * static_cast<unsigned>(bytes.size());
    return static_cast<std::int64_t>(value << unused) >> unused;
}

// The counts in a header; the block after it has times of `width` bytes.
struct Block {
    std::int64_t utcs = 0, standards = 0, leaps = 0, times = 0, types = 0, names = 0;
    char version = 0;
    std::size_t width = 4;

    std::size_t bytes() const {
        return static_cast<std::size_t>(times) * (width + 1) + static_cast<std::size_t>(types) * 6 +
               static_cast<std::size_t>(names) + static_cast<std::size_t>(leaps) * (width + 4) +
               static_cast<std::size_t>(standards) + static_cast<std::size_t>(utcs);
    }
};

std::optional<Block> readHeader(std::string_view bytes, std::size_t width) {
    if (bytes.size() < kHeaderBytes || !bytes.starts_with("TZif")) {
        return std::nullopt;
    }
    Block block;
    block.version = bytes[4];
    block.width = width;
    std::int64_t* const counts[] = {&block.utcs,  &block.standards, &block.leaps,
                                    &block.times, &block.types,     &block.names};
    for (std::size_t i = 0; i < std::size(counts); ++i) {
        *counts[i] = bigEndian(bytes.substr(20 + 4 * i, 4));
        if (*counts[i] < 0 || *counts[i] > static_cast<std::int64_t>(bytes.size())) {
            return std::nullopt;
        }
    }
    return bytes.size() - kHeaderBytes >= block.bytes() ? std::optional(block) : std::nullopt;
}

struct Changes {
    std::vector<std::int64_t> times, offsets;
};

// Returns false if the block is inconsistent.
bool readChanges(const Block& block, std::string_view bytes, Changes& changes) {
    const auto times = static_cast<std::size_t>(block.times);
    const std::string_view kinds = bytes.substr(times * block.width, times);
    const std::string_view types = bytes.substr(times * (block.width + 1));
    std::vector<std::int64_t> offsets;
    for (std::size_t t = 0; t < static_cast<std::size_t>(block.types); ++t) {
        offsets.push_back(bigEndian(types.substr(6 * t, 4)));
        if (std::abs(offsets.back()) > kOffsetMax) {
            return false;
        }
    }
    if (offsets.empty()) {
        return false;
    }
    changes.offsets.push_back(offsets.front());
    for (std::size_t i = 0; i < times; ++i) {
        const std::int64_t time = bigEndian(bytes.substr(i * block.width, block.width));
        const auto kind = static_cast<unsigned char>(kinds[i]);
        if (kind >= offsets.size() || (!changes.times.empty() && time <= changes.times.back())) {
            return false;
        }
        changes.times.push_back(time);
        changes.offsets.push_back(offsets[kind]);
    }
    return true;
}

// Applies the footer's rule after the last change, for a whole cycle; returns the cycle's start.
std::optional<std::int64_t> addRule(const Rule& rule, Changes& changes) {
    if (!rule.hasSummer) {
        changes.offsets.back() = rule.standard;
        return std::nullopt;
    }
    const std::int64_t last = changes.times.empty() ? -kFarAway : changes.times.back();
    const std::int64_t firstYear = yearOf(std::max(last, kEarliest));
    const std::int64_t lastYear = firstYear + kCycleYears + 1;
    std::vector<std::pair<std::int64_t, std::int64_t>> next;
    for (std::int64_t year = firstYear; year <= lastYear; ++year) {
        next.emplace_back(rule.begin.in(year)-rule.standard, rule.summer);
        next.emplace_back(rule.end.in(year)-rule.summer, rule.standard);
    }
    std::ranges::sort(next);
    for (const auto& [time, offset] : next) {
        if (time > last && offset != changes.offsets.back()) {
            changes.times.push_back(time);
            changes.offsets.push_back(offset);
        }
    }
    return daysOf(firstYear + 1, 1, 1) * kDaySeconds;
}

bool isName(const std::string& name) {
    return !name.empty() && name.front() != '/' && name.find("//") == std::string::npos &&
           std::ranges::all_of(name, [](unsigned char c) {
               return std::isalnum(c) != 0 || c == '_' || c == '+' || c == '-' || c == '/';
           });
}

std::string database() {
    const char* const given = std::getenv("TZDIR");
    return given != nullptr && given[0] == '/' ? given : "/usr/share/zoneinfo";
}

}  // namespace

std::string TimeZone::pathOf(const std::string& name) {
    return strCat(database(), "/", name);
}

Result<std::shared_ptr<const TimeZone>> TimeZone::parse(std::string_view bytes,
                                                        const std::string& name) {
    const Status damaged = invalidArgument("time zone '", name, "': ", pathOf(name), " is damaged");
    std::optional<Block> block = readHeader(bytes, 4);
    if (!block) {
        return damaged;
    }
    std::string_view footer;
    bytes.remove_prefix(kHeaderBytes);
    if (block->version >= '2') {
        bytes.remove_prefix(block->bytes());
        block = readHeader(bytes, 8);
        if (!block) {
            return damaged;
        }
        bytes.remove_prefix(kHeaderBytes);
        footer = bytes.substr(block->bytes());
    }
    if (block->leaps > 0) {
        return invalidArgument("time zone '", name,
                               "' counts leap seconds, which times here have not");
    }
    Changes changes;
    if (!readChanges(*block, bytes, changes)) {
        return damaged;
    }
    std::shared_ptr<TimeZone> zone(new TimeZone());
    if (footer.size() > 2) {
        const std::size_t end = footer.find('\n', 1);
        const auto rule = footer.front() == '\n' && end != std::string_view::npos
                              ? RuleReader(footer.substr(1, end - 1)).read()
                              : std::nullopt;
        if (!rule) {
            return damaged;
        }
        zone->cycleBegin_ = addRule(*rule, changes);
    }
    zone->changes_ = std::move(changes.times);
    zone->offsets_ = std::move(changes.offsets);
    return std::shared_ptr<const TimeZone>(std::move(zone));
}

Result<std::shared_ptr<const TimeZone>> TimeZone::load(const std::string& name) {
    std::error_code error;
    if (!std::filesystem::is_directory(database(), error)) {
        return notFound("this machine has no time zone database (", database(),
                        "); install it, on Debian: apt install tzdata");
    }
    const Status unknown =
        invalidArgument("there is no time zone '", name.substr(0, 60),
                        "'; zones are named as 'Europe/Berlin', 'America/New_York', 'UTC'");
    if (!isName(name) || !std::filesystem::is_regular_file(pathOf(name), error)) {
        return unknown;
    }
    ASSIGN_OR_RETURN(const std::string bytes, readFile(pathOf(name), kFileBytesMax));
    if (!bytes.starts_with("TZif")) {
        return unknown;
    }
    return parse(bytes, name);
}

TimeZone::Stretch TimeZone::at(std::int64_t seconds) const {
    std::int64_t cycles = 0;
    if (cycleBegin_ && seconds >= *cycleBegin_ + kCycleSeconds) {
        cycles = (seconds - *cycleBegin_) / kCycleSeconds * kCycleSeconds;
        seconds -= cycles;
    }
    const auto next = std::upper_bound(changes_.begin(), changes_.end(), seconds);
    const auto index = static_cast<std::size_t>(next - changes_.begin());
    Stretch stretch;
    stretch.begin = index == 0 ? -kFarAway : changes_[index - 1] + cycles;
    stretch.end = next == changes_.end() ? kFarAway : *next + cycles;
    if (cycleBegin_) {
        stretch.end = std::min(stretch.end, *cycleBegin_ + kCycleSeconds + cycles);
    }
    if (cycles != 0) {
        stretch.begin = std::max(stretch.begin, *cycleBegin_ + cycles);
    }
    stretch.offset = offsets_[index];
    return stretch;
}

}  // namespace millrace
