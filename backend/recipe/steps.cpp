#include "backend/recipe/steps.h"

#include <algorithm>
#include <cmath>
#include <variant>

#include <arrow/array/array_primitive.h>
#include <arrow/array/concatenate.h>
#include <arrow/buffer.h>
#include <arrow/chunked_array.h>
#include <arrow/table.h>
#include <arrow/type.h>
#include <arrow/util/bit_run_reader.h>

#include "backend/arrays/arrow_bridge.h"
#include "backend/arrays/null_rows.h"
#include "backend/arrays/text_codes.h"
#include "backend/core/philox.h"
#include "backend/eval/evaluation_pool.h"
#include "backend/eval/evaluator.h"
#include "backend/eval/hash_rows.h"
#include "backend/eval/list_view.h"
#include "backend/eval/value_reader.h"
#include "backend/recipe/id_encoder.h"
#include "backend/recipe/join/bucket_rows.h"
#include "backend/recipe/join/join_steps.h"
#include "backend/recipe/own_time.h"

namespace millrace::recipe {
namespace {

using eval::ArrayPtr;

/// Positions of the true rows; excludes false and null.
std::vector<std::int64_t> placesOfTrue(const arrow::BooleanArray& flags) {
    std::vector<std::int64_t> places;
    arrow::internal::SetBitRunReader runs(flags.values()->data(), flags.offset(), flags.length());
    const bool hasNulls = flags.null_count() > 0;
    for (auto run = runs.NextRun(); run.length > 0; run = runs.NextRun()) {
        for (std::int64_t i = run.position; i < run.position + run.length; ++i) {
            if (!hasNulls || flags.IsValid(i)) {
                places.push_back(i);
            }
        }
    }
    return places;
}

class FilterStep : public CompiledStep {
 public:
    FilterStep(expr::Expr expr, std::string place)
        : expr_(std::move(expr)), place_(std::move(place)) {}

    Status run(RowSet& rows, const RunContext&, StepCount& count) const override {
        ASSIGN_OR_RETURN(const ArrayPtr values, evaluateRows(expr_, rows, place_));
        const auto& flags = static_cast<const arrow::BooleanArray&>(*values);
        const std::vector<std::int64_t> kept = placesOfTrue(flags);
        count.reasons[1] += flags.null_count();
        count.reasons[0] +=
            rows.rows() - static_cast<std::int64_t>(kept.size()) - flags.null_count();
        return rows.keep(kept);
    }
    std::vector<std::string> reasons() const override { return {"false", "null"}; }

 private:
    const expr::Expr expr_;
    const std::string place_;
};

class SampleStep : public CompiledStep {
 public:
    SampleStep(const spec::Step& step, const spec::SampleStep& kind, expr::Expr where)
        : step_(kind),
          name_(step.name),
          where_(std::move(where)),
          place_(strCat("recipe.", step.name, ".where")) {}

    Status run(RowSet& rows, const RunContext& context, StepCount& count) const override {
        ArrayPtr draws;
        if (where_ != nullptr) {
            ASSIGN_OR_RETURN(draws, evaluateRows(where_, rows, place_));
        }
        std::vector<ArrayPtr> by;
        std::vector<eval::ValueReader> readers;
        RETURN_IF_ERROR(rows.prefetch(step_.by));
        for (const std::string& name : step_.by) {
            ASSIGN_OR_RETURN(ArrayPtr column, rows.column(name));
            ASSIGN_OR_RETURN(const eval::ValueReader reader, eval::ValueReader::of(*column));
            by.push_back(std::move(column));
            readers.push_back(reader);
        }
        const std::int64_t before = rows.rows();
        RETURN_IF_ERROR(choose(rows, context, static_cast<const arrow::BooleanArray*>(draws.get()),
                               readers, count));
        count.reasons[0] += before - rows.rows();
        return okStatus();
    }
    std::vector<std::string> reasons() const override {
        return where_ == nullptr ? std::vector<std::string>{"dropped"}
                                 : std::vector<std::string>{"dropped", "did not draw"};
    }

