#include "backend/spec/column_origins.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <variant>

#include "backend/core/hash.h"
#include "backend/expr/expression.h"

namespace millrace::spec {
namespace {

/// The column, if the expression is only a column; "" for every other expression.
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
        // All expressions of one step see the columns before it.
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

void addColumns(const std::string& text, std::set<std::string>& columns) {
    const auto parsed = expr::tryParseExpression(text);
    if (const auto* tree = std::get_if<expr::Expr>(&parsed)) {
        for (std::string& name : expr::collectColumns(*tree)) {
            columns.insert(std::move(name));
        }
    }
}

void addReads(const Step& step, std::set<std::string>& columns) {
    const StepReads reads = step.reads();
    for (const std::string& text : reads.expressions) {
        addColumns(text, columns);
    }
    // A join may look up an expression; a plain name also counts as a column.
    for (const std::string& text : reads.lookedUp) {
        columns.insert(text);
        addColumns(text, columns);
    }
    columns.insert(reads.columns.begin(), reads.columns.end());
}

namespace {

/// The expression's text with quotes only around names that need them.
std::string withFewQuotes(std::string_view text) {
    std::string out;
    while (!text.empty()) {
        const char quote = text.front();
        std::size_t end = 0;  // of a quoted piece: doubled quotes make two adjacent pieces
        if (quote == '\'' || quote == '"') {
            end = text.find(quote, 1);
        }
        const std::string_view piece =
            text.substr(0, end == std::string_view::npos ? text.size() : end + 1);
        const bool isAlone = piece.size() > 2 && !text.substr(piece.size()).starts_with(quote) &&
                             !out.ends_with(quote);
        const std::string name(quote == '"' && isAlone ? piece.substr(1, piece.size() - 2) : "");
        out += !name.empty() && bareColumn(name) == name ? name : std::string(piece);
        text.remove_prefix(piece.size());
    }
    return out;
}

/// The expression in canonical form, with the revisions of functions that have any.
std::string oneWay(const std::string& expression) {
    const auto parsed = expr::tryParseExpression(expression);
    const auto* tree = std::get_if<expr::Expr>(&parsed);
    if (tree == nullptr) {
        return expression;
    }
    std::string text = withFewQuotes(expr::expressionText(*tree));
    for (const auto& [name, revision] : expr::collectRevisions(*tree)) {
        text += strCat(" (", name, ": revision ", revision, ")");
    }
    return text;
}

std::string fileNamesOf(const TableRef& table) {
    std::string text;
    for (const std::string& path : table.paths) {
        strAppend(&text, text.empty() ? "" : ", ", path.substr(path.rfind('/') + 1));
    }
    return text;
}

std::vector<NamedExpr> only(const std::vector<NamedExpr>& columns,
                            const std::set<std::string>& needed) {
    std::vector<NamedExpr> kept;
    for (const NamedExpr& column : columns) {
        if (needed.contains(column.name)) {
            kept.push_back(column);
        }
    }
    return kept;
}

/// The step reduced to what affects the values of its needed columns.
Step trimmed(const Step& step, const std::set<std::string>& needed) {
    Step own;
    if (const auto* derive = step.as<DeriveStep>()) {
        own.body = DeriveStep{{}, only(derive->columns, needed)};
    } else if (const auto* join = step.as<JoinStep>()) {
        JoinStep without;
        without.table = TableRef(fileNamesOf(join->table));
        without.on = join->on;
        without.asOf = join->asOf;
        without.onDuplicate = join->onDuplicate;
        without.take = only(join->take, needed);
        own.body = std::move(without);
    } else {
        own.body = step.body;
    }
    return own;
}

/// The step's line, with expressions in canonical form.
std::string lineOf(Step step) {
    const auto rewrite = [](std::vector<NamedExpr>& columns) {
        for (NamedExpr& column : columns) {
            column.expr = oneWay(column.expr);
        }
    };
    if (auto* derive = std::get_if<DeriveStep>(&step.body)) {
        rewrite(derive->columns);
    } else if (auto* join = std::get_if<JoinStep>(&step.body)) {
        rewrite(join->take);
    }
    return step.line();
}

/// The steps of a recipe by the columns that they make.
class Lineage {
 public:
    /// `recipe` outlives it.
    explicit Lineage(const std::vector<Step>& recipe) {
        for (const Step& step : recipe) {
            Maker maker{&step, {}};
            for (const MadeColumn& column : step.makes()) {
                maker.columns.insert(column.name);
            }
            if (step.enabled && !maker.columns.empty()) {
                makers_.push_back(std::move(maker));
            }
        }
    }

