// RunSpec <-> canonical JSON. One list of members per struct serves both directions.
#include <concepts>
#include <limits>
#include <type_traits>
#include <utility>
#include <variant>

#include "backend/spec/run_spec.h"

namespace millrace::spec {
namespace {

template <class S, class T>
concept Of = std::same_as<std::remove_const_t<S>, T>;

// The members of each struct, by JSON key. `a` is a Writer or a Reader.
void fields(auto& a, Of<CsvOptions> auto& s) {
    a("delimiter", s.delimiter);
    a("header", s.header);
    a("types", s.types);
    a.unless("quote", s.quote, std::string("\""));
    a.unless("comment", s.comment, std::string());
    a.unless("skip_rows", s.skipRows, std::int64_t{0});
    a.unless("decimal_comma", s.decimalComma, false);
    a.unless("null_values", s.nullValues, std::vector<std::string>());
    a.unless("on_bad_row", s.onBadRow, std::string("error"));
}
void fields(auto& a, Of<DatasetSpec> auto& s) {
    a("path", s.path);
    a("format", s.format);
    a("where", s.where);
    a("csv_split_rows", s.csvSplitRows);
    a("missing_columns", s.missingColumns);
    a.unlessEmpty("types", s.types);
    a("csv", s.csv);
}
void fields(auto& a, Of<JoinKey> auto& s) {
    a("left", s.left);
    a("right", s.right);
}
void fields(auto& a, Of<AsOf> auto& s) {
    a("left", s.left);
    a("right", s.right);
    a("tolerance", s.tolerance);
}
void fields(auto& a, Of<NamedExpr> auto& s) {
    a("name", s.name);
    a("expr", s.expr);
}
void fields(auto& a, Of<LabelSpec> auto& s) {
    a("expr", s.expr);
    a("weight", s.weight);
    a("where", s.where);
}
void fields(auto& a, Of<DenseFeature> auto& s) {
    a("column", s.column);
    a("fill", s.fill);
}
void fields(auto& a, Of<WeightedFeature> auto& s) {
    a("name", s.name);
    a("ids", s.ids);
    a("weights", s.weights);
}
void fields(auto& a, Of<SequenceFeature> auto& s) {
    a("columns", s.columns);
    a("time", s.time);
    a("before", s.before);
    a("last", s.last);
}
void fields(auto& a, Of<FeaturesSpec> auto& s) {
    a("dense", s.dense);
    a("vectors", s.vectors);
    a.unless("vector_sizes", s.vectorSizes, {});
    a("ids", s.ids);
    a("lists", s.lists);
    a("carry", s.carry);
    a("weighted", s.weighted);
    a("sequences", s.sequences);
    a("request", s.request);
    a.unless("user", s.user, "");
    a("dedup", s.dedup);
}
void fields(auto& a, Of<VocabularySpec> auto& s) {
    a.table(s.table);
    a.unlessEmpty("column", s.column);
    a.unless("on_duplicate", s.onDuplicate, std::string("error"));
    a.unless("min_count", s.minCount, std::int64_t{1});
    a.unless("max_rows", s.maxRows, std::int64_t{0});
    a.unlessEmpty("hash", s.hash);
}
void fields(auto& a, Of<EmbeddingSpec> auto& s) {
    a("features", s.features);
    a("rows", s.rows);
    a("dim", s.dim);
    a("vocabulary", s.vocabulary);
}
void fields(auto& a, Of<BatchSpec> auto& s) {
    a("rows", s.rows);
    a("micro_rows", s.microRows);
    a("epochs", s.epochs);
    a("seed", s.seed);
    a("shuffle", s.shuffle);
    a.order("order", s.order, s.orderBy);
    a("segment_splits", s.segmentSplits);
}
void fields(auto& a, Of<ModelSpec> auto& s) {
    a("embedding_dim", s.embeddingDim);
    a.model("type", s.body);
}
void fields(auto& a, Of<TrainGroup> auto& s) {
    a.unless("optimizer", s.optimizer, "");
    a.whenGiven("learning_rate", s.learningRate);
    a.whenGiven("weight_decay", s.weightDecay);
    a.whenGiven("momentum", s.momentum);
}
void fields(auto& a, Of<TrainGroups> auto& s) {
    a.unless("dense", s.dense, TrainGroup());
    a.unless("embeddings", s.embeddings, TrainGroup());
}
void fields(auto& a, Of<ScheduleSpec> auto& s) {
    a("type", s.type);
    a("warmup_steps", s.warmupSteps);
    a("steps", s.steps);
    a("final", s.final);
    a("every_steps", s.everySteps);
    a("factor", s.factor);
}
void fields(auto& a, Of<EarlyStopSpec> auto& s) {
    a("patience", s.patience);
    a("metric", s.metric);
    a("min_delta", s.minDelta);
    a("mode", s.mode);
}
void fields(auto& a, Of<TrainSpec> auto& s) {
    a("optimizer", s.optimizer);
    a("learning_rate", s.learningRate);
    a("weight_decay", s.weightDecay);
    a("momentum", s.momentum);
    a.unless("groups", s.groups, TrainGroups());
    a.unless("schedule", s.schedule, ScheduleSpec());
    a.unless("clip_norm", s.clipNorm, 0.0);
    a.unless("dropout", s.dropout, 0.0);
    a.unless("early_stop", s.earlyStop, EarlyStopSpec());
    a("precision", s.precision);
    a.unless("device", s.device, std::string("auto"));
    a.unless("deterministic", s.deterministic, true);
    a.unless("tf32", s.tf32, false);
    a("ranks", s.ranks);
    a.unless("nodes", s.nodes, std::int64_t{1});
    a("threads", s.threads);
    a("max_steps", s.maxSteps);
    a.section("checkpoint", [&](auto& inner) {
        inner("every_steps", s.checkpointEverySteps);
        inner("keep", s.checkpointKeep);
        inner.unless("copy", s.checkpointCopy, true);
    });
    a("max_restarts", s.maxRestarts);
    a.unless("no_progress_minutes", s.noProgressMinutes, std::int64_t{30});
    a.unless("exit_minutes", s.exitMinutes, std::int64_t{30});
    a("init_from", s.initFrom);
    a.unless("init_optimizer", s.initOptimizer, false);
    a.unless("init_best", s.initBest, false);
}
void fields(auto& a, Of<EvalSpec> auto& s) {
    a("dataset", s.dataset);
    a("every_steps", s.everySteps);
    a("metrics", s.metrics);
    a("labels", s.labels);
    a("label_recipe", s.labelRecipe);
    a("recipe", s.recipe);
}
void fields(auto& a, Of<ResourcesSpec> auto& s) {
    a("memory_limit_mb", s.memoryLimitMb);
    a("loader_threads", s.loaderThreads);
    a.section("data_workers", [&](auto& inner) {
        inner("min", s.dataWorkersMin);
        inner("max", s.dataWorkersMax);
    });
    a("gpus_per_rank", s.gpusPerRank);
}

void fields(auto& a, Of<Step> auto& s) {
    a.stepKind("kind", s.body);
    a("name", s.name);
    a("enabled", s.enabled);
    std::visit([&a](auto& kind) { kind.members(a, kind); }, s.body);
}
void fields(auto& a, Of<RunSpec> auto& s) {
    a("name", s.name);
    a("notes", s.notes);
    a("owner", s.owner);
    a("project", s.project);
    a("tags", s.tags);
    a.unless("params", s.params, Json::object());
    a("dataset", s.dataset);
    a("recipe", s.recipe);
    a("labels", s.labels);
    a("features", s.features);
    a("embeddings", s.embeddings);
    a("batch", s.batch);
    a("model", s.model);
    a("train", s.train);
    a("command", s.command);
    a("eval", s.eval);
    a("resources", s.resources);
    a("variation", s.variation);
    a("base_dir", s.baseDir);
}

class Writer {
 public:
    void operator()(const char* key, const auto& value) { out_[key] = toJson(value); }
    template <class T>
    void whenGiven(const char* key, const std::optional<T>& value) {
        if (value) {
            out_[key] = toJson(*value);
        }
    }
    void unlessEmpty(const char* key, const auto& value) {
        if (!value.empty()) {
            out_[key] = value;
        }
    }
    /// Writes only values that differ from the original behaviour, so that older specs keep their
    /// hashes.
    template <class T>
    void unless(const char* key, const T& value, const std::type_identity_t<T>& usual) {
        if (value != usual) {
            (*this)(key, value);
        }
    }
    void table(const TableRef& table) {
        if (table.empty()) {
            return;
        }
        out_["table"] = table.paths.size() == 1 ? Json(table.paths.front()) : Json(table.paths);
        if (!table.hasUsualCsv()) {
            out_["csv"] = toJson(table.csv);
        }
    }
    void section(const char* key, const auto& body) {
        Writer inner;
        body(inner);
        out_[key] = std::move(inner.out_);
    }
    void choice(const char* key, bool value, const char* yes, const char* no) {
        out_[key] = value ? yes : no;
    }
    void stepKind(const char* key, const StepBody& body) {
        out_[key] = std::visit([](const auto& kind) { return kind.kKind; }, body);
    }
    /// Writes the keys of the first models too, with their defaults.
    void model(const char* key, const ModelBody& body) {
        const auto usual = [this](const auto& model) {
            if (model.kIsInAll) {
                model.members(*this, model);
            }
        };
        for (const ModelBody& other : allModels()) {
            std::visit(usual, other);
        }
        std::visit(
            [&](const auto& model) {
                out_[key] = model.kType;
                model.members(*this, model);
            },
            body);
    }
    void order(const char* key, const std::string& order, const std::string& by) {
        out_[key] = order == "by" ? Json{{"by", by}} : Json(order);
    }
    template <class T>
    static Json toJson(const T& value) {
        if constexpr (std::is_same_v<T, double>) {
            return jsonNumber(value);
        } else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string> ||
                             std::is_same_v<T, Json>) {
            return value;
        } else {
            Writer inner;
            fields(inner, value);
            return std::move(inner.out_);
        }
    }
    template <class T>
    static Json toJson(const std::vector<T>& values) {
        Json list = Json::array();
        for (const T& value : values) {
            list.push_back(toJson(value));
        }
        return list;
    }
    template <class T>
    static Json toJson(const std::map<std::string, T>& values) {
        Json object = Json::object();
        for (const auto& [key, value] : values) {
            object[key] = toJson(value);
        }
        return object;
    }
    template <class T>
    static Json toJson(const std::optional<T>& value) {
        return value ? toJson(*value) : Json();
    }

