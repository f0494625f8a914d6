#pragma once
// Every type of a Parquet or Arrow column that can be a feature, with values.
#include <memory>
#include <string>
#include <vector>

#include <arrow/array/array_base.h>
#include <arrow/array/concatenate.h>
#include <arrow/compute/cast.h>
#include <arrow/datum.h>
#include <arrow/json/from_string.h>
#include <arrow/type.h>
#include <gtest/gtest.h>

namespace millrace::test {

using ArrayPtr = std::shared_ptr<arrow::Array>;
using TypePtr = std::shared_ptr<arrow::DataType>;

/// A type and five values of it, one of them null.
struct Sample {
    std::string name;
    TypePtr type;
    std::string values;
};

inline std::vector<Sample> scalars() {
    using namespace arrow;  // NOLINT
    const std::string small = "[1, null, 0, 7, 100]";
    std::vector<Sample> samples = {
        {"bool", boolean(), "[true, null, false, false, true]"},
        {"int8", int8(), "[1, null, -128, 127, 0]"},
        {"int16", int16(), "[1, null, -32768, 32767, 0]"},
        {"int32", int32(), "[1, null, -2147483648, 2147483647, 0]"},
        {"int64", int64(), "[1, null, -9223372036854775808, 9223372036854775807, 0]"},
        {"uint8", uint8(), "[1, null, 255, 0, 9]"},
        {"uint16", uint16(), "[1, null, 65535, 0, 9]"},
        {"uint32", uint32(), "[1, null, 4294967295, 0, 9]"},
        {"uint64", uint64(), "[1, null, 18446744073709551615, 0, 9]"},
        {"half", float16(), "[1.5, null, -2, 0, 65504]"},
        {"float", float32(), "[1.5, null, -2, 0, 3.4e38]"},
        {"double", float64(), "[1.5, null, -2, 0, 1.7e308]"},
        {"decimal", decimal128(9, 2), "[\"1.25\", null, \"-3.00\", \"0.01\", \"9999999.99\"]"},
        {"wide_decimal", decimal128(30, 4),
         "[\"1.2500\", null, \"-3.0000\", \"0.0001\", \"12345678901234567890.1234\"]"},
        {"decimal32", decimal32(9, 2), "[\"1.25\", null, \"-3.00\", \"0.01\", \"9999999.99\"]"},
        {"decimal64", decimal64(18, 3), "[\"1.250\", null, \"-3.000\", \"0.001\", \"9.000\"]"},
        {"decimal256", decimal256(38, 2), "[\"1.25\", null, \"-3.00\", \"0.01\", \"7.00\"]"},
        {"long_decimal", decimal256(60, 2), "[\"1.25\", null, \"-3.00\", \"0.50\", \"7.00\"]"},
        {"time_s", time32(TimeUnit::SECOND), "[1, null, 0, 7, 86399]"},
        {"time_ms", time32(TimeUnit::MILLI), "[1, null, 0, 7, 86399999]"},
        {"time_us", time64(TimeUnit::MICRO), "[1, null, 0, 7, 86399999999]"},
        {"time_ns", time64(TimeUnit::NANO), "[1999, null, 0, 7, 86399999999999]"},
        {"fixed_binary", fixed_size_binary(3), "[\"abc\", null, \"xyz\", \"abc\", \"...\"]"},
        {"large_binary", large_binary(), "[\"a\", null, \"\", \"b\", \"c\"]"},
        {"date32", date32(), "[1, null, -1, 0, 20000]"},
        {"date64", date64(), "[86400000, null, -86400000, 0, 172800000]"},
        {"string", utf8(), "[\"a\", null, \"\", \"gr\\u00fc\\u00df\", \"a long text to be kept\"]"},
        {"large_string", large_utf8(), "[\"a\", null, \"\", \"b\", \"a long text to be kept\"]"},
        {"binary", binary(), "[\"a\", null, \"\", \"b\", \"c\"]"},
        {"dictionary", dictionary(int32(), utf8()), "[\"x\", null, \"y\", \"x\", \"x\"]"},
    };
    for (const TimeUnit::type unit :
         {TimeUnit::SECOND, TimeUnit::MILLI, TimeUnit::MICRO, TimeUnit::NANO}) {
        const std::string name = "timestamp_" + std::to_string(unit);
        samples.push_back({name, timestamp(unit), small});
        samples.push_back({name + "_zone", timestamp(unit, "Europe/Berlin"), small});
    }
    return samples;
}

/// The sample's values, repeated.
inline ArrayPtr repeated(const Sample& sample, int times) {
    auto values = arrow::json::ArrayFromJSONString(
        sample.type->id() == arrow::Type::DICTIONARY ? arrow::utf8() : sample.type, sample.values);
    EXPECT_TRUE(values.ok()) << sample.name << ": " << values.status();
    ArrayPtr array =
        *arrow::Concatenate(arrow::ArrayVector(static_cast<std::size_t>(times), *values));
    return sample.type->id() == arrow::Type::DICTIONARY
               ? arrow::compute::Cast(array, sample.type)->make_array()
               : array;
}

}  // namespace millrace::test
