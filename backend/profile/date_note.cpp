#include "backend/profile/date_note.h"

#include <algorithm>
#include <string_view>

#include "backend/profile/spec_split.h"
#include "backend/text/text.h"

namespace millrace::profile {
namespace {

constexpr std::string_view kMonths = "JanFebMarAprMayJunJulAugSepOctNovDec";
// Milliseconds of 2001 to 2033, and days of 1900 to 2100 in digits.
constexpr double kLeastMs = 1e12, kMostMs = 2e12, kFirstDay = 19000101, kLastDay = 21001231;

/// Whether the text begins with the form: 0 is a digit, a a letter, x one of "/.-".
bool hasForm(std::string_view text, std::string_view form) {
    return text.size() >= form.size() &&
           std::equal(form.begin(), form.end(), text.begin(), [](char wanted, char c) {
               const bool isDigit = c >= '0' && c <= '9';
               const bool isLetter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
               return wanted == '0'   ? isDigit
                      : wanted == 'a' ? isLetter
                                      : c == '/' || c == '.' || c == '-';
           });
}

int twoDigits(std::string_view text, std::size_t at) {
    return 10 * (text[at] - '0') + (text[at + 1] - '0');
}

/// "cast(year || '-' || month || '-' || day as date)", of pieces of the text.
std::string castOf(const std::string& text, std::string_view year, const std::string& month,
                   std::string_view day, bool hasClock) {
    return strCat("cast(substr(", text, ", ", year, ") || '-' || ", month, " || '-' || substr(",
                  text, ", ", day, ")",
                  hasClock ? strCat(" || substr(", text, ", 11, 9) as timestamp)") : " as date)");
}

class DateTexts {
 public:
    explicit DateTexts(const ColumnProfile& column)
        : values_(column.examples()), name_(sqlName(column.name())) {}

    /// The expression; "" if some value has none of the forms.
    std::string expression() const {
        const bool hasClock = std::ranges::any_of(
            values_, [](const std::string& value) { return value.find(':') != value.npos; });
        if (all("00x00x0000")) {
            // A text with points, or with a first number above 12, begins with the day.
            const bool isDayFirst =
                values_[0][2] == '.' || std::ranges::any_of(values_, [](const std::string& value) {
                    return twoDigits(value, 0) > 12;
                });
            const std::string month = strCat("substr(", name_, isDayFirst ? ", 4, 2)" : ", 1, 2)");
            return castOf(name_, "7, 4", month, isDayFirst ? "1, 2" : "4, 2", hasClock);
        }
        if (all("00xaaax0000")) {
            const std::string month =
                strCat("right('0' || cast(cast((strpos('", kMonths, "', substr(", name_,
                       ", 4, 3)) + 2) / 3 as bigint) as varchar), 2)");
            return castOf(name_, "8, 4", month, "1, 2", false);
        }
        if (all("00000000") && std::ranges::all_of(values_, isDay)) {
            const std::string text = strCat("cast(", name_, " as varchar)");
            return castOf(text, "1, 4", strCat("substr(", text, ", 5, 2)"), "7, 2", false);
        }
        return "";
    }

 private:
    static bool isDay(const std::string& value) {
        const int month = value.size() == 8 ? twoDigits(value, 4) : 0;
        const int day = value.size() == 8 ? twoDigits(value, 6) : 0;
        return month >= 1 && month <= 12 && day >= 1 && day <= 31;
    }
    bool all(std::string_view form) const {
        return !values_.empty() && std::ranges::all_of(values_, [form](const std::string& value) {
            return hasForm(value, form);
        });
    }

    const std::vector<std::string>& values_;
    const std::string name_;
};

}  // namespace

std::string dateNote(const ColumnProfile& column) {
    const expr::DataType& type = column.type();
    const auto isWithin = [&column](double least, double most) {
        return column.hasNumbers() && column.min() >= least && column.max() <= most;
    };
    std::string expression;
    if (type.isString() || (type.isInteger() && isWithin(kFirstDay, kLastDay))) {
        expression = DateTexts(column).expression();
    } else if (type.isInteger() && isWithin(kLeastMs, kMostMs)) {
        expression = strCat("make_timestamp(", sqlName(column.name()), " * 1000)");
    }
    return expression.empty() || type.isList
               ? ""
               : strCat("'", column.name(), "' looks like a date (", column.examples().front(),
                        "), but is ", type.name(), "; `", expression,
                        "` in a derive step reads it as one");
}

}  // namespace millrace::profile
