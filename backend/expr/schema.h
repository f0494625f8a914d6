#pragma once
// Column types and schemas as plain values: what expressions are typed against (no Arrow here).
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "backend/core/status.h"

namespace millrace::expr {

enum class TypeKind {
    kNull,  ///< the type of `null` alone
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
    TypeKind kind = TypeKind::kNull;  ///< of the elements when isList
    bool isList = false;
    std::int32_t listSize = 0;  ///< elements of a fixed-size list; 0: any number
    bool nullable = true;

    /// "int64", "string[]", "float[16]".
    std::string name() const;
    /// Equal but for nullability.
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

/// A type by its SQL or Arrow name, without regard to case: "int", "bigint", "int64", "double",
/// "varchar", "string", "float[]", ... kInvalidArgument with the nearest name otherwise.
Result<DataType> parseType(std::string_view name);

struct Field {
    std::string name;
    DataType type;
    bool operator==(const Field&) const = default;
};

/// A column that stands in the data and cannot be read as it is.
struct RefusedColumn {
    std::string name;
    std::string why;  ///< "is a map<string, int64>: ..., write ... instead": what follows its name
    bool hasFields = false;  ///< a struct: its fields are columns of their own, by path
    bool differs = false;    ///< between the files of a dataset, each of which has it or lacks it
    bool operator==(const RefusedColumn&) const = default;
};

/// Columns in order. Names are compared exactly; a struct's fields are columns `user.age`.
struct Schema {
    std::vector<Field> fields;
    std::vector<RefusedColumn> refused;

    const Field* find(std::string_view name) const;
    std::vector<std::string> names() const;
    const RefusedColumn* findRefused(std::string_view name) const;
    /// What to say of a name that find() does not know: "unknown column 'x'; did you mean 'y'?", or
    /// why the column of this name cannot be read.
    std::string whyUnknown(std::string_view name) const;
    /// The same of a side table's column: "movies.csv has no column 'x'; ...".
    std::string whyUnknownIn(std::string_view table, std::string_view name) const;
    /// Adds the column, or replaces the type of the one with this name.
    void set(std::string_view name, const DataType& type);
    bool operator==(const Schema&) const = default;
};

/// A schema's columns by name, for who asks for many of a wide one again and again: Schema::find()
/// goes through all of them. The schema outlives it, where it is and as it is.
class ColumnIndex {
 public:
    explicit ColumnIndex(const Schema& schema);
    /// Null: there is none.
    const Field* find(std::string_view name) const;

 private:
    std::unordered_map<std::string_view, const Field*> fields_;
};

}  // namespace millrace::expr
