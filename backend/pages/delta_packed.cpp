#include "backend/pages/delta_packed.h"

#include <algorithm>
#include <cstring>
#include <span>

namespace millrace::pages {

namespace {

constexpr std::uint64_t kBlockMost = 1 << 20, kMiniblocksMost = 1 << 12;  // far above any writer's
constexpr int kReadAhead = 16;  // bytes that unpacking may read past a value's first byte

bool takeVarint(arrays::ByteSpan& bytes, std::uint64_t& value) {
    value = 0;
    for (int shift = 0; shift < 64 && bytes.begin != bytes.end; shift += 7) {
        const std::uint8_t byte = *bytes.begin++;
        value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
        if (byte < 0x80) {
            return true;
        }
    }
    return false;
}

// The signed value as the bits of two's complement.
bool takeZigZag(arrays::ByteSpan& bytes, std::uint64_t& value) {
    if (!takeVarint(bytes, value)) {
        return false;
    }
    value = (value >> 1) ^ (~(value & 1) + 1);
    return true;
}

struct Header {
    std::uint64_t block = 0, miniblocks = 0, count = 0, first = 0;
    std::uint64_t valuesInMiniblock() const { return block / miniblocks; }
};

bool takeHeader(arrays::ByteSpan& page, Header& header) {
    return takeVarint(page, header.block) && takeVarint(page, header.miniblocks) &&
           takeVarint(page, header.count) && takeZigZag(page, header.first) && header.block > 0 &&
           header.block <= kBlockMost && header.miniblocks > 0 &&
           header.miniblocks <= kMiniblocksMost && header.block % header.miniblocks == 0 &&
           header.valuesInMiniblock() % 8 == 0;
}

std::uint64_t wordAt(const std::uint8_t* bytes) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes, sizeof word);
    return word;
}

// Adds up `count` differences of `bits` bits each above `least`, least significant bit first, and
// returns the last value. kReadAhead bytes after them must be readable.
template <class T>
T addUp(const std::uint8_t* packed, int bits, std::uint64_t least, std::int64_t count, T value,
        T* out) {
    const std::uint64_t mask = bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
    std::uint64_t place = 0;  // in bits
    for (std::int64_t i = 0; i < count; ++i, place += static_cast<std::uint64_t>(bits)) {
        const std::uint8_t* const at = packed + (place >> 3);
        const int shift = static_cast<int>(place & 7);
        std::uint64_t delta = wordAt(at) >> shift;
        if (bits + shift > 64) {
            delta |= static_cast<std::uint64_t>(at[8]) << (64 - shift);
        }
        value = static_cast<T>(value + (delta & mask) + least);
        out[i] = value;
    }
    return value;
}

template <class T>
class Unpacker {
 public:
    Unpacker(arrays::ByteSpan page, const Header& header, T* out)
        : page_(page),
          inMiniblock_(static_cast<std::int64_t>(header.valuesInMiniblock())),
          miniblocks_(static_cast<std::int64_t>(header.miniblocks)),
          left_(static_cast<std::int64_t>(header.count)),
          value_(static_cast<T>(header.first)),
          out_(out) {}

    bool unpack() {
        if (left_ > 0) {
            *out_++ = value_;
            --left_;
        }
        while (left_ > 0) {
            if (!takeBlock()) {
                return false;
            }
        }
        return true;
    }
    /// The bytes after the values.
    arrays::ByteSpan rest() const { return page_; }

 private:
    bool takeBlock() {
        std::uint64_t least = 0;
        if (!takeZigZag(page_, least) || page_.size() < miniblocks_) {
            return false;
        }
        const std::span widths(page_.begin, static_cast<std::size_t>(miniblocks_));
        page_.begin += miniblocks_;
        for (const std::uint8_t bits : widths) {
            if (left_ == 0) {
                break;  // widths of miniblocks without a value mean nothing
            }
            if (bits > 8 * sizeof(T) || !takeMiniblock(bits, least)) {
                return false;
            }
        }
        return true;
    }

    bool takeMiniblock(int bits, std::uint64_t least) {
        const std::int64_t count = std::min(left_, inMiniblock_);
        const std::int64_t needed = (count * bits + 7) / 8, whole = inMiniblock_ * bits / 8;
        if (needed > page_.size()) {
            return false;
        }
        if (needed + kReadAhead <= page_.size()) {
            value_ = addUp(page_.begin, bits, least, count, value_, out_);
        } else {
            addUpAtTheEnd(bits, least, count);
        }
        page_.begin += std::min(whole, page_.size());
        out_ += count;
        left_ -= count;
        return true;
    }

    // Handles eight values at a time, which start at a whole byte: copies them to a buffer with
    // readable bytes after them.
    void addUpAtTheEnd(int bits, std::uint64_t least, std::int64_t count) {
        for (std::int64_t done = 0; done < count; done += 8) {
            std::uint8_t copy[8 * sizeof(std::uint64_t) + kReadAhead] = {};
            const std::int64_t from = done * bits / 8;
            std::memcpy(
                copy, page_.begin + from,
                static_cast<std::size_t>(std::min<std::int64_t>(bits, page_.size() - from)));
            value_ = addUp(copy, bits, least, std::min<std::int64_t>(8, count - done), value_,
                           out_ + done);
        }
    }

    arrays::ByteSpan page_;
    const std::int64_t inMiniblock_, miniblocks_;
    std::int64_t left_;
    T value_;
    T* out_;
};

}  // namespace

bool unpackDeltas(arrays::ByteSpan page, std::int64_t most, int width,
                  arrays::PoolVector<std::uint64_t>& words, arrays::ByteSpan& unpacked) {
    Header header;
    if (!takeHeader(page, header) || header.count > static_cast<std::uint64_t>(most)) {
        return false;
    }
    words.resize(static_cast<std::size_t>(header.count) * static_cast<std::size_t>(width) / 8 + 1);
    auto* const bytes = reinterpret_cast<std::uint8_t*>(words.data());
    unpacked = {bytes, bytes + static_cast<std::int64_t>(header.count) * width};
    return width == 4 ? Unpacker(page, header, reinterpret_cast<std::uint32_t*>(bytes)).unpack()
                      : Unpacker(page, header, words.data()).unpack();
}

bool unpackLengths(arrays::ByteSpan page, std::int64_t most,
                   arrays::PoolVector<std::uint64_t>& words, arrays::ByteSpan& spans,
                   arrays::ByteSpan& bytes) {
    Header header;
    if (page.size() > 0 &&  // a page of nulls may have no values at all
        (!takeHeader(page, header) || header.count > static_cast<std::uint64_t>(most))) {
        return false;
    }
    const auto count = static_cast<std::size_t>(header.count);
    words.resize(count + 1);
    auto* const begin = reinterpret_cast<std::uint8_t*>(words.data());
    auto* const made = reinterpret_cast<arrays::TextSpan*>(begin);
    // Uses the upper half of `words`, where each length is read before a span overwrites it.
    auto* const lengths = reinterpret_cast<std::uint32_t*>(begin) + count;
    if (count > 0) {
        Unpacker unpacker(page, header, lengths);
        if (!unpacker.unpack()) {
            return false;
        }
        page = unpacker.rest();
    }
    std::uint64_t end = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint32_t length = lengths[i];
        made[i] = {static_cast<std::uint32_t>(end), length};
        end += length;
    }
    spans = {begin, begin + count * sizeof(arrays::TextSpan)};
    bytes = page;
    return end <= static_cast<std::uint64_t>(page.size());
}

}  // namespace millrace::pages
