#include "backend/recipe/join_steps.h"

#include <algorithm>
#include <set>

#include <arrow/chunked_array.h>
#include <arrow/table.h>
#include <arrow/util/byte_size.h>

#include "backend/core/text.h"
#include "backend/dataset/arrow_bridge.h"
#include "backend/recipe/as_of_table.h"
#include "backend/recipe/join_table.h"
#include "backend/recipe/side_rows.h"

namespace millrace::recipe {
namespace {

std::string placeOf(const spec::Step& step) {
    return strCat("recipe.", step.name, ": table ", step.table);
}

Result<spec::DataType> leftType(const spec::Step& step, const spec::Schema& left,
                                const std::string& column) {
    const spec::Field* field = left.find(column);
    if (field == nullptr) {
        return invalidArgument("recipe.", step.name, ": no column '", column, "'",
                               nameHint(column, left.names()));
    }
    return field->type;
}

Result<spec::DataType> rightType(const spec::Step& step, const spec::Schema& right,
                                 const std::string& column) {
    const spec::Field* field = right.find(column);
    if (field == nullptr) {
        return invalidArgument(placeOf(step), ": no column '", column, "'",
                               nameHint(column, right.names()));
    }
    return field->type;
}

struct LoadedTable {
    std::vector<JoinKeySpec> keys;
    SideRows rows;
    std::vector<ArrayPtr> keyColumns;
};

/// Loads the key columns and `more` of the step's table.
Result<LoadedTable> loadStepTable(const spec::Step& step, const spec::Schema& left,
                                  const TableSource& tables, std::set<std::string> more) {
    LoadedTable loaded;
    ASSIGN_OR_RETURN(const spec::Schema right, tables.schema(step.table));
    for (const spec::JoinKey& key : step.on) {
        ASSIGN_OR_RETURN(const spec::DataType ofLeft, leftType(step, left, key.left));
        ASSIGN_OR_RETURN(const spec::DataType ofRight, rightType(step, right, key.right));
        loaded.keys.push_back({key.left, key.right, ofLeft, ofRight});
        more.insert(key.right);
    }
    if (loaded.keys.empty()) {
        return invalidArgument("recipe.", step.name, ": `on` names no column");
    }
    ASSIGN_OR_RETURN(loaded.rows, SideRows::load(tables, step.table,
                                                 std::vector<std::string>(more.begin(), more.end()),
                                                 placeOf(step)));
    TableInput input(loaded.rows.table);
    for (const JoinKeySpec& key : loaded.keys) {
        ASSIGN_OR_RETURN(ArrayPtr column, input.column(key.right));
        loaded.keyColumns.push_back(std::move(column));
    }
    return loaded;
}

Result<std::vector<ArrayPtr>> leftKeys(RowSet& rows, const std::vector<JoinKeySpec>& keys,
                                       const std::string& time = "") {
    std::vector<std::string> names;
    for (const JoinKeySpec& key : keys) {
        names.push_back(key.left);
    }
    if (!time.empty()) {
        names.push_back(time);
    }
    RETURN_IF_ERROR(rows.prefetch(names));
    std::vector<ArrayPtr> left;
    for (const std::string& name : names) {
        ASSIGN_OR_RETURN(ArrayPtr column, rows.column(name));
        left.push_back(std::move(column));
    }
    return left;
}

struct TakenColumn {
    std::string name;
    ArrayPtr values;
};

/// Finds the partners of rows: by key, or by key and time. Counts those without one.
class Partners {
 public:
    enum Reason : std::size_t { kNoPartner, kNoneBefore, kTooOld };

    static Result<Partners> make(const spec::Step& step, const spec::Schema& left,
                                 const TableSource& tables, const LoadedTable& table) {
        Partners partners;
        partners.keys_ = table.keys;
        const JoinTable::Options options{placeOf(step), step.onDuplicate == "first", tables.budget};
        if (!step.asOf) {
            ASSIGN_OR_RETURN(partners.byKey_,
                             JoinTable::make(options, table.keys, table.keyColumns));
            return partners;
        }
        partners.time_ = step.asOf->left;
        ASSIGN_OR_RETURN(partners.timeType_, leftType(step, left, partners.time_));
        ASSIGN_OR_RETURN(const spec::Schema right, tables.schema(step.table));
        ASSIGN_OR_RETURN(const spec::DataType type, rightType(step, right, step.asOf->right));
        TableInput input(table.rows.table);
        ASSIGN_OR_RETURN(const ArrayPtr times, input.column(step.asOf->right));
        ASSIGN_OR_RETURN(partners.byTime_, AsOfTable::make(options, table.keys, table.keyColumns,
                                                           times, type, *step.asOf));
        return partners;
    }

    Result<std::vector<std::int64_t>> of(RowSet& rows, StepCount& count) const {
        ASSIGN_OR_RETURN(std::vector<ArrayPtr> left, leftKeys(rows, keys_, time_));
        if (byKey_ != nullptr) {
            ASSIGN_OR_RETURN(std::vector<std::int64_t> found, byKey_->find(left));
            count.reasons[kNoPartner] += std::count(found.begin(), found.end(), -1);
            return found;
        }
        const ArrayPtr times = std::move(left.back());
        left.pop_back();
        ASSIGN_OR_RETURN(const auto matches, byTime_->find(left, times, timeType_));
        std::vector<std::int64_t> found;
        found.reserve(matches.size());
        for (const AsOfTable::Match& match : matches) {
            using Miss = AsOfTable::Miss;
            found.push_back(match.row);
            count.reasons[kNoPartner] += match.miss == Miss::kNoKey ? 1 : 0;
            count.reasons[kNoneBefore] += match.miss == Miss::kNoneBefore ? 1 : 0;
            count.reasons[kTooOld] += match.miss == Miss::kTooOld ? 1 : 0;
        }
        return found;
    }

