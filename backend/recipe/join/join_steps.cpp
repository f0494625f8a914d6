#include "backend/recipe/join/join_steps.h"

#include <algorithm>
#include <set>
#include <variant>

#include <arrow/chunked_array.h>
#include <arrow/table.h>
#include <arrow/util/byte_size.h>

#include "backend/arrays/arrow_bridge.h"
#include "backend/eval/evaluator.h"
#include "backend/expr/expression.h"
#include "backend/recipe/gather_rows.h"
#include "backend/recipe/join/as_of_table.h"
#include "backend/recipe/join/join_table.h"
#include "backend/recipe/join/side_rows.h"
#include "backend/text/text.h"

namespace millrace::recipe {
namespace {

using eval::ArrayPtr;

/// For a step whose kind has a lookup.
const spec::TableLookup& lookupOf(const spec::Step& step) {
    return *step.lookup();
}

std::string placeOf(const spec::Step& step) {
    return strCat("recipe.", step.name, ": table ", lookupOf(step).table.text());
}

/// A value by which rows and a table are matched: a column, or an expression over columns.
struct KeyValue {
    std::string text, place;
    expr::DataType type;
    expr::Expr expr;  ///< null: the column of that name
};

Result<KeyValue> keyValue(const spec::Step& step, const expr::Schema& left, const std::string& text,
                          const char* key) {
    KeyValue value{text, strCat("recipe.", step.name, ".", key), {}, nullptr};
    const expr::Field* field = left.find(text);
    if (field != nullptr) {
        value.type = field->type;
        return value;
    }
    if (!expr::isJoinExpression(text, left)) {
        return invalidArgument("recipe.", step.name, ": no column '", text, "'",
                               nameHint(text, left.names()));
    }
    ASSIGN_OR_RETURN(value.expr, eval::compileChecked(text, left, value.place));
    value.type = value.expr->type;
    return value;
}

Result<std::vector<KeyValue>> keyValues(const spec::Step& step, const expr::Schema& left) {
    std::vector<KeyValue> values;
    for (const spec::JoinKey& key : lookupOf(step).on) {
        ASSIGN_OR_RETURN(KeyValue value, keyValue(step, left, key.left, "on"));
        values.push_back(std::move(value));
    }
    return values;
}

Result<expr::DataType> rightType(const spec::Step& step, const expr::Schema& right,
                                 const std::string& column) {
    const expr::Field* field = right.find(column);
    if (field == nullptr) {
        return invalidArgument(placeOf(step), ": no column '", column, "'",
                               nameHint(column, right.names()));
    }
    return field->type;
}

/// `left`: the values for the step's keys, in order.
Result<std::vector<JoinKeySpec>> keysOf(const spec::Step& step, const std::vector<KeyValue>& left,
                                        const expr::Schema& right) {
    std::vector<JoinKeySpec> keys;
    for (std::size_t i = 0; i < left.size(); ++i) {
        const std::string& column = lookupOf(step).on[i].right;
        ASSIGN_OR_RETURN(const expr::DataType ofRight, rightType(step, right, column));
        keys.push_back({left[i].text, column, left[i].type, ofRight});
    }
    if (keys.empty()) {
        return invalidArgument("recipe.", step.name, ": `on` names no column");
    }
    return keys;
}

/// A key with everything that a step's table depends on.
std::string sharedKey(const spec::Step& step, const std::vector<JoinKeySpec>& keys) {
    std::string key = tableText(step);
    for (const JoinKeySpec& one : keys) {
        strAppend(&key, "\n", one.leftType.name());
    }
    return key;
}

struct LoadedTable {
    SideRows rows;
    std::vector<ArrayPtr> keyColumns;
};

/// Loads the key columns and `more` of the step's table.
Result<LoadedTable> loadStepTable(const spec::Step& step, const std::vector<JoinKeySpec>& keys,
                                  const TableSource& tables, std::set<std::string> more) {
    LoadedTable loaded;
    for (const JoinKeySpec& key : keys) {
        more.insert(key.right);
    }
    ASSIGN_OR_RETURN(loaded.rows, SideRows::load(tables, lookupOf(step).table,
                                                 std::vector<std::string>(more.begin(), more.end()),
                                                 placeOf(step)));
    TableInput input(loaded.rows.table);
    for (const JoinKeySpec& key : keys) {
        ASSIGN_OR_RETURN(ArrayPtr column, input.column(key.right));
        loaded.keyColumns.push_back(std::move(column));
    }
    return loaded;
}

Result<std::vector<ArrayPtr>> valuesOf(RowSet& rows, const std::vector<KeyValue>& values) {
    std::vector<std::string> names;
    for (const KeyValue& value : values) {
        const std::vector<std::string> read = value.expr == nullptr
                                                  ? std::vector<std::string>{value.text}
                                                  : expr::collectColumns(value.expr);
        names.insert(names.end(), read.begin(), read.end());
    }
    RETURN_IF_ERROR(rows.prefetch(names));
    std::vector<ArrayPtr> left;
    for (const KeyValue& value : values) {
        ASSIGN_OR_RETURN(ArrayPtr column, value.expr == nullptr
                                              ? rows.storedColumn(value.text)
                                              : evaluateRows(value.expr, rows, value.place));
        left.push_back(std::move(column));
    }
    return left;
}

struct TakenColumn {
    std::string name;
    ArrayPtr values;
};

/// The table of a join: an index by key, or by key and time, and the columns to take.
struct JoinedTable {
    std::shared_ptr<const JoinTable> byKey;
    std::shared_ptr<const AsOfTable> byTime;
    std::vector<TakenColumn> taken;
    MemoryBudget::Reservation reservation;  ///< for the taken columns