 private:
    Json out_ = Json::object();
};

/// Absent members keep their default; the first invalid one is the error.
class Reader {
 public:
    Reader(const Json& in, std::string path, Status& status)
        : in_(in), path_(std::move(path)), status_(status) {
        if (!in.is_object()) {
            wrong(path_, "an object", in);
        }
    }

    template <class T>
    void operator()(const char* key, T& value) {
        if (const Json* member = find(key)) {
            read(*member, at(key), value);
        }
    }
    template <class T>
    void whenGiven(const char* key, std::optional<T>& value) {
        (*this)(key, value);
    }
    void unlessEmpty(const char* key, auto& value) { (*this)(key, value); }
    template <class T>
    void unless(const char* key, T& value, const std::type_identity_t<T>& /*usual*/) {
        (*this)(key, value);
    }
    void table(TableRef& table) {
        std::vector<std::string> paths;
        if (const Json* member = find("table")) {
            member->is_string() ? read(*member, at("table"), paths.emplace_back())
                                : read(*member, at("table"), paths);
        }
        table = TableRef(std::move(paths));
        const std::string usual = table.csv.delimiter;
        if (const Json* csv = find("csv"); csv != nullptr && !csv->is_null()) {
            read(*csv, at("csv"), table.csv);
            table.csv.delimiter = table.csv.delimiter.empty() ? usual : table.csv.delimiter;
        }
    }
    void section(const char* key, const auto& body) {
        if (const Json* member = find(key)) {
            Reader inner(*member, at(key), status_);
            body(inner);
        }
    }
    void choice(const char* key, bool& value, const char* yes, const char* no) {
        if (const Json* member = find(key)) {
            value = *member == yes;
            if (!value && *member != no) {
                wrong(at(key), strCat("\"", yes, "\" or \"", no, "\""), *member);
            }
        }
    }
    void stepKind(const char* key, StepBody& body) {
        const Json* member = find(key);
        auto known = member != nullptr && member->is_string()
                         ? stepBodyOf(member->get_ref<const std::string&>())
                         : std::nullopt;
        if (known) {
            body = *std::move(known);
        } else {
            wrong(at(key), "the kind of a step", member == nullptr ? Json() : *member);
        }
    }
    void model(const char* key, ModelBody& body) {
        std::string type = "dlrm";
        (*this)(key, type);
        if (auto known = modelBodyOf(type)) {
            body = *std::move(known);
            std::visit([this](auto& model) { model.members(*this, model); }, body);
        } else {
            wrong(at(key), "the type of a model", Json(type));
        }
    }
    void order(const char* key, std::string& order, std::string& by) {
        const Json* member = find(key);
        if (member != nullptr && member->is_object()) {
            order = "by";
            read(jsonMember(*member, "by"), strCat(at(key), ".by"), by);
        } else if (member != nullptr) {
            read(*member, at(key), order);
        }
    }

