#include "backend/spec/bind.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "backend/spec/spec_checks.h"
#include "backend/spec/step_typing.h"
#include "backend/text/text.h"

namespace millrace::spec {
namespace {

using Wanted = StepTyper::Wanted;

bool isId(const expr::DataType& type) {
    return type.isInteger() || type.isString();
}

bool isCarried(const expr::DataType& type) {
    const expr::DataType one = type.element();
    return type.isList ? one.isTemporal() || one.isInteger() || one.isFloat()
                       : type.kind != expr::TypeKind::kNull;
}

class Binder {
 public:
    Binder(RunSpec& spec, const TableSchemaLookup& tables, BindResult& result)
        : spec_(spec), tables_(tables), result_(result), problems_(spec.source, result.errors) {}

    void bind(const expr::Schema& schema, const expr::Schema& evalSchema) {
        pinTypes(spec_.dataset, schema);
        StepTyper typer(schema, tables_, nullptr);
        where(typer, "dataset.where", spec_.dataset.where);
        if (spec_.batch.order == "by") {
            check(typer, "batch.order", spec_.batch.orderBy,
                  "an integer of at most 63 bits, a bool, a date, a timestamp or a string",
                  [](const expr::DataType& t) {
                      const bool isFit = t.isInteger() || t.isBool() || t.isString();
                      return t.kind != expr::TypeKind::kUint64 && (isFit || t.isTemporal());
                  });
        }
        steps(typer, "recipe", spec_.recipe);
        labels(typer, "labels", spec_.labels);
        features(typer);
        featureNames();
        shuffle(schema);
        result_.columns = typer.columns();
        ids();
        if (result_.errors.empty() && spec_.eval) {
            bindEval(evalSchema);
        }
        if (result_.errors.empty() && spec_.model.as<TargetMeanModel>() != nullptr) {
            leaveOutUnread();
        }
    }

 private:
    /// target_mean reads only its keys. Other features in the spec are for its other models: they
    /// are neither computed nor sent for this one.
    void leaveOutUnread() {
        FeaturesSpec& f = spec_.features;
        std::vector<std::string> unread;
        for (const DenseFeature& dense : f.dense) {
            unread.push_back(dense.column);
        }
        unread.insert(unread.end(), f.vectors.begin(), f.vectors.end());
        const std::vector<std::string>& keys = spec_.model.as<TargetMeanModel>()->keys;
        const auto isUnread = [&](const std::string& name) {
            return std::ranges::find(keys, name) == keys.end();
        };
        std::ranges::copy_if(f.ids, std::back_inserter(unread), isUnread);
        unread.insert(unread.end(), f.lists.begin(), f.lists.end());
        for (const WeightedFeature& weighted : f.weighted) {
            unread.push_back(weighted.name);
        }
        for (const auto& [name, sequence] : f.sequences) {
            unread.push_back(name);
        }
        if (unread.empty()) {
            return;
        }
        std::erase_if(f.ids, isUnread);
        f.dense.clear();
        f.vectors.clear();
        f.vectorSizes.clear();
        f.lists.clear();
        f.weighted.clear();
        f.sequences.clear();
        for (auto& [name, embedding] : spec_.embeddings) {
            std::erase_if(embedding.features, isUnread);
        }
        std::erase_if(spec_.embeddings,
                      [](const auto& entry) { return entry.second.features.empty(); });
        std::string names = unread.front();
        for (std::size_t i = 1; i < unread.size(); ++i) {
            strAppend(&names, i < 5 ? strCat(", ", unread[i]) : i == 5 ? ", ..." : "");
        }
        result_.warnings.push_back(
            strCat("model.type target_mean reads model.keys alone: other features are left out of "
                   "this stream (",
                   names, ")"));
    }

    /// Collects errors below `base`, with `prefix` before the message.
    StepSink sink(const std::string& base, const std::string& prefix) {
        return [this, base, prefix](const std::string& key, const char* code, std::size_t offset,
                                    std::string message) {
            problems_.addAt(key.empty() ? base : strCat(base, ".", key), code,
                            strCat(prefix, message), offset);
        };
    }

