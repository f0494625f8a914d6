#pragma once
// Column types and schemas as plain values, against which expressions are typed (no Arrow here).
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "backend/core/status.h"

namespace millrace::expr {

enum class TypeKind {
    kNull,  ///< only the type of `null`
    kBool,
    kInt8,
    kInt16,
    kInt32,
    kInt64,
    kUint8,
    kUint16,
    kUint32,
    kUint64,
    kFloat,
    kDouble,
    kDecimal,
    kString,
    kDate,
    kTimestamp,  ///< microseconds since 1970, UTC, unless the dataset says otherwise
};

/// A column's type: a scalar, or a list of scalars.
struct DataType {
    TypeKind kind = TypeKind::kNull;  ///< of the elements if isList
    bool isList = false;
    std::int32_t listSize = 0;  ///< elements of a fixed-size list; 0: any number
    bool nullable = true;

    /// "int64", "string[]", "float[16]".
    std::string name() const;
    /// Equal except for nullability.
    bool isSame(const DataType& other) const {
        return kind == other.kind && isList == other.isList && listSize == other.listSize;
    }
    bool isInteger() const;  ///< a scalar integer
    bool isFloat() const;    ///< float or double, scalar
    bool isNumber() const;   ///< integer, float, double or decimal, scalar
    bool isString() const { return !isList && kind == TypeKind::kString; }
    bool isBool() const { return !isList && kind == TypeKind::kBool; }
    bool isTemporal() const;  ///< date or timestamp, scalar
    bool isNull() const { return !isList && kind == TypeKind::kNull; }
    DataType element() const { return {kind, false, 0, true}; }
    bool operator==(const DataType&) const = default;
};

/// A type by its SQL or Arrow name, ignoring case: "int", "bigint", "int64", "double", "varchar",
/// "string", "float[]", ... kInvalidArgument with the nearest name otherwise.
Result<DataType> parseType(std::string_view name);

struct Field {
    std::string name;
    DataType type;
    bool operator==(const Field&) const = default;
};

/// A column in the data that cannot be read directly.
struct RefusedColumn {
    std::string name;
    std::string why;  ///< "is a map<string, int64>: ..., write ... instead": the text after its
                      ///< name
    bool hasFields = false;  ///< a struct: its fields are columns by path
    bool differs = false;    ///< differs between the files of a dataset, or some files lack it
    bool operator==(const RefusedColumn&) const = default;
};

/// Columns in order. Names must match exactly; a struct's fields are columns such as `user.age`.
struct Schema {
    std::vector<Field> fields;
    std::vector<RefusedColumn> refused;

    const Field* find(std::string_view name) const;
    std::vector<std::string> names() const;
    const RefusedColumn* findRefused(std::string_view name) const;
    /// The message for a name that find() does not know: "unknown column 'x'; did you mean 'y'?",
    /// or why the column of this name cannot be read.
    std::string whyUnknown(std::string_view name) const;
    /// Like whyUnknown(), for a side table: "movies.csv has no column 'x'; ...".
    std::string whyUnknownIn(std::string_view table, std::string_view name) const;
    /// Adds the column, or replaces the type of an existing one.
    void set(std::string_view name, const DataType& type);
    bool operator==(const Schema&) const = default;
};

/// A schema's columns by name, for repeated lookups in a wide schema, where Schema::find() would
/// scan all columns. The schema must outlive it unchanged.
class ColumnIndex {
 public:
    explicit ColumnIndex(const Schema& schema);
    /// Null if the column does not exist.
    const Field* find(std::string_view name) const;

 private:
    std::unordered_map<std::string_view, const Field*> fields_;
};

}  // namespace millrace::expr