 private:
    Status choose(RowSet& rows, const RunContext& context, const arrow::BooleanArray* draws,
                  const std::vector<eval::ValueReader>& by, StepCount& count) const {
        DrawKey start(DrawPurpose::kDraw, name_);
        if (step_.redrawEachEpoch) {
            start.epoch(context.epoch);
        } else {
            start.noEpoch();
        }
        DrawKey ofFile = start;
        ofFile.rest().text(rows.split().relativePath);
        const std::uint64_t fileCounter = ofFile.counter();
        std::vector<std::int64_t> kept;
        std::vector<double> factors;
        DrawKey key = start;  // its memory is reused: no allocation per row
        for (std::int64_t i = 0; i < rows.rows(); ++i) {
            if (draws != nullptr && !(draws->IsValid(i) && draws->Value(i))) {
                kept.push_back(i);
                factors.push_back(1);
                ++count.reasons[1];
                continue;
            }
            std::uint64_t bits = 0;
            if (by.empty()) {
                bits = philox64(context.seed, fileCounter, rows.rowNumber(i));
            } else {
                key = start;
                for (const eval::ValueReader& reader : by) {
                    reader.append(i, key.rest());
                }
                bits = philox64(context.seed, key.counter(), 0);
            }
            if (unitInterval(bits) < step_.keep) {
                kept.push_back(i);
                factors.push_back(1 / step_.keep);
            }
        }
        RETURN_IF_ERROR(rows.keep(kept));
        if (step_.isInverseWeighted && step_.keep != 1) {
            std::vector<double>& weights = rows.mutableWeights();
            for (std::size_t i = 0; i < weights.size(); ++i) {
                weights[i] *= factors[i];
            }
        }
        return okStatus();
    }

    const spec::SampleStep step_;
    const std::string name_;  ///< the salt of its draws
    const expr::Expr where_;  ///< null: all rows draw
    const std::string place_;
};

class DeriveStep : public CompiledStep {
 public:
    struct Column {
        std::string name, place;
        expr::Expr expr;
    };
    explicit DeriveStep(std::vector<Column> columns) : columns_(std::move(columns)) {}

    Status run(RowSet& rows, const RunContext&, StepCount& count) const override {
        std::vector<ArrayPtr> made;  // sets none before all are made: siblings must not see each
                                     // other
        OwnTime time(rows.split());
        for (const Column& column : columns_) {
            ASSIGN_OR_RETURN(ArrayPtr values, evaluateStored(column.expr, rows, column.place));
            made.push_back(std::move(values));
            if (columns_.size() > 1) {
                count.expressions.push_back({column.name, time.ns()});
            }
        }
        for (std::size_t i = 0; i < made.size(); ++i) {
            rows.set(columns_[i].name, std::move(made[i]));
        }
        return okStatus();
    }

 private:
    const std::vector<Column> columns_;
};

class WeightStep : public CompiledStep {
 public:
    WeightStep(expr::Expr expr, std::string place)
        : expr_(std::move(expr)), place_(std::move(place)) {}

    Status run(RowSet& rows, const RunContext&, StepCount& count) const override {
        ASSIGN_OR_RETURN(const ArrayPtr raw, evaluateRows(expr_, rows, place_));
        ASSIGN_OR_RETURN(const ArrayPtr values,
                         eval::castValues(raw, expr_->type, {expr::TypeKind::kDouble}, false));
        const auto& factors = static_cast<const arrow::DoubleArray&>(*values);
        std::vector<double>& weights = rows.mutableWeights();
        for (std::int64_t i = 0; i < rows.rows(); ++i) {
            const double factor = factors.IsNull(i) ? -1 : factors.Value(i);
            if (!(factor >= 0) || std::isinf(factor)) {
                return invalidArgument(
                    rows.split().relativePath, ": row ", rows.rowNumber(i), ": ", place_,
                    ": the weight is ",
                    factors.IsNull(i) ? std::string("null") : strCat(factors.Value(i)),
                    "; it must be a number from 0 up");
            }
            weights[static_cast<std::size_t>(i)] *= factor;
            count.reasons[0] += factor == 0 ? 1 : 0;
        }
        return okStatus();
    }
    std::vector<std::string> reasons() const override { return {"weight 0"}; }

 private:
    const expr::Expr expr_;
    const std::string place_;
};

/// The pool for a column made from another: the split's pool if it replaces that column, so that
/// the pool never holds more than the two; else null.
arrow::MemoryPool* poolOfMade(const RowSet& rows, const std::string& of, const std::string& as) {
    return of == as ? rows.split().pool : nullptr;
}

class HashStep : public CompiledStep {
 public:
    explicit HashStep(const spec::HashStep& step) : step_(step) {}
    Status run(RowSet& rows, const RunContext&, StepCount& count) const override {
        ASSIGN_OR_RETURN(ArrayPtr values, rows.storedColumn(step_.column));
        const std::optional<arrays::TextCodes> texts = arrays::TextCodes::of(*values);
        if (!texts) {
            ASSIGN_OR_RETURN(values, rows.column(step_.column));
        }
        arrow::MemoryPool* const pool =
            texts ? rows.split().pool : poolOfMade(rows, step_.column, step_.as);
        ASSIGN_OR_RETURN(ArrayPtr ids, eval::hashIds(values, step_.buckets, step_.seed, pool));
        count.reasons[0] += texts ? texts->nullRows() : values->null_count();
        rows.set(step_.as, std::move(ids));
        return okStatus();
    }
    std::vector<std::string> reasons() const override { return {"null"}; }

