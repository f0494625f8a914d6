#include "backend/runs/params.h"

#include <algorithm>

namespace millrace::runs {
namespace {

using Params = std::map<std::string, std::string>;

void flatten(const std::string& prefix, const Json& value, Params& out);

// Dense features as a list of their columns: ["price", "age (fill 3)"].
Json columnsOf(const Json& dense) {
    Json columns = Json::array();
    for (const Json& feature : dense) {
        const Json& fill = jsonMember(feature, "fill");
        columns.push_back(strCat(jsonString(feature, "column"),
                                 fill == 0 ? "" : strCat(" (fill ", dumpJson(fill), ")")));
    }
    return columns;
}

void flattenList(const std::string& prefix, const Json& list, Params& out) {
    if (prefix == "features.dense") {
        if (!list.empty()) {
            out[prefix] = dumpJson(columnsOf(list));
        }
        return;
    }
    const bool hasObjects = std::ranges::any_of(list, [](const Json& e) { return e.is_object(); });
    if (!hasObjects) {
        if (!list.empty()) {
            out[prefix] = dumpJson(list);
        }
        return;
    }
    for (std::size_t i = 0; i < list.size(); ++i) {
        flatten(strCat(prefix, ".", jsonString(list[i], "name", std::to_string(i))), list[i], out);
    }
}

void flatten(const std::string& prefix, const Json& value, Params& out) {
    if (value.is_object()) {
        for (const auto& [key, member] : value.items()) {
            flatten(prefix.empty() ? key : strCat(prefix, ".", key), member, out);
        }
    } else if (value.is_array()) {
        flattenList(prefix, value, out);
    } else if (value.is_string()) {
        if (!value.get_ref<const std::string&>().empty()) {
            out[prefix] = value.get<std::string>();
        }
    } else if (!value.is_null()) {
        out[prefix] = dumpJson(value);
    }
}

}  // namespace

Params flattenParams(const Json& resolvedSpec) {
    Params params;
    flatten("", resolvedSpec, params);
    return params;
}

}  // namespace millrace::runs
