#include "backend/spec/spec_reader.h"

#include <algorithm>
#include <set>
#include <variant>

#include <absl/strings/ascii.h>
#include <absl/strings/str_join.h>
#include <absl/strings/str_replace.h>

#include "backend/spec/change.h"
#include "backend/spec/column_origins.h"
#include "backend/spec/data_format.h"
#include "backend/spec/given_dataset.h"
#include "backend/spec/spec_checks.h"
#include "backend/spec/yaml/tree_reader.h"
#include "backend/text/text.h"

namespace millrace::spec {
namespace {

std::string formatByEnding(const std::string& path) {
    const std::string format = formatOfName(path);
    return format.empty() ? "parquet" : format;
}

void fillFormat(Json& dataset) {
    if (jsonString(dataset, "format").empty() && !jsonMember(dataset, "path").empty()) {
        dataset["format"] = formatByEnding(dataset["path"][0].get<std::string>());
    }
}

/// A default that the key table cannot express: a tab for .tsv and .tab files.
void fillDelimiter(Json& dataset) {
    Json& delimiter = dataset["csv"]["delimiter"];
    if (delimiter == "") {
        const bool isNamed =
            jsonString(dataset, "format") == "csv" && !jsonMember(dataset, "path").empty();
        delimiter =
            std::string(1, isNamed ? delimiterOfName(dataset["path"][0].get<std::string>()) : ',');
    }
}

/// The base's dataset with overrides from eval.dataset; `where` is never inherited.
Json evalDataset(const Json& base, const Json& own) {
    Json dataset = base;
    dataset["where"] = own["where"];
    if (!own["path"].empty()) {
        dataset["path"] = own["path"];
        dataset["format"] = own["format"];
        fillFormat(dataset);
    }
    return dataset;
}

std::string nameOfFile(std::string_view fileName) {
    const std::size_t slash = fileName.rfind('/');
    std::string_view name = slash == std::string_view::npos ? fileName : fileName.substr(slash + 1);
    const std::size_t dot = name.rfind('.');
    return std::string(dot == std::string_view::npos || dot == 0 ? name : name.substr(0, dot));
}

std::vector<Step> withoutDropping(const std::vector<Step>& recipe) {
    std::vector<Step> steps;
    for (const Step& step : recipe) {
        if (step.enabled && !step.dropsOrWeighs()) {
            steps.push_back(step);
            std::visit([](auto& kind) { kind.keepAllRows(); }, steps.back().body);
        }
    }
    return steps;
}

/// The steps that make columns of `needed` (names and patterns), directly or via other columns.
std::vector<Step> stepsFor(std::set<std::string> needed, const std::vector<Step>& recipe) {
    std::vector<Step> kept;
    const std::vector<Step> steps = withoutDropping(recipe);
    for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
        const std::vector<MadeColumn> made = step->makes();
        const bool isNeeded = std::ranges::any_of(made, [&](const MadeColumn& column) {
            return needed.count(column.name) > 0 ||
                   std::ranges::any_of(needed, [&](const std::string& pattern) {
                       return isPattern(pattern) && matchesPattern(column.name, pattern);
                   });
        });
        if (!isNeeded) {
            continue;
        }
        addReads(*step, needed);
        kept.insert(kept.begin(), *step);
    }
    return kept;
}

std::set<std::string> columnsOf(const std::map<std::string, LabelSpec>& labels) {
    std::set<std::string> columns;
    for (const auto& [head, label] : labels) {
        addColumns(label.expr, columns);
        addColumns(label.where, columns);
        addColumns(label.weight, columns);
    }
    return columns;
}

// A label that reads a single column, which is a feature too, is told by it.
void warnOfToldLabels(const RunSpec& spec, std::vector<std::string>& warnings) {
    for (const auto& [head, label] : spec.labels) {
        std::set<std::string> columns;
        addColumns(label.expr, columns);
        const auto warn = [&](const char* kind, const std::string& feature) {
            const std::string column = columns.size() == 1 ? *columns.begin() : "";
            const bool isMatched = isPattern(feature) && matchesPattern(column, feature);
            if (!column.empty() && (column == feature || isMatched)) {
                warnings.push_back(
                    strCat("features.", kind, ": the label '", head, "' is computed from '", column,
                           "' alone", isMatched ? strCat(", which '", feature, "' matches") : "",
                           ", so a model only copies it; leave the feature out"));
            }
        };
        for (const DenseFeature& dense : spec.features.dense) {
            warn("dense", dense.column);
        }
        for (const std::string& id : spec.features.ids) {
            warn("ids", id);
        }
    }
}

std::set<std::string> columnsOf(const FeaturesSpec& features) {
    std::set<std::string> columns = {features.request, features.user};
    for (const DenseFeature& dense : features.dense) {
        columns.insert(dense.column);
    }
    for (const auto* names : {&features.vectors, &features.ids, &features.lists, &features.carry}) {
        columns.insert(names->begin(), names->end());
    }
    for (const WeightedFeature& weighted : features.weighted) {
        columns.insert({weighted.ids, weighted.weights});
    }
    for (const auto& [name, sequence] : features.sequences) {
        columns.insert(sequence.columns.begin(), sequence.columns.end());
        columns.insert({sequence.time, sequence.before});
    }
    return columns;
}

std::string variationHint(std::string_view name, const std::vector<std::string>& variations) {
    constexpr std::size_t kMost = 20;
    if (variations.empty()) {
        return "; the spec has none";
    }
    const std::string near = nameHint(name, variations);
    if (!near.empty()) {
        return near;
    }
    const std::size_t shown = std::min(kMost, variations.size());
    const auto end = variations.begin() + static_cast<std::ptrdiff_t>(shown);
    return strCat(
        "; known: ", absl::StrJoin(variations.begin(), end, ", "),
        shown < variations.size() ? strCat(" and ", variations.size() - shown, " more") : "");
}

struct VariationSet {
    std::string name;
    const YamlNode* changes = nullptr;
};

std::vector<VariationSet> readVariations(const YamlNode& list, SpecErrors& errors) {
    std::vector<VariationSet> out;
    const auto wrong = [&](const YamlNode& node, const char* code, std::string message) {
        if (errors.size() < kErrorsMax) {
            errors.push_back(
                {node.position.line, node.position.column, std::move(message), "variations", code});
        }
    };
    if (!list.isSequence() && !list.isNull()) {
        wrong(list, "type",
              strCat("variations must be a list of {name: x, set: {...}}, not ", list.describe()));
    }
    std::set<std::string> names;
    for (const YamlNode& item : list.items) {
        const YamlNode* name = item.find("name");
        const YamlNode* changes = item.find("set");
        for (const YamlNode::Member& member : item.members) {
            if (member.key != "name" && member.key != "set") {
                wrong(member.value, "unknown_key",
                      strCat("unknown key '", member.key.substr(0, 60),
                             "' in a variation; known: name, set"));
            }
        }
        if (name == nullptr || !name->isScalar() || name->text.empty()) {
            wrong(item, "missing", "a variation needs a name");
        } else if (name->text == "base") {
            wrong(*name, "duplicate",
                  "a variation cannot be named 'base': runs without a variation are shown as base");
        } else if (!names.insert(name->text).second) {
            wrong(*name, "duplicate", strCat("two variations are named '", name->text, "'"));
        } else if (changes == nullptr || !changes->isMap()) {
            wrong(item, "missing",
                  strCat("variation '", name->text, "' needs set: {key.path: value}"));
        } else {
            out.push_back({name->text, changes});
        }
    }
    return out;
}

/// Whether a variation would evaluate on other rows than the base.
bool changesEvalRows(const std::string& path) {
    return path == "eval" || path == "eval.dataset" || path.rfind("eval.dataset.", 0) == 0;
}

void applyVariation(YamlNode& tree, const VariationSet& variation, SpecErrors& errors) {
    for (const YamlNode::Member& change : variation.changes->members) {
        const expr::Position at = change.keyPosition;
        const Status status =
            changesEvalRows(change.key)
                ? invalidArgument(change.key,
                                  " is the base's for all variations, so that they are compared on "
                                  "the same rows; change it in the base")
                : applyChange(tree, change.key, change.value, at);
        if (!status.ok() && errors.size() < kErrorsMax) {
            errors.push_back({at.line, at.column,
                              strCat("variation '", variation.name, "': ", messageOf(status)),
                              change.key, "variation"});
        }
    }
}

/// The value of --set: YAML, or a text that YAML does not read, such as `"Item Price" > 3`. The
/// key's own type then decides whether a text will do.
std::optional<YamlNode> setValue(const std::string& value, SpecErrors& errors) {
    std::optional<YamlNode> node = parseYaml(value, true, errors);
    if (node || !errors[0].message.starts_with(kNotYaml)) {
        return node;
    }
    const std::size_t first = value.find_first_not_of(" \t");
    const std::string begin = first == std::string::npos ? "" : value.substr(first, 1);
    if (begin == "[" || begin == "{") {
        strAppend(&errors[0].message, " (values are YAML; a text that begins with ", begin,
                  " takes quotes of its own, as in KEY='\"", begin, "...\"')");
        return std::nullopt;
    }
    errors.clear();
    return YamlNode{
        .kind = YamlNode::Kind::kScalar, .text = value, .isQuoted = true, .isSet = true};
}

void applySets(YamlNode& tree, const std::vector<std::string>& sets, SpecErrors& errors) {
    for (const std::string& set : sets) {
        const Result<Change> change = parseSet(set);
        Status status = change.status();
        if (change.ok()) {
            SpecErrors inside;
            const std::optional<YamlNode> value = setValue(change->value, inside);
            status = value ? applyChange(tree, change->path, *value, {})
                           : invalidArgument(inside[0].message);
            status = annotate(status, strCat("--set ", change->path));
        }
        if (!status.ok() && errors.size() < kErrorsMax) {
            errors.push_back({0, 0, std::string(messageOf(status)), "", "variation"});
        }
    }
}

/// Converts keys with two notations to plain members.
void flatten(Json& json) {
    Json names = Json::array(), sizes = Json::object();
    for (const Json& vector : json["features"]["vectors"]) {
        names.push_back(vector.is_object() ? vector["column"] : vector);
        if (vector.is_object()) {
            sizes[vector["column"].get<std::string>()] = vector["size"];
        }
    }
    json["features"]["vectors"] = names;
    json["features"]["vector_sizes"] = sizes;
    Json& train = json["train"];
    const Json init = train["init_from"];
    train["init_from"] = init["run"];
    train["init_optimizer"] = init["optimizer"];
    train["init_best"] = init["best"];
}

/// "KEY=VALUE" below dataset.csv as a change of a spec. A mark stands for itself: `delimiter=|`.
std::string csvChange(const std::string& set) {
    const std::size_t at = set.find('=');
    const bool isMark = at != std::string::npos && at + 2 == set.size() &&
                        absl::ascii_ispunct(static_cast<unsigned char>(set.back()));
    return strCat("dataset.csv.",
                  isMark ? strCat(set.substr(0, at + 1), dumpJson(set.substr(at + 1))) : set);
}

/// `label` becomes labels, eval.dataset is completed, formats are filled in.
void completeJson(Json& json, Problems& problems) {
    const std::string label = jsonString(json, "label");
    json.erase("label");
    if (!label.empty()) {
        if (!json["labels"].empty()) {
            problems.add("label", "check", "give label or labels, not both");
        }
        json["labels"]["label"] = {{"expr", label}, {"weight", ""}, {"where", ""}};
    }
    fillFormat(json["dataset"]);
    if (json["eval"].is_object()) {
        json["eval"]["dataset"] = evalDataset(json["dataset"], json["eval"]["dataset"]);
        fillDelimiter(json["eval"]["dataset"]);
    }
    fillDelimiter(json["dataset"]);
    resolveBatch(json, problems);
}

// A variation's heads are evaluated with the base's labels. If it has a head that the base lacks,
// it is evaluated with its own.
void evaluateLabelsOf(const std::map<std::string, LabelSpec>& labels,
                      const std::vector<Step>& recipe, EvalSpec& eval) {
    const auto isOfBase = [&](const auto& label) { return labels.contains(label.first); };
    if (std::ranges::all_of(eval.labels, isOfBase)) {
        for (auto& [head, label] : eval.labels) {
            label = labels.at(head);
        }
        eval.labelRecipe = recipe;
    }
}

void completeEval(RunSpec& spec, bool hasOwnRecipe) {
    if (!spec.eval) {
        return;
    }
    spec.eval->labels = spec.labels;
    spec.eval->labelRecipe = stepsFor(columnsOf(spec.labels), spec.recipe);
    if (!hasOwnRecipe) {
        spec.eval->recipe = withoutDropping(spec.recipe);
    }
}

ResolvedSpec readTree(const YamlNode& tree, const std::shared_ptr<const std::string>& text,
                      const SpecOptions& options, const std::vector<std::string>& models) {
    ResolvedSpec out;
    const Params params = Params::read(tree.find("params"), out.errors);
    out.warnings = params.warnings();
    TreeReader reader(*text, params, out.errors);
    Json json = reader.readRoot(tree);
    auto places = reader.takePlaces();
    const bool hasModelKey = places.count("model") > 0 || places.count("train.optimizer") > 0;
    const bool hasEvalRecipe = places.count("eval.recipe") > 0;
    if (places.count("label") > 0) {
        places["labels.label"] = places["labels.label.expr"] = places["label"];
    }
    const auto source = std::make_shared<const SourceMap>(text, places);
    Problems problems(source, out.errors);
    const bool hasDataset = json.is_object() && !jsonMember(json, "dataset").is_null();
    if (!hasDataset && out.errors.empty()) {
        checkWithoutDataset(json, places, problems);
    }
    if (out.errors.empty()) {
        if (jsonString(json, "name").empty()) {
            json["name"] = nameOfFile(options.fileName);
        }
        json["base_dir"] = options.baseDir;
        flatten(json);
        hasDataset ? completeJson(json, problems) : void();
    }
    if (!out.errors.empty()) {
        return out;
    }
    if (!hasDataset) {
        json.erase("dataset");
    }
    Result<RunSpec> spec = RunSpec::fromJson(json);
    if (!spec.ok()) {
        problems.add("", "check", messageOf(spec.status()));
        return out;
    }
    spec->source = source;
    warnOfUnusedKeys(*spec, jsonMember(json, "model"), models, out.warnings);
    resolveModel(*spec, hasModelKey, problems);
    checkSpec(*spec, options, problems, out.warnings);
    warnOfToldLabels(*spec, out.warnings);
    completeEval(*spec, hasEvalRecipe);
    if (out.errors.empty()) {
        out.spec = std::move(*spec);
    }
    return out;
}

/// The text before line `line`, which counts from 1.
std::string_view linesBefore(std::string_view text, int line) {
    std::size_t end = 0;
    for (int i = 1; i < line && end < text.size(); ++i) {
        const std::size_t next = text.find('\n', end);
        end = next == std::string_view::npos ? text.size() : next + 1;
    }
    return text.substr(0, end);
}

/// Tries a few times to parse the longest valid prefix of the text.
std::optional<YamlNode> parsePrefix(std::string_view text) {
    constexpr int kTries = 8;
    for (int i = 0; i < kTries; ++i) {
        SpecErrors errors;
        std::optional<YamlNode> root = parseYaml(text, false, errors);
        if (root || errors.empty() || errors[0].line <= 1) {
            return root;
        }
        const std::size_t before = text.size();
        text = linesBefore(text, errors[0].line);
        if (text.size() == before) {
            text = linesBefore(text, errors[0].line - 1);
        }
    }
    return std::nullopt;
}

}  // namespace

