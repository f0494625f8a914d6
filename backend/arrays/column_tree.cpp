#include "backend/arrays/column_tree.h"

#include <set>
#include <vector>

#include <arrow/array/array_nested.h>
#include <arrow/chunked_array.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "backend/arrays/arrow_bridge.h"

namespace millrace::arrays {
namespace {

using arrow::Type;
using ArrayPtr = std::shared_ptr<arrow::Array>;

constexpr std::size_t kTypeTextBytes = 100;
constexpr std::size_t kFieldsNamed = 4;
constexpr std::string_view kWhyNoInterval =
    "months and days have no fixed length, so it is not a number; write it as an integer in one "
    "unit, such as microseconds";

/// "map<string, int64>": Arrow's name, truncated if long.
std::string typeText(const arrow::DataType& type) {
    std::string text = type.ToString();
    if (type.id() == Type::MAP) {  // a file's own names of keys and items are irrelevant
        const auto& map = static_cast<const arrow::MapType&>(type);
        text = strCat("map<", map.key_type()->ToString(), ", ", map.item_type()->ToString(), ">");
    }
    if (text.size() > kTypeTextBytes) {
        text.resize(kTypeTextBytes);
        text += "...";
    }
    return text;
}

/// "user.age, user.name and 3 more".
std::string fieldPaths(std::string_view name, const arrow::DataType& type) {
    std::string paths;
    for (int i = 0; i < type.num_fields(); ++i) {
        if (i == static_cast<int>(kFieldsNamed)) {
            strAppend(&paths, " and ", type.num_fields() - i, " more");
            break;
        }
        strAppend(&paths, i == 0 ? "" : ", ", name, ".", type.field(i)->name());
    }
    return paths;
}

std::string whyListRefused(std::string_view name, const arrow::DataType& element) {
    switch (element.id()) {
        case Type::STRUCT:
            return strCat(
                "an element has several values; write each field as a list column of its own (",
                element.num_fields() == 0 ? strCat(name, "_field")
                                          : strCat(name, "_", element.field(0)->name()),
                ", ...)");
        case Type::LIST:
        case Type::LARGE_LIST:
        case Type::LIST_VIEW:
        case Type::LARGE_LIST_VIEW:
        case Type::FIXED_SIZE_LIST:
            return strCat(
                "a feature is a list of plain values; write the inner lists one after the other as "
                "one list, and their lengths as a second list column (",
                name, "_lengths)");
        case Type::MAP:
            return strCat(
                "an element has no fixed fields; write the keys and the values that matter as list "
                "columns of their own (",
                name, "_keys, ", name, "_values)");
        default:
            return strCat("no feature can be made of elements of type ", typeText(element),
                          "; write them as integers in one unit, numbers or texts");
    }
}

class ColumnCollector {
 public:
    ColumnCollector(const arrow::Schema& schema, expr::Schema& out,
                    const std::map<std::string, std::string>& refused)
        : out_(out), refused_(refused) {
        for (const auto& field : schema.fields()) {
            own_.insert(field->name());
        }
        for (const auto& field : schema.fields()) {
            add(*field, field->name(), 0);
        }
    }
    std::map<std::string, std::size_t> take() { return std::move(places_); }

 private:
    // A file may nest structs without end; the recursion must not.
    static constexpr int kDeepest = 100;

    void add(const arrow::Field& field, const std::string& name, int depth) {
        // A column that is called "a.b" has precedence over the field b of a struct a.
        if (depth > 0 && own_.contains(name)) {
            return;
        }
        if (places_.contains(name) || out_.findRefused(name) != nullptr) {
            out_.refused.push_back({name,
                                    "appears twice in the file, and only the first is read; give "
                                    "the second another name",
                                    false});
            return;
        }
        if (name.empty()) {
            out_.refused.push_back(
                {name, "has no name, and nothing can name it; write the file with a name for it",
                 false});
            return;
        }
        const arrow::DataType& type = *field.type();
        if (const auto refused = refused_.find(name); refused != refused_.end()) {
            out_.refused.push_back({name, refused->second, false});
            return;
        }
        if (expr::DataType known; toSpecType(type, known)) {
            places_[name] = out_.fields.size();
            out_.fields.push_back({name, known});
            return;
        }
        // A struct is refused as a column and opens its fields: "user" says why, "user.age" can be
        // read.
        const bool hasFields = type.id() == Type::STRUCT && type.num_fields() > 0;
        out_.refused.push_back({name, whyRefused(name, type), hasFields});
        for (int i = 0; hasFields && depth < kDeepest && i < type.num_fields(); ++i) {
            add(*type.field(i), strCat(name, ".", type.field(i)->name()), depth + 1);
        }
    }

