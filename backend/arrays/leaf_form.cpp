#include "backend/arrays/leaf_form.h"

#include <algorithm>
#include <cstring>

#include <arrow/buffer.h>
#include <arrow/memory_pool.h>
#include <arrow/type.h>
#include <parquet/schema.h>
#include <parquet/types.h>

#include "backend/arrays/arrow_bridge.h"
#include "backend/arrays/bit_unpack.h"

namespace millrace::arrays {
namespace {

using arrow::Type;
using Turn = LeafForm::Turn;

bool isInt(const parquet::LogicalType& logical, int bits, bool isSigned) {
    const auto* number = dynamic_cast<const parquet::IntLogicalType*>(&logical);
    return number != nullptr && number->is_signed() == isSigned && number->bit_width() == bits;
}

// Pairs of stored and pinned type that need no check of values (Parquet's LogicalTypes.md). All
// other columns go to Arrow's reader, which is slower and knows every type.
bool formOfInt32(const parquet::LogicalType& logical, Type::type pinned, LeafForm& form) {
    form.width = 4;
    switch (pinned) {
        case Type::INT32:
            return logical.is_none() || isInt(logical, 32, true);
        case Type::UINT32:
            return isInt(logical, 32, false);
        case Type::DATE32:
            return logical.is_date();
        case Type::INT8:
        case Type::UINT8:
            form.turn = Turn::kNarrow;
            return isInt(logical, 8, pinned == Type::INT8);
        case Type::INT16:
        case Type::UINT16:
            form.turn = Turn::kNarrow;
            return isInt(logical, 16, pinned == Type::INT16);
        default:
            return false;
    }
}

bool formOfUnit(parquet::LogicalType::TimeUnit::unit unit, LeafForm& form) {
    using Unit = parquet::LogicalType::TimeUnit;
    form.turn = unit == Unit::MILLIS  ? Turn::kMultiply
                : unit == Unit::NANOS ? Turn::kDivide
                                      : Turn::kNone;
    return unit != Unit::UNKNOWN;
}

bool formOfInt64(const parquet::LogicalType& logical, Type::type pinned, LeafForm& form) {
    form.width = 8;
    switch (pinned) {
        case Type::INT64:
            if (const auto* time = dynamic_cast<const parquet::TimeLogicalType*>(&logical)) {
                return formOfUnit(time->time_unit(), form);
            }
            return logical.is_none() || isInt(logical, 64, true);
        case Type::UINT64:
            return isInt(logical, 64, false);
        case Type::TIMESTAMP: {
            const auto* time = dynamic_cast<const parquet::TimestampLogicalType*>(&logical);
            return time != nullptr && formOfUnit(time->time_unit(), form);
        }
        default:
            return false;
    }
}

bool isText(const parquet::LogicalType& logical) {
    return logical.is_none() || logical.is_string() || logical.is_enum() || logical.is_JSON() ||
           logical.is_BSON();
}

template <class T>
// The low bytes suffice: Parquet stores INT(8) and INT(16) sign-extended or zero-extended to 32
// bits.
void narrow(const std::uint32_t* from, std::int64_t rows, std::uint8_t* to) {
    T* const out = reinterpret_cast<T*>(to);
    for (std::int64_t i = 0; i < rows; ++i) {
        out[i] = static_cast<T>(from[i]);
    }
}

// Arrow's bitmaps have the first value in the lowest bit. `from` holds 0 or 1, and 0 for nulls.
void packBits(const std::uint32_t* from, std::int64_t rows, std::uint8_t* to) {
    for (std::int64_t i = 0; i < rows; i += 8) {
        std::uint32_t bits = 0;
        for (std::int64_t k = 0; k < std::min<std::int64_t>(8, rows - i); ++k) {
            bits |= (from[i + k] & 1) << k;
        }
        to[i / 8] = static_cast<std::uint8_t>(bits);
    }
}

// PLAIN encoding of BYTE_ARRAY: a length of four bytes, little-endian, then the bytes, for each
// text. Lengths come from the file, so each one is checked against the end of the page.
bool spansOf(ByteSpan page, std::int64_t count, PoolVector<std::uint64_t>& words) {
    // A text takes at least four bytes, so a false count cannot cost more than the page's bytes.
    words.resize(static_cast<std::size_t>(std::clamp<std::int64_t>(count, 0, page.size() / 4)));
    const std::uint8_t* at = page.begin;
    std::int64_t i = 0;
    for (; i < count && at != page.end; ++i) {
        std::uint32_t length = 0;
        if (page.end - at < 4) {
            return false;
        }
        std::memcpy(&length, at, 4);
        at += 4;
        if (page.end - at < static_cast<std::int64_t>(length)) {
            return false;
        }
        const TextSpan span{static_cast<std::uint32_t>(at - page.begin), length};
        std::memcpy(words.data() + i, &span, sizeof(span));
        at += length;
    }
    words.resize(static_cast<std::size_t>(i));
    return true;
}

}  // namespace

bool LeafForm::of(const parquet::ColumnDescriptor& column, const arrow::DataType& pinned,
                  LeafForm& form) {
    static const auto kNone = parquet::LogicalType::None();
    const auto& stored = column.logical_type();
    const parquet::LogicalType& logical = stored == nullptr ? *kNone : *stored;
    form = {};
    switch (column.physical_type()) {
        case parquet::Type::INT32:
            return formOfInt32(logical, pinned.id(), form);
        case parquet::Type::INT64:
            return formOfInt64(logical, pinned.id(), form);
        case parquet::Type::FLOAT:
            form.width = 4;
            return pinned.id() == Type::FLOAT && logical.is_none();
        case parquet::Type::DOUBLE:
            form.width = 8;
            return pinned.id() == Type::DOUBLE && logical.is_none();
        case parquet::Type::BOOLEAN:
            form = {4, Turn::kBits};
            return pinned.id() == Type::BOOL && logical.is_none();
        case parquet::Type::BYTE_ARRAY:
            form = {8, Turn::kTexts};
            return pinned.id() == Type::STRING && isText(logical);
        default:
            return false;
    }
}

bool unpackPlain(const LeafForm& form, ByteSpan page, std::int64_t count,
                 PoolVector<std::uint64_t>& words, ByteSpan& unpacked) {
    if (form.turn == Turn::kTexts) {
        const bool isFine = spansOf(page, count, words);
        unpacked = {reinterpret_cast<const std::uint8_t*>(words.data()),
                    reinterpret_cast<const std::uint8_t*>(words.data() + words.size())};
        return isFine;
    }
    // A page has eight bools per byte; the last bits may be padding.
    const std::int64_t bits = std::min(count, page.size() * 8);
    words.resize(static_cast<std::size_t>(bits / 2 + 1));
    auto* const bools = reinterpret_cast<std::uint32_t*>(words.data());
    unpackBits(page.begin, page.end, 1, bits, bools);
    unpacked = {reinterpret_cast<const std::uint8_t*>(bools),
                reinterpret_cast<const std::uint8_t*>(bools + bits)};
    return true;
}

Result<TextTarget> TextTarget::make(std::int64_t rows, arrow::MemoryPool* pool) {
    TextTarget target;
    ASSIGN_OR_RETURN(target.offsets_,
                     fromArrow(arrow::AllocateResizableBuffer((rows + 1) * 4, pool), "decode"));
    ASSIGN_OR_RETURN(target.bytes_, fromArrow(arrow::AllocateResizableBuffer(0, pool), "decode"));
    std::memset(target.offsets_->mutable_data(), 0, 4);
    return target;
}

Status TextTarget::append(ByteSpan page, const TextSpan* spans, std::int64_t count) {
    // Short texts are copied as whole blocks, so a spare block is needed at the end.
    constexpr std::int64_t kBlock = 16;
    std::int64_t most = used_ + kBlock;
    for (std::int64_t i = 0; i < count; ++i) {
        most += spans[i].length;
    }
    // Arrow's utf8 has offsets of 32 bits.
    if (most > std::int64_t{0x7fffffff}) {
        return resourceExhausted("more than 2 GB of text in one split; write smaller row groups");
    }
    if (most > bytes_->size()) {
        // Growth by doubling keeps copies linear, but needs more memory than the texts: if the pool
        // refuses it, the exact size may still fit.
        const std::int64_t room = most <= expected_ ? expected_ : 2 * bytes_->size();
        arrow::Status status = bytes_->Resize(std::max(most, room), /*shrink_to_fit=*/false);
        if (status.IsOutOfMemory() && room > most) {
            status = bytes_->Resize(most, /*shrink_to_fit=*/false);
        }
        RETURN_IF_ERROR(fromArrow(status, "decode"));
    }
    if ((rows_ + count + 1) * 4 > offsets_->size()) {
        const std::int64_t bytes = std::max((rows_ + count + 1) * 4, 2 * offsets_->size());
        RETURN_IF_ERROR(fromArrow(offsets_->Resize(bytes, /*shrink_to_fit=*/false), "decode"));
    }
    std::uint8_t* const to = bytes_->mutable_data();
    auto* const ends = reinterpret_cast<std::int32_t*>(offsets_->mutable_data()) + rows_ + 1;
    for (std::int64_t i = 0; i < count; ++i) {
        const std::uint8_t* const from = page.begin + spans[i].offset;
        const auto length = static_cast<std::int64_t>(spans[i].length);
        // A copy of constant size needs no call; the bytes behind a short text are overwritten by
        // the next one. The page's last texts have fewer than kBlock bytes behind them.
        if (length <= kBlock && page.end - from >= kBlock) {
            std::memcpy(to + used_, from, kBlock);
        } else if (length > 0) {
            std::memcpy(to + used_, from, static_cast<std::size_t>(length));
        }
        used_ += length;
        ends[i] = static_cast<std::int32_t>(used_);
    }
    rows_ += count;
    return okStatus();
}

std::shared_ptr<arrow::Buffer> TextTarget::offsets() const {
    return arrow::SliceBuffer(offsets_, 0, (rows_ + 1) * 4);
}

std::shared_ptr<arrow::Buffer> TextTarget::bytes() const {
    return arrow::SliceBuffer(bytes_, 0, used_);
}

Result<std::shared_ptr<arrow::Buffer>> turnWords(const LeafForm& form,
                                                 const arrow::DataType& pinned, std::int64_t rows,
                                                 std::shared_ptr<arrow::Buffer> words,
                                                 arrow::MemoryPool* pool) {
    if (form.turn == Turn::kMultiply || form.turn == Turn::kDivide) {
        auto* const values = reinterpret_cast<std::int64_t*>(words->mutable_data());
        bool isFine = true;
        for (std::int64_t i = 0; i < rows; ++i) {
            if (form.turn == Turn::kDivide) {
                values[i] = microsOfNanos(values[i]);
            } else {
                // Null values hold 0, so only real values can overflow.
                isFine &= !__builtin_mul_overflow(values[i], 1000, &values[i]);
            }
        }
        return isFine
                   ? Result<std::shared_ptr<arrow::Buffer>>(std::move(words))
                   : invalidArgument("a time is too far from 1970 to be counted in microseconds");
    }
    if (form.turn == Turn::kNone) {
        return words;
    }
    const int bits = form.turn == Turn::kBits
                         ? 1
                         : static_cast<const arrow::FixedWidthType&>(pinned).bit_width();
    ASSIGN_OR_RETURN(std::shared_ptr<arrow::Buffer> turned,
                     fromArrow(arrow::AllocateBuffer((rows * bits + 7) / 8, pool), "decode"));
    const auto* const from = reinterpret_cast<const std::uint32_t*>(words->data());
    if (bits == 1) {
        packBits(from, rows, turned->mutable_data());
    } else if (bits == 8) {
        narrow<std::uint8_t>(from, rows, turned->mutable_data());
    } else {
        narrow<std::uint16_t>(from, rows, turned->mutable_data());
    }
    return turned;
}

}  // namespace millrace::arrays