    std::int64_t takenBytes() const {
        std::int64_t bytes = 0;
        for (const TakenColumn& column : taken) {
            bytes += arrow::util::TotalBufferSize(*column.values);
        }
        return bytes;
    }
};

/// Finds the matching table rows, by key or by key and time. Counts rows without a match.
class JoinMatches {
 public:
    enum Reason : std::size_t { kNoPartner, kNoneBefore, kTooOld };

    /// `left`: the values to look up; for a table by time, the last one is the time.
    JoinMatches(std::vector<KeyValue> left, std::shared_ptr<const JoinedTable> table)
        : left_(std::move(left)), table_(std::move(table)) {}

    Result<std::vector<std::int64_t>> of(RowSet& rows, StepCount& count) const {
        ASSIGN_OR_RETURN(std::vector<ArrayPtr> left, valuesOf(rows, left_));
        if (table_->byKey != nullptr) {
            ASSIGN_OR_RETURN(std::vector<std::int64_t> found, table_->byKey->find(left));
            count.reasons[kNoPartner] += std::ranges::count(found, -1);
            return found;
        }
        const ArrayPtr times = std::move(left.back());
        left.pop_back();
        ASSIGN_OR_RETURN(AsOfTable::Found found,
                         table_->byTime->find(left, times, left_.back().type));
        count.reasons[kNoPartner] += found.noKey;
        count.reasons[kNoneBefore] += found.noneBefore;
        count.reasons[kTooOld] += found.tooOld;
        return std::move(found.rows);
    }

    std::vector<std::string> reasons() const {
        return table_->byKey != nullptr
                   ? std::vector<std::string>{"no partner"}
                   : std::vector<std::string>{"no partner", "none before", "too old"};
    }
    const JoinedTable& table() const { return *table_; }

 private:
    std::vector<KeyValue> left_;
    std::shared_ptr<const JoinedTable> table_;
};

class JoinStep : public CompiledStep {
 public:
    JoinStep(JoinMatches partners, bool dropsMissing)
        : partners_(std::move(partners)), dropsMissing_(dropsMissing) {}

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
        for (const TakenColumn& column : partners_.table().taken) {
            ASSIGN_OR_RETURN(ArrayPtr values, gatherRows(column.values, partners));
            rows.set(column.name, std::move(values));
        }
        return okStatus();
    }