    expr::Schema& out_;
    const std::map<std::string, std::string>& refused_;
    std::set<std::string> own_;  ///< names of the schema's own fields
    std::map<std::string, std::size_t> places_;
};

/// Indices of the struct fields from the top down to `name`, which is named as in ColumnCollector;
/// empty if it does not exist.
std::vector<int> pathOf(const arrow::FieldVector& fields, std::string_view name) {
    // Names may hold dots themselves, so each field whose name is a prefix is tried.
    for (std::size_t i = 0; i < fields.size(); ++i) {
        const std::string& own = fields[i]->name();
        if (own == name) {
            return {static_cast<int>(i)};
        }
        if (fields[i]->type()->id() != Type::STRUCT || name.size() <= own.size() ||
            name[own.size()] != '.' || !name.starts_with(own)) {
            continue;
        }
        const std::vector<int> rest =
            pathOf(fields[i]->type()->fields(), name.substr(own.size() + 1));
        if (!rest.empty()) {
            std::vector<int> path = {static_cast<int>(i)};
            path.insert(path.end(), rest.begin(), rest.end());
            return path;
        }
    }
    return {};
}

}  // namespace

std::map<std::string, std::size_t> addColumns(const arrow::Schema& schema, expr::Schema& out,
                                              const std::map<std::string, std::string>& refused) {
    return ColumnCollector(schema, out, refused).take();
}

std::string whyNoInterval() {
    return strCat("is an interval: ", kWhyNoInterval);
}

std::shared_ptr<arrow::DataType> findType(const arrow::Schema& schema, std::string_view name) {
    const std::vector<int> path = pathOf(schema.fields(), name);
    if (path.empty()) {
        return nullptr;
    }
    std::shared_ptr<arrow::DataType> type = schema.field(path.front())->type();
    for (std::size_t i = 1; i < path.size(); ++i) {
        type = type->field(path[i])->type();
    }
    return type;
}

std::string whyRefused(std::string_view name, const arrow::DataType& type) {
    const std::string is = strCat("is a ", typeText(type), ": ");
    switch (type.id()) {
        case Type::STRUCT:
            return type.num_fields() == 0
                       ? strCat(is, "a struct without fields has no value; leave it out")
                       : strCat(is, "a struct is not one value; name one of its fields: ",
                                fieldPaths(name, type));
        case Type::MAP:
            return strCat(is,
                          "its keys differ from row to row and are not columns; write the keys and "
                          "the values as two list columns (",
                          name, "_keys, ", name, "_values)");
        case Type::LIST:
        case Type::LARGE_LIST:
        case Type::LIST_VIEW:
        case Type::LARGE_LIST_VIEW:
        case Type::FIXED_SIZE_LIST:
            return strCat(
                is,
                whyListRefused(name, *static_cast<const arrow::BaseListType&>(type).value_type()));
        case Type::DURATION:
            return strCat(is,
                          "a length of time has no form that features and expressions know; write "
                          "it as an integer in one unit, such as microseconds");
        case Type::INTERVAL_MONTHS:
        case Type::INTERVAL_DAY_TIME:
        case Type::INTERVAL_MONTH_DAY_NANO:
            return strCat(is, kWhyNoInterval);
        case Type::SPARSE_UNION:
        case Type::DENSE_UNION:
            return strCat(is,
                          "its type changes from row to row; write one column for each type, null "
                          "where the row has another");
        case Type::EXTENSION:
            return strCat(
                is,
                "nothing is known of this type; write it as the plain type that it is stored as");
        case Type::DICTIONARY:
            return strCat(
                is, "a dictionary of values that cannot be a feature; write them as plain columns");
        default:
            return strCat(
                is,
                "nothing is known of this type; write it as a number, a text or a list of these");
    }
}

Result<ArrayPtr> findColumn(const arrow::RecordBatch& batch, std::string_view name,
                            arrow::MemoryPool* pool) {
    const arrow::FieldVector& fields = batch.schema()->fields();
    for (std::size_t i = 0; i < fields.size(); ++i) {
        if (fields[i]->name() == name) {
            return batch.column(static_cast<int>(i));
        }
    }
    // Own names first, as in ColumnCollector.
    const std::vector<int> path = pathOf(fields, name);
    ArrayPtr array;
    for (std::size_t i = 0; i < path.size(); ++i) {
        if (i == 0) {
            array = batch.column(path[0]);
            continue;
        }
        ASSIGN_OR_RETURN(array,
                         fromArrow(static_cast<const arrow::StructArray&>(*array).GetFlattenedField(
                                       path[i], pool),
                                   "struct"));
    }
    return array;
}

Result<std::shared_ptr<arrow::ChunkedArray>> fieldWithin(
    std::shared_ptr<arrow::ChunkedArray> values, int depth, arrow::MemoryPool* pool) {
    for (; depth > 0; --depth) {
        if (values->type()->id() != Type::STRUCT || values->type()->num_fields() != 1) {
            return internalError("a struct of one field was read as ", values->type()->ToString());
        }
        arrow::ArrayVector chunks;
        for (const ArrayPtr& chunk : values->chunks()) {
            ASSIGN_OR_RETURN(
                ArrayPtr field,
                fromArrow(static_cast<const arrow::StructArray&>(*chunk).GetFlattenedField(0, pool),
                          "struct"));
            chunks.push_back(std::move(field));
        }
        values = std::make_shared<arrow::ChunkedArray>(std::move(chunks),
                                                       values->type()->field(0)->type());
    }
    return values;
}

}  // namespace millrace::arrays