 private:
    const Json* find(const char* key) const {
        if (!in_.is_object()) {
            return nullptr;
        }
        const auto it = in_.find(key);
        return it == in_.end() ? nullptr : &*it;
    }
    std::string at(std::string_view key) const {
        return path_.empty() ? std::string(key) : strCat(path_, ".", key);
    }
    void wrong(std::string_view path, std::string_view wanted, const Json& found) {
        if (status_.ok()) {
            status_ = invalidArgument("resolved spec: ", path.empty() ? "the text" : path,
                                      " must be ", wanted, ", not ", dumpJson(found).substr(0, 60));
        }
    }

    void read(const Json& json, const std::string& path, Json& value) {
        json.is_object() ? value = json : wrongValue(path, "an object", json, value);
    }
    void read(const Json& json, const std::string& path, bool& value) {
        json.is_boolean() ? json.get_to(value) : wrongValue(path, "a bool", json, value);
    }
    void read(const Json& json, const std::string& path, std::string& value) {
        json.is_string() ? json.get_to(value) : wrongValue(path, "a string", json, value);
    }
    void read(const Json& json, const std::string& path, double& value) {
        const Result<double> number = jsonDouble(json);
        number.ok() ? value = *number : wrongValue(path, "a number", json, value);
    }
    void read(const Json& json, const std::string& path, std::uint64_t& value) {
        const bool isFit = json.is_number_unsigned() ||
                           (json.is_number_integer() && json.get<std::int64_t>() >= 0);
        isFit ? json.get_to(value) : wrongValue(path, "an integer from 0", json, value);
    }
    void read(const Json& json, const std::string& path, std::int64_t& value) {
        const bool isFit =
            json.is_number_integer() &&
            (!json.is_number_unsigned() ||
             json.get<std::uint64_t>() <=
                 static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()));
        isFit ? json.get_to(value) : wrongValue(path, "an integer", json, value);
    }
    template <class T>
    T& wrongValue(const std::string& path, std::string_view wanted, const Json& found, T& value) {
        wrong(path, wanted, found);
        return value;
    }
    template <class T>
    void read(const Json& json, const std::string& path, std::vector<T>& values) {
        values.clear();
        if (!json.is_array()) {
            return wrong(path, "a list", json);
        }
        for (std::size_t i = 0; i < json.size(); ++i) {
            read(json[i], strCat(path, "[", i, "]"), values.emplace_back());
        }
    }
    template <class T>
    void read(const Json& json, const std::string& path, std::map<std::string, T>& values) {
        values.clear();
        if (!json.is_object()) {
            return wrong(path, "an object", json);
        }
        for (const auto& [key, member] : json.items()) {
            read(member, strCat(path, ".", key), values[key]);
        }
    }
    template <class T>
    void read(const Json& json, const std::string& path, std::optional<T>& value) {
        value.reset();
        if (!json.is_null()) {
            read(json, path, value.emplace());
        }
    }
    template <class T>
        requires std::is_class_v<T>
    void read(const Json& json, const std::string& path, T& value) {
        Reader inner(json, path, status_);
        fields(inner, value);
    }

