#pragma once
// Reader of Thrift's compact protocol, as far as page headers and footers need it. Private to
// pages.
//
// Borrows its bytes; after their end or an invalid byte it reads nothing more.
// https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md Threads: one.
// Owns: nothing. Failure: isEnded(), isBad().
#include <cstdint>

#include "backend/arrays/hybrid_runs.h"

namespace millrace::pages {

/// Types of the compact protocol.
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

class CompactReader {
 public:
    explicit CompactReader(arrays::ByteSpan bytes)
        : begin_(bytes.begin), at_(bytes.begin), end_(bytes.end) {}

    bool isEnded() const { return isEnded_; }
    bool isBad() const { return isBad_; }
    bool isFine() const { return !isEnded_ && !isBad_; }
    std::int64_t length() const { return at_ - begin_; }
    const std::uint8_t* at() const { return at_; }

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
    /// The bytes of a binary field.
    arrays::ByteSpan binary() {
        const std::uint64_t bytes = varint();
        const std::uint8_t* const begin = at_;
        pass(bytes);
        return isFine() ? arrays::ByteSpan{begin, at_} : arrays::ByteSpan{end_, end_};
    }
    /// The header of a list: its elements' type and number; each element takes at least one byte.
    std::uint64_t list(int& type) {
        const std::uint8_t head = byte();
        const std::uint64_t size = (head >> 4) == 15 ? varint() : head >> 4;
        type = head & 0x0f;
        isEnded_ = isEnded_ || size > static_cast<std::uint64_t>(end_ - at_);
        return isFine() ? size : 0;
    }
    /// Reads the next field of a struct; false at its end. `id`: in: the previous field's; out:
    /// this one's.
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
                isBad_ = true;  // maps do not occur in Parquet
        }
    }

 private:
    static constexpr int kDeepest = 8;
    static constexpr std::int64_t kMostId = 0x7fff;  // of a field id

    void pass(std::uint64_t bytes) {
        if (bytes > static_cast<std::uint64_t>(end_ - at_)) {
            isEnded_ = true;
        } else if (isFine()) {
            at_ += bytes;
        }
    }
    void skipList(int depth) {
        int type = 0;
        const std::uint64_t size = list(type);
        if (depth > kDeepest) {
            isBad_ = true;
        }
        for (std::uint64_t i = 0; i < size && isFine(); ++i) {
            // In a list a bool takes a byte of its own.
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

}  // namespace millrace::pages