    std::vector<std::string> reasons() const override { return partners_.reasons(); }
    void addTables(TableSizes& sizes) const override {
        const JoinedTable& table = partners_.table();
        sizes[&table] = table.takenBytes() +
                        (table.byKey != nullptr ? table.byKey->bytes() : table.byTime->bytes());
    }

 private:
    const JoinMatches partners_;
    const bool dropsMissing_;
};

class MembershipStep : public CompiledStep {
 public:
    MembershipStep(std::shared_ptr<const JoinTable> index, std::vector<KeyValue> left,
                   bool keepsMembers)
        : index_(std::move(index)), left_(std::move(left)), keepsMembers_(keepsMembers) {}

    Status run(RowSet& rows, const RunContext&, StepCount& count) const override {
        ASSIGN_OR_RETURN(const std::vector<ArrayPtr> left, valuesOf(rows, left_));
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
    void addTables(TableSizes& sizes) const override { sizes[index_.get()] = index_->bytes(); }

 private:
    const std::shared_ptr<const JoinTable> index_;
    const std::vector<KeyValue> left_;
    const bool keepsMembers_;
};

/// The expressions of `take`, and the table columns that they need.
Result<std::vector<expr::Expr>> takeExpressions(const spec::Step& step,
                                                const std::vector<spec::NamedExpr>& taken,
                                                const expr::Schema& tableColumns,
                                                std::set<std::string>& needed) {
    std::vector<expr::Expr> expressions;
    for (const spec::NamedExpr& take : taken) {
        const std::string place = strCat("recipe.", step.name, ".take.", take.name);
        ASSIGN_OR_RETURN(expr::Expr expr, eval::compileChecked(take.expr, tableColumns, place));
        for (const std::string& column : expr::collectColumns(expr)) {
            needed.insert(column);
        }
        expressions.push_back(std::move(expr));
    }
    return expressions;
}

/// `what`: the key of the step for errors.
Result<ArrayPtr> tableValues(const spec::Step& step, const expr::Expr& expr, TableInput& input,
                             const std::string& what) {
    std::int64_t failed = -1;
    Result<ArrayPtr> values = eval::evaluate(expr, input, &failed);
    return values.ok()
               ? std::move(values)
               : Status(values.status().code(),
                        strCat(placeOf(step), failed < 0 ? "" : strCat(", row ", failed + 1), ": ",
                               what, ": ", messageOf(values.status())));
}

Result<std::vector<TakenColumn>> takeColumns(const spec::Step& step,
                                             const std::vector<spec::NamedExpr>& take,
                                             const std::vector<expr::Expr>& expressions,
                                             const SideRows& rows) {
    TableInput input(rows.table);
    std::vector<TakenColumn> taken;
    for (std::size_t i = 0; i < expressions.size(); ++i) {
        ASSIGN_OR_RETURN(ArrayPtr values,
                         tableValues(step, expressions[i], input, strCat("take ", take[i].name)));
        taken.push_back({take[i].name, std::move(values)});
    }
    return taken;
}

Result<std::shared_ptr<const JoinedTable>> makeJoined(const spec::Step& step,
                                                      const spec::JoinStep& join,
                                                      const expr::Schema& right,
                                                      const std::vector<JoinKeySpec>& keys,
                                                      const TableSource& tables) {
    std::set<std::string> needed;
    ASSIGN_OR_RETURN(const std::vector<expr::Expr> expressions,
                     takeExpressions(step, join.take, right, needed));
    KeyValue time;
    if (join.asOf) {
        ASSIGN_OR_RETURN(time, keyValue(step, right, join.asOf->right, "as_of.right"));
        if (time.expr == nullptr) {
            needed.insert(time.text);
        } else {
            for (const std::string& column : expr::collectColumns(time.expr)) {
                needed.insert(column);
            }
        }
    }
    ASSIGN_OR_RETURN(LoadedTable loaded, loadStepTable(step, keys, tables, std::move(needed)));
    auto joined = std::make_shared<JoinedTable>();
    const JoinTable::Options options{placeOf(step), join.onDuplicate == "first", tables.budget,
                                     JoinTable::Finds::kRow, tables.shared->threads()};
    if (join.asOf) {
        TableInput input(loaded.rows.table);
        ASSIGN_OR_RETURN(const ArrayPtr times,
                         time.expr == nullptr ? input.column(time.text)
                                              : tableValues(step, time.expr, input, "as_of.right"));
        ASSIGN_OR_RETURN(joined->byTime, AsOfTable::make(options, keys, loaded.keyColumns, times,
                                                         time.type, *join.asOf));
    } else {
        ASSIGN_OR_RETURN(joined->byKey, JoinTable::make(options, keys, loaded.keyColumns));
    }
    ASSIGN_OR_RETURN(joined->taken, takeColumns(step, join.take, expressions, loaded.rows));
    loaded.rows.release();
    if (tables.budget != nullptr) {
        ASSIGN_OR_RETURN(joined->reservation,
                         tables.budget->reserve(joined->takenBytes(), placeOf(step)));
    }
    return std::shared_ptr<const JoinedTable>(std::move(joined));
}

}  // namespace

std::string tableText(spec::Step step) {
    // The table does not depend on whether the step drops rows without a match.
    std::visit([](auto& kind) { kind.keepAllRows(); }, step.body);
    return strCat(step.line(), "\n", lookupOf(step).table.key());
}

Result<StepPtr> compileJoin(const spec::Step& step, const spec::JoinStep& join,
                            const StepContext& context) {
    const TableSource& tables = context.tables;
    ASSIGN_OR_RETURN(const expr::Schema right, tables.schema(join.table));
    ASSIGN_OR_RETURN(std::vector<KeyValue> left, keyValues(step, context.schema));
    ASSIGN_OR_RETURN(const std::vector<JoinKeySpec> keys, keysOf(step, left, right));
    if (join.asOf) {
        ASSIGN_OR_RETURN(KeyValue time,
                         keyValue(step, context.schema, join.asOf->left, "as_of.left"));
        left.push_back(std::move(time));
    }
    ASSIGN_OR_RETURN(auto table, tables.shared->get<JoinedTable>(sharedKey(step, keys), [&] {
        return makeJoined(step, join, right, keys, tables);
    }));
    const bool dropsMissing = context.part == Part::kTrain && join.missing == "drop";
    return StepPtr(
        std::make_unique<JoinStep>(JoinMatches(std::move(left), std::move(table)), dropsMissing));
}

Result<StepPtr> compileMembership(const spec::Step& step, bool keepsMembers,
                                  const StepContext& context) {
    const TableSource& tables = context.tables;
    ASSIGN_OR_RETURN(const expr::Schema right, tables.schema(lookupOf(step).table));
    ASSIGN_OR_RETURN(std::vector<KeyValue> left, keyValues(step, context.schema));
    ASSIGN_OR_RETURN(const std::vector<JoinKeySpec> keys, keysOf(step, left, right));
    const auto make = [&]() -> Result<std::shared_ptr<const JoinTable>> {
        ASSIGN_OR_RETURN(LoadedTable table, loadStepTable(step, keys, tables, {}));
        return JoinTable::make({placeOf(step), true, tables.budget, JoinTable::Finds::kMember,
                                tables.shared->threads()},
                               keys, table.keyColumns);
    };
    ASSIGN_OR_RETURN(auto index, tables.shared->get<JoinTable>(sharedKey(step, keys), make));
    return StepPtr(
        std::make_unique<MembershipStep>(std::move(index), std::move(left), keepsMembers));
}

}  // namespace millrace::recipe
