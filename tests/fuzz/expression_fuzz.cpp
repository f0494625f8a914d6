// libFuzzer target: expressions. The text of a parsed tree must parse to a tree with the same text.
#include <cstdlib>
#include <string>
#include <string_view>

#include "backend/expr/expression.h"

namespace {

void require(bool holds) {
    if (!holds) {
        std::abort();
    }
}

millrace::expr::Schema columns() {
    millrace::expr::Schema schema;
    for (const char* type : {"int64", "double", "string", "bool", "date", "timestamp", "int8",
                             "float", "decimal(10,2)", "int64[]"}) {
        const auto parsed = millrace::expr::parseType(type);
        if (parsed.ok()) {
            schema.fields.push_back(
                {std::string(1, type[0]) + std::to_string(schema.fields.size()), *parsed});
        }
    }
    return schema;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const millrace::expr::Schema kColumns = columns();
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto tree = millrace::expr::parseExpression(text);
    if (!tree.ok()) {
        return 0;
    }
    const std::string written = millrace::expr::expressionText(*tree);
    const auto again = millrace::expr::parseExpression(written);
    // With full brackets the text may exceed the limits of depth and length that the input kept.
    if (again.ok()) {
        require(millrace::expr::expressionText(*again) == written);
    } else {
        require(written.size() > 65536 || (*tree)->depth > 60);
    }
    const auto typed = millrace::expr::typeExpression(*tree, kColumns, text);
    if (typed.ok()) {
        millrace::expr::expressionText(*typed);
        millrace::expr::collectColumns(*typed);
    }
    return 0;
}
