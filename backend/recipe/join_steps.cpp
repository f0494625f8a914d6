#include "backend/recipe/join_steps.h"

#include <set>

#include <arrow/chunked_array.h>
#include <arrow/table.h>
#include <arrow/util/byte_size.h>

#include "backend/core/text.h"
#include "backend/dataset/arrow_bridge.h"
#include "backend/recipe/join_table.h"

namespace millrace::recipe {
namespace {

std::string placeOf(const spec::Step& step) {
    return strCat("recipe.", step.name, ": table ", step.table);
}

struct LoadedTable {
    spec::Schema schema;
    std::vector<JoinKeySpec> keys;
    std::shared_ptr<arrow::Table> rows;
    std::shared_ptr<const JoinTable> index;
};

/// Loads the key columns and `more` of the step's table and indexes the keys.
Result<LoadedTable> loadStepTable(const spec::Step& step, const spec::Schema& left,
                                  const TableSource& tables, std::set<std::string> more,
                                  bool isFirstTaken) {
    LoadedTable loaded;
    ASSIGN_OR_RETURN(loaded.schema, tables.schema(step.table));
    for (const spec::JoinKey& key : step.on) {
        const spec::Field* leftField = left.find(key.left);
        const spec::Field* rightField = loaded.schema.find(key.right);
        if (leftField == nullptr) {
            return invalidArgument("recipe.", step.name, ": no column '", key.left, "'",
                                   nameHint(key.left, left.names()));
        }
        if (rightField == nullptr) {
            return invalidArgument(placeOf(step), ": no column '", key.right, "'",
                                   nameHint(key.right, loaded.schema.names()));
        }
        loaded.keys.push_back({key.left, key.right, leftField->type, rightField->type});
        more.insert(key.right);
    }
    if (loaded.keys.empty()) {
        return invalidArgument("recipe.", step.name, ": `on` names no column");
    }
    ASSIGN_OR_RETURN(loaded.rows,
                     tables.load(step.table, std::vector<std::string>(more.begin(), more.end())));
    TableInput input(loaded.rows);
    std::vector<ArrayPtr> keys;
    for (const JoinKeySpec& key : loaded.keys) {
        ASSIGN_OR_RETURN(ArrayPtr column, input.column(key.right));
        keys.push_back(std::move(column));
    }
    ASSIGN_OR_RETURN(loaded.index,
                     JoinTable::make(placeOf(step), loaded.keys, std::move(keys), isFirstTaken));
    return loaded;
}

Result<std::vector<std::int64_t>> partnersOf(RowSet& rows, const JoinTable& table,
                                             const std::vector<JoinKeySpec>& keys) {
    std::vector<std::string> names;
    for (const JoinKeySpec& key : keys) {
        names.push_back(key.left);
    }
    RETURN_IF_ERROR(rows.prefetch(names));
    std::vector<ArrayPtr> left;
    for (const std::string& name : names) {
        ASSIGN_OR_RETURN(ArrayPtr column, rows.column(name));
        left.push_back(std::move(column));
    }
    return table.find(left);
}

struct TakenColumn {
    std::string name;
    ArrayPtr values;
};

class JoinStep : public CompiledStep {
 public:
    JoinStep(LoadedTable table, std::vector<TakenColumn> taken, bool dropsMissing)
        : index_(std::move(table.index)),
          keys_(std::move(table.keys)),
          taken_(std::move(taken)),
          dropsMissing_(dropsMissing) {}

    Status run(RowSet& rows, const RunContext&) const override {
        ASSIGN_OR_RETURN(std::vector<std::int64_t> partners, partnersOf(rows, *index_, keys_));
        if (dropsMissing_) {
            std::vector<std::int64_t> kept, found;
            for (std::size_t i = 0; i < partners.size(); ++i) {
                if (partners[i] >= 0) {
                    kept.push_back(static_cast<std::int64_t>(i));
                    found.push_back(partners[i]);
                }
            }
            RETURN_IF_ERROR(rows.keep(kept));
            partners = std::move(found);
        }
        ASSIGN_OR_RETURN(const ArrayPtr indices, indexArray(partners, true));
        for (const TakenColumn& column : taken_) {
            ASSIGN_OR_RETURN(ArrayPtr values, takeRows(column.values, indices));
            rows.set(column.name, std::move(values));
        }
        return okStatus();
    }

