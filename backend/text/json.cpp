#include "backend/text/json.h"

#include <cmath>
#include <limits>

#include "backend/text/json_bounds.h"

namespace millrace {

namespace {

// Depth of brackets outside strings, counted before anything is built. Text that is not JSON may be
// counted wrongly, but then the parser rejects it.
bool isDeeperThan(std::string_view text, int limit) {
    int depth = 0;
    bool isText = false;
    for (std::size_t i = 0; i < text.size() && depth <= limit; ++i) {
        const char c = text[i];
        if (isText && c == '\\') {
            ++i;
        } else if (c == '"') {
            isText = !isText;
        } else if (!isText) {
            depth += c == '[' || c == '{' ? 1 : c == ']' || c == '}' ? -1 : 0;
        }
    }
    return depth > limit;
}

}  // namespace

Result<Json> parseJson(std::string_view text, std::string_view place) {
    return parseBounded(text, place, {std::size_t{256} << 20});
}

Result<Json> parseBounded(std::string_view text, std::string_view place, JsonBounds bounds) {
    if (text.size() > bounds.bytes) {
        return invalidArgument(place, ": has ", text.size(), " bytes; at most ", bounds.bytes,
                               " are taken");
    }
    if (isDeeperThan(text, bounds.depth)) {
        return invalidArgument(place, ": brackets are nested too deep; at most ", bounds.depth,
                               " levels are taken");
    }
    try {
        return Json::parse(text);
    } catch (const Json::exception& e) {
        return invalidArgument(place, ": not JSON: ", e.what());
    }
}

std::string dumpJson(const Json& value) {
    return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string dumpJsonPretty(const Json& value) {
    return value.dump(2, ' ', false, Json::error_handler_t::replace);
}

Json jsonNumber(double value) {
    if (std::isnan(value)) {
        return "NaN";
    }
    if (std::isinf(value)) {
        return value > 0 ? "Infinity" : "-Infinity";
    }
    return value;
}

Result<double> jsonDouble(const Json& value) {
    if (value.is_number()) {
        return value.get<double>();
    }
    if (value == "NaN") {
        return std::numeric_limits<double>::quiet_NaN();
    }
    if (value == "Infinity") {
        return std::numeric_limits<double>::infinity();
    }
    if (value == "-Infinity") {
        return -std::numeric_limits<double>::infinity();
    }
    return invalidArgument(dumpJson(value), " is not a number");
}

const Json& jsonMember(const Json& object, std::string_view key) {
    static const Json kNull;
    if (!object.is_object()) {
        return kNull;
    }
    const auto it = object.find(std::string(key));
    return it == object.end() ? kNull : *it;
}

std::string jsonString(const Json& object, std::string_view key, std::string_view fallback) {
    const Json& value = jsonMember(object, key);
    return value.is_string() ? value.get<std::string>() : std::string(fallback);
}

std::int64_t jsonInt(const Json& object, std::string_view key, std::int64_t fallback) {
    const Json& value = jsonMember(object, key);
    return value.is_number_integer() ? value.get<std::int64_t>() : fallback;
}

double jsonReal(const Json& object, std::string_view key, double fallback) {
    const Result<double> value = jsonDouble(jsonMember(object, key));
    return value.ok() ? *value : fallback;
}

bool jsonBool(const Json& object, std::string_view key, bool fallback) {
    const Json& value = jsonMember(object, key);
    return value.is_boolean() ? value.get<bool>() : fallback;
}

}  // namespace millrace
