#include "backend/csv/csv_target.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include <arrow/array/array_base.h>
#include <arrow/array/data.h>
#include <arrow/array/util.h>
#include <arrow/buffer.h>
#include <arrow/memory_pool.h>
#include <arrow/type.h>

#include "backend/arrays/arrow_bridge.h"
#include "backend/csv/csv_fast.h"

namespace millrace::csv {
namespace {

using K = expr::TypeKind;
using ArrayPtr = std::shared_ptr<arrow::Array>;
using BufferPtr = std::shared_ptr<arrow::ResizableBuffer>;
using Options = CsvTarget::Options;

Result<BufferPtr> allocate(std::int64_t bytes, const Options& options) {
    ASSIGN_OR_RETURN(
        auto buffer,
        arrays::fromArrow(arrow::AllocateResizableBuffer(bytes, options.pool), options.path));
    return BufferPtr(std::move(buffer));
}

/// The common part of all columns: number of rows, and which are null.
class Target : public CsvTarget {
 public:
    Target(const expr::DataType& type, const Options& options)
        : type_(arrays::toArrowType(type)), options_(options) {}

 protected:
    /// Marks row `row` as null.
    Status setNull(std::int64_t row) {
        // Made with the first null: most columns have none.
        if (validity_ == nullptr) {
            const std::int64_t bytes = (options_.rows + 7) / 8;
            ASSIGN_OR_RETURN(validity_, allocate(bytes, options_));
            std::memset(validity_->mutable_data(), 0xff, static_cast<std::size_t>(bytes));
        }
        validity_->mutable_data()[row / 8] &= static_cast<std::uint8_t>(~(1U << (row % 8)));
        ++nulls_;
        return okStatus();
    }
    ArrayPtr arrayOf(std::vector<std::shared_ptr<arrow::Buffer>> values) {
        values.insert(values.begin(), std::move(validity_));
        return arrow::MakeArray(
            arrow::ArrayData::Make(type_, options_.rows, std::move(values), nulls_));
    }

    const std::shared_ptr<arrow::DataType> type_;
    const Options options_;
    std::int64_t rows_ = 0;  ///< number of rows so far
    std::string memory_;     ///< for a value with doubled quotes

 private:
    BufferPtr validity_;
    std::int64_t nulls_ = 0;
};

/// `Parse` has fast(text, size, value) and full(std::string_view, value).
template <class Value, class Parse>
class FixedTarget final : public Target {
 public:
    using Target::Target;
    Status reserve() {
        const std::int64_t bytes =
            kIsBit ? (options_.rows + 7) / 8 : options_.rows * std::int64_t{sizeof(Value)};
        ASSIGN_OR_RETURN(values_, allocate(bytes, options_));
        if constexpr (kIsBit) {
            std::memset(values_->mutable_data(), 0, static_cast<std::size_t>(bytes));
        }
        return okStatus();
    }

    Result<std::size_t> append(const CsvFields& all) override {
        const CsvNulls& nulls = *options_.nulls;
        const CsvField* field = all.fields;
        for (std::size_t r = 0; r < all.rows; ++r, field += all.stride) {
            // The value of a null is 0.
            Value value{};
            const std::size_t size = field->end - field->begin;
            const char* const text = all.text.at(*field);
            if (size == 0) {
                RETURN_IF_ERROR(setNull(rows_));
                // The fast path takes the usual form alone; quotes, blanks, null words and rare
                // forms take the other. Both give the same value where both take a text.
            } else if (nulls.mayHide(*text) || !Parse::fast(text, size, value)) {
                ASSIGN_OR_RETURN(const bool isValue, appendSlowly(all.text, *field, value));
                if (!isValue) {
                    return r;
                }
            }
            put(value);
        }
        return all.rows;
    }
    Result<ArrayPtr> finish() override { return arrayOf({std::move(values_)}); }

 private:
    static constexpr bool kIsBit = std::is_same_v<Value, bool>;

