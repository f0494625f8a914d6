#pragma once
// Values as YAML on one line, as people write it. Private to spec. Threads: pure.
#include <string>
#include <string_view>
#include <vector>

#include "backend/core/status.h"
#include "backend/spec/table_ref.h"

namespace millrace::spec {

struct NamedExpr;

/// A plain scalar if YAML allows it (`isInBraces`: inside braces), else in double quotes.
std::string yamlScalar(const std::string& text, bool isInBraces);

/// Whole numbers below 1e15 have no decimal point.
std::string plainNumber(double number);

/// "[a, b]".
std::string yamlList(const std::vector<std::string>& items);

/// `{name: expression, ...}`.
std::string yamlNamed(const std::vector<NamedExpr>& columns);

/// `{key: value, ...}`, in the order of the calls.
class YamlMembers {
 public:
    YamlMembers& text(std::string_view key, const std::string& value) {
        return raw(key, yamlScalar(value, true));
    }
    YamlMembers& textUnless(std::string_view key, const std::string& value,
                            std::string_view fallback = "") {
        return value == fallback ? *this : text(key, value);
    }
    YamlMembers& raw(std::string_view key, const std::string& value) {
        strAppend(&body_, body_.empty() ? "" : ", ", key, ": ", value);
        return *this;
    }
    YamlMembers& list(std::string_view key, const std::vector<std::string>& items) {
        return items.empty() ? *this : raw(key, yamlList(items));
    }
    std::string done() const { return "{" + body_ + "}"; }

 private:
    std::string body_;
};

/// `table.csv` on one line: what differs from how files of these names are read; "{}" where nothing
/// does.
std::string csvText(const TableRef& table);

}  // namespace millrace::spec
