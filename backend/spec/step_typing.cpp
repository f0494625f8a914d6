#include "backend/spec/step_typing.h"

#include <utility>
#include <variant>

#include "backend/expr/expression.h"
#include "backend/spec/bind.h"
#include "backend/text/text.h"

namespace millrace::spec {
namespace {

using Wanted = StepTyper::Wanted;

/// Says what is wrong with a typed expression in its context; "" if nothing is.
std::string complaint(const expr::Expr& expr, Wanted wanted) {
    const expr::DataType& type = expr->type;
    if (wanted == Wanted::kPredicate && !type.isBool()) {
        return strCat("must be true or false, not ", type.name(), "; compare it with something");
    }
    if (wanted == Wanted::kNumber && !type.isNumber() && !type.isBool()) {
        return strCat("must be a number, not ", type.name());
    }
    if (wanted == Wanted::kLabel && expr::collectColumns(expr).empty()) {
        return "is the same for every row: a label must read a column (with `command` a spec needs "
               "no labels)";
    }
    if (wanted == Wanted::kLabel && !type.isNumber() && !type.isBool()) {
        return strCat("must be true or false, or a number, not ", type.name(),
                      "; compare it with something");
    }
    if (type.isNull()) {
        return "is always null; give it a type, as in cast(null as double)";
    }
    return "";
}

bool isUnknownColumn(const expr::ExprError& error) {
    return error.message.rfind("unknown column", 0) == 0;
}

}  // namespace

std::string hintFor(const expr::DataType& type, const std::string& column,
                    std::string_view wanted) {
    if (!type.isList && wanted == "an integer or a string") {
        const std::string types =
            strCat("; for whole numbers that a file stores as floats, `dataset.types: {",
                   yamlScalar(column, true),
                   ": int64}` reads integers; hash or bucketize makes ids "
                   "of other numbers");
        return type.isFloat() ? types : " (make others with hash or bucketize)";
    }
    if (!type.isString() || type.isList || !wanted.starts_with("a list")) {
        return "";
    }
    const bool isOfFloats = wanted.find("float") != std::string_view::npos;
    const auto split = [isOfFloats](std::string_view text, std::string_view separator) {
        const std::string list = strCat("split(", text, ", '", separator, "')");
        return isOfFloats ? strCat("cast(", list, " as float[])") : list;
    };
    return strCat("; in a derive step, `", split("x", " "),
                  "` makes one of a text like '1 2', and `",
                  split("regexp_replace(x, '[][]', '', 'g')", ", "), "` of one like '[1, 2]'");
}

std::optional<expr::DataType> StepTyper::typeIn(const expr::Schema& schema, const std::string& key,
                                                const std::string& text, Wanted wanted) {
    const auto parsed = expr::tryParseExpression(text);
    if (const auto* error = std::get_if<expr::ExprError>(&parsed)) {
        sink_(key, "expression", error->offset, error->message);
        return std::nullopt;
    }
    const expr::Expr& expr = std::get<expr::Expr>(parsed);
    if (&schema == &columns_) {
        for (const std::string& name : expr::collectColumns(expr)) {
            if (isBroken(name)) {
                return std::nullopt;
            }
        }
    }
    const auto typed = expr::tryTypeExpression(expr, schema);
    if (const auto* error = std::get_if<expr::ExprError>(&typed)) {
        sink_(key, isUnknownColumn(*error) ? "unknown_column" : "expression", error->offset,
              error->message);
        return std::nullopt;
    }
    const expr::Expr& done = std::get<expr::Expr>(typed);
    if (std::string what = complaint(done, wanted); !what.empty()) {
        sink_(key, "expression", 0, strCat("the expression ", what));
        return std::nullopt;
    }
    return done->type;
}

std::optional<expr::DataType> StepTyper::type(const std::string& key, const std::string& text,
                                              Wanted wanted) {
    return typeIn(columns_, key, text, wanted);
}

std::optional<expr::DataType> StepTyper::column(const std::string& key, const std::string& name) {
    if (const expr::Field* field = columns_.find(name)) {
        return field->type;
    }
    if (!isBroken(name)) {
        sink_(key, columns_.findRefused(name) != nullptr ? "type" : "unknown_column", 0,
              columns_.whyUnknown(name));
    }
    return std::nullopt;
}

void StepTyper::add(const std::string& name, const std::optional<expr::DataType>& type) {
    if (type) {
        columns_.set(name, *type);
        broken_.erase(name);
    } else {
        broken_.insert(name);
    }
}

void StepTyper::apply(const Step& step) {
    std::visit([this](const auto& kind) { kind.type(*this); }, step.body);
}

void StepTyper::refuse(const std::string& key, const char* code, std::string message) {
    sink_(key, code, 0, std::move(message));
}

void StepTyper::lookUp(const TableLookup& lookup, const std::optional<AsOf>& asOf,
                       const std::vector<NamedExpr>& take) {
    const Result<expr::Schema> table =
        tables_ ? tables_(lookup.table)
                : Result<expr::Schema>(notFound("no tables can be read here"));
    if (!table.ok()) {
        sink_("table", "file", 0, std::string(messageOf(table.status())));
        for (const NamedExpr& taken : take) {
            add(taken.name, std::nullopt);
        }
        return;
    }
    for (const JoinKey& key : lookup.on) {
        checkJoinKey(key, lookup.table.text(), *table);
    }
    if (asOf) {
        checkAsOf(*asOf, lookup.table.text(), *table);
    }
    for (const NamedExpr& taken : take) {
        const std::string key = strCat("take.", taken.name);
        if (columns_.find(taken.name) != nullptr) {
            sink_(key, "duplicate", 0,
                  strCat("the rows have a column '", taken.name,
                         "' already; take it under another name, as in take: {", taken.name,
                         "_2: ", taken.expr, "}"));
            continue;
        }
        std::optional<expr::DataType> type = typeIn(*table, key, taken.expr, Wanted::kAny);
        if (type) {
            type->nullable = true;
        }
        add(taken.name, type);
    }
}

std::optional<expr::DataType> StepTyper::joinLeft(const std::string& key, const std::string& text) {
    return expr::isJoinExpression(text, columns_) && !isBroken(text) ? type(key, text, Wanted::kAny)
                                                                     : column(key, text);
}

void StepTyper::checkJoinKey(const JoinKey& key, const std::string& table,
                             const expr::Schema& right) {
    const std::optional<expr::DataType> left = joinLeft("on", key.left);
    const expr::Field* other = right.find(key.right);
    if (other == nullptr) {
        sink_("on", "unknown_column", 0, right.whyUnknownIn(table, key.right));
        return;
    }
    expr::DataType common;
    if (left &&
        (left->isList || other->type.isList || !expr::commonType(*left, other->type, common))) {
        sink_("on", "expression", 0,
              strCat("cannot match ", key.left, " (", left->name(), ") with ", key.right, " of ",
                     table, " (", other->type.name(), ")"));
    }
}

void StepTyper::checkAsOf(const AsOf& asOf, const std::string& table, const expr::Schema& right) {
    const std::optional<expr::DataType> left = joinLeft("as_of.left", asOf.left);
    const bool isExpression = expr::isJoinExpression(asOf.right, right);
    const expr::Field* column = right.find(asOf.right);
    if (column == nullptr && !isExpression) {
        sink_("as_of.right", "unknown_column", 0, right.whyUnknownIn(table, asOf.right));
        return;
    }
    const std::optional<expr::DataType> other =
        isExpression ? typeIn(right, "as_of.right", asOf.right, Wanted::kAny)
                     : std::optional(column->type);
    if (!other) {
        return;
    }
    const auto isTime = [](const expr::DataType& type) {
        return type.isTemporal() || type.isInteger();
    };
    const bool isWideLeft = left && left->kind == expr::TypeKind::kUint64;
    if (isWideLeft || other->kind == expr::TypeKind::kUint64) {
        // Times are compared as int64, which cannot hold values from 2^63 on.
        sink_(isWideLeft ? "as_of.left" : "as_of.right", "type", 0,
              strCat((isWideLeft ? expr::isJoinExpression(asOf.left, columns_) : isExpression)
                         ? "expression '"
                         : "column '",
                     isWideLeft ? asOf.left : asOf.right,
                     isWideLeft ? strCat("', the time of the rows for ", table, ",")
                                : strCat("' of ", table),
                     " is uint64; times are compared as int64: ",
                     isWideLeft ? "derive a cast to int64" : "write it as int64 or a timestamp"));
        return;
    }
    if (left && (!isTime(*left) || !isTime(*other) || left->isTemporal() != other->isTemporal())) {
        sink_("as_of", "expression", 0,
              strCat(
                  "cannot compare ", asOf.left, " (", left->name(), ") with ", asOf.right, " of ",
                  table, " (", other->name(), "); both must be times, or both integers",
                  other->isString()
                      ? strCat("; strptime(", isExpression ? asOf.right : expr::sqlName(asOf.right),
                               ", FORMAT) reads a text as a time, with a format such as "
                               "'%d/%m/%Y'")
                      : ""));
    }
}

void StepTyper::keepOnly(const std::string& key, const std::vector<std::string>& names) {
    expr::Schema kept;
    for (const std::string& name : names) {
        if (const std::optional<expr::DataType> type = column(key, name)) {
            kept.set(name, *type);
        }
    }
    columns_ = std::move(kept);
}

SequenceValue sequenceValue(const SequenceFeature& sequence, const std::string& column,
                            const expr::DataType& type) {
    const expr::DataType element = type.element();
    if (column == sequence.time || element.isTemporal()) {
        return SequenceValue::kTime;
    }
    return element.isInteger() || element.isString() ? SequenceValue::kId : SequenceValue::kFloat;
}

Result<expr::Schema> columnsAfter(const Step& step, const expr::Schema& before,
                                  const TableSchemaLookup& tables) {
    Status status;
    const StepSink sink = [&](const std::string& key, const char*, std::size_t offset,
                              std::string message) {
        if (status.ok()) {
            status = invalidArgument("step '", step.name, "': ", key, ": at byte ", offset, ": ",
                                     message);
        }
    };
    StepTyper typer(before, tables, sink);
    typer.apply(step);
    RETURN_IF_ERROR(status);
    return typer.columns();
}

}  // namespace millrace::spec