    void put(Value value) {
        const std::int64_t row = rows_++;
        if constexpr (kIsBit) {
            values_->mutable_data()[row / 8] |=
                static_cast<std::uint8_t>((value ? 1U : 0U) << (row % 8));
        } else {
            reinterpret_cast<Value*>(values_->mutable_data())[row] = value;
        }
    }
    Result<bool> appendSlowly(const CsvText& text, const CsvField& field, Value& value) {
        const std::string_view written = text.value(field, memory_);
        if (!options_.nulls->isNull(written)) {
            return Parse::full(written, value);
        }
        value = Value{};
        RETURN_IF_ERROR(setNull(rows_));
        return true;
    }

    BufferPtr values_;
};

template <class T>
struct Whole {
    static bool fast(const char* text, std::size_t size, T& value) {
        std::int64_t wide = 0;
        if (!fast::whole(text, size, wide) || !std::in_range<T>(wide)) {
            return false;
        }
        value = static_cast<T>(wide);
        return true;
    }
    static bool full(std::string_view text, T& value) { return csvInteger(text, value); }
};

template <class T>
struct Number {
    static bool fast(const char* text, std::size_t size, T& value) {
        double wide = 0;
        const bool isNumber = fast::number(text, size, wide);
        value = static_cast<T>(wide);
        return isNumber;
    }
    static bool full(std::string_view text, T& value) {
        double wide = 0;
        const bool isNumber = csvNumber(text, wide);
        value = static_cast<T>(wide);
        return isNumber;
    }
};

template <class T>
struct CommaNumber {
    static bool fast(const char*, std::size_t, T&) { return false; }
    static bool full(std::string_view text, T& value) {
        double wide = 0;
        const bool isNumber = csvCommaNumber(text, wide);
        value = static_cast<T>(wide);
        return isNumber;
    }
};

struct Truth {
    static bool fast(const char* text, std::size_t size, bool& value) {
        value = size == 4 && std::memcmp(text, "true", 4) == 0;
        return value || (size == 5 && std::memcmp(text, "false", 5) == 0);
    }
    static bool full(std::string_view text, bool& value) { return csvBool(text, value); }
};

struct Day {
    static bool fast(const char* text, std::size_t size, std::int32_t& days) {
        return fast::date(text, size, days);
    }
    static bool full(std::string_view text, std::int32_t& days) { return csvDate(text, days); }
};

struct Time {
    static bool fast(const char* text, std::size_t size, std::int64_t& micros) {
        return fast::time(text, size, micros);
    }
    static bool full(std::string_view text, std::int64_t& micros) { return csvTime(text, micros); }
};

class TextTarget final : public Target {
 public:
    using Target::Target;
    Status reserve() {
        ASSIGN_OR_RETURN(ends_, allocate((options_.rows + 1) * 4, options_));
        ends()[0] = 0;
        const auto room =
            static_cast<std::int64_t>(kMore * static_cast<double>(options_.textBytes));
        ASSIGN_OR_RETURN(bytes_, allocate(room + kSpare, options_));
        return okStatus();
    }

    Result<std::size_t> append(const CsvFields& all) override {
        RETURN_IF_ERROR(makeRoom(all));
        const CsvNulls& nulls = *options_.nulls;
        const CsvField* field = all.fields;
        for (std::size_t r = 0; r < all.rows; ++r, field += all.stride) {
            std::string_view value(all.text.at(*field), field->end - field->begin);
            const bool isQuoted = all.text.isQuoted(*field);
            if (isQuoted) {
                value = all.text.value(*field, memory_);
            }
            if ((value.empty() && !isQuoted) || nulls.isNullText(value)) {
                RETURN_IF_ERROR(setNull(rows_));
                value = {};
            }
            put(value);
        }
        return all.rows;
    }

    Result<ArrayPtr> finish() override {
        RETURN_IF_ERROR(arrays::fromArrow(bytes_->Resize(size_, false), options_.path));
        return arrayOf({std::move(ends_), std::move(bytes_)});
    }

 private:
    static constexpr double kMore = 1.03125;  ///< extra room, relative to the expected bytes
    // A short text is copied as 16 bytes, without a call; the bytes behind it are overwritten.
    static constexpr std::int64_t kSpare = 16, kMost = std::numeric_limits<std::int32_t>::max() - 1;

