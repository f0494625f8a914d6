#include "backend/profile/column_profile.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include <arrow/array.h>
#include <arrow/type.h>
#include <arrow/util/decimal.h>

#include "backend/arrays/decimals.h"
#include "backend/arrays/value_text.h"

namespace millrace::profile {

namespace {

// Limit of list elements examined per split; lengths are counted for all lists.
constexpr std::int64_t kElementsMax = 2'000'000;
constexpr std::int64_t kExampleRows = 64;  ///< rows per split that are searched for examples
constexpr std::size_t kExampleBytes = 32;

Json quantilesJson(const QuantileSketch& sketch) {
    Json quantiles = Json::object();
    for (const char* q : {"0.01", "0.05", "0.25", "0.5", "0.75", "0.95", "0.99"}) {
        quantiles[q] = sketch.quantile(std::atof(q));
    }
    return quantiles;
}

}  // namespace

void ColumnProfile::addNumber(double value) {
    if (std::isnan(value)) {
        ++nans_;
        return;
    }
    min_ = numbers_.count() == 0 ? value : std::min(min_, value);
    max_ = numbers_.count() == 0 ? value : std::max(max_, value);
    sum_ += value;
    zeros_ += value == 0 ? 1 : 0;
    ones_ += value == 1 ? 1 : 0;
    fractions_ += value == std::floor(value) ? 0 : 1;
    numbers_.add(value);
}

template <class ArrayType>
void ColumnProfile::addNumbers(const arrow::Array& values) {
    const auto& numbers = static_cast<const ArrayType&>(values);
    for (std::int64_t r = 0; r < numbers.length(); ++r) {
        if (!numbers.IsNull(r)) {
            const auto value = numbers.Value(r);
            if constexpr (std::is_floating_point_v<decltype(value)>) {
                const double real = value == 0 ? 0.0 : static_cast<double>(value);
                distinct_.add(hashOf(std::bit_cast<std::uint64_t>(real)));
            } else {
                distinct_.add(hashOf(static_cast<std::uint64_t>(value)));
                if (!dates_.isNone()) {
                    dates_.add(std::to_string(value));
                }
            }
            addNumber(static_cast<double>(value));
        }
    }
}

void ColumnProfile::addScalars(const arrow::Array& values) {
    using arrow::Type;
    values_ += values.length() - values.null_count();
    switch (values.type_id()) {
        case Type::BOOL:
            return addNumbers<arrow::BooleanArray>(values);
        case Type::INT8:
            return addNumbers<arrow::Int8Array>(values);
        case Type::INT16:
            return addNumbers<arrow::Int16Array>(values);
        case Type::INT32:
            return addNumbers<arrow::Int32Array>(values);
        case Type::INT64:
            return addNumbers<arrow::Int64Array>(values);
        case Type::UINT8:
            return addNumbers<arrow::UInt8Array>(values);
        case Type::UINT16:
            return addNumbers<arrow::UInt16Array>(values);
        case Type::UINT32:
            return addNumbers<arrow::UInt32Array>(values);
        case Type::UINT64:
            return addNumbers<arrow::UInt64Array>(values);
        case Type::FLOAT:
            return addNumbers<arrow::FloatArray>(values);
        case Type::DOUBLE:
            return addNumbers<arrow::DoubleArray>(values);
        case Type::DATE32:
            return addNumbers<arrow::Date32Array>(values);
        case Type::TIMESTAMP:
            return addNumbers<arrow::TimestampArray>(values);
        default:
            break;
    }
    if (values.type_id() == Type::DECIMAL128) {
        const auto& decimals = static_cast<const arrow::Decimal128Array&>(values);
        const int scale = static_cast<const arrow::Decimal128Type&>(*values.type()).scale();
        for (std::int64_t r = 0; r < values.length(); ++r) {
            if (!values.IsNull(r)) {
                distinct_.add(hashOf(decimals.GetView(r)));
                addNumber(arrays::nearestDouble(arrow::Decimal128(decimals.GetValue(r)), scale));
            }
        }
        return;
    }
    if (values.type_id() == Type::STRING || values.type_id() == Type::BINARY) {
        const auto& texts = static_cast<const arrow::BinaryArray&>(values);
        for (std::int64_t r = 0; r < texts.length(); ++r) {
            if (!texts.IsNull(r)) {
                const std::string_view text = texts.GetView(r);
                distinct_.add(hashOf(text));
                lengths_.add(static_cast<double>(text.size()));
                totalLength_ += static_cast<std::int64_t>(text.size());
                maxLength_ = std::max(maxLength_, static_cast<std::int64_t>(text.size()));
                addText(text);
                dates_.add(text);
            }
        }
    }
}

void ColumnProfile::addText(std::string_view text) {
    if (hasManyTexts_) {
        return;
    }
    const auto known = texts_.find(text);
    if (known != texts_.end()) {
        ++known->second;
    } else if (texts_.size() == kTextsMost || text.size() > kTextBytesMost) {
        hasManyTexts_ = true;
        texts_.clear();
    } else {
        texts_.emplace(text, 1);
    }
}

void ColumnProfile::addExamples(const arrow::Array& values) {
    const std::int64_t rows = std::min(values.length(), kExampleRows);
    for (std::int64_t r = 0; r < rows && examples_.size() < kExamplesMost; ++r) {
        if (values.IsNull(r)) {
            continue;
        }
        std::string text = arrays::valueText(values, r, kExampleBytes);
        if (std::ranges::find(examples_, text) == examples_.end()) {
            examples_.push_back(std::move(text));
        }
    }
}

void ColumnProfile::addLengths(const arrow::Array& values) {
    for (std::int64_t r = 0; r < values.length(); ++r) {
        if (values.IsNull(r)) {
            continue;
        }
        const std::int64_t length =
            values.type_id() == arrow::Type::LIST
                ? static_cast<const arrow::ListArray&>(values).value_length(r)
                : static_cast<const arrow::FixedSizeListArray&>(values).value_length(r);
        lengths_.add(static_cast<double>(length));
        totalLength_ += length;
        maxLength_ = std::max(maxLength_, length);
    }
}

void ColumnProfile::add(const arrow::Array& values) {
    rows_ += values.length();
    nulls_ += values.null_count();
    addExamples(values);
    if (values.type_id() == arrow::Type::LIST) {
        const auto& lists = static_cast<const arrow::ListArray&>(values);
        addLengths(values);
        const std::int64_t begin = lists.value_offset(0);
        const std::int64_t count = lists.value_offset(lists.length()) - begin;
        addScalars(*lists.values()->Slice(begin, std::min(count, kElementsMax)));
        return;
    }
    if (values.type_id() == arrow::Type::FIXED_SIZE_LIST) {
        const auto& lists = static_cast<const arrow::FixedSizeListArray&>(values);
        addLengths(values);
        const std::int64_t begin = lists.value_offset(0);
        const std::int64_t count = lists.value_offset(lists.length()) - begin;
        addScalars(*lists.values()->Slice(begin, std::min(count, kElementsMax)));
        return;
    }
    addScalars(values);
}

std::vector<std::string> ColumnProfile::dateFormats() const {
    std::vector<std::string> formats;
    for (const DateReading* reading : dates_.all()) {
        formats.push_back(reading->format);
    }
    return formats;
}

std::optional<ColumnProfile> ColumnProfile::times() const {
    const std::vector<const DateReading*> readings = dates_.all();
    if (!type_.isString() || type_.isList || readings.size() != 1) {
        return std::nullopt;
    }
    ColumnProfile times(name_, {expr::TypeKind::kTimestamp});
    times.rows_ = rows_;
    times.numbers_ = readings.front()->times;
    times.values_ = static_cast<std::int64_t>(times.numbers_.count());
    times.nulls_ = rows_ - times.values_;
    times.min_ = static_cast<double>(readings.front()->earliest);
    times.max_ = static_cast<double>(readings.front()->latest);
    return times;
}

double ColumnProfile::meanLength() const {
    return lengths_.count() == 0
               ? 0
               : static_cast<double>(totalLength_) / static_cast<double>(lengths_.count());
}

Json ColumnProfile::toJson() const {
    Json json = {{"rows", rows_},
                 {"nulls", nulls_},
                 {"distinct", values_ == 0 ? 0.0 : std::round(distinct())},
                 {"distinct_standard_error", distinct_.standardError()}};
    if (numbers_.count() > 0) {
        json["nans"] = nans_;
        json["min"] = min_;
        json["max"] = max_;
        json["quantiles"] = quantilesJson(numbers_);
    }
    if (lengths_.count() > 0) {
        json["length"] = {
            {"mean", meanLength()}, {"max", maxLength_}, {"quantiles", quantilesJson(lengths_)}};
    }
    return json;
}

}  // namespace millrace::profile