    /// Lines of the steps that produce `columns`, first step first.
    std::vector<std::string> linesBehind(std::set<std::string> columns) const {
        std::vector<std::string> lines;
        for (auto maker = makers_.rbegin(); maker != makers_.rend(); ++maker) {
            std::set<std::string> made;
            std::ranges::copy_if(
                columns, std::inserter(made, made.end()),
                [&](const std::string& name) { return maker->columns.contains(name); });
            if (made.empty()) {
                continue;
            }
            for (const std::string& name : made) {
                columns.erase(name);
            }
            Step own = trimmed(*maker->step, made);
            addReads(own, columns);
            lines.push_back(lineOf(std::move(own)));
        }
        std::ranges::reverse(lines);
        return lines;
    }

 private:
    struct Maker {
        const Step* step;
        std::set<std::string> columns;
    };
    std::vector<Maker> makers_;
};

}  // namespace

Json inputsOf(const RunSpec& spec, const std::vector<Step>& recipe) {
    const Lineage lineage(recipe);
    Json inputs = Json::array();
    const auto add = [&](std::string_view kind, const std::string& name,
                         const std::set<std::string>& columns) -> Json& {
        inputs.push_back({{"kind", kind}, {"name", name}, {"steps", lineage.linesBehind(columns)}});
        return inputs.back();
    };
    const auto addIds = [&](std::string_view kind, const std::string& name,
                            const std::string& feature,
                            const std::set<std::string>& columns) -> Json& {
        Json& input = add(kind, name, columns);
        for (const auto& [table, embedding] : spec.embeddings) {
            const auto& shared = embedding.features;
            if (std::ranges::find(shared, feature) == shared.end()) {
                continue;
            }
            input["rows"] = embedding.rows;
            if (embedding.vocabulary && embedding.vocabulary->isCounted()) {
                input["vocabulary"] = strCat("of counted values, ", embedding.vocabulary->hash);
            } else if (embedding.vocabulary) {
                input["vocabulary"] = strCat(fileNamesOf(embedding.vocabulary->table), ", column ",
                                             embedding.vocabulary->column);
            }
        }
        return input;
    };
    const FeaturesSpec& features = spec.features;
    for (const DenseFeature& dense : features.dense) {
        add("dense", dense.column, {dense.column})["fill"] = jsonNumber(dense.fill);
    }
    for (const std::string& name : features.vectors) {
        add("vector", name, {name});
    }
    for (const std::string& name : features.ids) {
        addIds("id", name, name, {name});
    }
    for (const std::string& name : features.lists) {
        addIds("list", name, name, {name});
    }
    for (const WeightedFeature& weighted : features.weighted) {
        addIds("weighted list", weighted.name, weighted.name,
               {weighted.ids, weighted.weights})["of"] =
            strCat("ids: ", weighted.ids, ", weights: ", weighted.weights);
    }
    for (const auto& [name, sequence] : features.sequences) {
        for (const std::string& column : sequence.columns) {
            addIds("sequence", strCat(name, ".", column), column,
                   {column, sequence.time, sequence.before})["of"] =
                strCat("time: ", sequence.time, ", before: ", sequence.before,
                       ", last: ", sequence.last);
        }
    }
    return inputs;
}

namespace {

/// Every expression that affects the stream.
std::vector<std::string> streamExpressions(const RunSpec& spec) {
    std::vector<std::string> texts = {spec.dataset.where};
    for (const Step& step : spec.recipe) {
        if (!step.enabled) {
            continue;
        }
        const StepReads reads = step.reads();
        texts.insert(texts.end(), reads.expressions.begin(), reads.expressions.end());
        texts.insert(texts.end(), reads.lookedUp.begin(), reads.lookedUp.end());
        texts.insert(texts.end(), reads.ofTable.begin(), reads.ofTable.end());
        for (const MadeColumn& column : step.makes()) {
            texts.push_back(column.expr);
        }
    }
    for (const auto& [head, label] : spec.labels) {
        texts.insert(texts.end(), {label.expr, label.weight, label.where});
    }
    return texts;
}

/// The called functions whose values changed since the first version, with their revisions.
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
    if (!spec.hasDataset()) {
        return "";
    }
    const Json all = spec.toJson();
    Json json;
    for (const char* key : {"dataset", "recipe", "labels", "features", "embeddings"}) {
        json[key] = all[key];
    }
    json["features"].erase("user");  // only counted; it changes no row
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