    void pinTypes(DatasetSpec& dataset, const expr::Schema& schema) {
        if (dataset.format != "csv") {
            return;
        }
        for (const auto& [name, type] : dataset.csv.types) {
            if (schema.find(name) == nullptr) {
                problems_.add("dataset.csv.types", "unknown_column",
                              "dataset.csv.types: unknown column '", name, "'",
                              nameHint(name, schema.names()));
            } else if (const Result<expr::DataType> known = expr::parseType(type); !known.ok()) {
                problems_.add("dataset.csv.types", "type", "dataset.csv.types.", name, ": ",
                              messageOf(known.status()));
            }
        }
        for (const expr::Field& field : schema.fields) {
            dataset.csv.types.emplace(field.name, field.type.name());
        }
    }

    void where(StepTyper& typer, const std::string& path, const std::string& text) {
        if (!text.empty()) {
            typer.setSink(sink(path, strCat(path, ": ")));
            typer.type("", text, Wanted::kPredicate);
        }
    }

    void steps(StepTyper& typer, const std::string& path, const std::vector<Step>& recipe) {
        for (std::size_t i = 0; i < recipe.size(); ++i) {
            if (recipe[i].enabled) {
                typer.setSink(
                    sink(strCat(path, "[", i, "]"), strCat(path, ".", recipe[i].name, ": ")));
                typer.apply(recipe[i]);
            }
        }
    }

    void labels(StepTyper& typer, const std::string& path,
                const std::map<std::string, LabelSpec>& labels) {
        for (const auto& [head, label] : labels) {
            const std::string base = strCat(path, ".", head);
            typer.setSink(sink(base, strCat(base, ": ")));
            typer.type("expr", label.expr, Wanted::kLabel);
            if (!label.weight.empty()) {
                typer.type("weight", label.weight, Wanted::kNumber);
            }
            if (!label.where.empty()) {
                typer.type("where", label.where, Wanted::kPredicate);
            }
        }
    }

    /// A column that a list of features names or matches, with number and path of the list's item.
    struct ListedColumn {
        std::string name, path;
        std::size_t item = 0;
    };

    /// Replaces patterns by the columns that they match, in the columns' order. A column that
    /// several items name is of the first.
    std::vector<ListedColumn> expand(const std::vector<std::string>& items,
                                     const expr::Schema& columns, const std::string& path) {
        std::vector<ListedColumn> out;
        std::set<std::string> known;
        for (std::size_t i = 0; i < items.size(); ++i) {
            const std::string& item = items[i];
            const std::string at = strCat(path, "[", i, "]");
            const auto addOnce = [&](const std::string& name) {
                known.insert(name).second ? out.push_back({name, at, i}) : void();
            };
            if (!isPattern(item) || columns.find(item) != nullptr) {
                addOnce(item);
                continue;
            }
            bool hasMatch = false;
            for (const expr::Field& field : columns.fields) {
                if (matchesPattern(field.name, item)) {
                    hasMatch = true;
                    addOnce(field.name);
                }
            }
            for (const expr::RefusedColumn& column : columns.refused) {
                if (column.differs && matchesPattern(column.name, item)) {
                    hasMatch = true;  // skipping it would lose a feature with each such file
                    problems_.add(at, "type", path, ": '", item, "' matches column '", column.name,
                                  "', which ", column.why);
                }
            }
            if (!hasMatch) {
                problems_.add(at, "unknown_column", path, ": no column matches '", item, "'");
            }
        }
        return out;
    }

    template <class Fits>
    void columnList(StepTyper& typer, const std::string& path, std::vector<std::string>& names,
                    std::string_view wanted, Fits fits) {
        const std::vector<ListedColumn> columns = expand(names, typer.columns(), path);
        names.clear();
        for (const ListedColumn& column : columns) {
            names.push_back(column.name);
            check(typer, path, column, wanted, fits);
        }
    }

