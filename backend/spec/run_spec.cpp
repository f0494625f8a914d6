#include "backend/spec/run_spec.h"

#include <algorithm>

#include <absl/strings/str_join.h>

#include "backend/core/hash.h"
#include "backend/spec/data_format.h"
#include "backend/spec/hash_keys.h"

namespace millrace::spec {
namespace {

/// The last enabled step that makes the ids of a column, skipping steps that only pass them on.
const Step* idMaker(const std::vector<Step>& recipe, std::string_view column) {
    for (auto step = recipe.rbegin(); step != recipe.rend(); ++step) {
        const std::vector<MadeColumn> made =
            step->enabled ? step->makes() : std::vector<MadeColumn>();
        const bool isMaker =
            std::ranges::any_of(made, [&](const MadeColumn& one) { return one.name == column; });
        if (!isMaker) {
            continue;
        }
        const std::string_view from = step->handsOn(column);
        if (from.empty()) {
            return step->makesIds() ? &*step : nullptr;
        }
        column = from;
    }
    return nullptr;
}

std::string scalarText(const Json& value) {
    return value.is_string() ? value.get<std::string>() : dumpJson(value);
}

/// A list of scalars, or of {column, fill}, as one text.
std::string listText(const Json& list) {
    std::string text;
    for (const Json& item : list) {
        strAppend(&text, text.empty() ? "" : ", ");
        if (item.is_object() && item.contains("column") && item.contains("fill")) {
            strAppend(&text, jsonString(item, "column"));
            if (jsonReal(item, "fill") != 0) {
                strAppend(&text, " (fill ", dumpJson(item["fill"]), ")");
            }
        } else {
            strAppend(&text, scalarText(item));
        }
    }
    return text;
}

void flatten(const std::string& path, const Json& value, std::map<std::string, std::string>& out);

/// Flattens steps by name, {name, expr} by name, {left, right} by left; other lists as one text.
void flattenList(const std::string& path, const Json& list,
                 std::map<std::string, std::string>& out) {
    const Json first = list.empty() ? Json() : list[0];
    if (first.contains("kind")) {
        for (const Json& step : list) {
            flatten(strCat(path, ".", jsonString(step, "name")), step, out);
        }
    } else if (first.contains("expr")) {
        for (const Json& item : list) {
            out[strCat(path, ".", jsonString(item, "name"))] = jsonString(item, "expr");
        }
    } else if (first.contains("left")) {
        for (const Json& item : list) {
            out[strCat(path, ".", jsonString(item, "left"))] = jsonString(item, "right");
        }
    } else {
        out[path] = listText(list);
    }
}

void flatten(const std::string& path, const Json& value, std::map<std::string, std::string>& out) {
    if (value.is_array()) {
        flattenList(path, value, out);
    } else if (value.is_object()) {
        for (const auto& [key, member] : value.items()) {
            flatten(path.empty() ? key : strCat(path, ".", key), member, out);
        }
    } else if (!value.is_null()) {
        out[path] = scalarText(value);
    }
}

}  // namespace

TableRef::TableRef(std::vector<std::string> names) : paths(std::move(names)) {
    csv.delimiter = paths.empty() ? "," : std::string(1, delimiterOfName(paths.front()));
}

std::string TableRef::text() const {
    return absl::StrJoin(paths, ", ");
}

bool TableRef::hasUsualCsv() const {
    return csv == TableRef(paths).csv;
}

std::string TableRef::key() const {
    RunSpec spec;
    SemiJoinStep step;
    step.table = *this;
    spec.recipe.push_back({"", true, std::move(step)});
    return dumpJson(spec.toJson()["recipe"]);
}

bool isMadeId(const std::vector<Step>& recipe, std::string_view column) {
    return idMaker(recipe, column) != nullptr;
}

std::int64_t madeIdCount(const std::vector<Step>& recipe, std::string_view column) {
    const Step* maker = idMaker(recipe, column);
    return maker == nullptr ? 0 : maker->idCount();
}

std::string specHash(const RunSpec& spec) {
    Json json = spec.toJson();
    for (const std::string_view key : kKeysOutsideHash) {
        json.erase(std::string(key));
    }
    return hashHex(dumpJson(json));
}

std::map<std::string, std::string> flattenParams(const Json& spec) {
    std::map<std::string, std::string> out;
    flatten("", spec, out);
    return out;
}

}  // namespace millrace::spec
