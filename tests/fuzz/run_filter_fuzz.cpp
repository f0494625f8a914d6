// libFuzzer target: filter and order of the run list. The SQL text must never contain the user's
// text: each value from outside is bound, so the numbers of question marks and values are equal.
#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>

#include "backend/runs/filter_sql.h"

namespace {

void require(bool holds) {
    if (!holds) {
        std::abort();
    }
}

void checkSql(const millrace::runs::SqlText& sql) {
    const auto numMarks = std::count(sql.text.begin(), sql.text.end(), '?');
    require(static_cast<std::size_t>(numMarks) == sql.values.size());
    require(sql.text.find(';') == std::string::npos);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto filter = millrace::search::parseFilter(text, 1'700'000'000'000);
    if (filter.ok()) {
        checkSql(millrace::runs::conditionOf(*filter));
    }
    const std::size_t middle = size / 2;
    const auto order = millrace::search::parseOrderBy(
        {std::string(text.substr(0, middle)), std::string(text.substr(middle))});
    const auto whole = millrace::search::parseOrderBy({std::string(text)});
    for (const auto& keys : {order, whole}) {
        if (keys.ok()) {
            checkSql(millrace::runs::orderOf(*keys));
        }
    }
    return 0;
}
