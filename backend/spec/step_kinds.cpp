#include "backend/spec/step_kinds.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "backend/expr/schema.h"
#include "backend/spec/spec_checks.h"
#include "backend/spec/step.h"
#include "backend/spec/step_typing.h"
#include "backend/spec/yaml/yaml_text.h"

namespace millrace::spec {
namespace {

using Wanted = StepTyper::Wanted;

/// A step that makes a column from another one: `as` is written if it is not `column`.
template <class Kind>
std::string columnText(const Kind& step) {
    Kind usual;
    usual.as = step.column;
    return yamlChanges(step, usual);
}

/// Adds the column that `kind` makes from `column`, of type `made`; an error if `made` is empty,
/// since the type is not `wanted`.
template <class Kind>
void addMade(StepTyper& typer, const Kind& step, const std::optional<expr::DataType>& type,
             std::string_view wanted, std::optional<expr::DataType> made) {
    if (type && !made) {
        typer.refuse(
            "column", "expression",
            strCat(Kind::kKind, " needs ", wanted, "; '", step.column, "' is ", type->name()));
    }
    typer.add(step.as, made);
}

}  // namespace

void FilterStep::type(StepTyper& typer) const {
    typer.type("expr", expr, Wanted::kPredicate);
}

std::string FilterStep::text() const {
    return yamlScalar(expr, false);
}

void WeightStep::type(StepTyper& typer) const {
    typer.type("expr", expr, Wanted::kNumber);
}

std::string WeightStep::text() const {
    return yamlScalar(expr, false);
}

StepReads DeriveStep::reads() const {
    StepReads reads;
    for (const NamedExpr& column : columns) {
        reads.expressions.push_back(column.expr);
    }
    return reads;
}

std::vector<MadeColumn> DeriveStep::makes() const {
    std::vector<MadeColumn> made;
    for (const NamedExpr& column : columns) {
        made.push_back({column.name, column.expr, false});
    }
    return made;
}

void DeriveStep::type(StepTyper& typer) const {
    std::vector<std::optional<expr::DataType>> types;
    // All expressions see the columns before the step: names are added only after all are typed.
    for (const NamedExpr& column : columns) {
        types.push_back(typer.type(strCat("columns.", column.name), column.expr, Wanted::kAny));
    }
    for (std::size_t i = 0; i < types.size(); ++i) {
        typer.add(columns[i].name, types[i]);
    }
}

std::string DeriveStep::text() const {
    return yamlNamed(columns);
}

void SampleStep::check(const StepPlace& place) const {
    // A draw by position is repeatable, but belongs to the files as they are written.
    if (by.empty() && keep < 1 && place.step.enabled) {
        place.warnings.push_back(
            strCat("step '", place.step.name,
                   "' draws by file and row: rewriting the files changes which rows stay; `by: "
                   "[columns]` ties the draw to the data"));
    }
}

void SampleStep::type(StepTyper& typer) const {
    if (!where.empty()) {
        typer.type("where", where, Wanted::kPredicate);
    }
    for (const std::string& name : by) {
        const std::optional<expr::DataType> found = typer.column("by", name);
        if (found && found->isList) {
            typer.refuse("by", "expression",
                         strCat("column '", name, "' is a list; draws go by values"));
        }
    }
}

std::string SampleStep::text() const {
    return yamlChanges(*this, SampleStep());
}

void HashStep::type(StepTyper& typer) const {
    const std::optional<expr::DataType> type = typer.column("column", column);
    std::optional<expr::DataType> made;
    const expr::DataType element = type ? type->element() : expr::DataType();
    if (type &&
        (element.isInteger() || element.isString() || element.isBool() || element.isFloat())) {
        // Never null: null has the id 0.
        made = expr::DataType{expr::TypeKind::kInt64, type->isList, type->listSize, false};
    }
    addMade(typer, *this, type, "integers, strings, floats or bools, or a list of them", made);
}

std::string HashStep::text() const {
    return columnText(*this);
}

void BucketizeStep::check(const StepPlace& place) const {
    const bool isAscending = std::adjacent_find(boundaries.begin(), boundaries.end(),
                                                std::greater_equal<>()) == boundaries.end();
    if (boundaries.empty() || !isAscending) {
        place.problems.add(strCat(place.path, ".boundaries"), "check",
                           "boundaries must be ascending, and at least one");
    }
}

void BucketizeStep::type(StepTyper& typer) const {
    const std::optional<expr::DataType> type = typer.column("column", column);
    std::optional<expr::DataType> made;
    if (type && type->isNumber()) {
        made = expr::DataType{expr::TypeKind::kInt64, false, 0, false};
    }
    addMade(typer, *this, type, "a number", made);
}

std::string BucketizeStep::text() const {
    return columnText(*this);
}

void TruncateStep::type(StepTyper& typer) const {
    const std::optional<expr::DataType> type = typer.column("column", column);
    std::optional<expr::DataType> made;
    if (type && type->isList) {
        made = type;
        // Shorter lists lose their fixed size.
        made->listSize = 0;
    }
    addMade(typer, *this, type, "a list", made);
}

std::string TruncateStep::text() const {
    return columnText(*this);
}

void SelectStep::type(StepTyper& typer) const {
    typer.keepOnly("columns", columns);
}

std::string SelectStep::text() const {
    return yamlList(columns);
}

namespace {

/// One default value of each kind.
template <std::size_t... kPlaces>
std::vector<StepBody> allKinds(std::index_sequence<kPlaces...>) {
    return {StepBody(std::in_place_index<kPlaces>)...};
}

}  // namespace

const std::vector<StepBody>& allStepKinds() {
    static const std::vector<StepBody> kAll =
        allKinds(std::make_index_sequence<std::variant_size_v<StepBody>>());
    return kAll;
}

std::string_view stepKind(const StepBody& body) {
    return std::visit([](const auto& kind) { return kind.kKind; }, body);
}

std::optional<StepBody> stepBodyOf(std::string_view kind) {
    const auto found = std::ranges::find_if(
        allStepKinds(), [&](const StepBody& body) { return stepKind(body) == kind; });
    return found == allStepKinds().end() ? std::nullopt : std::optional<StepBody>(*found);
}

std::vector<std::string> stepKindNames() {
    std::vector<std::string> names;
    for (const StepBody& body : allStepKinds()) {
        names.emplace_back(stepKind(body));
    }
    return names;
}

}  // namespace millrace::spec