    std::int32_t* ends() { return reinterpret_cast<std::int32_t*>(ends_->mutable_data()); }

    void put(std::string_view value) {
        std::uint8_t* const to = bytes_->mutable_data() + size_;
        // memory_ may be shorter than kSpare bytes, which the first copy reads.
        if (value.size() <= kSpare && value.data() != memory_.data() && !value.empty()) {
            std::memcpy(to, value.data(), kSpare);
        } else if (!value.empty()) {
            std::memcpy(to, value.data(), value.size());
        }
        size_ += static_cast<std::int64_t>(value.size());
        ends()[++rows_] = static_cast<std::int32_t>(size_);
    }

    Status makeRoom(const CsvFields& all) {
        std::int64_t size = size_;
        for (std::size_t r = 0; r < all.rows; ++r) {
            const CsvField& field = all.fields[r * all.stride];
            size += std::int64_t{field.end} - field.begin;
        }
        if (size > kMost) {
            return arrays::fromArrow(arrow::Status::CapacityError("array cannot contain more than ",
                                                                  kMost, " bytes, have ", size),
                                     options_.path);
        }
        if (size + kSpare <= bytes_->size()) {
            return okStatus();
        }
        // Assumes that the remaining texts are about as long, so that memory seldom grows twice.
        const double rowsSoFar = static_cast<double>(rows_) + static_cast<double>(all.rows);
        const double expected =
            static_cast<double>(size) * static_cast<double>(options_.rows) / rowsSoFar;
        const auto room = static_cast<std::int64_t>(std::min<double>(kMore * expected, kMost));
        return arrays::fromArrow(bytes_->Resize(std::max(size, room) + kSpare, false),
                                 options_.path);
    }

    BufferPtr ends_, bytes_;
    std::int64_t size_ = 0;
};

template <class T>
Result<std::unique_ptr<CsvTarget>> made(const expr::DataType& type, const Options& options) {
    auto target = std::make_unique<T>(type, options);
    RETURN_IF_ERROR(target->reserve());
    return std::unique_ptr<CsvTarget>(std::move(target));
}

template <class T>
Result<std::unique_ptr<CsvTarget>> numberTarget(const expr::DataType& type,
                                                const Options& options) {
    return options.hasDecimalComma ? made<FixedTarget<T, CommaNumber<T>>>(type, options)
                                   : made<FixedTarget<T, Number<T>>>(type, options);
}

template <class T>
Result<std::unique_ptr<CsvTarget>> wholeTarget(const expr::DataType& type, const Options& options) {
    return made<FixedTarget<T, Whole<T>>>(type, options);
}

}  // namespace

Result<std::unique_ptr<CsvTarget>> CsvTarget::make(const expr::DataType& type,
                                                   const Options& options) {
    switch (type.kind) {
        case K::kBool:
            return made<FixedTarget<bool, Truth>>(type, options);
        case K::kInt8:
            return wholeTarget<std::int8_t>(type, options);
        case K::kInt16:
            return wholeTarget<std::int16_t>(type, options);
        case K::kInt32:
            return wholeTarget<std::int32_t>(type, options);
        case K::kInt64:
            return wholeTarget<std::int64_t>(type, options);
        case K::kUint8:
            return wholeTarget<std::uint8_t>(type, options);
        case K::kUint16:
            return wholeTarget<std::uint16_t>(type, options);
        case K::kUint32:
            return wholeTarget<std::uint32_t>(type, options);
        case K::kUint64:
            return wholeTarget<std::uint64_t>(type, options);
        case K::kFloat:
            return numberTarget<float>(type, options);
        case K::kDouble:
            return numberTarget<double>(type, options);
        case K::kString:
            return made<TextTarget>(type, options);
        case K::kDate:
            return made<FixedTarget<std::int32_t, Day>>(type, options);
        case K::kTimestamp:
            return made<FixedTarget<std::int64_t, Time>>(type, options);
        default:
            return std::unique_ptr<CsvTarget>();
    }
}

}  // namespace millrace::csv
