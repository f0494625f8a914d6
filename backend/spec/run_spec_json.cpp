// RunSpec <-> canonical JSON: two visitors of the keys of each struct.
#include <limits>
#include <type_traits>
#include <utility>
#include <variant>

#include "backend/spec/run_spec.h"

namespace millrace::spec {
namespace {

template <class T>
Json jsonOf(const T& value);

template <class T>
Json jsonOf(const std::vector<T>& values) {
    Json list = Json::array();
    for (const T& value : values) {
        list.push_back(jsonOf(value));
    }
    return list;
}

template <class T>
Json jsonOf(const std::map<std::string, T>& values) {
    Json object = Json::object();
    for (const auto& [key, value] : values) {
        object[key] = jsonOf(value);
    }
    return object;
}

template <class T>
Json jsonOf(const std::optional<T>& value) {
    return value ? jsonOf(*value) : Json();
}

std::string_view jsonName(std::string_view name, const KeyLimits& limits) {
    return limits.jsonName.empty() ? name : limits.jsonName;
}

/// The visitor that writes the members of `from`.
template <class T>
class Writer {
 public:
    Writer(const T& from, Json& out) : from_(from), out_(out) {}

    template <class S, class M>
    void operator()(std::string_view name, M S::* member, std::string_view /*doc*/,
                    const KeyLimits& limits = {}) {
        json(jsonName(name, limits), member, limits);
    }
    template <class S, class M>
    void json(std::string_view name, M S::* member, const KeyLimits& limits = {}) {
        Json value = jsonOf(from_.*member);
        if (!limits.isSparse || value != jsonOf(S().*member)) {
            slot(name) = std::move(value);
        }
    }
    void yaml(std::string_view /*name*/, KeyType /*type*/, std::string_view /*doc*/,
              const KeyLimits& /*limits*/ = {}) {}
    void order(std::string_view name, auto order, auto by, std::string_view /*doc*/) {
        slot(name) = from_.*order == "by" ? Json{{"by", from_.*by}} : Json(from_.*order);
    }
    void choice(std::string_view name, auto member, std::string_view yes, std::string_view no,
                std::string_view /*doc*/) {
        slot(name) = from_.*member ? yes : no;
    }
    void table(auto member, std::string_view /*doc*/, const KeyLimits& /*limits*/ = {}) {
        const TableRef& table = from_.*member;
        if (table.empty()) {
            return;
        }
        slot("table") = table.paths.size() == 1 ? Json(table.paths.front()) : Json(table.paths);
        if (!table.hasUsualCsv()) {
            slot("csv") = jsonOf(table.csv);
        }
    }
    void kind(std::string_view name, ModelBody ModelSpec::* member, std::string_view /*doc*/,
              const KeyLimits& /*limits*/) {
        slot(name) = modelType(from_.*member);
    }
    void kind(std::string_view name, StepBody Step::* member) {
        slot(name) = stepKind(from_.*member);
    }
    /// Writes the keys of the first models too, with their defaults.
    void body(ModelBody ModelSpec::* member) {
        for (const ModelBody& other : allModels()) {
            std::visit([this](const auto& model) { model.kIsInAll ? write(model) : void(); },
                       other);
        }
        std::visit([this](const auto& model) { write(model); }, from_.*member);
    }
    void body(StepBody Step::* member) {
        std::visit([this](const auto& kind) { write(kind); }, from_.*member);
    }

 private:
    void write(const auto& body) {
        Writer<std::remove_cvref_t<decltype(body)>> writer(body, out_);
        body.listKeys(writer);
    }
    /// The value at a name, which may have dots.
    Json& slot(std::string_view name) {
        Json* at = &out_;
        for (auto dot = name.find('.'); dot != name.npos; dot = name.find('.')) {
            at = &(*at)[std::string(name.substr(0, dot))];
            name.remove_prefix(dot + 1);
        }
        return (*at)[std::string(name)];
    }

    const T& from_;
    Json& out_;
};

template <class T>
Json jsonOf(const T& value) {
    if constexpr (std::is_same_v<T, double>) {
        return jsonNumber(value);
    } else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string> ||
                         std::is_same_v<T, Json>) {
        return value;
    } else {
        Json out = Json::object();
        Writer<T> writer(value, out);
        T::listKeys(writer);
        return out;
    }
}

/// Reads values and keeps the first error.
class ValueReader {
 public:
    explicit ValueReader(Status& status) : status_(status) {}

    void wrong(std::string_view path, std::string_view wanted, const Json& found) {
        if (status_.ok()) {
            status_ = invalidArgument("resolved spec: ", path.empty() ? "the text" : path,
                                      " must be ", wanted, ", not ", dumpJson(found).substr(0, 60));
        }
    }
    void read(const Json& json, const std::string& path, Json& value) {
        json.is_object() ? void(value = json) : wrong(path, "an object", json);
    }
    void read(const Json& json, const std::string& path, bool& value) {
        json.is_boolean() ? void(json.get_to(value)) : wrong(path, "a bool", json);
    }
    void read(const Json& json, const std::string& path, std::string& value) {
        json.is_string() ? void(json.get_to(value)) : wrong(path, "a string", json);
    }
    void read(const Json& json, const std::string& path, double& value) {
        const Result<double> number = jsonDouble(json);
        number.ok() ? void(value = *number) : wrong(path, "a number", json);
    }
    void read(const Json& json, const std::string& path, std::uint64_t& value) {
        const bool isFit = json.is_number_unsigned() ||
                           (json.is_number_integer() && json.get<std::int64_t>() >= 0);
        isFit ? void(json.get_to(value)) : wrong(path, "an integer from 0", json);
    }
    void read(const Json& json, const std::string& path, std::int64_t& value) {
        const bool isFit =
            json.is_number_integer() &&
            (!json.is_number_unsigned() ||
             json.get<std::uint64_t>() <=
                 static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()));
        isFit ? void(json.get_to(value)) : wrong(path, "an integer", json);
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
    void read(const Json& json, const std::string& path, T& value);

