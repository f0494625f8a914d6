#include "backend/table/sort_key.h"

#include <bit>
#include <cmath>
#include <type_traits>

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>

#include "backend/arrays/integer_at.h"
#include "backend/text/text.h"

namespace millrace::table {

namespace {

constexpr char kValue = 0, kNull = 1;

void appendBigEndian(std::uint64_t value, int bytes, std::string& out) {
    for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) {
        out += static_cast<char>((value >> shift) & 0xff);
    }
}

void appendSigned(std::int64_t value, std::string& out) {
    appendBigEndian(static_cast<std::uint64_t>(value) ^ (std::uint64_t{1} << 63), 8, out);
}

// Sets the sign bit of positive numbers and flips all bits of negative ones: the order of the bits
// is then the order of the numbers. -0 becomes 0; NaN sorts last.
void appendDouble(double value, std::string& out) {
    if (std::isnan(value)) {
        appendBigEndian(~std::uint64_t{0}, 8, out);
        return;
    }
    const auto bits = std::bit_cast<std::uint64_t>(value == 0 ? 0.0 : value);
    const bool isNegative = (bits >> 63) != 0;
    appendBigEndian(isNegative ? ~bits : bits | (std::uint64_t{1} << 63), 8, out);
}

// Escapes a zero byte with 0xff and ends with two zero bytes: a text sorts before its extensions.
void appendText(std::string_view text, std::string& out) {
    for (const char c : text) {
        out += c;
        if (c == 0) {
            out += static_cast<char>(0xff);
        }
    }
    out.append(2, '\0');
}

void appendDecimal(std::string_view littleEndian, std::string& out) {
    for (std::size_t i = littleEndian.size(); i-- > 0;) {
        const bool isTop = i + 1 == littleEndian.size();
        out += static_cast<char>(isTop ? littleEndian[i] ^ '\x80' : littleEndian[i]);
    }
}

void appendInteger(auto value, std::string& out) {
    if constexpr (std::is_signed_v<decltype(value)>) {
        appendSigned(value, out);
    } else {
        appendBigEndian(value, 8, out);
    }
}

void appendValue(const arrow::Array& array, std::int64_t row, std::string& out) {
    if (arrays::takeIntegerAt(array, row, [&out](auto value) { appendInteger(value, out); })) {
        return;
    }
    using arrow::Type;
    switch (array.type_id()) {
        case Type::BOOL:
            out += static_cast<char>(static_cast<const arrow::BooleanArray&>(array).Value(row));
            return;
        case Type::FLOAT:
            return appendDouble(static_cast<const arrow::FloatArray&>(array).Value(row), out);
        case Type::DOUBLE:
            return appendDouble(static_cast<const arrow::DoubleArray&>(array).Value(row), out);
        case Type::STRING:
        case Type::BINARY:
            return appendText(static_cast<const arrow::BinaryArray&>(array).GetView(row), out);
        case Type::DECIMAL128:
        case Type::DECIMAL256:
            return appendDecimal(
                static_cast<const arrow::FixedSizeBinaryArray&>(array).GetView(row), out);
        default:
            return;
    }
}

bool isSortable(const arrow::DataType& type) {
    using arrow::Type;
    switch (type.id()) {
        case Type::BOOL:
        case Type::FLOAT:
        case Type::DOUBLE:
        case Type::DATE32:
        case Type::TIMESTAMP:
        case Type::STRING:
        case Type::BINARY:
        case Type::DECIMAL128:
        case Type::DECIMAL256:
            return true;
        default:
            return arrow::is_integer(type.id());
    }
}

}  // namespace

Result<std::vector<int>> SortKeys::columnsOf(const arrow::Schema& schema,
                                             const std::vector<std::string>& names) {
    std::vector<int> columns;
    for (const std::string& name : names) {
        const int index = schema.GetFieldIndex(name);
        if (index < 0) {
            return invalidArgument("--sort: the table has no column '", name, "'",
                                   nameHint(name, schema.field_names()));
        }
        if (!isSortable(*schema.field(index)->type())) {
            return invalidArgument("--sort: column '", name, "' of type ",
                                   schema.field(index)->type()->ToString(),
                                   " has no order; a number, text, date or time has");
        }
        columns.push_back(index);
    }
    return columns;
}

SortKeys::SortKeys(const arrow::RecordBatch& batch, const std::vector<int>& columns) {
    ends_.reserve(static_cast<std::size_t>(batch.num_rows()) + 1);
    bytes_.reserve(static_cast<std::size_t>(batch.num_rows()) * 9 * columns.size());
    ends_.push_back(0);
    std::vector<std::shared_ptr<arrow::Array>> arrays;
    for (const int column : columns) {
        arrays.push_back(batch.column(column));
    }
    for (std::int64_t row = 0; row < batch.num_rows(); ++row) {
        for (const auto& array : arrays) {
            const bool isNull = array->IsNull(row);
            bytes_ += isNull ? kNull : kValue;
            if (!isNull) {
                appendValue(*array, row, bytes_);
            }
        }
        ends_.push_back(bytes_.size());
    }
}

}  // namespace millrace::table
