#include "backend/spec/column_origins.h"

#include <utility>
#include <variant>

#include "backend/expr/expression.h"

namespace millrace::spec {
namespace {

/// The column that an expression is, as it stands; "" for every other one.
std::string bareColumn(const std::string& expression) {
    const auto parsed = expr::tryParseExpression(expression);
    const auto* const tree = std::get_if<expr::Expr>(&parsed);
    return tree != nullptr && (*tree)->op == expr::ExprOp::kColumn ? (*tree)->name : "";
}

}  // namespace

ColumnOrigins::ColumnOrigins(const std::vector<Step>& recipe) {
    for (const Step& step : recipe) {
        if (!step.enabled) {
            continue;
        }
        // The expressions of one step all see the columns before it.
        std::map<std::string, std::string> made;
        for (const MadeColumn& column : step.makes()) {
            const std::string bare = column.isOfTable ? "" : bareColumn(column.expr);
            made[column.name] = bare.empty() ? "" : of(bare);
        }
        for (auto& [name, origin] : made) {
            made_[name] = std::move(origin);
        }
    }
}

std::string ColumnOrigins::of(const std::string& column) const {
    const auto made = made_.find(column);
    return made == made_.end() ? column : made->second;
}

}  // namespace millrace::spec