    template <class Fits>
    void check(StepTyper& typer, const std::string& path, const std::string& name,
               std::string_view wanted, Fits fits) {
        check(typer, path, ListedColumn{name, path}, wanted, fits);
    }

    /// The message names `path`; the error points to the column's own path.
    template <class Fits>
    void check(StepTyper& typer, const std::string& path, const ListedColumn& column,
               std::string_view wanted, Fits fits) {
        typer.setSink(sink(column.path, strCat(path, ": ")));
        const std::optional<expr::DataType> type = typer.column("", column.name);
        if (type && !fits(*type)) {
            problems_.add(column.path, "type", path, ": column '", column.name, "' is ",
                          type->name(), "; needed is ", wanted,
                          hintFor(*type, column.name, wanted));
        }
    }

    void features(StepTyper& typer) {
        FeaturesSpec& f = spec_.features;
        dense(typer);
        vectors(typer);
        columnList(typer, "features.ids", f.ids, "an integer or a string", isId);
        const auto isIdList = [](const expr::DataType& t) { return t.isList && isId(t.element()); };
        columnList(typer, "features.lists", f.lists, "a list of integers or strings", isIdList);
        columnList(typer, "features.carry", f.carry,
                   "a value, or a list of numbers, dates or times", isCarried);
        for (const WeightedFeature& weighted : f.weighted) {
            check(typer, "features.weighted", weighted.ids, "a list of integers or strings",
                  isIdList);
            check(typer, "features.weighted", weighted.weights, "a list of floats",
                  [](const expr::DataType& t) { return t.isList && t.element().isNumber(); });
        }
        for (auto& [name, feature] : f.sequences) {
            sequence(typer, strCat("features.sequences.", name), feature);
        }
        const auto isValue = [](const expr::DataType& t) { return !t.isList; };
        if (!f.request.empty()) {
            check(typer, "features.request", f.request, "a value, not a list", isValue);
        }
        if (!f.user.empty()) {
            check(typer, "features.user", f.user, "a value, not a list", isValue);
        }
    }

    void vectors(StepTyper& typer) {
        FeaturesSpec& f = spec_.features;
        const std::string path = "features.vectors";
        const std::vector<ListedColumn> columns = expand(f.vectors, typer.columns(), path);
        f.vectors.clear();
        for (const ListedColumn& column : columns) {
            f.vectors.push_back(column.name);
            const auto given = f.vectorSizes.find(column.name);
            const std::int64_t size = given == f.vectorSizes.end() ? 0 : given->second;
            const char* const wanted = "a list of floats (cast(x as float[])) with a `size`";
            check(typer, path, column, wanted, [size](const expr::DataType& t) {
                return t.isList && t.element().isFloat() &&
                       (t.listSize == 0 ? size > 0 : size == 0 || size == t.listSize);
            });
        }
    }

    /// Checks that every feature has a unique name in a batch, where dense features are one block.
    void featureNames() {
        const FeaturesSpec& f = spec_.features;
        std::map<std::string, std::string> known;
        const auto add = [&](const std::string& path, const std::string& name,
                             const std::string& what) {
            const auto [at, isNew] = known.emplace(name, what);
            if (!isNew) {
                problems_.add(path, "duplicate", path, ": ", what, " and ", at->second,
                              " are both called '", name,
                              "' in a batch; give one of them another name (a derive step copies a "
                              "column under another name)");
            }
        };
        if (!f.dense.empty()) {
            add("features.dense", "dense", "the block of dense features");
        }
        const std::pair<std::string, const std::vector<std::string>*> kinds[] = {
            {"vectors", &f.vectors}, {"ids", &f.ids}, {"lists", &f.lists}};
        for (const auto& [kind, names] : kinds) {
            for (const std::string& name : *names) {
                add(strCat("features.", kind), name, strCat("'", name, "' of features.", kind));
            }
        }
        for (const WeightedFeature& weighted : f.weighted) {
            add("features.weighted", weighted.name,
                strCat("'", weighted.name, "' of features.weighted"));
        }
        for (const auto& [name, sequence] : f.sequences) {
            for (const std::string& column : sequence.columns) {
                add(strCat("features.sequences.", name), strCat(name, ".", column),
                    strCat("column '", column, "' of the sequence '", name, "'"));
            }
        }
    }

