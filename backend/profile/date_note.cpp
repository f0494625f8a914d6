#include "backend/profile/date_note.h"

#include <absl/strings/str_join.h>

#include "backend/expr/expression.h"

namespace millrace::profile {
namespace {

constexpr double kLeastMs = 1e12, kMostMs = 2e12;  // 2001 to 2033

std::string sentence(const ColumnProfile& column, const std::string& expression) {
    const std::string shown =
        column.examples().empty() ? "" : strCat(" (", column.examples().front(), ")");
    return strCat("'", column.name(), "' looks like a date", shown, ", but is ",
                  column.type().name(), "; `", expression, "` in a derive step reads it as one");
}

}  // namespace

std::string timeOfTexts(const ColumnProfile& column) {
    const std::vector<std::string> formats = column.dateFormats();
    const bool isText = column.type().isString() && !column.type().isList;
    return isText && formats.size() == 1
               ? strCat("strptime(", expr::sqlName(column.name()), ", '", formats.front(), "')")
               : "";
}

std::string dateNote(const ColumnProfile& column) {
    const expr::DataType& type = column.type();
    if (type.isList || (!type.isString() && !type.isInteger()) || !timeOfTexts(column).empty()) {
        return "";
    }
    const std::string name = expr::sqlName(column.name());
    std::vector<std::string> formats = column.dateFormats();
    if (formats.empty()) {
        const bool areMs = type.isInteger() && column.hasNumbers() && column.min() >= kLeastMs &&
                           column.max() <= kMostMs;
        return areMs ? sentence(column, strCat("make_timestamp(", name, " * 1000)")) : "";
    }
    const std::string text = type.isString() ? name : strCat("cast(", name, " as varchar)");
    std::string note = sentence(column, strCat("strptime(", text, ", '", formats[0], "')"));
    formats.erase(formats.begin());
    if (!formats.empty()) {
        strAppend(&note, "; '", absl::StrJoin(formats, "' and '"), "' read",
                  formats.size() == 1 ? "s" : "",
                  " every value too: the values do not tell which number is the day");
    }
    return note;
}

}  // namespace millrace::profile
