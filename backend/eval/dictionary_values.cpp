#include "backend/eval/dictionary_values.h"

#include <string>
#include <vector>

#include <arrow/array/array_primitive.h>
#include <arrow/array/data.h>
#include <arrow/array/util.h>
#include <arrow/buffer.h>
#include <arrow/memory_pool.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>

#include "backend/arrays/arrow_bridge.h"

namespace millrace::eval {
namespace {

using arrays::TextCodes;

/// The entries of a column as its rows.
class EntriesInput final : public ExprInput {
 public:
    EntriesInput(const std::string& name, ArrayPtr entries)
        : name_(name), entries_(std::move(entries)) {}
    std::int64_t rows() const override { return entries_->length(); }
    Result<ArrayPtr> column(const std::string& name) override {
        return name == name_ ? Result<ArrayPtr>(entries_) : internalError("no column ", name);
    }

 private:
    const std::string& name_;
    const ArrayPtr entries_;
};

template <class T>
void gatherWords(const std::uint8_t* from, const std::int32_t* codes, std::int64_t rows,
                 std::uint8_t* to) {
    const T* const values = reinterpret_cast<const T*>(from);
    T* const out = reinterpret_cast<T*>(to);
    for (std::int64_t r = 0; r < rows; ++r) {
        out[r] = values[codes[r]];
    }
}

// `flags`: 0 or 1 an entry.
void gatherBits(const std::vector<std::uint8_t>& flags, const std::int32_t* codes,
                std::int64_t rows, std::uint8_t* to) {
    const std::uint8_t* const flag = flags.data();
    std::int64_t r = 0;
    for (; r + 8 <= rows; r += 8) {
        unsigned bits = 0;
        for (unsigned k = 0; k < 8; ++k) {
            bits |= static_cast<unsigned>(flag[codes[r + k]]) << k;
        }
        to[r / 8] = static_cast<std::uint8_t>(bits);
    }
    unsigned bits = 0;
    for (std::int64_t k = r; k < rows; ++k) {
        bits |= static_cast<unsigned>(flag[codes[k]]) << (k - r);
    }
    if (r < rows) {
        to[r / 8] = static_cast<std::uint8_t>(bits);
    }
}

Result<std::shared_ptr<arrow::Buffer>> allocate(std::int64_t bytes, arrow::MemoryPool* pool) {
    return arrays::fromArrow<std::shared_ptr<arrow::Buffer>>(arrow::AllocateBuffer(bytes, pool),
                                                             "texts");
}

Result<std::shared_ptr<arrow::Buffer>> gatherValues(const TextCodes& coded, const ArrayPtr& made,
                                                    arrow::MemoryPool* pool) {
    const std::int64_t rows = coded.rows();
    const std::int32_t* const codes = coded.raw();
    if (made->type_id() == arrow::Type::BOOL) {
        const auto& bools = static_cast<const arrow::BooleanArray&>(*made);
        std::vector<std::uint8_t> flags(static_cast<std::size_t>(made->length()));
        for (std::int64_t e = 0; e < made->length(); ++e) {
            flags[static_cast<std::size_t>(e)] = bools.Value(e) ? 1 : 0;
        }
        ASSIGN_OR_RETURN(auto bits, allocate((rows + 7) / 8, pool));
        gatherBits(flags, codes, rows, bits->mutable_data());
        return bits;
    }
    const int width = static_cast<const arrow::FixedWidthType&>(*made->type()).byte_width();
    const std::uint8_t* const from = made->data()->buffers[1]->data() + made->offset() * width;
    ASSIGN_OR_RETURN(auto values, allocate(rows * width, pool));
    (width == 4 ? gatherWords<std::uint32_t> : gatherWords<std::uint64_t>)(from, codes, rows,
                                                                           values->mutable_data());
    return values;
}

bool isGathered(const arrow::DataType& type) {
    if (type.id() == arrow::Type::BOOL) {
        return true;
    }
    const bool isPlain = arrow::is_integer(type.id()) || arrow::is_floating(type.id()) ||
                         arrow::is_temporal(type.id());
    const int bits = isPlain ? type.bit_width() : 0;
    return bits == 32 || bits == 64;
}

}  // namespace

std::optional<ArrayPtr> evaluateEntries(const std::string& text, ExprInput& input,
                                        const EvaluateCall& evaluate) {
    const Result<ArrayPtr> stored = input.storedColumn(text);
    const std::optional<TextCodes> coded =
        stored.ok() ? TextCodes::of(**stored) : std::optional<TextCodes>();
    if (!coded || coded->rows() == 0 || !coded->isWorth()) {
        return std::nullopt;
    }
    EntriesInput entries(text, coded->entries);
    Result<ArrayPtr> values = evaluate(entries);
    if (values.ok()) {
        values = gatherEntries(*coded, *values, arrow::default_memory_pool());
    }
    return values.ok() ? std::optional<ArrayPtr>(*std::move(values)) : std::nullopt;
}

Result<ArrayPtr> gatherEntries(const TextCodes& coded, const ArrayPtr& made,
                               arrow::MemoryPool* pool) {
    if (made->type_id() == arrow::Type::STRING) {
        return arrays::plainTexts(coded.with(made), pool);
    }
    if (!isGathered(*made->type())) {
        return takeRows(made, coded.codes);
    }
    ASSIGN_OR_RETURN(auto values, gatherValues(coded, made, pool));
    std::shared_ptr<arrow::Buffer> validity;
    if (made->null_count() > 0) {
        std::vector<std::uint8_t> isValid(static_cast<std::size_t>(made->length()));
        for (std::int64_t e = 0; e < made->length(); ++e) {
            isValid[static_cast<std::size_t>(e)] = made->IsValid(e) ? 1 : 0;
        }
        ASSIGN_OR_RETURN(validity, allocate((coded.rows() + 7) / 8, pool));
        gatherBits(isValid, coded.raw(), coded.rows(), validity->mutable_data());
    }
    return arrow::MakeArray(arrow::ArrayData::Make(made->type(), coded.rows(),
                                                   {std::move(validity), std::move(values)}));
}

}  // namespace millrace::eval
