#pragma once
// The parameters of a spec (`params`): typed constants that replace `${name}` in its expressions
// and paths (docs/decisions/0065-params.md). Private to spec.
//
// Threads: a value, immutable after read(). Failure: errors as values; no input crashes.
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "backend/core/status.h"
#include "backend/expr/expression.h"
#include "backend/expr/param_uses.h"
#include "backend/spec/spec_reader.h"
#include "backend/spec/yaml/yaml_tree.h"
#include "backend/text/json.h"

namespace millrace::spec {

class Params {
 public:
    /// Reads the section `params`; null: the spec has none. Appends its errors to `errors`.
    static Params read(const YamlNode* section, SpecErrors& errors);
    /// "a number", "a date", "true or false": a type that --set and variations must keep. "" for
    /// texts, lists and values that read() refuses.
    static std::string_view fixedTypeOf(const YamlNode& value);
    /// Names the values that other readers of YAML take for bools.
    const std::vector<std::string>& warnings() const { return warnings_; }

    /// The values as written: maps, texts, numbers, bools and lists of these; a date as its text.
    const Json& json() const { return json_; }

    /// A text with each `${...}` replaced, and the positions of the replacements.
    struct Filled {
        std::string text;
        std::vector<SourceMap::Constant> constants;
    };
    using Filling = std::variant<Filled, expr::ExprError>;
    /// Replaces each `${name}` by one literal of the value's type; a list only after `in`.
    Filling inExpression(std::string_view text) const;
    /// Replaces each `${name}` by the value's text, which must not be a pattern or lead to another
    /// directory.
    Filling inPath(std::string_view text) const;

 private:
    struct Value {
        Json json;
        std::optional<std::chrono::sys_days> date;  ///< set for a date; `json` is its text then
        std::vector<Value> items;                   ///< for a list
    };

    Json readMap(const YamlNode& map, const std::string& path, SpecErrors& errors);
    static Result<Value> scalar(const YamlNode& node);
    static Result<Value> valueOf(const YamlNode& node);
    static Result<Value> shifted(const std::string& name, const Value& value, std::int64_t by);
    static std::string literalOf(const Value& value);
    Result<Value> find(std::string_view content) const;
    Status whyUnknown(const std::string& name) const;
    Result<std::string> literalAt(const expr::ParamUse& place) const;
    Result<std::string> pathPartAt(const expr::ParamUse& place) const;

    Json json_ = Json::object();
    std::vector<std::string> warnings_;
    std::map<std::string, Value> values_;  ///< by dotted name
};

}  // namespace millrace::spec
