#pragma once
// A hash table from 64-bit keys to rows: cache-line buckets of five keys. Private to the room.
//
// A bucket holds five keys with their row numbers in 64 bytes, so that a look-up costs one cache
// miss; looked up are blocks of keys, whose buckets are all asked for before the first is searched.
// Full buckets spill into the next. Several threads fill it side by side: each has a range of
// buckets and takes the keys that belong there in the order of their rows; what would leave its
// range waits until all have done. So the row of a key is its first, however many threads there
// are.
// Threads: insert() one call at a time, then find() from any.
// Owns: its memory, in huge pages where it is large.
#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "backend/core/status.h"
#include "backend/recipe/row_keys.h"

namespace millrace::recipe {

inline constexpr std::uint32_t kNoRow = ~std::uint32_t{0};
inline constexpr std::size_t kKeyBlock = 64;  ///< keys that are looked up together

/// Keys of up to kKeyBlock rows.
struct KeyBlock {
    std::array<std::uint64_t, kKeyBlock> keys;
    std::array<bool, kKeyBlock> isKey;  ///< not so where a part is null
};

/// The first row, by the second's number, whose key an earlier one has.
struct EqualRows {
    std::uint32_t first = kNoRow, second = kNoRow;
};

class KeyBuckets {
 public:
    /// The keys of a table's rows, and whether two rows with one key are equal.
    struct Source {
        std::function<void(std::int64_t from, std::size_t rows, KeyBlock& block)> load;
        std::function<bool(std::uint32_t row, std::uint32_t other)> isEqual;  ///< none: always
    };

    /// Bytes of a table of so many rows.
    static std::int64_t bytesFor(std::int64_t rows) {
        return static_cast<std::int64_t>(bucketsFor(rows) * sizeof(Bucket));
    }
    /// Empty, with room for so many rows (fewer than kNoRow).
    Status make(std::int64_t rows, const std::string& name);
    std::int64_t bytes() const { return static_cast<std::int64_t>(numBuckets_ * sizeof(Bucket)); }

    /// Puts in each key's first row of rows [0, rows). Stops where a row's key is known already,
    /// unless `isFirstTaken`: gives the lowest such row.
    EqualRows insert(const Source& source, std::int64_t rows, int threads, bool isFirstTaken);
    /// How many keys it has.
    std::int64_t numKeys() const { return numKeys_; }
    /// The rows that find() gives, ascending, of those of a table of so many.
    std::vector<std::int64_t> firstRows(std::int64_t rows) const;

    /// out[i]: the row that has key i of the `rows` keys, or -1. `Asked`: load(from, n, block),
    /// and unless its kIsExact: isEqual(i, row) of the key i of the last block, and ask(row),
    /// fetch(row), which fetch ahead what isEqual() reads.
    template <class Asked>
    void find(Asked&& asked, std::int64_t rows, std::int64_t* out) const {
        KeyBlock block;
        std::array<std::size_t, kKeyBlock> at;
        std::array<std::uint32_t, kKeyBlock> found;
        for (std::int64_t from = 0; from < rows; from += kKeyBlock) {
            const std::size_t n = std::min(kKeyBlock, static_cast<std::size_t>(rows - from));
            asked.load(from, n, block);
            for (std::size_t i = 0; i < n; ++i) {
                at[i] = bucketOf(block.keys[i]);
                __builtin_prefetch(&buckets_.get()[at[i]]);
            }
            for (std::size_t i = 0; i < n; ++i) {
                found[i] = block.isKey[i] ? search(block.keys[i], at[i], anyRow) : kNoRow;
                asked.ask(found[i]);
            }
            if constexpr (!std::remove_cvref_t<Asked>::kIsExact) {
                for (std::size_t i = 0; i < n; ++i) {
                    asked.fetch(found[i]);
                }
                for (std::size_t i = 0; i < n; ++i) {
                    if (found[i] != kNoRow && !asked.isEqual(i, found[i])) {
                        found[i] = search(block.keys[i], at[i],
                                          [&](std::uint32_t row) { return asked.isEqual(i, row); });
                    }
                }
            }
            for (std::size_t i = 0; i < n; ++i) {
                out[static_cast<std::size_t>(from) + i] =
                    found[i] == kNoRow ? -1 : std::int64_t{found[i]};
            }
        }
    }

 private:
    static constexpr std::size_t kBucketKeys = 5;
    struct alignas(64) Bucket {
        std::array<std::uint64_t, kBucketKeys> keys;  ///< an integer, or a hash
        std::array<std::uint32_t, kBucketKeys> rows;
        std::uint32_t count;
    };
    static_assert(sizeof(Bucket) == 64);
    struct Unmap {
        std::size_t bytes;
        void operator()(Bucket* buckets) const;
    };
    struct Chunk;
    struct Filler;

    static bool anyRow(std::uint32_t) { return true; }
    /// Three of four places are taken, so that few keys spill into the next bucket.
    static std::size_t bucketsFor(std::int64_t rows) {
        return static_cast<std::size_t>(rows) * 4 / (3 * kBucketKeys) + 2;
    }
    std::size_t bucketOf(std::uint64_t key) const {
        __extension__ using Wide = unsigned __int128;
        return static_cast<std::size_t>((static_cast<Wide>(mixed(key)) * numBuckets_) >> 64);
    }
    /// The places of the bucket that have the key, as bits.
    static unsigned places(const Bucket& bucket, std::uint64_t key) {
        unsigned equal = 0;
        for (unsigned i = 0; i < kBucketKeys; ++i) {
            equal |= static_cast<unsigned>(bucket.keys[i] == key) << i;
        }
        return equal & ((1U << bucket.count) - 1);
    }
    /// The row that has the key, which belongs into bucket `at`, or kNoRow.
    template <class IsEqual>
    std::uint32_t search(std::uint64_t key, std::size_t at, IsEqual isEqual) const {
        for (;; at = at + 1 == numBuckets_ ? 0 : at + 1) {
            const Bucket& bucket = buckets_.get()[at];
            for (unsigned equal = places(bucket, key); equal != 0; equal &= equal - 1) {
                const std::uint32_t row =
                    bucket.rows[static_cast<std::size_t>(__builtin_ctz(equal))];
                if (isEqual(row)) {
                    return row;
                }
            }
            if (bucket.count < kBucketKeys) {
                return kNoRow;
            }
        }
    }

    std::size_t numBuckets_ = 0;
    std::int64_t numKeys_ = 0;
    std::unique_ptr<Bucket, Unmap> buckets_;
};

}  // namespace millrace::recipe
