#include "backend/expr/schema.h"

#include <algorithm>

#include "backend/text/text.h"

namespace millrace::expr {
namespace {

struct TypeName {
    std::string_view name;
    TypeKind kind;
};

/// The first name of each kind is used in messages and JSON.
constexpr TypeName kTypeNames[] = {
    {"null", TypeKind::kNull},        {"bool", TypeKind::kBool},
    {"int8", TypeKind::kInt8},        {"int16", TypeKind::kInt16},
    {"int32", TypeKind::kInt32},      {"int64", TypeKind::kInt64},
    {"uint8", TypeKind::kUint8},      {"uint16", TypeKind::kUint16},
    {"uint32", TypeKind::kUint32},    {"uint64", TypeKind::kUint64},
    {"float", TypeKind::kFloat},      {"double", TypeKind::kDouble},
    {"decimal", TypeKind::kDecimal},  {"string", TypeKind::kString},
    {"date", TypeKind::kDate},        {"timestamp", TypeKind::kTimestamp},
    {"boolean", TypeKind::kBool},     {"tinyint", TypeKind::kInt8},
    {"smallint", TypeKind::kInt16},   {"int", TypeKind::kInt32},
    {"integer", TypeKind::kInt32},    {"bigint", TypeKind::kInt64},
    {"long", TypeKind::kInt64},       {"utinyint", TypeKind::kUint8},
    {"usmallint", TypeKind::kUint16}, {"uinteger", TypeKind::kUint32},
    {"ubigint", TypeKind::kUint64},   {"real", TypeKind::kFloat},
    {"float4", TypeKind::kFloat},     {"float32", TypeKind::kFloat},
    {"float8", TypeKind::kDouble},    {"float64", TypeKind::kDouble},
    {"numeric", TypeKind::kDecimal},  {"varchar", TypeKind::kString},
    {"text", TypeKind::kString},      {"datetime", TypeKind::kTimestamp}};

std::string lowered(std::string_view text) {
    std::string out(text);
    for (char& c : out) {
        c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
    return out;
}

}  // namespace

std::string DataType::name() const {
    std::string_view base = "null";
    for (const TypeName& entry : kTypeNames) {
        if (entry.kind == kind) {
            base = entry.name;
            break;
        }
    }
    if (!isList) {
        return std::string(base);
    }
    return listSize > 0 ? strCat(base, "[", listSize, "]") : strCat(base, "[]");
}

bool DataType::isInteger() const {
    return !isList && kind >= TypeKind::kInt8 && kind <= TypeKind::kUint64;
}
bool DataType::isFloat() const {
    return !isList && (kind == TypeKind::kFloat || kind == TypeKind::kDouble);
}
bool DataType::isNumber() const {
    return !isList && kind >= TypeKind::kInt8 && kind <= TypeKind::kDecimal;
}
bool DataType::isTemporal() const {
    return !isList && (kind == TypeKind::kDate || kind == TypeKind::kTimestamp);
}

Result<DataType> parseType(std::string_view name) {
    DataType type;
    std::string base = lowered(name);
    if (const std::size_t open = base.find('['); open != std::string::npos && base.back() == ']') {
        const std::string count = base.substr(open + 1, base.size() - open - 2);
        if (count.size() > 6 || count.find_first_not_of("0123456789") != std::string::npos) {
            return invalidArgument("'", name, "' is not a type; a list is written like int64[]");
        }
        type.isList = true;
        type.listSize = count.empty() ? 0 : std::stoi(count);
        base.resize(open);
    }
    std::vector<std::string> known;
    for (const TypeName& entry : kTypeNames) {
        if (entry.name == base && entry.kind != TypeKind::kNull) {
            type.kind = entry.kind;
            return type;
        }
        known.emplace_back(entry.name);
    }
    const std::string near = nearestName(base, known);
    return invalidArgument("unknown type '", name.substr(0, 40), "'",
                           near.empty() ? "; known: bool, int8 to int64, uint8 to uint64, float, "
                                          "double, decimal, string, date, timestamp"
                                        : strCat("; did you mean '", near, "'?"));
}

// Schemas may have thousands of columns with a common prefix: comparing the last letter rejects
// most of them without a call.
const Field* Schema::find(std::string_view name) const {
    for (const Field& field : fields) {
        if (field.name.size() == name.size() &&
            (name.empty() || (field.name.back() == name.back() && field.name == name))) {
            return &field;
        }
    }
    return nullptr;
}

ColumnIndex::ColumnIndex(const Schema& schema) {
    fields_.reserve(schema.fields.size());
    for (const Field& field : schema.fields) {
        fields_.emplace(field.name, &field);
    }
}

const Field* ColumnIndex::find(std::string_view name) const {
    const auto at = fields_.find(name);
    return at == fields_.end() ? nullptr : at->second;
}

std::vector<std::string> Schema::names() const {
    std::vector<std::string> out;
    out.reserve(fields.size());
    for (const Field& field : fields) {
        out.push_back(field.name);
    }
    return out;
}

const RefusedColumn* Schema::findRefused(std::string_view name) const {
    const auto at = std::ranges::find_if(
        refused, [name](const RefusedColumn& one) { return one.name == name; });
    return at == refused.end() ? nullptr : &*at;
}

std::string Schema::whyUnknown(std::string_view name) const {
    const RefusedColumn* const known = findRefused(name);
    return known != nullptr ? strCat("column '", name, "' ", known->why)
                            : strCat("unknown column '", name, "'", nameHint(name, names()));
}

std::string Schema::whyUnknownIn(std::string_view table, std::string_view name) const {
    return findRefused(name) != nullptr
               ? strCat(table, ": ", whyUnknown(name))
               : strCat(table, " has no column '", name, "'", nameHint(name, names()));
}

void Schema::set(std::string_view name, const DataType& type) {
    for (Field& field : fields) {
        if (field.name == name) {
            field.type = type;
            return;
        }
    }
    fields.push_back({std::string(name), type});
}

}  // namespace millrace::expr
