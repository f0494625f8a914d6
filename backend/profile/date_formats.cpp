#include "backend/profile/date_formats.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include <absl/strings/ascii.h>

namespace millrace::profile {
namespace {

using expr::TimeFormat;

// In a form, a number of the date that may be its day, month or year.
constexpr char kOpenNumber = '\1';

bool isDigitAt(std::string_view text, std::size_t at) {
    return at < text.size() && absl::ascii_isdigit(static_cast<unsigned char>(text[at]));
}

std::size_t endOfRun(std::string_view text, std::size_t at, bool (*isIn)(unsigned char)) {
    while (at < text.size() && isIn(static_cast<unsigned char>(text[at]))) {
        ++at;
    }
    return at;
}

/// Takes a text apart. Clock, names and offset are recognized by their form; the other numbers are
/// those of the date.
class FormOfText {
 public:
    explicit FormOfText(std::string_view text) : text_(text) {}

    /// The formats that the text may have, the likeliest first.
    std::vector<std::string> formats() {
        while (at_ < text_.size()) {
            const auto c = static_cast<unsigned char>(text_[at_]);
            const bool isWord = absl::ascii_isalpha(c);
            if (c == '%' || c == '\'' || absl::ascii_iscntrl(c) || (isWord && !takeWord())) {
                return {};
            }
            if (!isWord && !takeOffset() && !takeNumber()) {
                form_ += text_[at_++];
            }
        }
        return numbered();
    }

 private:
    // Words: names of months and days, AM and PM; T, Z, UTC and GMT stay.
    bool takeWord() {
        const std::size_t end = endOfRun(text_, at_, absl::ascii_isalpha);
        const std::string word(text_.substr(at_, end - at_));
        at_ = end;
        for (const std::string_view field : {"%b", "%B", "%a", "%A", "%p"}) {
            if (TimeFormat::make(field)->parse(word)) {
                hasMonthName_ |= field[1] == 'b' || field[1] == 'B';
                isHalfDays_ |= field == "%p";
                isMay_ |= field == "%b" && TimeFormat::make("%B")->parse(word);
                form_ += field;
                return true;
            }
        }
        form_ += word;
        return word == "T" || word == "Z" || word == "UTC" || word == "GMT";
    }
    // "+02:00" or "-0500" behind a clock.
    bool takeOffset() {
        const char sign = text_[at_];
        const std::size_t end = endOfRun(text_, at_ + 1, absl::ascii_isdigit);
        const std::size_t digits = end - at_ - 1;
        if (clockFields_ < 2 || (sign != '+' && sign != '-') || (digits != 2 && digits != 4)) {
            return false;
        }
        const bool hasMinutes = text_.substr(end).starts_with(':') && isDigitAt(text_, end + 1) &&
                                isDigitAt(text_, end + 2);
        at_ = hasMinutes ? end + 3 : end;
        form_ += "%z";
        return true;
    }
    bool takeNumber() {
        constexpr std::string_view kClock[] = {"%H", "%M", "%S"};
        const std::size_t end = endOfRun(text_, at_, absl::ascii_isdigit);
        const std::string_view digits = text_.substr(at_, end - at_);
        if (digits.empty()) {
            return false;
        }
        const char before = at_ > 0 ? text_[at_ - 1] : '\0';
        const char behind = end < text_.size() ? text_[end] : '\0';
        const bool isDateWhole = numbers_.size() + (hasMonthName_ ? 1 : 0) == 3;
        const bool isHour = clockFields_ == 0 && digits.size() <= 2 &&
                            (behind == ':' || (behind == '.' && isDateWhole)) &&
                            isDigitAt(text_, end + 1);
        at_ = end;
        clockMark_ = isHour ? behind : clockMark_;
        if (isHour || (clockFields_ > 0 && clockFields_ < 3 && before == clockMark_)) {
            form_ += kClock[clockFields_++];
        } else if (clockFields_ == 3 && !hasFraction_ && (before == '.' || before == ',')) {
            hasFraction_ = true;
            form_ += digits.size() <= 6 ? "%f" : "%n";
        } else {
            form_ += kOpenNumber;
            numbers_.push_back(digits);
        }
        return true;
    }

