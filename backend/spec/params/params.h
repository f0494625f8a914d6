#pragma once
// The parameters of a spec (`params`), and the typed constants that `${name}` stands for in its
// expressions and paths (docs/decisions/0065-params.md). Private to the room.
//
// Threads: a value, immutable after read(). Failure: errors as values; no input crashes.
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "backend/core/json.h"
#include "backend/core/status.h"
#include "backend/expr/expression.h"
#include "backend/expr/param_uses.h"
#include "backend/spec/spec_reader.h"
#include "backend/spec/yaml_tree.h"

namespace millrace::spec {

class Params {
 public:
    /// The section `params`; null: the spec has none. `errors` gets what is wrong with it.
    static Params read(const YamlNode* section, SpecErrors& errors);

    /// As written: maps, texts, numbers, bools and lists of these; a date is its text.
    const Json& json() const { return json_; }

    /// A text in which each `${...}` has been replaced, and where.
    struct Filled {
        std::string text;
        std::vector<SourceMap::Constant> constants;
    };
    using Filling = std::variant<Filled, expr::ExprError>;
    /// Each `${name}` becomes one literal of the value's type; a list only behind `in`.
    Filling inExpression(std::string_view text) const;
    /// Each `${name}` becomes the value's text, which cannot be a pattern or another directory.
    Filling inPath(std::string_view text) const;

 private:
    struct Value {
        Json json;
        std::optional<std::chrono::sys_days> date;  ///< `json` is its text then
        std::vector<Value> items;                   ///< of a list
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
    std::map<std::string, Value> values_;  ///< by dotted name
};

}  // namespace millrace::spec
