#pragma once
// The values of one data page, in order: plain, or indices into the column chunk's dictionary.
//
// Values are copied by their width and never interpreted, so integers and floats of one width are
// handled alike. Threads: one. Borrows page and dictionary. Failure: false for bytes that are too
// short or have an index beyond the dictionary; nothing beyond the bytes is read.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>

#include "backend/pages/hybrid_stream.h"

namespace millrace::pages {

struct PageDictionary {
    const std::uint64_t* values = nullptr;  ///< bytes of the values, consecutive
    std::int64_t size = -1;                 ///< number of values; -1: no dictionary
};

class PageValues {
 public:
    /// Returns false for a damaged page.
    bool open(bool isDictionary, arrays::ByteSpan bytes, const PageDictionary& dictionary) {
        isDictionary_ = isDictionary;
        plain_ = bytes;
        if (!isDictionary || bytes.size() == 0) {
            return true;  // a page of nulls has no values at all
        }
        dictionary_ = dictionary.values;
        size_ = static_cast<std::uint64_t>(std::max<std::int64_t>(dictionary.size, 0));
        indices_ = HybridStream({bytes.begin + 1, bytes.end}, *bytes.begin);
        return *bytes.begin <= 32;
    }
    /// Opens a hybrid stream of bools as words of four bytes.
    void openBits(arrays::ByteSpan bytes) {
        static constexpr std::uint64_t kFalseTrue = std::uint64_t{1} << 32;
        isDictionary_ = true;
        dictionary_ = &kFalseTrue;
        size_ = 2;
        indices_ = HybridStream(bytes, 1);
    }
    bool isDictionary() const { return isDictionary_; }
    /// Makes read() and pick() return a dictionary page's indices instead of values, as words of
    /// four bytes.
    void giveIndices() { givesIndices_ = true; }

    /// Reads the next `count` values.
    template <class T>
    bool read(std::int64_t count, T* out);
    /// Reads those of the next `count` values at `places` (ascending).
    template <class T>
    bool pick(std::span<const std::int64_t> places, std::int64_t count, T* out);
    bool skip(std::int64_t count, int width);

    /// For a dictionary page: reads the next `count` indices; false if one is outside the
    /// dictionary.
    bool readIndices(std::int64_t count, std::uint32_t* out);
    template <class T>
    const T* dictionary() const {
        return reinterpret_cast<const T*>(dictionary_);
    }
    /// For a plain page: the position of the next `count` values, unaligned; null if they are
    /// missing.
    const std::uint8_t* takePlain(std::int64_t count, int width);

 private:
    static constexpr std::int64_t kBlock = 4096;  ///< indices that fit into the first-level cache

    bool isDictionary_ = false, givesIndices_ = false;
    arrays::ByteSpan plain_;
    HybridStream indices_;
    const std::uint64_t* dictionary_ = nullptr;
    std::uint64_t size_ = 0;
};

inline const std::uint8_t* PageValues::takePlain(std::int64_t count, int width) {
    const std::uint8_t* const at = plain_.begin;
    if (count * width > plain_.size()) {
        return nullptr;
    }
    plain_.begin += count * width;
    return at;
}

inline bool PageValues::readIndices(std::int64_t count, std::uint32_t* out) {
    if (!indices_.read(count, out)) {
        return false;
    }
    std::uint32_t most = 0;
    for (std::int64_t i = 0; i < count; ++i) {
        most = std::max(most, out[i]);
    }
    return count == 0 || most < size_;
}

inline bool PageValues::skip(std::int64_t count, int width) {
    return isDictionary_ ? indices_.skip(count) : takePlain(count, width) != nullptr;
}

template <class T>
bool PageValues::read(std::int64_t count, T* out) {
    if (!isDictionary_) {
        const std::uint8_t* const from = takePlain(count, sizeof(T));
        if (from != nullptr && count > 0) {
            std::memcpy(out, from, static_cast<std::size_t>(count) * sizeof(T));
        }
        return from != nullptr || count == 0;
    }
    const T* const values = dictionary<T>();
    std::uint32_t index[kBlock];
    for (std::int64_t a = 0; a < count; a += kBlock) {
        const std::int64_t n = std::min(kBlock, count - a);
        if constexpr (sizeof(T) == sizeof(std::uint32_t)) {
            if (givesIndices_) {
                if (!readIndices(n, reinterpret_cast<std::uint32_t*>(out) + a)) {
                    return false;
                }
                continue;
            }
        }
        if (!readIndices(n, index)) {
            return false;
        }
        for (std::int64_t i = 0; i < n; ++i) {
            out[a + i] = values[index[i]];
        }
    }
    return true;
}

template <class T>
bool PageValues::pick(std::span<const std::int64_t> places, std::int64_t count, T* out) {
    if (!isDictionary_) {
        const std::uint8_t* const from = takePlain(count, sizeof(T));
        for (const std::int64_t place : places) {
            if (from == nullptr) {
                return false;
            }
            std::memcpy(out++, from + place * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
        }
        return from != nullptr || count == 0;
    }
    const T* const values = dictionary<T>();
    std::uint32_t index[kBlock];
    auto place = places.begin();
    for (std::int64_t a = 0; a < count; a += kBlock) {
        const std::int64_t n = std::min(kBlock, count - a);
        const auto last = std::lower_bound(place, places.end(), a + n);
        if (place == last) {
            if (!indices_.skip(n)) {
                return false;
            }
            continue;
        }
        if (!readIndices(n, index)) {
            return false;
        }
        for (; place != last; ++place) {
            const std::uint32_t at = index[*place - a];
            *out++ = givesIndices_ ? static_cast<T>(at) : values[at];
        }
    }
    return true;
}

}  // namespace millrace::pages
