#include "backend/files/schema_union.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "backend/text/text.h"

namespace millrace::files {
namespace {

using K = expr::TypeKind;

/// Bits that a number holds without loss: of integers with their sign, or of a float's mantissa.
struct NumberKind {
    int bits = 0;
    bool isSigned = false, isFloat = false;
};

std::optional<NumberKind> numberKind(K kind) {
    switch (kind) {
        case K::kInt8:
        case K::kInt16:
        case K::kInt32:
        case K::kInt64:
            return NumberKind{8 << (static_cast<int>(kind) - static_cast<int>(K::kInt8)), true,
                              false};
        case K::kUint8:
        case K::kUint16:
        case K::kUint32:
        case K::kUint64:
            return NumberKind{8 << (static_cast<int>(kind) - static_cast<int>(K::kUint8)), false,
                              false};
        case K::kFloat:
            return NumberKind{24, true, true};
        case K::kDouble:
            return NumberKind{53, true, true};
        default:
            return std::nullopt;
    }
}

/// The smallest type that holds the values of both; false if there is none. Integers of 64 bits
/// combined with floats become doubles: reading one that no double can hold fails.
bool widerKind(K a, K b, K& wider) {
    if ((a == K::kDate && b == K::kTimestamp) || (a == K::kTimestamp && b == K::kDate)) {
        wider = K::kTimestamp;
        return true;
    }
    if (a == K::kNull || b == K::kNull || a == b) {
        wider = a == K::kNull ? b : a;
        return true;
    }
    const auto x = numberKind(a), y = numberKind(b);
    if (!x || !y) {
        return false;
    }
    if (x->isFloat || y->isFloat) {
        const auto isSmall = [](const NumberKind& one) { return one.bits <= 24; };
        wider = isSmall(*x) && isSmall(*y) ? K::kFloat : K::kDouble;
        return true;
    }
    int bits = std::max(x->bits, y->bits);
    if (x->isSigned != y->isSigned) {
        bits = std::max(bits, 2 * (x->isSigned ? y->bits : x->bits));
    }
    const bool isSigned = x->isSigned || y->isSigned;
    const int step = bits == 8 ? 0 : bits == 16 ? 1 : bits == 32 ? 2 : 3;
    wider = static_cast<K>(static_cast<int>(isSigned ? K::kInt8 : K::kUint8) + step);
    return bits <= 64;
}

bool widerType(const expr::DataType& a, const expr::DataType& b, expr::DataType& wider) {
    wider = a;
    wider.nullable = a.nullable || b.nullable;
    wider.listSize = a.listSize == b.listSize ? a.listSize : 0;
    const bool isNull = a.isNull() || b.isNull();
    if (isNull) {
        wider.isList = a.isList || b.isList;
    }
    return (a.isList == b.isList || isNull) && widerKind(a.kind, b.kind, wider.kind);
}

/// Whether the reader can convert `from` to `to`, or reports the value that it cannot convert.
bool canRead(const expr::DataType& from, const expr::DataType& to) {
    if (from.isNull()) {
        return true;
    }
    if (from.isList != to.isList) {
        return false;
    }
    K wider = K::kNull;
    const bool fromNumber = numberKind(from.kind) || from.kind == K::kDecimal;
    const bool toNumber = numberKind(to.kind).has_value();
    if ((widerKind(from.kind, to.kind, wider) && wider == to.kind) || (fromNumber && toNumber)) {
        return true;
    }
    const bool isWhole = numberKind(from.kind) && !numberKind(from.kind)->isFloat;
    return !from.isList && ((isWhole && to.kind == K::kString) || (from.isString() && toNumber));
}

/// Not those of a side table, which has its CSV options elsewhere and no more keys.
bool hasDatasetKeys(const ReadOptions& options) {
    return options.csvKey == ReadOptions().csvKey;
}

/// The type that columns of both could be given.
std::string fixFor(std::string_view name, const expr::DataType& a, const expr::DataType& b,
                   const ReadOptions& options) {
    if (!hasDatasetKeys(options)) {
        return "; all files of a side table must have it in one type";
    }
    for (const K kind : {K::kString, K::kDouble}) {
        const expr::DataType type{kind, a.isList, 0, true};
        if (canRead(a, type) && canRead(b, type)) {
            return strCat("; `dataset.types: {", yamlScalar(std::string(name), true), ": ",
                          type.name(), "}` reads it as one type in all files");
        }
    }
    return "; write these files anew with one type";
}

}  // namespace

Result<SchemaUnion> SchemaUnion::make(const std::vector<DataFile>& files,
                                      const ReadOptions& options) {
    SchemaUnion united(files, options);
    if (options.format != "csv") {
        for (const auto& [name, typeName] : options.types) {
            Result<expr::DataType> type = expr::parseType(typeName);
            RETURN_IF_ERROR(annotate(type.status(), strCat("dataset.types.", name)));
            united.given_.emplace(name, *type);
        }
    }
    return united;
}

void SchemaUnion::add(std::size_t file, const expr::Schema& one) {
    if (!isEmpty_ && one == last_) {
        return;  // most files equal the previous one
    }
    const std::size_t known = columns_.size();
    for (std::size_t i = 0; i < known; ++i) {
        if (columns_[i].why.empty()) {
            widen(columns_[i], file, one);
        }
    }
    for (const expr::Field& field : one.fields) {
        if (!field.name.empty() && !places_.contains(field.name)) {
            addNew(field, file);
        }
    }
    addRefused(one, file);
    first_ = isEmpty_ ? file : first_;
    isEmpty_ = false;
    last_ = one;
}

void SchemaUnion::widen(Column& column, std::size_t file, const expr::Schema& one) {
    expr::DataType& type = column.field.type;
    const std::string& name = column.field.name;
    const std::string& before = files_[column.origin].path;
    const expr::Field* other = one.find(name);
    if (other == nullptr) {
        if (const auto* refused = one.findRefused(name)) {
            column.why = strCat("is ", type.name(), " in ", before, ", and in ", files_[file].path,
                                " it ", refused->why);
        } else if (!options_.areMissingColumnsNull) {
            column.why = notIn(file, column.origin);
        }
        return;
    }
    if (given_.contains(name)) {
        give(column, other->type, file);
        return;
    }
    expr::DataType wider;
    if (!widerType(type, other->type, wider)) {
        column.why = strCat("is ", other->type.name(), " in ", files_[file].path, ", but ",
                            type.name(), " in ", before, fixFor(name, type, other->type, options_));
        return;
    }
    column.origin = wider.isSame(type) ? column.origin : file;
    type = wider;
}

void SchemaUnion::addNew(const expr::Field& field, std::size_t file) {
    places_.emplace(field.name, columns_.size());
    Column& column = columns_.emplace_back(Column{field, file, ""});
    if (const auto known = refusedIn_.find(field.name); known != refusedIn_.end()) {
        const auto refused = std::ranges::find(refused_, field.name, &expr::RefusedColumn::name);
        column.why = strCat("is ", field.type.name(), " in ", files_[file].path, ", and in ",
                            files_[known->second].path, " it ", refused->why);
    } else if (!isEmpty_ && !options_.areMissingColumnsNull) {
        column.why = notIn(first_, file);
    } else if (given_.contains(field.name)) {
        give(column, field.type, file);
    }
}

void SchemaUnion::addRefused(const expr::Schema& one, std::size_t file) {
    for (const expr::RefusedColumn& column : one.refused) {
        if (refusedIn_.emplace(column.name, file).second) {
            refused_.push_back(column);
        }
    }
}

void SchemaUnion::give(Column& column, const expr::DataType& type, std::size_t file) const {
    const expr::DataType& given = given_.find(column.field.name)->second;
    if (!canRead(type, given)) {
        column.why = strCat("is ", type.name(), " in ", files_[file].path, ", which dataset.types.",
                            column.field.name, " cannot read as ", given.name(),
                            "; integers and texts are read as texts, numbers and texts as numbers");
        return;
    }
    const std::int32_t size =
        column.origin == file || column.field.type.listSize == type.listSize ? type.listSize : 0;
    column.field.type = given;
    column.field.type.listSize = given.isList ? size : 0;
}

std::string SchemaUnion::notIn(std::size_t without, std::size_t with) const {
    return strCat("is not in ", files_[without].path, ", but in ", files_[with].path,
                  hasDatasetKeys(options_)
                      ? "; `dataset.missing_columns: null` reads it as null there"
                      : "; all files of a side table must have it");
}

expr::Schema SchemaUnion::take() {
    expr::Schema schema;
    for (Column& column : columns_) {
        if (column.why.empty()) {
            schema.fields.push_back(std::move(column.field));
        } else {
            schema.refused.push_back({std::move(column.field.name), std::move(column.why), false,
                                      /*differs=*/true});
        }
    }
    for (expr::RefusedColumn& column : refused_) {
        if (schema.findRefused(column.name) == nullptr) {
            schema.refused.push_back(std::move(column));
        }
    }
    return schema;
}

}  // namespace millrace::files