    const Json& in_;
    std::string path_;
    Status& status_;
};

constexpr const char* kKeysOfStreams[] = {"dataset",    "recipe", "labels", "features",
                                          "embeddings", "batch",  "model",  "eval"};

/// Rejects values that later stages divide by or index with; SpecReader gives better messages.
Status checkUsable(const RunSpec& spec) {
    if (!spec.hasDataset()) {
        return spec.train.ranks > 0 && spec.train.nodes == 1
                   ? okStatus()
                   : invalidArgument(
                         "resolved spec: without a dataset train.ranks is above 0, and "
                         "train.nodes 1");
    }
    if (spec.batch.rows <= 0 || spec.batch.microRows <= 0 ||
        spec.batch.rows % spec.batch.microRows != 0) {
        return invalidArgument("resolved spec: batch.micro_rows must divide batch.rows");
    }
    if (spec.train.ranks <= 0 || spec.microBatchesPerStep() % spec.train.ranks != 0) {
        return invalidArgument(
            "resolved spec: train.ranks must divide batch.rows / batch.micro_rows");
    }
    if (spec.train.nodes <= 0 || spec.train.ranks % spec.train.nodes != 0) {
        return invalidArgument("resolved spec: train.nodes must divide train.ranks");
    }
    return okStatus();
}

}  // namespace

Json RunSpec::toJson() const {
    Json json = Writer::toJson(*this);
    if (!hasDataset()) {
        for (const char* key : kKeysOfStreams) {
            json.erase(key);
        }
    }
    return json;
}

Result<RunSpec> RunSpec::fromJson(const Json& json) {
    RunSpec spec;
    Status status;
    Reader reader(json, "", status);
    fields(reader, spec);
    RETURN_IF_ERROR(status);
    RETURN_IF_ERROR(checkUsable(spec));
    if (!spec.hasDataset()) {
        spec.model.body = NoModel();
    }
    return spec;
}

std::vector<std::string> RunSpec::heads() const {
    std::vector<std::string> names;
    for (const auto& [head, label] : labels) {
        names.push_back(head);
    }
    return names;
}

}  // namespace millrace::spec