 private:
    const spec::HashStep step_;
};

class BucketizeStep : public CompiledStep {
 public:
    BucketizeStep(const spec::BucketizeStep& step, const expr::DataType& type)
        : step_(step), type_(type) {}
    Status run(RowSet& rows, const RunContext&, StepCount& count) const override {
        ASSIGN_OR_RETURN(const StoredValues stored, rows.storedValues(step_.column));
        if (stored.isWorth()) {
            ASSIGN_OR_RETURN(const ArrayPtr ids, bucketsOfAll(stored.values));
            count.reasons[0] += arrays::TextCodes{stored.values, stored.indices}.nullRows();
            ASSIGN_OR_RETURN(ArrayPtr made, stored.asRows(ids));
            rows.set(step_.as, std::move(made));
            return okStatus();
        }
        ASSIGN_OR_RETURN(const ArrayPtr raw, rows.column(step_.column));
        ASSIGN_OR_RETURN(ArrayPtr ids, bucketsOfAll(raw));
        count.reasons[0] += raw->null_count();
        rows.set(step_.as, std::move(ids));
        return okStatus();
    }
    std::vector<std::string> reasons() const override { return {"null"}; }

 private:
    Result<ArrayPtr> bucketsOfAll(const ArrayPtr& raw) const {
        ASSIGN_OR_RETURN(const ArrayPtr values,
                         eval::castValues(raw, type_, {expr::TypeKind::kDouble}, false));
        const auto& in = static_cast<const arrow::DoubleArray&>(*values);
        const std::int64_t length = in.length();
        ASSIGN_OR_RETURN(
            std::shared_ptr<arrow::Buffer> made,
            arrays::fromArrow(arrow::AllocateBuffer(length * 8, eval::evaluationPool()),
                              "bucketize"));
        auto* const ids = reinterpret_cast<std::int64_t*>(made->mutable_data());
        bucketsOf({in.raw_values(), static_cast<std::size_t>(length)}, step_.boundaries, ids);
        arrays::fillNulls(in, std::int64_t{0}, ids);
        return ArrayPtr(std::make_shared<arrow::Int64Array>(length, std::move(made)));
    }

    const spec::BucketizeStep step_;
    const expr::DataType type_;
};

// Number of rows with a marked value.
std::int64_t rowsOf(const std::vector<bool>& marks, const ArrayPtr& indices) {
    if (indices == nullptr) {
        return std::ranges::count(marks, true);
    }
    const auto& places = static_cast<const arrow::Int32Array&>(*indices);
    std::int64_t rows = 0;
    for (std::int64_t r = 0; r < places.length(); ++r) {
        rows += places.IsValid(r) && marks[static_cast<std::size_t>(places.Value(r))] ? 1 : 0;
    }
    return rows;
}

class TruncateStep : public CompiledStep {
 public:
    explicit TruncateStep(const spec::TruncateStep& step) : step_(step) {}
    Status run(RowSet& rows, const RunContext&, StepCount& count) const override {
        ASSIGN_OR_RETURN(const StoredValues stored, rows.storedValues(step_.column));
        eval::ListView list = eval::viewLists(*stored.values);
        std::vector<bool> isCut(list.begins.size());
        const bool isLast = step_.from == "last";
        for (std::size_t i = 0; i < list.begins.size(); ++i) {
            const std::int64_t over = list.count(i) - step_.length;
            if (over > 0) {
                isCut[i] = true;
                list.begins[i] += isLast ? over : 0;
                list.counts[i] = step_.length;
            }
        }
        count.reasons[0] += rowsOf(isCut, stored.indices);
        ASSIGN_OR_RETURN(ArrayPtr cut,
                         eval::copyLists(list, poolOfMade(rows, step_.column, step_.as)));
        ASSIGN_OR_RETURN(cut, stored.asRows(std::move(cut)));
        rows.set(step_.as, std::move(cut));
        return okStatus();
    }
    std::vector<std::string> reasons() const override { return {"cut"}; }

