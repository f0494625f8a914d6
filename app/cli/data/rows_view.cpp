#include "app/cli/data/rows_view.h"

namespace millrace::cli {

bool isNumberType(const std::string& type) {
    return type.find('[') == std::string::npos &&
           (type.find("int") != std::string::npos || type == "float" || type == "double" ||
            type.rfind("decimal", 0) == 0);
}

TableCell valueCell(const std::string& value, bool isNull, tui::Tone tone) {
    if (isNull) {
        return {"null", tui::Tone::kDim};
    }
    const bool isMistakable = value.empty() || value == "null";
    return {isMistakable ? "\"" + value + "\"" : value, tone};
}

void nullsInPlace(Json& column) {
    const Json nulls = jsonMember(column, "is_null");
    for (std::size_t i = 0; i < nulls.size(); ++i) {
        if (nulls[i].get<bool>()) {
            column["values"][i] = nullptr;
        }
    }
    column.erase("is_null");
}

}  // namespace millrace::cli