std::string SpecError::text(std::string_view fileName) const {
    return line > 0 ? strCat(fileName, ":", line, ":", column, ": ", message)
                    : strCat(fileName, ": ", message);
}

Json SpecError::toJson() const {
    return {
        {"line", line}, {"column", column}, {"message", message}, {"path", path}, {"code", code}};
}

Status toStatus(const SpecErrors& errors, std::string_view fileName) {
    std::string all;
    for (const SpecError& error : errors) {
        strAppend(&all, all.empty() ? "" : "\n", error.text(fileName));
    }
    return errors.empty() ? okStatus() : invalidArgument(all);
}

std::optional<SpecReader> SpecReader::parse(std::string_view text, const SpecOptions& options,
                                            SpecErrors& errors) {
    std::optional<YamlNode> root = parseYaml(text, false, errors);
    if (!root) {
        return std::nullopt;
    }
    YamlNode variations;
    const auto it = std::ranges::find(root->members, "variations", &YamlNode::Member::key);
    if (it != root->members.end()) {
        variations = std::move(it->value);
        root->members.erase(it);
    }
    SpecReader reader;
    for (const VariationSet& variation : readVariations(variations, errors)) {
        reader.variations_.push_back(variation.name);
    }
    YamlNode changed = *root;
    applySets(changed, options.sets, errors);
    if (!errors.empty()) {
        return std::nullopt;
    }
    reader.text_ = std::make_shared<const std::string>(text);
    reader.root_ = std::make_shared<const YamlNode>(std::move(*root));
    reader.variationList_ = std::make_shared<const YamlNode>(std::move(variations));
    reader.options_ = options;
    return reader;
}