    /// The form with each possible meaning of its numbers.
    std::vector<std::string> numbered() const {
        const bool hasPoints = form_.find(std::string{kOpenNumber, '.'}) != std::string::npos;
        std::vector<std::string_view> orders = {"mdY", "dmY", "mdy", "dmy", "ymd", "Ymd"};
        if (hasMonthName_) {
            orders = {"dY", "Yd", "dy"};
        } else if (hasPoints) {
            orders = {"dmY", "mdY", "dmy", "mdy", "ymd", "Ymd"};
        }
        std::vector<std::string> made;
        for (const std::string_view order : orders) {
            if (canBe(order)) {
                made.push_back(withNumbers(order));
            }
        }
        for (std::size_t i = 0, count = isMay_ ? made.size() : 0; i < count; ++i) {
            std::string whole = made[i];
            made.push_back(whole.replace(whole.find("%b"), 2, "%B"));
        }
        const bool isWhole = numbers_.size() == 1 && !hasMonthName_ && form_.size() == 1;
        const std::size_t digits = isWhole ? numbers_[0].size() : 0;
        const bool isYearNear =
            isWhole && (numbers_[0].starts_with("19") || numbers_[0].starts_with("20"));
        if (isYearNear && (digits == 8 || digits == 12 || digits == 14)) {
            made.emplace_back(std::string_view("%Y%m%d%H%M%S").substr(0, digits - 2));
        }
        return made;
    }
    /// Whether the numbers have the digits of this order's fields.
    bool canBe(std::string_view order) const {
        return std::ranges::equal(order, numbers_, [](char field, std::string_view digits) {
            return field == 'Y'   ? digits.size() == 4
                   : field == 'y' ? digits.size() == 2
                                  : digits.size() <= 2;
        });
    }
    std::string withNumbers(std::string_view order) const {
        std::string format;
        for (const char c : form_) {
            format += c == kOpenNumber ? '%' : c;
            if (c == kOpenNumber) {
                format += order.front();
                order.remove_prefix(1);
            }
        }
        const std::size_t hour = isHalfDays_ ? format.find("%H") : std::string::npos;
        return hour == std::string::npos ? format : format.replace(hour, 2, "%I");
    }

    const std::string_view text_;
    std::size_t at_ = 0;
    std::string form_;
    std::vector<std::string_view> numbers_;  ///< of the date
    std::size_t clockFields_ = 0;
    char clockMark_ = '\0';  ///< between hours and minutes: a colon, or a point behind the date
    bool hasMonthName_ = false, isHalfDays_ = false, hasFraction_ = false;
    bool isMay_ = false;  ///< the short and the whole name
};

}  // namespace

int DateFormats::Candidate::numYears() const {
    using std::chrono::days, std::chrono::microseconds, std::chrono::sys_time;
    const auto yearOf = [](std::int64_t us) {
        const auto day = std::chrono::floor<days>(sys_time<microseconds>(microseconds(us)));
        return int{std::chrono::year_month_day(day).year()};
    };
    return yearOf(reading.latest) - yearOf(reading.earliest) + 1;
}

/// Returns whether the text has the format.
bool DateFormats::Candidate::read(std::string_view text) {
    const std::optional<std::int64_t> us = format.parse(text);
    if (!us) {
        return false;
    }
    const bool isFirst = reading.times.count() == 0;
    reading.earliest = isFirst ? *us : std::min(reading.earliest, *us);
    reading.latest = isFirst ? *us : std::max(reading.latest, *us);
    reading.times.add(static_cast<double>(*us));
    return true;
}

void DateFormats::add(std::string_view text) {
    constexpr std::size_t kLongest = 64;  // bytes of a date with names, clock and zone
    if (isNone() || std::ranges::all_of(text, absl::ascii_isspace)) {
        return;
    }
    const bool isFirst = !std::exchange(hasTexts_, true);
    if (isFirst && text.size() <= kLongest) {
        for (std::string& format : FormOfText(text).formats()) {
            if (Result<TimeFormat> made = TimeFormat::make(format); made.ok()) {
                open_.push_back({{.format = std::move(format)}, *std::move(made)});
            }
        }
    }
    std::erase_if(open_, [&](Candidate& candidate) { return !candidate.read(text); });
}

// A day that is read as the year of two digits gives 31 years in a few dozen texts: formats of far
// more years than the least are left out.
std::vector<const DateReading*> DateFormats::all() const {
    constexpr int kMoreYears = 10;
    std::vector<const Candidate*> ordered;
    for (const Candidate& candidate : open_) {
        ordered.push_back(&candidate);
    }
    std::ranges::stable_sort(ordered, {}, &Candidate::numYears);
    std::vector<const DateReading*> readings;
    for (const Candidate* candidate : ordered) {
        const auto isShort = [](const Candidate* of) {
            return of->reading.format.find("%b") != std::string::npos;
        };
        if (candidate->numYears() <= ordered[0]->numYears() + kMoreYears &&
            isShort(candidate) == isShort(ordered[0])) {
            readings.push_back(&candidate->reading);
        }
    }
    return readings;
}

}  // namespace millrace::profile
