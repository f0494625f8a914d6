// parsePageHeader: as much of Thrift's compact protocol as a page header needs.
#include <optional>

#include "backend/pages/page_stream.h"

namespace millrace::pages {
namespace {

// Types of the compact protocol.
enum Wire : int {
    kStop = 0,
    kTrue = 1,
    kFalse = 2,
    kByte = 3,
    kI16 = 4,
    kI32 = 5,
    kI64 = 6,
    kDouble = 7,
    kBinary = 8,
    kList = 9,
    kSet = 10,
    kMap = 11,
    kStruct = 12
};
constexpr int kDeepest = 8;
constexpr std::int64_t kMostId = 0x7fff;  // of a field

// Reads ahead in `bytes`; once they end or make no sense nothing is read any more.
class CompactReader {
 public:
    explicit CompactReader(arrays::ByteSpan bytes)
        : begin_(bytes.begin), at_(bytes.begin), end_(bytes.end) {}

    bool isEnded() const { return isEnded_; }
    bool isBad() const { return isBad_; }
    bool isFine() const { return !isEnded_ && !isBad_; }
    std::int64_t length() const { return at_ - begin_; }

    std::uint8_t byte() {
        if (at_ == end_) {
            isEnded_ = true;
        }
        return isFine() ? *at_++ : std::uint8_t{0};
    }
    std::uint64_t varint() {
        std::uint64_t value = 0;
        for (int shift = 0; shift < 64; shift += 7) {
            const std::uint8_t b = byte();
            value |= static_cast<std::uint64_t>(b & 0x7f) << shift;
            if ((b & 0x80) == 0) {
                return value;
            }
        }
        isBad_ = true;
        return 0;
    }
    std::int32_t i32() {
        const std::uint64_t raw = varint();
        const auto value =
            static_cast<std::int64_t>(raw >> 1) ^ -static_cast<std::int64_t>(raw & 1);
        isBad_ = isBad_ || value != static_cast<std::int32_t>(value);
        return static_cast<std::int32_t>(value);
    }
    /// The next field of a struct; false at its end. `id` is the one before, then this one.
    bool field(int& id, int& type) {
        const std::uint8_t head = byte();
        type = head & 0x0f;
        if (!isFine() || type == kStop) {
            return false;
        }
        const std::int64_t next = (head >> 4) != 0 ? std::int64_t{id} + (head >> 4) : i32();
        isBad_ = isBad_ || next < 0 || next > kMostId;
        id = isBad_ ? 0 : static_cast<int>(next);
        return isFine();
    }
    void skip(int type, int depth = 0) {
        switch (type) {
            case kTrue:
            case kFalse:
                return;
            case kByte:
                byte();
                return;
            case kI16:
            case kI32:
            case kI64:
                varint();
                return;
            case kDouble:
                pass(8);
                return;
            case kBinary:
                pass(varint());
                return;
            case kList:
            case kSet:
                skipList(depth);
                return;
            case kStruct:
                skipStruct(depth);
                return;
            default:
                isBad_ = true;  // maps do not occur in page headers
        }
    }

 private:
    void pass(std::uint64_t bytes) {
        if (bytes > static_cast<std::uint64_t>(end_ - at_)) {
            isEnded_ = true;
        } else if (isFine()) {
            at_ += bytes;
        }
    }
    void skipList(int depth) {
        const std::uint8_t head = byte();
        const std::uint64_t size = (head >> 4) == 15 ? varint() : head >> 4;
        const int type = head & 0x0f;
        if (depth > kDeepest) {
            isBad_ = true;
        }
        for (std::uint64_t i = 0; i < size && isFine(); ++i) {
            // In a list a bool is a byte of its own.
            skip(type == kTrue || type == kFalse ? static_cast<int>(kByte) : type, depth + 1);
        }
    }
    void skipStruct(int depth) {
        if (depth > kDeepest) {
            isBad_ = true;
        }
        int id = 0, type = 0;
        while (isFine() && field(id, type)) {
            skip(type, depth + 1);
        }
    }

    const std::uint8_t *begin_, *at_, *end_;
    bool isEnded_ = false, isBad_ = false;
};

/// Puts field `id` of a struct into its place; false: it has none.
using Places = std::int32_t* (*)(PageHeader&, int);

void readFields(CompactReader& reader, PageHeader& header, Places places, int boolId) {
    int id = 0, type = 0;
    while (reader.isFine() && reader.field(id, type)) {
        std::int32_t* const place = places(header, id);
        if (id == boolId && (type == kTrue || type == kFalse)) {
            header.isCompressed = type == kTrue;
        } else if (place != nullptr && type == kI32) {
            *place = reader.i32();
        } else {
            reader.skip(type);
        }
    }
}

std::int32_t* dataPlaces(PageHeader& h, int id) {
    std::int32_t* const places[] = {&h.numValues, &h.encoding, &h.definitionEncoding,
                                    &h.repetitionEncoding};
    return id >= 1 && id <= 4 ? places[id - 1] : nullptr;
}

std::int32_t* dictionaryPlaces(PageHeader& h, int id) {
    return id == 1 ? &h.numValues : id == 2 ? &h.encoding : nullptr;
}

std::int32_t* dataV2Places(PageHeader& h, int id) {
    std::int32_t* const places[] = {&h.numValues,       nullptr,           &h.numRows, &h.encoding,
                                    &h.definitionBytes, &h.repetitionBytes};
    return id >= 1 && id <= 6 ? places[id - 1] : nullptr;
}

}  // namespace

std::int64_t parsePageHeader(arrays::ByteSpan bytes, PageHeader& header) {
    header = {};
    CompactReader reader(bytes);
    int id = 0, type = 0;
    while (reader.isFine() && reader.field(id, type)) {
        std::int32_t* const places[] = {&header.type, &header.bytes, &header.compressedBytes};
        if (id >= 1 && id <= 3 && type == kI32) {
            *places[id - 1] = reader.i32();
        } else if (id == 4 && type == kI32) {
            header.crc = reader.i32();
            header.hasCrc = true;
        } else if (type == kStruct && id == 5) {
            readFields(reader, header, dataPlaces, -1);
        } else if (type == kStruct && id == 7) {
            readFields(reader, header, dictionaryPlaces, -1);
        } else if (type == kStruct && id == 8) {
            readFields(reader, header, dataV2Places, 7);
        } else {
            reader.skip(type);
        }
    }
    if (reader.isEnded()) {
        return 0;
    }
    const bool isSane = !reader.isBad() && header.type >= 0 && header.bytes >= 0 &&
                        header.compressedBytes >= 0 && header.numValues >= 0 &&
                        header.definitionBytes >= 0 && header.repetitionBytes >= 0;
    return isSane ? reader.length() : -1;
}

}  // namespace millrace::pages