 private:
    const spec::TruncateStep step_;
};

/// `select` only changes which names exist, which compilation handles.
class NoStep : public CompiledStep {
 public:
    Status run(RowSet&, const RunContext&, StepCount&) const override { return okStatus(); }
};

// Compiles each kind of step.

Result<StepPtr> compileKind(const spec::Step&, const spec::FilterStep& kind,
                            const StepContext& stepContext) {
    return compileFilter(kind.expr, stepContext.schema, stepContext.place);
}

Result<StepPtr> compileKind(const spec::Step& step, const spec::JoinStep& kind,
                            const StepContext& stepContext) {
    return compileJoin(step, kind, stepContext);
}

Result<StepPtr> compileKind(const spec::Step& step, const spec::SemiJoinStep&,
                            const StepContext& stepContext) {
    return compileMembership(step, true, stepContext);
}

Result<StepPtr> compileKind(const spec::Step& step, const spec::AntiJoinStep&,
                            const StepContext& stepContext) {
    return compileMembership(step, false, stepContext);
}

Result<StepPtr> compileKind(const spec::Step& step, const spec::SampleStep& kind,
                            const StepContext& stepContext) {
    expr::Expr where;
    if (!kind.where.empty()) {
        ASSIGN_OR_RETURN(where, eval::compileCheckedPredicate(kind.where, stepContext.schema,
                                                              stepContext.place + ".where"));
    }
    return StepPtr(std::make_unique<SampleStep>(step, kind, std::move(where)));
}

Result<StepPtr> compileKind(const spec::Step&, const spec::DeriveStep& kind,
                            const StepContext& stepContext) {
    std::vector<DeriveStep::Column> columns;
    for (const spec::NamedExpr& column : kind.columns) {
        const std::string place = strCat(stepContext.place, ".", column.name);
        ASSIGN_OR_RETURN(expr::Expr expr,
                         eval::compileChecked(column.expr, stepContext.schema, place));
        columns.push_back({column.name, place, std::move(expr)});
    }
    return StepPtr(std::make_unique<DeriveStep>(std::move(columns)));
}

Result<StepPtr> compileKind(const spec::Step&, const spec::WeightStep& kind,
                            const StepContext& stepContext) {
    ASSIGN_OR_RETURN(expr::Expr expr,
                     eval::compileChecked(kind.expr, stepContext.schema, stepContext.place));
    return StepPtr(std::make_unique<WeightStep>(std::move(expr), stepContext.place));
}

Result<StepPtr> compileKind(const spec::Step&, const spec::HashStep& kind, const StepContext&) {
    return StepPtr(std::make_unique<HashStep>(kind));
}

Result<StepPtr> compileKind(const spec::Step&, const spec::BucketizeStep& kind,
                            const StepContext& stepContext) {
    const expr::Field* field = stepContext.schema.find(kind.column);
    if (field == nullptr) {
        return invalidArgument(stepContext.place, ": no column '", kind.column, "'");
    }
    return StepPtr(std::make_unique<BucketizeStep>(kind, field->type));
}

Result<StepPtr> compileKind(const spec::Step&, const spec::TruncateStep& kind, const StepContext&) {
    return StepPtr(std::make_unique<TruncateStep>(kind));
}

Result<StepPtr> compileKind(const spec::Step&, const spec::SelectStep&, const StepContext&) {
    return StepPtr(std::make_unique<NoStep>());
}

}  // namespace

std::int64_t TableInput::rows() const {
    return table_->num_rows();
}

Result<ArrayPtr> TableInput::column(const std::string& name) {
    const std::shared_ptr<arrow::ChunkedArray> column = table_->GetColumnByName(name);
    if (column == nullptr) {
        return internalError("no column ", name);
    }
    if (column->num_chunks() == 1) {
        return column->chunk(0);
    }
    return arrays::fromArrow(
        column->num_chunks() == 0 ? arrow::Concatenate({}) : arrow::Concatenate(column->chunks()),
        name);
}

Result<StepPtr> compileFilter(const std::string& text, const expr::Schema& schema,
                              const std::string& place) {
    ASSIGN_OR_RETURN(expr::Expr expr, eval::compileCheckedPredicate(text, schema, place));
    return StepPtr(std::make_unique<FilterStep>(std::move(expr), strCat(place, " (", text, ")")));
}

Result<StepPtr> compileStep(const spec::Step& step, const expr::Schema& schema, Part part,
                            const TableSource& tables) {
    const StepContext stepContext{strCat("recipe.", step.name), schema, part, tables};
    return std::visit([&](const auto& kind) { return compileKind(step, kind, stepContext); },
                      step.body);
}

}  // namespace millrace::recipe
