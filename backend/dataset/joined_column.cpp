#include "backend/dataset/joined_column.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include <arrow/array/array_binary.h>
#include <arrow/array/concatenate.h>
#include <arrow/array/util.h>
#include <arrow/buffer.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>
#include <arrow/util/bit_util.h>
#include <arrow/util/bitmap_ops.h>

#include "backend/arrays/arrow_bridge.h"
#include "backend/core/system_memory.h"

namespace millrace::dataset {
namespace {

using ArrayPtr = std::shared_ptr<arrow::Array>;

/// Bytes per value; 0: Arrow joins such columns.
std::int64_t widthOf(const arrow::DataType& type) {
    const bool isPlain = arrow::is_primitive(type.id()) && type.id() != arrow::Type::BOOL;
    return isPlain ? static_cast<const arrow::FixedWidthType&>(type).bit_width() / 8 : 0;
}

}  // namespace

/// Growing memory, zero until written.
class JoinedColumn::Memory : public arrow::MutableBuffer {
 public:
    static Result<std::shared_ptr<Memory>> make(std::int64_t capacity, const std::string& place) {
        ASSIGN_OR_RETURN(SystemMemory memory,
                         SystemMemory::make(static_cast<std::size_t>(capacity), place));
        return std::make_shared<Memory>(std::move(memory));
    }
    explicit Memory(SystemMemory memory)
        : MutableBuffer(memory.as<std::uint8_t>(), 0), memory_(std::move(memory)) {}

    /// Sets the size; if memory must grow, it grows once, to `expected`, for all pieces to come.
    Status resize(std::int64_t bytes, std::int64_t expected, const std::string& place) {
        if (static_cast<std::size_t>(bytes) > memory_.size()) {
            RETURN_IF_ERROR(
                memory_.grow(static_cast<std::size_t>(std::max(bytes, expected)), place));
            data_ = memory_.as<std::uint8_t>();
        }
        size_ = bytes;
        capacity_ = bytes;
        return okStatus();
    }
    template <class T>
    T* as() {
        return reinterpret_cast<T*>(mutable_data());
    }

 private:
    SystemMemory memory_;
};

JoinedColumn::JoinedColumn(std::int64_t rows, std::string place)
    : place_(std::move(place)), rows_(rows) {}
JoinedColumn::~JoinedColumn() = default;
JoinedColumn::JoinedColumn(JoinedColumn&&) noexcept = default;

bool JoinedColumn::isText() const {
    return type_->id() == arrow::Type::STRING;
}

Status JoinedColumn::place(std::vector<ArrayPtr> pieces) {
    if (type_ == nullptr) {
        type_ = pieces.front()->type();
    }
    if (!isText() && widthOf(*type_) == 0) {
        kept_.insert(kept_.end(), pieces.begin(), pieces.end());
        return okStatus();
    }
    places_.clear();
    Place end{done_, textBytes_};
    for (const ArrayPtr& piece : pieces) {
        if (piece->type_id() != type_->id()) {
            return internalError(place_, ": ", type_->ToString(), " and ",
                                 piece->type()->ToString());
        }
        places_.push_back(end);
        end.row += piece->length();
        end.byte +=
            isText() ? static_cast<const arrow::StringArray&>(*piece).total_values_length() : 0;
    }
    pieces_ = std::move(pieces);
    return isText() ? placeTexts(end) : placeValues();
}

Status JoinedColumn::placeValues() {
    if (values_ != nullptr) {
        return okStatus();
    }
    const std::int64_t bytes = rows_ * widthOf(*type_);
    ASSIGN_OR_RETURN(values_, Memory::make(bytes, place_));
    return values_->resize(bytes, 0, place_);
}

Status JoinedColumn::placeTexts(const Place& end) {
    if (end.byte > std::numeric_limits<std::int32_t>::max()) {
        return arrays::fromArrow(
            arrow::Status::Invalid("offset overflow while concatenating arrays, consider casting "
                                   "input from `string` to `large_string` first"),
            place_);
    }
    const std::int64_t expected =
        end.row == 0 ? end.byte : end.byte + end.byte / 16 + end.byte / end.row * (rows_ - end.row);
    if (offsets_ == nullptr) {
        ASSIGN_OR_RETURN(offsets_, Memory::make((rows_ + 1) * 4, place_));
        RETURN_IF_ERROR(offsets_->resize((rows_ + 1) * 4, 0, place_));
        ASSIGN_OR_RETURN(values_, Memory::make(expected, place_));
    }
    RETURN_IF_ERROR(values_->resize(end.byte, expected, place_));
    textBytes_ = end.byte;
    offsets_->as<std::int32_t>()[end.row] = static_cast<std::int32_t>(end.byte);
    return okStatus();
}

void JoinedColumn::copy(std::size_t piece) {
    if (piece >= pieces_.size()) {
        return;  // such a piece is kept, not copied
    }
    if (isText()) {
        copyTexts(*pieces_[piece], places_[piece]);
        return;
    }
    const std::int64_t width = widthOf(*type_);
    const arrow::ArrayData& data = *pieces_[piece]->data();
    std::memcpy(values_->as<std::uint8_t>() + places_[piece].row * width,
                data.buffers[1]->data() + data.offset * width,
                static_cast<std::size_t>(data.length * width));
}

void JoinedColumn::copyTexts(const arrow::Array& array, const Place& place) {
    const auto& piece = static_cast<const arrow::StringArray&>(array);
    const std::int32_t* from = piece.raw_value_offsets();
    std::int32_t* to = offsets_->as<std::int32_t>() + place.row;
    const auto moved = static_cast<std::int32_t>(place.byte) - from[0];
    for (std::int64_t row = 0; row < piece.length(); ++row) {
        to[row] = from[row] + moved;
    }
    if (piece.total_values_length() > 0) {
        std::memcpy(values_->as<std::uint8_t>() + place.byte, piece.raw_data() + from[0],
                    static_cast<std::size_t>(piece.total_values_length()));
    }
}

Status JoinedColumn::letGo() {
    for (const ArrayPtr& piece : pieces_) {
        RETURN_IF_ERROR(copyNulls(*piece, done_));
        done_ += piece->length();
    }
    pieces_.clear();
    return okStatus();
}

Status JoinedColumn::copyNulls(const arrow::Array& piece, std::int64_t at) {
    const std::int64_t nulls = piece.null_count();
    if (nulls > 0 && valid_ == nullptr) {
        const std::int64_t bytes = arrow::bit_util::BytesForBits(rows_);
        ASSIGN_OR_RETURN(valid_, Memory::make(bytes, place_));
        RETURN_IF_ERROR(valid_->resize(bytes, 0, place_));
        arrow::bit_util::SetBitsTo(valid_->as<std::uint8_t>(), 0, rows_, true);
    }
    if (nulls > 0) {
        arrow::internal::CopyBitmap(piece.null_bitmap_data(), piece.offset(), piece.length(),
                                    valid_->as<std::uint8_t>(), at);
    }
    nulls_ += nulls;
    return okStatus();
}

Result<ArrayPtr> JoinedColumn::finish() {
    if (!kept_.empty()) {
        return arrays::fromArrow(arrow::Concatenate(kept_), place_);
    }
    std::vector<std::shared_ptr<arrow::Buffer>> buffers{valid_};
    if (offsets_ != nullptr) {
        buffers.push_back(offsets_);
    }
    buffers.push_back(values_);
    return arrow::MakeArray(arrow::ArrayData::Make(type_, rows_, std::move(buffers), nulls_));
}

}  // namespace millrace::dataset