    std::int64_t tableBytes() const override {
        std::int64_t bytes = index_->bytes();
        for (const TakenColumn& column : taken_) {
            bytes += arrow::util::TotalBufferSize(*column.values);
        }
        return bytes;
    }

 private:
    const std::shared_ptr<const JoinTable> index_;
    const std::vector<JoinKeySpec> keys_;
    const std::vector<TakenColumn> taken_;
    const bool dropsMissing_;
};

class MembershipStep : public CompiledStep {
 public:
    MembershipStep(LoadedTable table, bool keepsMembers)
        : index_(std::move(table.index)),
          keys_(std::move(table.keys)),
          keepsMembers_(keepsMembers) {}

    Status run(RowSet& rows, const RunContext&) const override {
        ASSIGN_OR_RETURN(const std::vector<std::int64_t> partners,
                         partnersOf(rows, *index_, keys_));
        std::vector<std::int64_t> kept;
        for (std::size_t i = 0; i < partners.size(); ++i) {
            if ((partners[i] >= 0) == keepsMembers_) {
                kept.push_back(static_cast<std::int64_t>(i));
            }
        }
        return rows.keep(kept);
    }

    std::int64_t tableBytes() const override { return index_->bytes(); }

 private:
    const std::shared_ptr<const JoinTable> index_;
    const std::vector<JoinKeySpec> keys_;
    const bool keepsMembers_;
};

}  // namespace

Result<StepPtr> compileJoin(const spec::Step& step, const spec::Schema& schema, Part part,
                            const TableSource& tables) {
    ASSIGN_OR_RETURN(const spec::Schema tableColumns, tables.schema(step.table));
    std::vector<spec::Expr> expressions;
    std::set<std::string> needed;
    for (const spec::NamedExpr& take : step.take) {
        const std::string place = strCat("recipe.", step.name, ".take.", take.name);
        Result<spec::Expr> expr = spec::compileExpression(take.expr, tableColumns);
        RETURN_IF_ERROR(annotate(expr.status(), place));
        RETURN_IF_ERROR(annotate(checkExpression(*expr, tableColumns), place));
        for (const std::string& column : spec::collectColumns(*expr)) {
            needed.insert(column);
        }
        expressions.push_back(*std::move(expr));
    }
    ASSIGN_OR_RETURN(LoadedTable table, loadStepTable(step, schema, tables, std::move(needed),
                                                      step.onDuplicate == "first"));
    TableInput input(table.rows);
    std::vector<TakenColumn> taken;
    for (std::size_t i = 0; i < expressions.size(); ++i) {
        std::int64_t failed = -1;
        Result<ArrayPtr> values = evaluate(expressions[i], input, &failed);
        if (!values.ok()) {
            return Status(values.status().code(),
                          strCat(placeOf(step), failed < 0 ? "" : strCat(", row ", failed + 1),
                                 ": take ", step.take[i].name, ": ", messageOf(values.status())));
        }
        taken.push_back({step.take[i].name, *std::move(values)});
    }
    const bool dropsMissing = part == Part::kTrain && step.missing == "drop";
    return StepPtr(std::make_unique<JoinStep>(std::move(table), std::move(taken), dropsMissing));
}

Result<StepPtr> compileMembership(const spec::Step& step, const spec::Schema& schema,
                                  const TableSource& tables) {
    ASSIGN_OR_RETURN(LoadedTable table, loadStepTable(step, schema, tables, {}, true));
    return StepPtr(
        std::make_unique<MembershipStep>(std::move(table), step.kind == spec::StepKind::kSemiJoin));
}

}  // namespace millrace::recipe
