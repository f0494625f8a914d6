#include "backend/profile/list_note.h"

#include <algorithm>

#include "backend/profile/spec_split.h"
#include "backend/text/text.h"
#include "backend/text/utf8.h"

namespace millrace::profile {
namespace {

bool isList(const std::string& value) {
    return value.size() >= 2 && value.front() == '[' && value.back() == ']';
}

}  // namespace

std::string listNote(const std::string& name, const std::vector<std::string>& values) {
    // The longest value shows the separator and the quotes.
    const auto longest = std::ranges::max_element(values, {}, &std::string::size);
    if (longest == values.end() || longest->size() < 3 || !std::ranges::all_of(values, isList)) {
        return "";
    }
    const auto has = [&longest](std::string_view part) {
        return longest->find(part) != std::string::npos;
    };
    const std::string marks = strCat("[][", has("'") ? "''" : "", has("\"") ? "\"" : "", "]");
    const bool hasEmpty = std::ranges::count(values, "[]") > 0;
    const std::string text = hasEmpty ? strCat("nullif(", sqlName(name), ", '[]')") : sqlName(name);
    // NumPy separates numbers by one or more blanks, which split() does not read.
    const bool isOfNumPy = marks == "[][]" && has(" ") && !has(",");
    std::string list = strCat("split(regexp_replace(", text, ", '", marks, "', '', 'g'), '",
                              has(",") && !has(", ") ? "," : ", ", "')");
    if (has(".") && marks == "[][]") {
        list = strCat("cast(", list, " as float[])");
    }
    return strCat("'", name, "' looks like a list ('", toUtf8(*longest, 40),
                  longest->size() > 40 ? "..." : "",
                  "'), but is string: to_csv writes lists as texts; write the file with to_parquet",
                  isOfNumPy ? "" : strCat(", or read it with `", list, "` in a derive step"));
}

}  // namespace millrace::profile