    /// Whole requests are identified by a column of the files: a column that the recipe makes does
    /// not exist yet when a split's requests are found.
    void shuffle(const expr::Schema& schema) {
        std::string& shuffle = spec_.batch.shuffle;
        const std::string& request = spec_.features.request;
        const bool isOfFiles = !request.empty() && schema.find(request) != nullptr;
        if (shuffle.empty()) {
            shuffle = isOfFiles ? "requests" : "rows";
            if (isOfFiles) {
                result_.warnings.push_back(
                    strCat("batch.shuffle is not given: whole requests are shuffled, because "
                           "features.request is '",
                           request,
                           "'; `shuffle: rows` mixes better, but stores and sends a request's "
                           "lists once for every batch that one of its rows is in"));
            }
        } else if (shuffle == "requests" && !request.empty() && !isOfFiles) {
            problems_.add("batch.shuffle", "check",
                          "batch.shuffle: requests needs features.request to be a column of "
                          "the files, and the recipe makes '",
                          request, "'; shuffle rows, or name a column of the files");
        }
    }

    void sequence(StepTyper& typer, const std::string& path, SequenceFeature& sequence) {
        std::vector<std::string> times;
        for (const std::string& column : sequence.columns) {
            check(typer, path, column, "a list of integers, strings, floats or times",
                  [](const expr::DataType& t) {
                      const expr::DataType e = t.element();
                      return t.isList && (isId(e) || e.isNumber() || e.isTemporal());
                  });
            const expr::Field* field = typer.columns().find(column);
            if (field != nullptr && field->type.isList && field->type.element().isTemporal()) {
                times.push_back(column);
            }
        }
        if (sequence.time.empty() && times.size() == 1) {
            sequence.time = times[0];
        }
        if (!sequence.time.empty()) {
            check(typer, path, sequence.time, "a list of times or integers",
                  [](const expr::DataType& t) {
                      return t.isList && (t.element().isTemporal() || t.element().isInteger());
                  });
        }
        if (!sequence.before.empty()) {
            before(typer, path, sequence);
        }
    }

    void before(StepTyper& typer, const std::string& path, const SequenceFeature& sequence) {
        if (sequence.time.empty()) {
            return problems_.add(path, "missing", path,
                                 ".before needs `time`, the list column of the elements' times");
        }
        check(typer, path, sequence.before, "a time or an integer",
              [](const expr::DataType& t) { return t.isTemporal() || t.isInteger(); });
        const expr::Field* row = typer.columns().find(sequence.before);
        const expr::Field* element = typer.columns().find(sequence.time);
        if (row != nullptr && element != nullptr && element->type.isList &&
            row->type.isTemporal() != element->type.element().isTemporal()) {
            problems_.add(path, "type", path, ": before '", sequence.before, "' is ",
                          row->type.name(), ", time '", sequence.time, "' ", element->type.name(),
                          "; make_timestamp(microseconds) makes a time of an integer");
        }
    }

    void dense(StepTyper& typer) {
        const std::vector<DenseFeature> given = std::exchange(spec_.features.dense, {});
        std::vector<std::string> items;
        for (const DenseFeature& feature : given) {
            items.push_back(feature.column);
        }
        for (const ListedColumn& column : expand(items, typer.columns(), "features.dense")) {
            spec_.features.dense.push_back({column.name, given[column.item].fill});
            check(typer, "features.dense", column, "a number or a bool",
                  [](const expr::DataType& t) { return t.isNumber() || t.isBool(); });
        }
    }

