#include "backend/spec/yaml/yaml_text.h"

#include <cmath>

#include "backend/spec/step_defaults.h"

namespace millrace::spec {

std::string yamlList(const std::vector<std::string>& items) {
    std::string out = "[";
    for (const std::string& item : items) {
        strAppend(&out, out.size() > 1 ? ", " : "", yamlScalar(item, true));
    }
    return out + "]";
}

std::string yamlNamed(const std::vector<NamedExpr>& columns) {
    YamlMembers members;
    for (const NamedExpr& column : columns) {
        members.text(yamlScalar(column.name, true), column.expr);
    }
    return members.done();
}

std::string plainNumber(double number) {
    return std::fabs(number) < 1e15 && number == std::floor(number)
               ? std::to_string(static_cast<std::int64_t>(number))
               : strCat(number);
}

}  // namespace millrace::spec
