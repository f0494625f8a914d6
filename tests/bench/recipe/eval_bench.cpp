// Expressions over columns in memory: nanoseconds a row. Not part of the default tests.
//
//   eval_bench [ROWS [ROUNDS]]
//
// ROWS rows are evaluated at once, as a split's are; the best of ROUNDS. README.md has the figures.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>

#include <arrow/api.h>

#include "backend/eval/evaluator.h"

namespace millrace {
namespace {

using Clock = std::chrono::steady_clock;

class Columns : public eval::ExprInput {
 public:
    explicit Columns(std::int64_t rows) : rows_(rows) {
        arrow::DoubleBuilder y, z;
        arrow::Int64Builder i;
        arrow::Int32Builder k;
        arrow::BooleanBuilder b;
        arrow::StringBuilder s;
        arrow::TimestampBuilder t(arrow::timestamp(arrow::TimeUnit::MICRO),
                                  arrow::default_memory_pool());
        std::mt19937_64 bits(1);
        std::uniform_real_distribution<double> unit(0, 1);
        arrow::Status status;
        for (std::int64_t row = 0; row < rows; ++row) {
            status &= y.Append(unit(bits) * 100);
            status &=
                unit(bits) < 0.2 ? z.AppendNull() : z.Append(std::floor(unit(bits) * 500) - 3);
            status &= i.Append(static_cast<std::int64_t>(bits() % 1000));
            status &= unit(bits) < 0.1 ? k.AppendNull() : k.Append(static_cast<int>(bits() % 100));
            status &= b.Append(bits() % 2 == 0);
            status &= s.Append("item " + std::to_string(bits() % 100000));
            status &= t.Append(static_cast<std::int64_t>(unit(bits) * 1.7e15));
        }
        set("y", expr::TypeKind::kDouble, y);
        set("z", expr::TypeKind::kDouble, z);
        set("i", expr::TypeKind::kInt64, i);
        set("k", expr::TypeKind::kInt32, k);
        set("b", expr::TypeKind::kBool, b);
        set("s", expr::TypeKind::kString, s);
        set("t", expr::TypeKind::kTimestamp, t);
        if (!status.ok()) {
            std::abort();
        }
    }
    std::int64_t rows() const override { return rows_; }
    Result<eval::ArrayPtr> column(const std::string& name) override { return columns_.at(name); }
    const expr::Schema& schema() const { return schema_; }

 private:
    void set(const std::string& name, expr::TypeKind kind, arrow::ArrayBuilder& builder) {
        columns_[name] = *builder.Finish();
        schema_.set(name, {kind});
    }

    const std::int64_t rows_;
    std::map<std::string, eval::ArrayPtr> columns_;
    expr::Schema schema_;
};

constexpr const char* kExpressions[] = {
    "y + 1",
    "i * 2 + k",
    "y * 0.5 - z / 3",
    "y % 3",
    "y > 50",
    "y > 20 and z < 100 or not b",
    "i in (1, 2, 3, 5, 8, 13, 21, 34, 55, 89)",
    "case when y > 75 then 3 when y > 50 then 2 when y > 25 then 1 else 0 end",
    "case when z > 0 then ln(z) else 0 end",
    "coalesce(z, 0)",
    "greatest(z, 0)",
    "cast(y as int64)",
    "cast(i as double)",
    "sqrt(y)",
    "ln(y)",
    "exp(y / 100)",
    "log1p(greatest(coalesce(z, 0), 0))",
    "pow(y, 0.3)",
    "y ^ 2",
    "hour(t)",
    "weekday(t)",
    "month(t)",
    "date_trunc('month', t)",
    "date_diff('day', t, timestamp '2024-01-01')",
    "epoch_ms(t)",
    "hour(t at time zone 'Europe/Berlin')",
    "s like 'item 12%'",
    "length(s) > 8 and y > 50",
    "case when y > 50 then s else 'few' end",
};

int bench(std::int64_t rows, int rounds) {
    Columns columns(rows);
    for (const char* text : kExpressions) {
        const auto expr = expr::compileExpression(text, columns.schema());
        if (!expr.ok()) {
            std::fprintf(stderr, "%s: %s\n", text, std::string(expr.status().message()).c_str());
            return 1;
        }
        double best = 1e30;
        for (int round = 0; round < rounds; ++round) {
            const auto start = Clock::now();
            const auto values = eval::evaluate(*expr, columns);
            const std::chrono::duration<double, std::nano> spent = Clock::now() - start;
            if (!values.ok() || (*values)->length() != rows) {
                std::fprintf(stderr, "%s: failed\n", text);
                return 1;
            }
            best = std::min(best, spent.count());
        }
        std::printf("%8.2f ns a row  %s\n", best / static_cast<double>(rows), text);
    }
    return 0;
}

}  // namespace
}  // namespace millrace

int main(int argc, char** argv) {
    return millrace::bench(argc > 1 ? std::atoll(argv[1]) : 131072,
                           argc > 2 ? std::atoi(argv[2]) : 20);
}
