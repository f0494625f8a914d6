// Evaluates expressions over a Parquet file as the loader does: expression_probe FILE < lines
//
// One expression a line on standard input; one JSON object a line on standard output: {"type",
// "values"} or {"error"}. Dates are days, timestamps microseconds; NaN and infinities are strings.
#include <cmath>
#include <iostream>

#include <arrow/array/array_binary.h>
#include <arrow/array/array_nested.h>
#include <arrow/array/array_primitive.h>

#include "backend/dataset/dataset.h"
#include "backend/dataset/split_reader.h"
#include "backend/eval/evaluator.h"
#include "backend/eval/value_reader.h"
#include "backend/text/json.h"

namespace millrace {
namespace {

using eval::ArrayPtr;

class FileColumns : public eval::ExprInput {
 public:
    explicit FileColumns(std::shared_ptr<const dataset::Dataset> data)
        : data_(std::move(data)), reader_(data_) {}
    std::int64_t rows() const override { return (*data_->facts(0))->rows; }
    Result<ArrayPtr> column(const std::string& name) override {
        ASSIGN_OR_RETURN(auto arrays, reader_.readColumns({0, 0, 0, rows()}, {name}));
        return arrays[0];
    }

 private:
    const std::shared_ptr<const dataset::Dataset> data_;
    dataset::SplitReader reader_;
};

Json valueAt(const arrow::Array& values, std::int64_t row) {
    if (values.IsNull(row)) {
        return nullptr;
    }
    switch (values.type_id()) {
        case arrow::Type::BOOL:
            return static_cast<const arrow::BooleanArray&>(values).Value(row);
        case arrow::Type::FLOAT:
            return jsonNumber(static_cast<const arrow::FloatArray&>(values).Value(row));
        case arrow::Type::DOUBLE:
            return jsonNumber(static_cast<const arrow::DoubleArray&>(values).Value(row));
        case arrow::Type::STRING:
            return static_cast<const arrow::StringArray&>(values).GetString(row);
        case arrow::Type::LIST: {
            const auto& list = static_cast<const arrow::ListArray&>(values);
            Json out = Json::array();
            for (std::int64_t i = list.value_offset(row); i < list.value_offset(row + 1); ++i) {
                out.push_back(valueAt(*list.values(), i));
            }
            return out;
        }
        default:
            return eval::ValueReader::of(values)->integer(row);
    }
}

Json answer(const std::string& text, eval::ExprInput& input, const expr::Schema& schema) {
    const Result<expr::Expr> expr = expr::compileExpression(text, schema);
    if (!expr.ok()) {
        return {{"error", messageOf(expr.status())}, {"compiles", false}};
    }
    const Result<ArrayPtr> values = eval::evaluate(*expr, input);
    if (!values.ok()) {
        return {{"error", messageOf(values.status())}, {"compiles", true}};
    }
    Json list = Json::array();
    for (std::int64_t row = 0; row < (*values)->length(); ++row) {
        list.push_back(valueAt(**values, row));
    }
    return {{"type", (*expr)->type.name()}, {"values", std::move(list)}};
}

int run(const std::string& path) {
    const auto data =
        dataset::Dataset::open({path}, "/", {}, std::make_shared<dataset::MetadataCache>());
    if (!data.ok()) {
        std::cerr << data.status() << '\n';
        return 1;
    }
    FileColumns columns(*data);
    for (std::string line; std::getline(std::cin, line);) {
        std::cout << dumpJson(answer(line, columns, (*data)->schema())) << '\n';
    }
    return 0;
}

}  // namespace
}  // namespace millrace

int main(int argc, char** argv) {
    return argc == 2 ? millrace::run(argv[1]) : 2;
}