    std::vector<std::string> idColumnsAndNames(std::vector<std::string>& columns) const {
        const FeaturesSpec& f = spec_.features;
        std::vector<std::string> names = f.ids;
        names.insert(names.end(), f.lists.begin(), f.lists.end());
        columns = names;
        for (const WeightedFeature& weighted : f.weighted) {
            names.push_back(weighted.name);
            columns.push_back(weighted.ids);
        }
        for (const auto& [name, sequence] : f.sequences) {
            for (const std::string& column : sequence.columns) {
                const expr::Field* field = result_.columns.find(column);
                const bool isId =
                    field != nullptr &&
                    sequenceValue(sequence, column, field->type) == SequenceValue::kId;
                if (isId && std::ranges::find(names, column) == names.end()) {
                    names.push_back(column);
                    columns.push_back(column);
                }
            }
        }
        return names;
    }

    /// Gives every id feature its table and its number of ids, or rejects it with its name.
    void ids() {
        std::vector<std::string> columns;
        const std::vector<std::string> names = idColumnsAndNames(columns);
        std::map<std::string, std::string> tableOf = expandTables(names);
        for (std::size_t i = 0; i < names.size(); ++i) {
            const std::int64_t made = madeIdCount(spec_.recipe, columns[i]);
            auto found = tableOf.find(names[i]);
            if (found == tableOf.end() && made > 0) {
                spec_.embeddings[names[i]] = {{names[i]}, made, spec_.model.embeddingDim, {}};
                continue;
            }
            if (found == tableOf.end()) {
                refuseWithoutIds(spec_.features, names[i], problems_);
                continue;
            }
            cardinality(found->second, names[i], columns[i], made);
        }
    }

    void cardinality(const std::string& table, const std::string& feature,
                     const std::string& column, std::int64_t made) {
        EmbeddingSpec& embedding = spec_.embeddings[table];
        const std::string path = strCat("embeddings.", table);
        if (embedding.vocabulary && made > 0) {
            return problems_.add(path, "check", path, ".vocabulary: the recipe makes the ids of '",
                                 feature, "' already; leave out the step or the vocabulary");
        }
        if (embedding.vocabulary) {
            return embedding.vocabulary->isCounted() ? counted(column, path)
                                                     : vocabulary(*embedding.vocabulary, path);
        }
        if (embedding.rows == 0 && made == 0) {
            problems_.add(path, "missing", path, " needs rows (or a vocabulary) for the ids of '",
                          feature, "'");
        } else if (embedding.rows == 0) {
            embedding.rows = made;
        } else if (made > embedding.rows) {
            problems_.add(path, "check", path, ".rows is ", embedding.rows,
                          ", but the recipe makes ", made, " ids of '", feature, "'");
        }
    }

    void counted(const std::string& column, const std::string& path) {
        const expr::Field* field = result_.columns.find(column);
        const std::string type = field == nullptr ? "" : countedType(field->type);
        if (countedAs_.emplace(path, type).first->second != type) {
            problems_.add(path, "type", path, ".vocabulary: '", column, "' holds ", type,
                          " values, others ", countedAs_[path],
                          "; cast it, or give it its own table");
        }
    }

    void vocabulary(const VocabularySpec& vocabulary, const std::string& path) {
        const Result<expr::Schema> table =
            tables_ ? tables_(vocabulary.table)
                    : Result<expr::Schema>(notFound("no tables can be read here"));
        if (!table.ok()) {
            problems_.add(strCat(path, ".vocabulary"), "file", messageOf(table.status()));
        } else if (table->find(vocabulary.column) == nullptr) {
            problems_.add(strCat(path, ".vocabulary"), "unknown_column",
                          table->whyUnknownIn(vocabulary.table.text(), vocabulary.column));
        }
    }