ResolvedSpec SpecReader::resolve(std::string_view variation) const {
    SpecErrors reported;  // by parse()
    YamlNode changed = *root_;
    applySets(changed, options_.sets, reported);
    const std::vector<std::string> models = modelTypes(changed, *variationList_);
    ResolvedSpec base = readTree(changed, text_, options_, models);
    if (variation.empty() || !base.ok()) {
        return base;
    }
    ResolvedSpec out;
    const std::vector<VariationSet> known = readVariations(*variationList_, out.errors);
    const auto chosen =
        std::ranges::find_if(known, [&](const VariationSet& v) { return v.name == variation; });
    if (chosen == known.end()) {
        out.errors.push_back(
            {0, 0, strCat("no variation '", variation, "'", variationHint(variation, variations_)),
             "variations", "variation"});
        return out;
    }
    YamlNode tree = *root_;
    applyVariation(tree, *chosen, out.errors);
    applySets(tree, options_.sets, out.errors);
    if (!out.errors.empty()) {
        return out;
    }
    out = readTree(tree, text_, options_, models);
    for (SpecError& error : out.errors) {
        error.message = strCat("variation '", chosen->name, "': ", error.message);
    }
    if (out.spec) {
        out.spec->variation = chosen->name;
        if (base.spec->eval && out.spec->eval) {
            out.spec->eval->dataset = base.spec->eval->dataset;
            evaluateLabelsOf(base.spec->eval->labels, base.spec->eval->labelRecipe,
                             *out.spec->eval);
        }
    }
    return out;
}

