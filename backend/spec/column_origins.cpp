#include "backend/spec/column_origins.h"

#include <utility>
#include <variant>

#include "backend/core/hash.h"
#include "backend/expr/expression.h"
#include "backend/spec/run_spec.h"

namespace millrace::spec {
namespace {

/// The column that an expression is, as it stands; "" for every other one.
std::string bareColumn(const std::string& expression) {
    const auto parsed = expr::tryParseExpression(expression);
    const auto* const tree = std::get_if<expr::Expr>(&parsed);
    return tree != nullptr && (*tree)->op == expr::ExprOp::kColumn ? (*tree)->name : "";
}

}  // namespace

ColumnOrigins::ColumnOrigins(const std::vector<Step>& recipe) {
    for (const Step& step : recipe) {
        if (!step.enabled) {
            continue;
        }
        // The expressions of one step all see the columns before it.
        std::map<std::string, std::string> made;
        for (const MadeColumn& column : step.makes()) {
            const std::string bare = column.isOfTable ? "" : bareColumn(column.expr);
            made[column.name] = bare.empty() ? "" : of(bare);
        }
        for (auto& [name, origin] : made) {
            made_[name] = std::move(origin);
        }
    }
}

std::string ColumnOrigins::of(const std::string& column) const {
    const auto made = made_.find(column);
    return made == made_.end() ? column : made->second;
}

namespace {

/// Every expression that decides the stream.
std::vector<std::string> streamExpressions(const RunSpec& spec) {
    std::vector<std::string> texts = {spec.dataset.where};
    for (const Step& step : spec.recipe) {
        if (!step.enabled) {
            continue;
        }
        const StepReads reads = step.reads();
        texts.insert(texts.end(), reads.expressions.begin(), reads.expressions.end());
        texts.insert(texts.end(), reads.lookedUp.begin(), reads.lookedUp.end());
        for (const MadeColumn& column : step.makes()) {
            texts.push_back(column.expr);
        }
    }
    for (const auto& [head, label] : spec.labels) {
        texts.insert(texts.end(), {label.expr, label.weight, label.where});
    }
    return texts;
}

/// The functions it calls whose values have changed since the first version, with their revisions.
Json revisedFunctions(const RunSpec& spec) {
    Json revised = Json::object();
    for (const std::string& text : streamExpressions(spec)) {
        const auto parsed = expr::tryParseExpression(text);
        if (const auto* tree = std::get_if<expr::Expr>(&parsed)) {
            for (const auto& [name, revision] : expr::collectRevisions(*tree)) {
                revised[name] = revision;
            }
        }
    }
    return revised;
}

}  // namespace

std::string streamHash(const RunSpec& spec) {
    const Json all = spec.toJson();
    Json json;
    for (const char* key : {"dataset", "recipe", "labels", "features", "embeddings"}) {
        json[key] = all[key];
    }
    json["features"].erase("user");  // it is counted, and changes no row
    for (Json& table : json["embeddings"]) {
        table.erase("dim");
    }
    for (const char* key : {"seed", "micro_rows", "segment_splits", "shuffle", "order"}) {
        json["batch"][key] = all["batch"][key];
    }
    const Json revised = revisedFunctions(spec);
    if (!revised.empty()) {
        json["functions"] = revised;
    }
    return hashHex(dumpJson(json));
}

}  // namespace millrace::spec