 private:
    Status& status_;
};

/// The visitor that reads the members of `into`. Absent ones keep their default.
template <class T>
class Reader {
 public:
    Reader(const Json& in, std::string path, T& into, ValueReader& values)
        : in_(in), path_(std::move(path)), into_(into), values_(values) {}

    void operator()(std::string_view name, auto member, std::string_view /*doc*/,
                    const KeyLimits& limits = {}) {
        json(jsonName(name, limits), member);
    }
    void json(std::string_view name, auto member, const KeyLimits& /*limits*/ = {}) {
        readAt(name, into_.*member);
    }
    void yaml(std::string_view /*name*/, KeyType /*type*/, std::string_view /*doc*/,
              const KeyLimits& /*limits*/ = {}) {}
    void order(std::string_view name, auto order, auto by, std::string_view /*doc*/) {
        const Json* found = find(name);
        if (found != nullptr && found->is_object()) {
            into_.*order = "by";
            values_.read(jsonMember(*found, "by"), strCat(at(name), ".by"), into_.*by);
        } else {
            readAt(name, into_.*order);
        }
    }
    void choice(std::string_view name, auto member, std::string_view yes, std::string_view no,
                std::string_view /*doc*/) {
        if (const Json* found = find(name)) {
            into_.*member = *found == yes;
            if (!(into_.*member) && *found != no) {
                values_.wrong(at(name), strCat("\"", yes, "\" or \"", no, "\""), *found);
            }
        }
    }
    void table(auto member, std::string_view /*doc*/, const KeyLimits& /*limits*/ = {}) {
        std::vector<std::string> paths;
        const Json* found = find("table");
        found != nullptr && found->is_string() ? readAt("table", paths.emplace_back())
                                               : readAt("table", paths);
        TableRef& table = into_.*member;
        table = TableRef(std::move(paths));
        const std::string usual = table.csv.delimiter;
        if (const Json* csv = find("csv"); csv != nullptr && !csv->is_null()) {
            readAt("csv", table.csv);
            table.csv.delimiter = table.csv.delimiter.empty() ? usual : table.csv.delimiter;
        }
    }
    void kind(std::string_view name, ModelBody ModelSpec::* member, std::string_view /*doc*/,
              const KeyLimits& /*limits*/) {
        std::string type(modelType(into_.*member));
        readAt(name, type);
        become(name, modelBodyOf(type), "the type of a model", Json(type), into_.*member);
    }
    void kind(std::string_view name, StepBody Step::* member) {
        const Json* found = find(name);
        const Json kind = found == nullptr ? Json() : *found;
        become(name, stepBodyOf(kind.is_string() ? kind.get<std::string>() : ""),
               "the kind of a step", kind, into_.*member);
    }
    void body(auto member) {
        std::visit(
            [this](auto& body) {
                Reader<std::remove_cvref_t<decltype(body)>> reader(in_, path_, body, values_);
                body.listKeys(reader);
            },
            into_.*member);
    }

 private:
    template <class Body>
    void become(std::string_view name, std::optional<Body> known, std::string_view wanted,
                const Json& found, Body& body) {
        known ? void(body = *std::move(known)) : values_.wrong(at(name), wanted, found);
    }
    /// The value at a name, which may have dots; null if it is absent.
    const Json* find(std::string_view name) {
        const Json* found = &in_;
        for (std::size_t from = 0, dot = 0; dot != name.npos; from = dot + 1) {
            dot = name.find('.', from);
            const auto it = found->find(std::string(name.substr(from, dot - from)));
            if (it == found->end()) {
                return nullptr;
            }
            found = &*it;
            if (dot != name.npos && !found->is_object()) {
                values_.wrong(at(name.substr(0, dot)), "an object", *found);
                return nullptr;
            }
        }
        return found;
    }
    void readAt(std::string_view name, auto& value) {
        if (const Json* found = find(name)) {
            values_.read(*found, at(name), value);
        }
    }
    std::string at(std::string_view name) const {
        return path_.empty() ? std::string(name) : strCat(path_, ".", name);
    }

    const Json& in_;
    std::string path_;
    T& into_;
    ValueReader& values_;
};

template <class T>
    requires std::is_class_v<T>
void ValueReader::read(const Json& json, const std::string& path, T& value) {
    if (!json.is_object()) {
        return wrong(path, "an object", json);
    }
    Reader<T> reader(json, path, value, *this);
    T::listKeys(reader);
}

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
    Json json = jsonOf(*this);
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
    ValueReader(status).read(json, "", spec);
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