ResolvedSpec readSpec(std::string_view text, const SpecOptions& options,
                      std::string_view variation) {
    ResolvedSpec out;
    const std::optional<SpecReader> reader = SpecReader::parse(text, options, out.errors);
    return reader ? reader->resolve(variation) : out;
}

RunSpec evaluationRows(RunSpec spec) {
    spec.dataset = spec.eval->dataset;
    spec.recipe = stepsFor(columnsOf(spec.features), spec.eval->recipe);
    spec.labels.clear();
    spec.batch.epochs = 1;
    spec.batch.shuffle = "none";
    spec.batch.order = "as_is";
    spec.eval->recipe = spec.recipe;
    spec.eval->labels.clear();
    spec.eval->labelRecipe.clear();
    return spec;
}

std::optional<DatasetSpec> readDataset(std::string_view text, const SpecOptions& options) {
    std::optional<YamlNode> root = parsePrefix(text);
    if (!root || !root->isMap()) {
        return std::nullopt;
    }
    SpecErrors ignored, errors;
    applySets(*root, options.sets, ignored);
    std::erase_if(root->members, [](const YamlNode::Member& m) {
        return m.key != "dataset" && m.key != "params";
    });
    YamlNode* section = root->find("dataset");
    if (section == nullptr || !section->isMap()) {
        return std::nullopt;
    }
    std::erase_if(section->members, [](const YamlNode::Member& m) { return m.key == "where"; });
    const Params params = Params::read(root->find("params"), ignored);
    TreeReader reader(text, params, errors);
    const Json read = reader.readRoot(*root);
    const bool isWrong = std::ranges::any_of(errors, [](const SpecError& error) {
        return error.path == "dataset" || error.path.rfind("dataset.", 0) == 0;
    });
    if (isWrong) {
        return std::nullopt;
    }
    Json json = RunSpec().toJson();
    json["dataset"] = jsonMember(read, "dataset");
    fillFormat(json["dataset"]);
    fillDelimiter(json["dataset"]);
    const Result<RunSpec> spec = RunSpec::fromJson(json);
    return spec.ok() ? std::optional(spec->dataset) : std::nullopt;
}

