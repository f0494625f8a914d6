#include "backend/eval/evaluator.h"

#include <utility>

#include <arrow/scalar.h>

#include "backend/arrays/arrow_bridge.h"
#include "backend/eval/evaluation_pool.h"
#include "backend/eval/function_calls.h"
#include "backend/eval/program.h"

namespace millrace::eval {
namespace {

/// Columns without rows, for trial evaluations.
class EmptyInput : public ExprInput {
 public:
    explicit EmptyInput(const expr::Schema& schema) : schema_(schema) {}
    std::int64_t rows() const override { return 0; }
    Result<ArrayPtr> column(const std::string& name) override {
        const expr::Field* field = schema_.find(name);
        if (field == nullptr) {
            return internalError("no column ", name);
        }
        return arrays::nullArray(field->type, 0, evaluationPool());
    }

 private:
    const expr::Schema& schema_;
};

bool isPattern(expr::FunctionId id) {
    return id == expr::FunctionId::kRegexpMatches || id == expr::FunctionId::kRegexpExtract ||
           id == expr::FunctionId::kRegexpReplace;
}

/// Arrow compiles a regular expression only if there is a text, and EmptyInput has none.
Status checkPatterns(const expr::ExprNode& node) {
    if (node.function != nullptr && isPattern(node.function->id)) {
        ASSIGN_OR_RETURN(ArrayPtr text, asArray(Datum(arrow::StringScalar("")), 1));
        RETURN_IF_ERROR(callFunction(node, {Datum(std::move(text))}, 1).status());
    }
    for (const expr::Expr& child : node.children) {
        RETURN_IF_ERROR(checkPatterns(*child));
    }
    return okStatus();
}

Result<expr::Expr> checked(Result<expr::Expr> expr, const expr::Schema& schema,
                           const std::string& place) {
    RETURN_IF_ERROR(annotate(expr.status(), place));
    RETURN_IF_ERROR(annotate(checkPatterns(**expr), place));
    EmptyInput input(schema);
    RETURN_IF_ERROR(annotate(evaluate(*expr, input).status(), place));
    return expr;
}

}  // namespace

Result<ArrayPtr> evaluate(const expr::Expr& expr, ExprInput& input, std::int64_t* failedRow) {
    ASSIGN_OR_RETURN(const std::shared_ptr<const Program> program, Program::compile(expr));
    return program->run(input, failedRow, machineIsa());
}

Result<expr::Expr> compileChecked(const std::string& text, const expr::Schema& schema,
                                  const std::string& place) {
    return checked(expr::compileExpression(text, schema), schema, place);
}

Result<expr::Expr> compileCheckedPredicate(const std::string& text, const expr::Schema& schema,
                                           const std::string& place) {
    return checked(expr::compilePredicate(text, schema, place), schema, place);
}

}  // namespace millrace::eval
