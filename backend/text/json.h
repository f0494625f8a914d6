#pragma once
// JSON values: nlohmann's, with sorted keys, and parsing that returns a Status.
//
// Doubles are printed shortest round-trip; NaN and infinities are the strings "NaN", "Infinity",
// "-Infinity" (docs/reference/json.md): make them with jsonNumber and read them with jsonDouble.
#include <string_view>

#include <nlohmann/json.hpp>

#include "backend/core/status.h"

namespace millrace {

using Json = nlohmann::json;

/// kInvalidArgument with "PLACE: ..." and the byte position for malformed text.
Result<Json> parseJson(std::string_view text, std::string_view place);
/// One line, invalid UTF-8 replaced.
std::string dumpJson(const Json& value);
std::string dumpJsonPretty(const Json& value);

Json jsonNumber(double value);
Result<double> jsonDouble(const Json& value);

/// Members with a default; a member of the wrong type counts as absent.
std::string jsonString(const Json& object, std::string_view key, std::string_view fallback = "");
std::int64_t jsonInt(const Json& object, std::string_view key, std::int64_t fallback = 0);
double jsonReal(const Json& object, std::string_view key, double fallback = 0);
bool jsonBool(const Json& object, std::string_view key, bool fallback = false);
/// The member, or an empty object/array/null.
const Json& jsonMember(const Json& object, std::string_view key);

}  // namespace millrace
