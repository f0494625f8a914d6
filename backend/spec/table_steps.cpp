// The step kinds that use a table: join, semi_join, anti_join.
#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "backend/core/json.h"
#include "backend/spec/step_kinds.h"
#include "backend/spec/step_typing.h"
#include "backend/spec/yaml_text.h"

namespace millrace::spec {
namespace {

using T = KeyType;
constexpr double kToleranceMax = 9.0e15;

/// `take` as a list if every column keeps its name.
std::string takeText(const std::vector<NamedExpr>& take) {
    const bool isList = std::all_of(take.begin(), take.end(), [](const NamedExpr& column) {
        return column.name == column.expr;
    });
    if (!isList) {
        return yamlNamed(take);
    }
    std::vector<std::string> names;
    for (const NamedExpr& column : take) {
        names.push_back(column.name);
    }
    return yamlList(names);
}

std::string keysText(const std::vector<JoinKey>& on) {
    const bool isNames =
        std::all_of(on.begin(), on.end(), [](const JoinKey& key) { return key.left == key.right; });
    if (isNames && on.size() == 1) {
        return yamlScalar(on[0].left, true);
    }
    if (!isNames) {
        YamlMembers members;
        for (const JoinKey& key : on) {
            members.text(yamlScalar(key.left, true), key.right);
        }
        return members.done();
    }
    std::vector<std::string> names;
    for (const JoinKey& key : on) {
        names.push_back(key.left);
    }
    return yamlList(names);
}

/// `table` and `on`, the first members of every step that looks up.
YamlMembers lookupText(const TableLookup& lookup) {
    const std::vector<std::string>& paths = lookup.table.paths;
    YamlMembers members;
    members.raw("table", paths.size() == 1 ? yamlScalar(paths[0], true) : yamlList(paths))
        .raw("on", keysText(lookup.on));
    return members;
}

std::string withCsv(YamlMembers members, const TableRef& table) {
    if (!table.hasUsualCsv()) {
        members.raw("csv", csvText(table));
    }
    return members.done();
}

StepReads lookedUp(const TableLookup& lookup) {
    StepReads reads;
    for (const JoinKey& key : lookup.on) {
        reads.lookedUp.push_back(key.left);
    }
    return reads;
}

/// `paths`: the step's, and those of `table`, `csv` and `on` below it.
std::vector<Key> membershipKeys(const std::array<std::string_view, 4>& paths,
                                std::string_view doc) {
    return {
        {paths[0], T::kStepBody, "", doc},
        {paths[1],
         T::kTextList,
         "",
         "the files or globs of the table, read as one",
         {.isRequired = true}},
        {paths[2], T::kSection, "", "how its CSV files are written", {.isOptional = true}},
        {paths[3], T::kJoinKeys, "", "what is equal, as of a join", {.isRequired = true}},
    };
}

}  // namespace

std::string csvText(const TableRef& table) {
    const CsvOptions& csv = table.csv;
    const CsvOptions usual = TableRef(table.paths).csv;
    YamlMembers members, types;
    for (const auto& [name, type] : csv.types) {
        types.text(yamlScalar(name, true), type);
    }
    const auto quoted = [&members](const char* key, const std::string& text,
                                   const std::string& fallback) {
        if (text != fallback) {
            members.raw(key, dumpJson(text));
        }
    };
    const auto plain = [&members](const char* key, bool isGiven, const std::string& text) {
        if (isGiven) {
            members.raw(key, text);
        }
    };
    quoted("delimiter", csv.delimiter, usual.delimiter);
    plain("header", !csv.header, "false");
    plain("types", !csv.types.empty(), types.done());
    quoted("quote", csv.quote, usual.quote);
    quoted("comment", csv.comment, usual.comment);
    plain("skip_rows", csv.skipRows != 0, strCat(csv.skipRows));
    plain("decimal_comma", csv.decimalComma, "true");
    members.list("null_values", csv.nullValues);
    members.textUnless("on_bad_row", csv.onBadRow, usual.onBadRow);
    return members.done();
}

std::vector<Key> JoinStep::keys() {
    return {
        {"recipe.join", T::kStepBody, "", "columns of at most one row of a table, else nulls"},
        {"recipe.join.table",
         T::kTextList,
         "",
         "the files or globs of the table, read as one",
         {.isRequired = true}},
        {"recipe.join.csv", T::kSection, "", "how its CSV files are written", {.isOptional = true}},
        {"recipe.join.on",
         T::kJoinKeys,
         "",
         "what is equal: a column, a list of them, or `column or expression of the row: column of "
         "the table`; null never matches",
         {.isRequired = true}},
        {"recipe.join.take",
         T::kNamedExprs,
         "",
         "what is added: a list of the table's columns, or `name: expression` over them",
         {.isRequired = true}},
        {"recipe.join.as_of",
         T::kSection,
         "",
         "of the table's rows with equal keys the newest that is not newer than the row",
         {.isOptional = true}},
        {"recipe.join.as_of.left",
         T::kText,
         "",
         "the row's time: a column or an expression",
         {.isRequired = true}},
        {"recipe.join.as_of.right", T::kText, "", "the table's time", {.isRequired = true}},
        {"recipe.join.as_of.tolerance",
         T::kReal,
         "0",
         "how much older it may be: seconds for dates and timestamps, the integers' own unit "
         "else; 0: any age",
         {.min = 0, .max = kToleranceMax}},
        {"recipe.join.on_duplicate",
         T::kChoice,
         "error",
         "a key (with as_of: a key and time) that the table holds twice",
         {.choices = {"error", "first"}}},
        {"recipe.join.missing",
         T::kChoice,
         "\"null\"",
         "rows without a partner",
         {.choices = {"null", "drop"}}},
    };
}

StepReads JoinStep::reads() const {
    StepReads reads = lookedUp(*this);
    if (asOf) {
        reads.lookedUp.push_back(asOf->left);
    }
    return reads;
}

std::vector<MadeColumn> JoinStep::makes() const {
    std::vector<MadeColumn> made;
    for (const NamedExpr& taken : take) {
        made.push_back({taken.name, taken.expr, true});
    }
    return made;
}

void JoinStep::type(StepTyper& typer) const {
    typer.lookUp(*this, asOf, take);
}

std::string JoinStep::text() const {
    YamlMembers members = lookupText(*this);
    if (asOf) {
        YamlMembers time;
        time.text("left", asOf->left).text("right", asOf->right);
        if (asOf->tolerance != 0) {
            time.raw("tolerance", dumpJson(jsonNumber(asOf->tolerance)));
        }
        members.raw("as_of", time.done());
    }
    members.raw("take", takeText(take))
        .textUnless("on_duplicate", onDuplicate, "error")
        .textUnless("missing", missing, "null");
    return withCsv(std::move(members), table);
}

StepReads MembershipStep::reads() const {
    return lookedUp(*this);
}

void MembershipStep::type(StepTyper& typer) const {
    typer.lookUp(*this, std::nullopt, {});
}

std::string MembershipStep::text() const {
    return withCsv(lookupText(*this), table);
}

std::vector<Key> SemiJoinStep::keys() {
    return membershipKeys({"recipe.semi_join", "recipe.semi_join.table", "recipe.semi_join.csv",
                           "recipe.semi_join.on"},
                          "keeps the rows that have a partner in the table");
}

std::vector<Key> AntiJoinStep::keys() {
    return membershipKeys({"recipe.anti_join", "recipe.anti_join.table", "recipe.anti_join.csv",
                           "recipe.anti_join.on"},
                          "drops the rows that have a partner in the table");
}

std::vector<Key> embeddingKeys() {
    using T = KeyType;
    return {
        {"embeddings.*.features", T::kTextList, "", "features that share it; default: its name"},
        {"embeddings.*.rows",
         T::kInt,
         "",
         "rows of the table; ids are hashed into them unless a step made them",
         {.min = 1, .max = 1e12, .unit = "rows"}},
        {"embeddings.*.dim",
         T::kInt,
         "",
         "width; default `model.embedding_dim`",
         {.min = 1, .max = 65536}},
        {"embeddings.*.vocabulary",
         T::kSection,
         "",
         "ids by place in a table's column, or, without `table`, of the values that are counted in "
         "the training rows: the most frequent one is 1, equal counts in the values' order. 0 for "
         "null and all other values; the embedding gets a row for it",
         {.isOptional = true, .word = "auto"}},
        {"embeddings.*.vocabulary.table", T::kTextList, "",
         "the files or globs of the table, read as one; absent: the values are counted"},
        {"embeddings.*.vocabulary.csv",
         T::kSection,
         "",
         "how its CSV files are written",
         {.isOptional = true}},
        {"embeddings.*.vocabulary.column", T::kText, "", "the table's column of values"},
        {"embeddings.*.vocabulary.on_duplicate",
         T::kChoice,
         "error",
         "a value that the table has twice; first: its first row gives the id",
         {.choices = {"error", "first"}}},
        {"embeddings.*.vocabulary.min_count",
         T::kInt,
         "1",
         "counted: values that occur less often are unknown",
         {.min = 1, .max = 1e15}},
        {"embeddings.*.vocabulary.max_rows",
         T::kInt,
         "0",
         "counted: most rows of the embedding, with row 0; the rarest values beyond it are "
         "unknown; 0: no bound",
         {.min = 0, .max = 1e12, .unit = "rows"}},
    };
}

}  // namespace millrace::spec
