// The step kinds that use a table: join, semi_join, anti_join.
#include <algorithm>
#include <utility>

#include "backend/spec/step_kinds.h"
#include "backend/spec/step_typing.h"
#include "backend/spec/yaml/yaml_text.h"
#include "backend/text/json.h"

namespace millrace::spec {
namespace {

/// `take` as a list if every column keeps its name.
std::string takeText(const std::vector<NamedExpr>& take) {
    const bool isList = std::ranges::all_of(
        take, [](const NamedExpr& column) { return column.name == column.expr; });
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
        std::ranges::all_of(on, [](const JoinKey& key) { return key.left == key.right; });
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

}  // namespace

std::string csvText(const TableRef& table) {
    return yamlChanges(table.csv, TableRef(table.paths).csv, true);
}

StepReads JoinStep::reads() const {
    StepReads reads = lookedUp(*this);
    if (asOf) {
        reads.lookedUp.push_back(asOf->left);
        reads.ofTable.push_back(asOf->right);
    }
    return reads;
}

std::vector<MadeColumn> JoinStep::makes() const {
    std::vector<MadeColumn> made;
    for (const NamedExpr& taken : take) {
        // The expression is over the table's columns, not the row's.
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

}  // namespace millrace::spec