    /// Feature -> table, after patterns became one table each (a name) or features (a list).
    std::map<std::string, std::string> expandTables(const std::vector<std::string>& names) {
        std::map<std::string, EmbeddingSpec> tables;
        std::map<std::string, std::string> tableOf;
        for (const bool isPatternTurn : {false, true}) {
            for (const auto& [table, embedding] : spec_.embeddings) {
                const bool isOwn =
                    isPattern(table) && embedding.features == std::vector<std::string>{table};
                if (isOwn != isPatternTurn) {
                    continue;
                }
                std::vector<std::string> features = matching(embedding.features, names);
                if (features.empty() && isPatternOf(embedding)) {
                    result_.warnings.push_back(
                        strCat("embeddings.", table,
                               " matches no id or list feature: no table is made for it"));
                }
                for (const std::string& feature : features) {
                    const std::string own = isOwn ? feature : table;
                    if (!tableOf.emplace(feature, own).second) {
                        continue;
                    }
                    EmbeddingSpec& made = tables[own];
                    made.rows = embedding.rows;
                    made.dim = embedding.dim;
                    made.vocabulary = embedding.vocabulary;
                    made.features.push_back(feature);
                }
            }
        }
        spec_.embeddings = std::move(tables);
        return tableOf;
    }

    static bool isPatternOf(const EmbeddingSpec& embedding) {
        return std::ranges::any_of(embedding.features, isPattern);
    }

    static std::vector<std::string> matching(const std::vector<std::string>& wanted,
                                             const std::vector<std::string>& names) {
        std::vector<std::string> out;
        for (const std::string& pattern : wanted) {
            for (const std::string& name : names) {
                const bool isMatch =
                    name == pattern || (isPattern(pattern) && matchesPattern(name, pattern));
                if (isMatch && std::ranges::find(out, name) == out.end()) {
                    out.push_back(name);
                }
            }
        }
        return out;
    }

    void bindEval(const expr::Schema& schema) {
        pinTypes(spec_.eval->dataset, schema);
        StepTyper labelTyper(schema, tables_, nullptr);
        where(labelTyper, "eval.dataset.where", spec_.eval->dataset.where);
        steps(labelTyper, "eval.label_recipe", spec_.eval->labelRecipe);
        labels(labelTyper, "eval.labels", spec_.eval->labels);
        StepTyper typer(schema, tables_, nullptr);
        steps(typer, "eval.recipe", spec_.eval->recipe);
        std::vector<std::string> columns;
        idColumnsAndNames(columns);
        for (const DenseFeature& feature : spec_.features.dense) {
            columns.push_back(feature.column);
        }
        for (const WeightedFeature& weighted : spec_.features.weighted) {
            columns.push_back(weighted.weights);
        }
        for (const auto& [name, sequence] : spec_.features.sequences) {
            columns.insert(columns.end(), sequence.columns.begin(), sequence.columns.end());
            for (const std::string& column : {sequence.time, sequence.before}) {
                if (!column.empty()) {
                    columns.push_back(column);
                }
            }
        }
        columns.insert(columns.end(), spec_.features.vectors.begin(), spec_.features.vectors.end());
        columns.insert(columns.end(), spec_.features.carry.begin(), spec_.features.carry.end());
        for (const std::string& column : columns) {
            evalColumn(typer, column);
        }
    }

    void evalColumn(StepTyper& typer, const std::string& name) {
        typer.setSink(sink("eval", "in evaluation: "));
        const std::optional<expr::DataType> type = typer.column("", name);
        const expr::Field* trained = result_.columns.find(name);
        if (type && trained != nullptr && !type->isSame(trained->type)) {
            problems_.add("eval", "type", "in evaluation column '", name, "' is ", type->name(),
                          ", in training ", trained->type.name());
        }
    }

    RunSpec& spec_;
    const TableSchemaLookup& tables_;
    BindResult& result_;
    Problems problems_;
    std::map<std::string, std::string> countedAs_;  ///< by embedding: the type of its values
};

}  // namespace

BindResult bindSchema(RunSpec& spec, const expr::Schema& schema, const TableSchemaLookup& tables,
                      const expr::Schema* evalSchema) {
    BindResult result;
    Binder(spec, tables, result).bind(schema, evalSchema == nullptr ? schema : *evalSchema);
    return result;
}

}  // namespace millrace::spec
