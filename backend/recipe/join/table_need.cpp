#include "backend/recipe/join/table_need.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "backend/expr/expression.h"
#include "backend/recipe/join/join_steps.h"
#include "backend/recipe/join/join_table.h"

namespace millrace::recipe {
namespace {

constexpr std::int64_t kValueBytes = 8;   ///< of a number, however long its text is
constexpr std::int64_t kKeyTagBytes = 9;  ///< before the bytes of each part of a key
constexpr std::int64_t kEndBytes = 8;     ///< end position of a key's bytes; a time of an as-of
                                          ///< table

struct Wanted {
    spec::TableRef table;
    std::string name;
    std::set<std::string> keys, taken;
    bool isAsOf = false;
    JoinTable::Finds finds = JoinTable::Finds::kRow;
};

void add(TableNeed& all, std::int64_t loaded, std::int64_t held) {
    all.held += held;
    all.peak = std::max(all.peak, all.held + loaded);
}

bool isOneInteger(const expr::Schema& schema, const std::set<std::string>& keys) {
    const expr::Field* field = keys.size() == 1 ? schema.find(*keys.begin()) : nullptr;
    return field != nullptr &&
           (field->type.isInteger() || field->type.isTemporal() || field->type.isBool());
}

Status addTable(const Wanted& wanted, const TableSource& tables, TableNeed& all) {
    const auto sizeOf = [&](const std::set<std::string>& columns) -> Result<dataset::TableSize> {
        ASSIGN_OR_RETURN(dataset::TableSize size,
                         tables.size(wanted.table, {columns.begin(), columns.end()}));
        size.bytes += size.rows * kValueBytes * static_cast<std::int64_t>(columns.size());
        return size;
    };
    ASSIGN_OR_RETURN(const expr::Schema schema, tables.schema(wanted.table));
    ASSIGN_OR_RETURN(const dataset::TableSize keys, sizeOf(wanted.keys));
    ASSIGN_OR_RETURN(const dataset::TableSize taken, sizeOf(wanted.taken));
    std::int64_t held = JoinTable::bucketBytes(keys.rows, wanted.finds) + taken.bytes;
    if (wanted.isAsOf || !isOneInteger(schema, wanted.keys)) {
        const auto parts = static_cast<std::int64_t>(wanted.keys.size());
        held += keys.bytes + keys.rows * (2 * kEndBytes + kKeyTagBytes * parts);
    }
    add(all, keys.bytes + taken.bytes, held);
    return okStatus();
}

Result<Wanted> wantedBy(const spec::Step& step, const TableSource& tables) {
    const spec::TableLookup& lookup = *step.lookup();
    Wanted wanted{
        lookup.table, strCat("recipe.", step.name, ": table ", lookup.table.text()), {}, {}, false};
    for (const spec::JoinKey& key : lookup.on) {
        wanted.keys.insert(key.right);
    }
    const auto* join = step.as<spec::JoinStep>();
    wanted.finds = join == nullptr ? JoinTable::Finds::kMember : JoinTable::Finds::kRow;
    if (join != nullptr && join->asOf) {
        wanted.isAsOf = true;
        const std::string& time = join->asOf->right;
        ASSIGN_OR_RETURN(const expr::Schema schema, tables.schema(lookup.table));
        if (schema.find(time) != nullptr) {
            wanted.keys.insert(time);
        } else {
            ASSIGN_OR_RETURN(const expr::Expr expr, expr::parseExpression(time));
            for (const std::string& column : expr::collectColumns(expr)) {
                wanted.keys.insert(column);
            }
        }
    }
    for (const spec::MadeColumn& taken : step.makes()) {
        ASSIGN_OR_RETURN(const expr::Expr expr, expr::parseExpression(taken.expr));
        for (const std::string& column : expr::collectColumns(expr)) {
            wanted.taken.insert(column);
        }
    }
    return wanted;
}

std::vector<spec::Step> stepsWithTables(const spec::RunSpec& spec, const std::vector<Part>& parts) {
    std::vector<spec::Step> found;
    const auto add = [&](const std::vector<spec::Step>& steps, bool isEval) {
        std::ranges::copy_if(steps, std::back_inserter(found), [isEval](const spec::Step& step) {
            const spec::TableLookup* lookup = step.lookup();
            return step.enabled && lookup != nullptr && !lookup->table.empty() &&
                   !(isEval && step.dropsOrWeighs());
        });
    };
    for (const Part part : parts) {
        if (part == Part::kTrain) {
            add(spec.recipe, false);
        } else if (spec.eval) {
            add(spec.eval->recipe, true);
            add(spec.eval->labelRecipe, true);
        }
    }
    return found;
}

}  // namespace

Result<TableNeed> tableNeed(const spec::RunSpec& spec, const TableSource& tables,
                            const std::vector<Part>& parts) {
    TableNeed all;
    std::vector<Wanted> wanted;
    std::set<std::string> known;
    for (const spec::Step& step : stepsWithTables(spec, parts)) {
        if (known.insert(tableText(step)).second) {
            ASSIGN_OR_RETURN(Wanted one, wantedBy(step, tables));
            wanted.push_back(std::move(one));
        }
    }
    std::set<std::pair<std::string, std::string>> vocabularies;
    for (const auto& [name, embedding] : spec.embeddings) {
        const auto& vocabulary = embedding.vocabulary;
        if (vocabulary && !vocabulary->isCounted() &&
            vocabularies.emplace(vocabulary->table.key(), vocabulary->column).second) {
            wanted.push_back({vocabulary->table,
                              strCat("embeddings.", name, ": table ", vocabulary->table.text()),
                              {vocabulary->column},
                              {},
                              false});
        }
    }
    for (const Wanted& one : wanted) {
        RETURN_IF_ERROR(annotate(addTable(one, tables, all), one.name));
    }
    return all;
}

}  // namespace millrace::recipe
