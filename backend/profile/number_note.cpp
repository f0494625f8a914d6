#include "backend/profile/number_note.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <vector>

#include "backend/expr/expression.h"
#include "backend/text/text.h"

namespace millrace::profile {
namespace {

// Beside the digits of a number; the second blank is U+00A0, the third U+202F.
constexpr std::array<std::string_view, 14> kMarks{
    "$", "€", "£", "¥", "₹", "%", "EUR", "USD", "GBP", "CHF", "JPY", " ", "\u00A0", "\u202F"};

bool isDigit(char c) {
    return c >= '0' && c <= '9';
}

class NumberTexts {
 public:
    /// Takes out the marks of a value; returns whether it can be a number then.
    bool add(std::string value) {
        for (const std::string_view mark : kMarks) {
            for (std::size_t at = value.find(mark); at != std::string::npos;
                 at = value.find(mark)) {
                value.erase(at, mark.size());
                take(mark);
            }
        }
        const std::size_t first = value.starts_with('-') || value.starts_with('+') ? 1 : 0;
        const bool isPlain =
            std::any_of(value.begin(), value.end(), isDigit) &&
            std::all_of(value.begin() + static_cast<std::ptrdiff_t>(first), value.end(),
                        [](char c) { return isDigit(c) || c == '.' || c == ','; });
        return isPlain && takePoints(value.substr(first));
    }
    /// The expression; "" if no value needs one, or two values disagree about their comma.
    std::string expression(const std::string& column) const {
        if ((marks_.empty() && !hasComma_) || (hasGroups_ && hasDecimalComma_)) {
            return "";
        }
        std::string text = expr::sqlName(column);
        const auto replace = [&text](std::string_view from, std::string_view to) {
            text = strCat("replace(", text, ", '", from, "', '", to, "')");
        };
        for (const std::string_view mark : marks_) {
            replace(mark, "");
        }
        if (hasDecimalComma_ && hasPointGroups_) {
            replace(".", "");
        }
        if (hasComma_) {
            replace(",", hasDecimalComma_ ? "." : "");
        }
        return strCat("try_cast(", text, " as double)");
    }

 private:
    void take(std::string_view mark) {
        if (std::ranges::find(marks_, mark) == marks_.end()) {
            marks_.push_back(mark);
        }
    }
    /// A comma before exactly three digits separates thousands; another one, or one behind a
    /// point, is the decimal comma.
    bool takePoints(const std::string& value) {
        const std::size_t comma = value.rfind(','), point = value.rfind('.');
        if (comma == std::string::npos) {
            return std::ranges::count(value, '.') <= 1;
        }
        hasComma_ = true;
        const bool hasPoint = point != std::string::npos;
        const bool isDecimal = hasPoint ? comma > point : value.size() - comma != 4;
        hasDecimalComma_ |= isDecimal;
        hasGroups_ |= !isDecimal;
        hasPointGroups_ |= isDecimal && hasPoint;
        return isDecimal ? std::ranges::count(value, ',') == 1
                         : std::ranges::count(value, '.') <= 1;
    }

    std::vector<std::string_view> marks_;
    bool hasComma_ = false, hasDecimalComma_ = false, hasGroups_ = false, hasPointGroups_ = false;
};

}  // namespace

std::string numberNote(const ColumnProfile& column) {
    if (!column.type().isString() || column.type().isList || column.examples().empty()) {
        return "";
    }
    NumberTexts texts;
    for (const std::string& value : column.examples()) {
        if (!value.empty() && !texts.add(value)) {
            return "";
        }
    }
    const std::string expression = texts.expression(column.name());
    return expression.empty()
               ? ""
               : strCat("'", column.name(), "' looks like a number ('", column.examples().front(),
                        "'), but is string; `", expression,
                        "` in a derive step reads it as one, and null where it is none");
}

}  // namespace millrace::profile