    std::vector<std::string> reasons() const {
        return byKey_ != nullptr ? std::vector<std::string>{"no partner"}
                                 : std::vector<std::string>{"no partner", "none before", "too old"};
    }
    std::int64_t bytes() const { return byKey_ != nullptr ? byKey_->bytes() : byTime_->bytes(); }

 private:
    std::vector<JoinKeySpec> keys_;
    std::string time_;  ///< of the rows, when byTime_
    spec::DataType timeType_;
    std::shared_ptr<const JoinTable> byKey_;
    std::shared_ptr<const AsOfTable> byTime_;
};

class JoinStep : public CompiledStep {
 public:
    JoinStep(Partners partners, std::vector<TakenColumn> taken, bool dropsMissing,
             MemoryBudget::Reservation reservation)
        : partners_(std::move(partners)),
          taken_(std::move(taken)),
          dropsMissing_(dropsMissing),
          reservation_(std::move(reservation)) {}

    Status run(RowSet& rows, const RunContext&, StepCount& count) const override {
        ASSIGN_OR_RETURN(std::vector<std::int64_t> partners, partners_.of(rows, count));
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

    std::vector<std::string> reasons() const override { return partners_.reasons(); }
    std::int64_t tableBytes() const override { return partners_.bytes() + bytesOf(taken_); }

    static std::int64_t bytesOf(const std::vector<TakenColumn>& taken) {
        std::int64_t bytes = 0;
        for (const TakenColumn& column : taken) {
            bytes += arrow::util::TotalBufferSize(*column.values);
        }
        return bytes;
    }

 private:
    const Partners partners_;
    const std::vector<TakenColumn> taken_;
    const bool dropsMissing_;
    const MemoryBudget::Reservation reservation_;  ///< of the taken columns
};

class MembershipStep : public CompiledStep {
 public:
    MembershipStep(std::shared_ptr<const JoinTable> index, std::vector<JoinKeySpec> keys,
                   bool keepsMembers)
        : index_(std::move(index)), keys_(std::move(keys)), keepsMembers_(keepsMembers) {}

    Status run(RowSet& rows, const RunContext&, StepCount& count) const override {
        ASSIGN_OR_RETURN(const std::vector<ArrayPtr> left, leftKeys(rows, keys_));
        ASSIGN_OR_RETURN(const std::vector<std::int64_t> partners, index_->find(left));
        std::vector<std::int64_t> kept;
        for (std::size_t i = 0; i < partners.size(); ++i) {
            if ((partners[i] >= 0) == keepsMembers_) {
                kept.push_back(static_cast<std::int64_t>(i));
            }
        }
        count.reasons[0] += static_cast<std::int64_t>(partners.size() - kept.size());
        return rows.keep(kept);
    }

    std::vector<std::string> reasons() const override {
        return {keepsMembers_ ? "no partner" : "partner"};
    }
    std::int64_t tableBytes() const override { return index_->bytes(); }

 private:
    const std::shared_ptr<const JoinTable> index_;
    const std::vector<JoinKeySpec> keys_;
    const bool keepsMembers_;
};

/// The expressions of `take`, and which of the table's columns they need.
Result<std::vector<spec::Expr>> takeExpressions(const spec::Step& step,
                                                const spec::Schema& tableColumns,
                                                std::set<std::string>& needed) {
    std::vector<spec::Expr> expressions;
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
    return expressions;
}

Result<std::vector<TakenColumn>> takeColumns(const spec::Step& step,
                                             const std::vector<spec::Expr>& expressions,
                                             const SideRows& rows) {
    TableInput input(rows.table);
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
    return taken;
}

}  // namespace

Result<StepPtr> compileJoin(const spec::Step& step, const spec::Schema& schema, Part part,
                            const TableSource& tables) {
    ASSIGN_OR_RETURN(const spec::Schema tableColumns, tables.schema(step.table));
    std::set<std::string> needed;
    ASSIGN_OR_RETURN(const std::vector<spec::Expr> expressions,
                     takeExpressions(step, tableColumns, needed));
    if (step.asOf) {
        needed.insert(step.asOf->right);
    }
    ASSIGN_OR_RETURN(LoadedTable table, loadStepTable(step, schema, tables, std::move(needed)));
    ASSIGN_OR_RETURN(Partners partners, Partners::make(step, schema, tables, table));
    ASSIGN_OR_RETURN(std::vector<TakenColumn> taken, takeColumns(step, expressions, table.rows));
    table.rows.release();
    MemoryBudget::Reservation reservation;
    if (tables.budget != nullptr) {
        ASSIGN_OR_RETURN(reservation,
                         tables.budget->reserve(JoinStep::bytesOf(taken), placeOf(step)));
    }
    const bool dropsMissing = part == Part::kTrain && step.missing == "drop";
    return StepPtr(std::make_unique<JoinStep>(std::move(partners), std::move(taken), dropsMissing,
                                              std::move(reservation)));
}

Result<StepPtr> compileMembership(const spec::Step& step, const spec::Schema& schema,
                                  const TableSource& tables) {
    ASSIGN_OR_RETURN(LoadedTable table, loadStepTable(step, schema, tables, {}));
    ASSIGN_OR_RETURN(auto index, JoinTable::make({placeOf(step), true, tables.budget}, table.keys,
                                                 table.keyColumns));
    return StepPtr(std::make_unique<MembershipStep>(std::move(index), table.keys,
                                                    step.kind == spec::StepKind::kSemiJoin));
}

}  // namespace millrace::recipe