Result<DatasetSpec> datasetOf(const std::vector<std::string>& paths, const std::string& format,
                              const std::vector<std::string>& csv) {
    Json section = {{"path", paths}};
    if (!format.empty()) {
        section["format"] = format;
    }
    const std::string text = dumpJson({{"dataset", std::move(section)}});
    std::vector<std::string> sets;
    for (const std::string& set : csv) {
        if (set.find('=') == std::string::npos) {
            return invalidArgument("--csv '", set,
                                   "': write KEY=VALUE, as in --csv on_bad_row=drop");
        }
        sets.push_back(csvChange(set));
    }
    SpecErrors errors;
    std::optional<YamlNode> root = parseYaml(text, false, errors);
    Json json = RunSpec().toJson();
    if (root) {
        applySets(*root, sets, errors);
        const Params params = Params::read(nullptr, errors);
        json["dataset"] = jsonMember(TreeReader(text, params, errors).readRoot(*root), "dataset");
    }
    std::erase_if(errors, [](const SpecError& error) {
        return !error.path.empty() && !error.path.starts_with("dataset");
    });
    if (errors.empty()) {
        fillFormat(json["dataset"]);
        fillDelimiter(json["dataset"]);
        ASSIGN_OR_RETURN(RunSpec spec, RunSpec::fromJson(json));
        Problems problems(nullptr, errors);
        checkCsv(spec.dataset.csv, "dataset.csv", "dataset.csv", problems);
        if (!csv.empty() && spec.dataset.format != "csv") {
            return invalidArgument(paths.front(), " is read as ", spec.dataset.format,
                                   ", and --csv and --delimiter are for CSV files; --format csv "
                                   "reads it as CSV");
        }
        if (errors.empty()) {
            return std::move(spec.dataset);
        }
    }
    std::string message = errors.front().message;
    absl::StrReplaceAll({{"--set dataset.csv.", "--csv "}}, &message);
    return invalidArgument(message);
}

}  // namespace millrace::spec
