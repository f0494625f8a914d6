#include "backend/pages/hybrid_stream.h"

#include <algorithm>
#include <cstring>

#include "backend/arrays/bit_unpack.h"

namespace millrace::pages {

bool HybridStream::startRun() {
    std::uint64_t header = 0;
    for (int shift = 0;; shift += 7) {
        if (at_ == end_ || shift > 35) {
            return false;
        }
        header |= static_cast<std::uint64_t>(*at_ & 0x7f) << shift;
        if ((*at_++ & 0x80) == 0) {
            break;
        }
    }
    const auto units = static_cast<std::int64_t>(header >> 1);
    isPacked_ = (header & 1) != 0;
    if (units == 0) {
        return false;
    }
    if (isPacked_) {
        // A writer may omit the padding of the last group: reads only the bytes that exist.
        const std::int64_t bytes = std::min<std::int64_t>(units * width_, end_ - at_);
        packed_ = at_;
        taken_ = 0;
        left_ = width_ == 0 ? units * 8 : bytes * 8 / width_;
        at_ += bytes;
        return left_ > 0;
    }
    const int bytes = (width_ + 7) / 8;
    if (end_ - at_ < bytes) {
        return false;
    }
    value_ = 0;
    for (int b = 0; b < bytes; ++b) {
        value_ |= static_cast<std::uint32_t>(*at_++) << (8 * b);
    }
    left_ = units;
    return true;
}

void HybridStream::readPacked(std::int64_t count, std::uint32_t* out) {
    if ((taken_ & 7) != 0) {
        // Groups of eight start at a whole byte; unpacks the rest of this group through a buffer.
        std::uint32_t group[8];
        const std::int64_t begin = taken_ & ~std::int64_t{7};
        const std::int64_t n = std::min<std::int64_t>(8 - (taken_ & 7), count);
        const std::int64_t most = std::min<std::int64_t>(8, taken_ + left_ - begin);
        arrays::unpackBits(packed_ + begin * width_ / 8, at_, width_, most, group);
        std::memcpy(out, group + (taken_ & 7), static_cast<std::size_t>(n) * sizeof(*out));
        taken_ += n;
        left_ -= n;
        out += n;
        count -= n;
    }
    if (count > 0) {
        arrays::unpackBits(packed_ + taken_ * width_ / 8, at_, width_, count, out);
        taken_ += count;
        left_ -= count;
    }
}

bool HybridStream::read(std::int64_t count, std::uint32_t* out) {
    while (count > 0) {
        if (left_ == 0 && !startRun()) {
            return false;
        }
        const std::int64_t n = std::min(count, left_);
        if (isPacked_) {
            readPacked(n, out);
        } else {
            std::fill_n(out, n, value_);
            left_ -= n;
        }
        out += n;
        count -= n;
    }
    return true;
}

bool HybridStream::skip(std::int64_t count) {
    while (count > 0) {
        if (left_ == 0 && !startRun()) {
            return false;
        }
        const std::int64_t n = std::min(count, left_);
        taken_ += n;
        left_ -= n;
        count -= n;
    }
    return true;
}

}  // namespace millrace::pages
