#include "backend/spec/spec_checks.h"

#include <algorithm>
#include <set>
#include <variant>

#include <absl/strings/str_join.h>

#include "backend/spec/data_format.h"
#include "backend/spec/training/optimisation.h"
#include "backend/spec/yaml/tree_reader.h"
#include "backend/text/text.h"

namespace millrace::spec {
namespace {

std::string divisors(std::int64_t number) {
    std::vector<std::int64_t> low, high;
    for (std::int64_t i = 1; i * i <= number && low.size() + high.size() < 24; ++i) {
        if (number % i == 0) {
            low.push_back(i);
            if (i != number / i) {
                high.push_back(number / i);
            }
        }
    }
    low.insert(low.end(), high.rbegin(), high.rend());
    return absl::StrJoin(low, ", ");
}

/// "a filter step", "an anti_join step".
std::string stepOf(const Step& step) {
    const bool isVowel = std::string_view("aeiou").find(step.kind()[0]) != std::string_view::npos;
    return strCat(isVowel ? "an " : "a ", step.kind(), " step");
}

void checkStepNames(const RunSpec& spec, Problems& problems) {
    std::map<std::string, std::size_t> names, salts;
    for (std::size_t i = 0; i < spec.recipe.size(); ++i) {
        const Step& step = spec.recipe[i];
        const std::string path = strCat("recipe[", i, "]");
        const bool isNamed = step.name != step.kind();
        if (step.name.empty()) {
            problems.add(path, "check", "a step's name cannot be empty");
        }
        if (isNamed && stepBodyOf(step.name)) {
            problems.add(path, "check", stepOf(step), " cannot be named '", step.name,
                         "', which is a kind of step");
        }
        if (isNamed && !names.emplace(step.name, i).second) {
            problems.add(path, "duplicate", "two steps are named '", step.name, "'");
        }
        if (step.draws() && !isNamed && !salts.emplace(step.name, i).second) {
            problems.add(path, "check", "two ", step.kind(),
                         " steps without names would draw the same numbers; give each a name");
        }
    }
}

void checkSteps(const RunSpec& spec, Problems& problems, std::vector<std::string>& warnings) {
    for (std::size_t i = 0; i < spec.recipe.size(); ++i) {
        const StepPlace place{spec.recipe[i], strCat("recipe[", i, "]"), problems, warnings};
        std::visit([&](const auto& kind) { kind.check(place); }, spec.recipe[i].body);
    }
}

/// Evaluation keeps all rows that eval.dataset.where selects, each with weight 1. A step that the
/// user wrote to change that must not be dropped silently.
void checkEvalSteps(const RunSpec& spec, Problems& problems) {
    const std::vector<Step> none;
    const std::vector<Step>& recipe = spec.eval ? spec.eval->recipe : none;
    for (std::size_t i = 0; i < recipe.size(); ++i) {
        const Step& step = recipe[i];
        if (!step.enabled || !(step.dropsRows() || step.dropsOrWeighs())) {
            continue;
        }
        const bool isJoin = step.as<JoinStep>() != nullptr;
        const bool drops = step.as<WeightStep>() == nullptr;
        problems.add(strCat("eval.recipe[", i, "]"), "check", "eval.recipe.", step.name, ": ",
                     stepOf(step), isJoin ? " with missing: drop" : "",
                     drops ? " drops rows, and evaluation keeps all rows of its dataset"
                           : " weighs rows, and evaluation gives every row the weight 1",
                     isJoin ? "; leave out missing: drop" : "; leave the step out",
                     ", and choose rows with eval.dataset.where");
    }
}

/// Names of features that may have an embedding table.
std::vector<std::string> idFeatures(const FeaturesSpec& f) {
    std::vector<std::string> names = f.ids;
    names.insert(names.end(), f.lists.begin(), f.lists.end());
    for (const WeightedFeature& weighted : f.weighted) {
        names.push_back(weighted.name);
    }
    std::set<std::string> inSequences;  // a column may belong to several sequences
    for (const auto& [name, sequence] : f.sequences) {
        for (const std::string& column : sequence.columns) {
            if (inSequences.insert(column).second) {
                names.push_back(column);
            }
        }
    }
    return names;
}

/// Rejects a mix of keys for counted and for table vocabularies.
void checkVocabulary(const VocabularySpec& vocabulary, const std::string& path,
                     Problems& problems) {
    const bool isOfTable = !vocabulary.column.empty() || vocabulary.onDuplicate != "error" ||
                           vocabulary.table.csv != TableRef(vocabulary.table.paths).csv;
    if (vocabulary.isCounted() && isOfTable) {
        problems.add(path, "missing", path,
                     ".table is missing: column, csv and on_duplicate are of a table of "
                     "values; to count the values, leave them out (vocabulary: auto)");
    }
    if (vocabulary.isCounted() && vocabulary.maxRows == 1) {
        problems.add(strCat(path, ".max_rows"), "range", path,
                     ".max_rows must be at least 2: row 0 is for unknown values");
    }
    if (!vocabulary.isCounted() && vocabulary.column.empty()) {
        problems.add(path, "missing", path, ".column is missing: the table's column of values");
    }
    if (!vocabulary.isCounted() && (vocabulary.minCount != 1 || vocabulary.maxRows != 0)) {
        problems.add(path, "check", path,
                     ": min_count and max_rows are for counted values; leave them out, or "
                     "leave out the table");
    }
}

/// For "hist" and "hist.items", as a sequence's column is called in a batch: the name that
/// embedding tables take. "" for other names.
std::string columnOfSequence(const FeaturesSpec& features, const std::string& name) {
    for (const auto& [sequence, feature] : features.sequences) {
        if (name == sequence) {
            return strCat("'", name, "' is a sequence; name its columns, as in ",
                          absl::StrJoin(feature.columns, ", "));
        }
        for (const std::string& column : feature.columns) {
            if (name == strCat(sequence, ".", column)) {
                return strCat("'", name, "' is the column '", column, "' of a sequence; name it ",
                              column, " here");
            }
        }
    }
    return "";
}

void checkEmbeddings(const RunSpec& spec, Problems& problems, std::vector<std::string>& warnings) {
    const std::vector<std::string> features = idFeatures(spec.features);
    std::map<std::string, std::string> tableOf;
    for (const auto& [table, embedding] : spec.embeddings) {
        const std::string path = strCat("embeddings.", table);
        for (const std::string& feature : embedding.features) {
            const bool isUnknown = !isCovered(feature, features) && !isPattern(feature);
            const std::string right = isUnknown ? columnOfSequence(spec.features, feature) : "";
            if (!right.empty()) {
                problems.add(path, "check", path, ": ", right);
            } else if (isUnknown) {
                // Not an error: a variation without a feature need not remove its table too.
                warnings.push_back(strCat(path, ": '", feature,
                                          "' is not an id or list feature: no table is made for it",
                                          nameHint(feature, features)));
            }
            const auto [it, isNew] = tableOf.emplace(feature, table);
            if (!isNew) {
                problems.add(path, "check", "feature '", feature,
                             "' has two embedding tables: ", it->second, " and ", table);
            }
        }
        if (embedding.rows > 0 && embedding.vocabulary) {
            problems.add(
                path, "check", path, " has rows and a vocabulary; the vocabulary gives the rows",
                embedding.vocabulary->isCounted() ? " (vocabulary: {max_rows: N} bounds them)"
                                                  : "");
        }
        if (embedding.vocabulary) {
            checkVocabulary(*embedding.vocabulary, strCat(path, ".vocabulary"), problems);
        }
    }
}

void checkDuplicates(const std::vector<std::string>& names, const std::string& path,
                     Problems& problems) {
    std::set<std::string> seen;
    for (const std::string& name : names) {
        if (!seen.insert(name).second) {
            problems.add(path, "duplicate", path, " names '", name, "' twice");
        }
    }
}

void checkFeatures(const RunSpec& spec, bool isNeeded, Problems& problems) {
    const FeaturesSpec& f = spec.features;
    std::vector<std::string> dense;
    for (const DenseFeature& feature : f.dense) {
        dense.push_back(feature.column);
    }
    checkDuplicates(dense, "features.dense", problems);
    checkDuplicates(f.vectors, "features.vectors", problems);
    for (const auto& [name, size] : f.vectorSizes) {
        if (isPattern(name)) {
            problems.add("features.vectors", "check", "features.vectors: '", name,
                         "' is a pattern; `size` belongs to one column, so name each");
        }
    }
    checkDuplicates(f.carry, "features.carry", problems);
    for (const auto& [name, sequence] : f.sequences) {
        checkDuplicates(sequence.columns, strCat("features.sequences.", name), problems);
    }
    checkDuplicates(idFeatures(f), "features.ids and lists", problems);
    const bool isEmpty = dense.empty() && f.vectors.empty() && idFeatures(f).empty();
    if (isEmpty && f.carry.empty() && isNeeded) {
        problems.add("features", "missing",
                     "features is empty: name at least one of dense, vectors, ids, lists");
    } else if (isEmpty && spec.command.empty() && isNeeded) {
        problems.add("features", "check",
                     "features only carries columns: a model needs dense, vectors, ids or lists");
    }
    if (spec.batch.shuffle == "requests" && f.request.empty()) {
        problems.add("batch.shuffle", "check",
                     "batch.shuffle: requests needs features.request, the column that the rows of "
                     "a request share");
    }
}

void checkModel(const RunSpec& spec, Problems& problems) {
    std::visit([&](const auto& model) { model.check(spec, problems); }, spec.model.body);
}

/// The files of a side table are of one format, and its CSV keys are of CSV files.
void checkTable(const TableRef& table, const std::string& place, const std::string& path,
                Problems& problems) {
    const std::string format = table.empty() ? "" : formatOfName(table.paths.front());
    for (const std::string& name : table.paths) {
        if (formatOfName(name) != format) {
            problems.add(strCat(path, ".table"), "check", place, ".table: ", name,
                         " is not of the format of ", table.paths.front(),
                         "; the files of a table must be of one");
        }
    }
    if (!format.empty() && format != "csv" && !table.hasUsualCsv()) {
        problems.add(strCat(path, ".csv"), "check", place, ".csv is for CSV files; ", table.text(),
                     " is ", format);
    }
    checkCsv(table.csv, strCat(place, ".csv"), strCat(path, ".csv"), problems);
}

void checkTables(const RunSpec& spec, Problems& problems) {
    const auto checkAll = [&problems](const std::vector<Step>& steps, const std::string& base) {
        for (std::size_t i = 0; i < steps.size(); ++i) {
            const TableLookup* lookup = steps[i].lookup();
            if (lookup != nullptr && !lookup->table.empty()) {
                checkTable(lookup->table, strCat(base, ".", steps[i].name),
                           strCat(base, "[", i, "]"), problems);
            }
        }
    };
    checkAll(spec.recipe, "recipe");
    if (spec.eval) {
        checkAll(spec.eval->recipe, "eval.recipe");
    }
    for (const auto& [name, embedding] : spec.embeddings) {
        if (embedding.vocabulary && !embedding.vocabulary->isCounted()) {
            const std::string path = strCat("embeddings.", name, ".vocabulary");
            checkTable(embedding.vocabulary->table, path, path, problems);
        }
    }
}

/// Rejects CSV keys if no file is CSV.
void checkCsvKeys(const RunSpec& spec, Problems& problems) {
    if (spec.dataset.format == "csv" || (spec.eval && spec.eval->dataset.format == "csv")) {
        return;
    }
    const Json given = jsonMember(spec.toJson(), "dataset");
    const Json absent = jsonMember(RunSpec().toJson(), "dataset");
    for (const char* key : {"csv", "csv_split_rows"}) {
        if (jsonMember(given, key) != jsonMember(absent, key)) {
            problems.add(strCat("dataset.", key), "check", "dataset.", key,
                         " is for CSV files; these are ", spec.dataset.format,
                         " (dataset.format says what they are)");
        }
    }
}

void checkTypes(const DatasetSpec& dataset, Problems& problems) {
    for (const auto& [name, typeName] : dataset.types) {
        const std::string path = strCat("dataset.types.", name);
        const Result<expr::DataType> type = expr::parseType(typeName);
        const auto inCsv = dataset.csv.types.find(name);
        if (!type.ok()) {
            problems.add(path, "type", path, ": ", messageOf(type.status()));
        } else if (type->kind == expr::TypeKind::kDecimal) {
            problems.add(path, "type", path,
                         ": decimals keep the type that the files give them; write double, "
                         "or cast the column where it is used");
        } else if (inCsv != dataset.csv.types.end() && inCsv->second != typeName) {
            problems.add(path, "check", path, " is ", typeName, ", and dataset.csv.types.", name,
                         " is ", inCsv->second, "; leave one of them out");
        }
    }
}

// The usual number of micro-batches in a step: 8 if that divides its rows, else the largest number
// below 8 that does, preferably one that the ranks divide.
std::int64_t microBatchesOf(std::int64_t rows, std::int64_t ranks) {
    std::int64_t most = 0;
    for (std::int64_t count = 8; count > 0; --count) {
        if (rows % count == 0) {
            most = std::max(most, count);
            if (most == 8 || ranks <= 0 || count % ranks == 0) {
                return count;
            }
        }
    }
    return most;
}

}  // namespace

void Problems::addAt(const std::string& path, const char* code, std::string message,
                     std::size_t offset) {
    const expr::Position at = source_ == nullptr ? expr::Position{} : source_->find(path, offset);
    if (errors_.size() < kErrorsMax) {
        errors_.push_back({at.line, at.column, std::move(message), path, code});
    }
}

void checkCsv(const CsvOptions& csv, const std::string& place, const std::string& path,
              Problems& problems) {
    const std::pair<const char*, const std::string&> characters[] = {
        {"delimiter", csv.delimiter}, {"quote", csv.quote}, {"comment", csv.comment}};
    for (const auto& [name, text] : characters) {
        const auto refuse = [&, name = name](std::string_view what) {
            problems.add(strCat(path, ".", name), "check", place, ".", name, what);
        };
        if (text.size() > 1) {
            refuse(" must be one character (of one byte)");
        } else if (text == "\n" || text == "\r") {
            refuse(" cannot be a line end, which ends a row");
        } else if (text == std::string_view("\0", 1)) {
            refuse(" cannot be the character 0, which no text holds");
        }
    }
    if (csv.delimiter == csv.quote || csv.delimiter == csv.comment ||
        (!csv.quote.empty() && csv.quote == csv.comment)) {
        problems.add(strCat(path, ".delimiter"), "check", place,
                     ": delimiter, quote and comment must be different characters; the "
                     "delimiter may be a comma, a tab (\"\\t\"), ; or |");
    }
    if (csv.decimalComma && csv.delimiter == ",") {
        problems.add(strCat(path, ".decimal_comma"), "check", place,
                     ".decimal_comma: with a comma in numbers the delimiter must be another "
                     "one, as in delimiter: \";\"");
    }
}

void resolveBatch(Json& spec, Problems& problems) {
    Json& batch = spec["batch"];
    const std::int64_t rows = jsonInt(batch, "rows");
    std::int64_t micro = jsonInt(batch, "micro_rows");
    if (rows <= 0 || micro < 0) {
        return;
    }
    const std::int64_t ranks = jsonInt(spec["train"], "ranks", 1);
    if (micro == 0) {
        micro = rows / microBatchesOf(rows, ranks);
        batch["micro_rows"] = micro;
    }
    if (rows % micro != 0) {
        return problems.add("batch.micro_rows", "check", "batch.micro_rows (", micro,
                            ") must divide batch.rows (", rows, "): one of ", divisors(rows));
    }
    if (ranks > 0 && (rows / micro) % ranks != 0) {
        problems.add("train.ranks", "check", "train.ranks (", ranks,
                     ") must divide batch.rows / micro_rows (", rows / micro, "): one of ",
                     divisors(rows / micro));
    }
    const std::int64_t nodes = jsonInt(spec["train"], "nodes", 1);
    if (ranks > 0 && nodes > 0 && ranks % nodes != 0) {
        problems.add("train.nodes", "check", "train.nodes (", nodes, ") must divide train.ranks (",
                     ranks, "): one of ", divisors(ranks));
    }
}

void checkWithoutDataset(const Json& spec, const std::map<std::string, SourceMap::Place>& given,
                         Problems& problems) {
    if (jsonMember(spec, "command").empty()) {
        return problems.add("", "missing",
                            "dataset is missing: name the files, as in `dataset: {path: "
                            "log/*.parquet}`; only a spec with `command` may have none");
    }
    for (const Key& key : keyTable()) {
        if (key.limits.isOfStream && given.contains(key.path)) {
            problems.add(key.path, "check", key.path,
                         " is for the stream of a dataset, and the spec has none: add "
                         "dataset, or leave it out");
        }
    }
    if (jsonInt(jsonMember(spec, "train"), "nodes", 1) > 1) {
        problems.add("train.nodes", "check",
                     "train.nodes: the ranks of a run without a dataset are on one node; start one "
                     "run for each node, or add a dataset");
    }
}

void warnOfUnusedKeys(const RunSpec& spec, const Json& given,
                      const std::vector<std::string>& models, std::vector<std::string>& warnings) {
    if (!spec.command.empty()) {
        return;
    }
    std::vector<ModelBody> bodies = {spec.model.body};
    for (const std::string& type : models) {
        const std::optional<ModelBody> body = type.empty() ? ModelSpec().body : modelBodyOf(type);
        bodies.insert(bodies.end(), body.value_or(spec.model.body));
    }
    std::vector<std::string_view> used;
    bool hasLayers = false;
    for (const ModelBody& body : bodies) {
        const std::vector<std::string_view> keys = modelKeys(body);
        used.insert(used.end(), keys.begin(), keys.end());
        hasLayers = hasLayers || !(std::holds_alternative<LogisticModel>(body) ||
                                   std::holds_alternative<TargetMeanModel>(body));
    }
    if (spec.train.dropout != 0 && !hasLayers) {
        warnings.push_back(strCat("train.dropout is for hidden layers; model.type ",
                                  spec.model.type(), " has none"));
    }
    for (const ModelBody& other : allModels()) {
        RunSpec plain;
        plain.model.body = other;
        const Json usual = jsonMember(plain.toJson(), "model");
        for (const std::string_view key : modelKeys(other)) {
            const Json& value = jsonMember(given, key);
            if (std::ranges::find(used, key) == used.end() && !value.is_null() &&
                value != jsonMember(usual, key)) {
                warnings.push_back(strCat("model.", key, " is for ", modelType(other), "; ",
                                          spec.model.type(), " does not use it"));
                used.push_back(key);
            }
        }
    }
}

void resolveModel(RunSpec& spec, bool hasModelKey, Problems& problems) {
    ModelSpec& model = spec.model;
    if (!spec.command.empty()) {
        if (hasModelKey) {
            problems.add("command", "check", "give command or model, not both");
        }
        model.body = NoModel();
    }
    std::visit([&](auto& body) { body.resolve(model.embeddingDim); }, model.body);
    for (auto& [table, embedding] : spec.embeddings) {
        embedding.dim = embedding.dim == 0 ? model.embeddingDim : embedding.dim;
        if (embedding.features.empty()) {
            embedding.features = {table};
        }
    }
    for (WeightedFeature& feature : spec.features.weighted) {
        feature.name = feature.name.empty() ? feature.ids : feature.name;
    }
}

void checkSpec(const RunSpec& spec, const SpecOptions& options, Problems& problems,
               std::vector<std::string>& warnings) {
    if (!spec.hasDataset()) {
        return;
    }
    checkStepNames(spec, problems);
    checkSteps(spec, problems, warnings);
    checkEvalSteps(spec, problems);
    checkFeatures(spec, options.needsFeatures, problems);
    if (options.needsLabels && spec.labels.empty() && spec.command.empty()) {
        problems.add("labels", "missing",
                     "labels is missing: name what the model learns, as in `labels: {liked: rating "
                     ">= 4}`");
    }
    checkEmbeddings(spec, problems, warnings);
    checkModel(spec, problems);
    checkCsvKeys(spec, problems);
    checkCsv(spec.dataset.csv, "dataset.csv", "dataset.csv", problems);
    checkTypes(spec.dataset, problems);
    checkTables(spec, problems);
    if (spec.train.initFrom.empty() && (spec.train.initOptimizer || spec.train.initBest)) {
        problems.add("train.init_from", "missing",
                     "train.init_from.run is missing: the run whose checkpoint is taken");
    }
    if (spec.resources.dataWorkersMin > spec.resources.dataWorkersMax) {
        problems.add("resources.data_workers", "check", "resources.data_workers.min is above max");
    }
    if (spec.resources.besideRanks.value_or(0) > 0 && spec.train.nodes == 1) {
        warnings.push_back(
            "resources.data_workers.beside_ranks has no effect: with train.nodes 1 all ranks are "
            "on the feed's node, where the feed itself computes");
    }
    warnOfOptimisation(spec, warnings);
    if (spec.eval && spec.eval->dataset.where.empty() &&
        spec.eval->dataset.path == spec.dataset.path) {
        warnings.push_back(
            "eval.dataset names neither files nor where: evaluation reads every row, those of "
            "training too");
    }
}

void refuseWithoutIds(const FeaturesSpec& features, const std::string& feature,
                      Problems& problems) {
    const auto has = [&](const std::vector<std::string>& names) {
        return std::ranges::find(names, feature) != names.end();
    };
    std::string path = has(features.ids)     ? "features.ids"
                       : has(features.lists) ? "features.lists"
                                             : "features";
    std::string shown = feature;
    for (const auto& [name, sequence] : features.sequences) {
        if (path == "features" && has(sequence.columns)) {
            path = strCat("features.sequences.", name);
            shown = strCat(name, ".", feature);
        }
    }
    problems.add(path, "check", "id feature '", shown, "' has no number of ids: give embeddings: {",
                 feature, ": {rows: N}}, a vocabulary, or make it with a hash or bucketize step");
}

bool isPattern(std::string_view name) {
    return name.find_first_of("*?") != std::string_view::npos;
}

bool isCovered(const std::string& name, const std::vector<std::string>& features) {
    return std::ranges::any_of(features, [&](const std::string& feature) {
        return feature == name || (isPattern(feature) && matchesPattern(name, feature)) ||
               (isPattern(name) && isPattern(feature));
    });
}

bool matchesPattern(std::string_view name, std::string_view pattern) {
    std::size_t n = 0, p = 0, star = std::string_view::npos, from = 0;
    while (n < name.size()) {
        if (p < pattern.size() && pattern[p] == '*') {
            star = p++;
            from = n;
        } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
            ++p;
            ++n;
        } else if (star != std::string_view::npos) {
            p = star + 1;
            n = ++from;
        } else {
            return false;
        }
    }
    return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

}  // namespace millrace::spec
