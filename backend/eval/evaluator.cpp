#include "backend/eval/evaluator.h"

#include "backend/arrays/arrow_bridge.h"
#include "backend/eval/evaluation_pool.h"
#include "backend/eval/program.h"

namespace millrace::eval {
namespace {

/// Columns of no rows, to try expressions on.
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

Result<expr::Expr> checked(Result<expr::Expr> expr, const expr::Schema& schema,
                           const std::string& place) {
    RETURN_IF_ERROR(annotate(expr.status(), place));
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
