#pragma once
// A hash table from 64-bit keys, or short texts, to rows, in cache-line buckets. Private to recipe.
//
// A bucket holds five 64-bit keys, or four of twelve bytes, with their row numbers in 64 bytes, so
// that a lookup costs one cache miss. Lookups run in blocks of keys. The buckets of a block are
// prefetched while the previous block is searched, and once more for keys that continue in the next
// bucket. If most lookups may miss, a Bloom filter rejects nearly all of them first. It has a bit
// or two per key (a word for two buckets, three of its bits per key), and stays in the cache when
// the buckets do not. Full buckets spill into the next.
// Several threads fill the table in parallel: each has a range of buckets and inserts the keys for
// that range in row order. Keys that leave their range wait until all threads are done. A key's row
// is therefore its first, for any number of threads.
// Threads: insert() one call at a time, then find() from any. Owns: its memory (huge pages).
#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include "backend/core/status.h"
#include "backend/core/system_memory.h"
#include "backend/recipe/join/key_bucket.h"

namespace millrace::recipe {

inline constexpr std::uint32_t kNoRow = ~std::uint32_t{0};

/// Two rows with equal keys: the lowest `second` whose key an earlier row, `first`, has.
struct EqualRows {
    std::uint32_t first = kNoRow, second = kNoRow;
};

template <class Key = std::uint64_t>
class KeyBuckets {
 public:
    /// The keys of a table's rows, and whether two rows with equal key words are equal.
    struct Source {
        std::function<void(std::int64_t from, std::size_t rows, KeyBlock<Key>& block)> load;
        std::function<bool(std::uint32_t row, std::uint32_t other)> isEqual;  ///< none: always
    };

    /// Bytes of a table for `rows` rows.
    static std::int64_t bytesFor(std::int64_t rows, bool hasFilter = false) {
        const std::size_t n = bucketsFor(rows);
        return static_cast<std::int64_t>(n * sizeof(Bucket) + (hasFilter ? filterBytes(n) : 0));
    }
    /// Makes it empty, with room for `rows` rows (fewer than kNoRow).
    Status make(std::int64_t rows, const std::string& name, bool hasFilter = false);
    std::int64_t bytes() const {
        return static_cast<std::int64_t>(numBuckets_ * sizeof(Bucket) +
                                         (filter_ == nullptr ? 0 : filterBytes(numBuckets_)));
    }

    /// Inserts the first row of each key in rows [0, rows). Unless `isFirstTaken`, stops at a row
    /// whose key is already present, and returns the lowest such row.
    EqualRows insert(const Source& source, std::int64_t rows, int threads, bool isFirstTaken);
    /// Number of keys in the table.
    std::int64_t numKeys() const { return numKeys_; }
    /// The rows that find() can return, ascending, for a table of `rows` rows.
    std::vector<std::int64_t> firstRows(std::int64_t rows) const;

    /// out[i]: the row with key i of the `rows` keys, or -1. `Asked` has load(from, n, block).
    /// Unless its kIsExact, it also has isEqual(i, row) for key i of the last block, and ask(row)
    /// and fetch(row), which prefetch what isEqual() reads.
    template <class Asked>
    void find(Asked&& asked, std::int64_t rows, std::int64_t* out) const {
        constexpr bool kIsExact = std::remove_cvref_t<Asked>::kIsExact;
        std::array<Wanted, 2> wanted;
        std::array<std::uint32_t, kKeyBlock> found;
        const auto place = [&](std::int64_t from, Wanted& next) {
            next.rows = static_cast<std::size_t>(
                std::clamp<std::int64_t>(rows - from, 0, std::int64_t{kKeyBlock}));
            asked.load(from, next.rows, next.block);
            findHomes(next);
        };
        std::size_t now = 0;
        for (std::int64_t from = 0; from < rows; from += kKeyBlock) {
            Wanted& these = wanted[now];
            Wanted& next = wanted[1 - now];
            if (!kIsExact || from == 0) {
                place(from, these);
                fetch(these, 0);
            }
            if constexpr (kIsExact) {  // otherwise `asked` has only one block's keys for the
                                       // comparison
                place(from + std::int64_t{kKeyBlock}, next);
                now = 1 - now;
            }
            searchAll(these, next, found);
            if constexpr (!kIsExact) {
                compare(asked, these, found);
            }
            std::fill_n(out + from, these.rows, -1);
            for (std::size_t j = 0; j < these.n; ++j) {
                out[static_cast<std::size_t>(from) + these.keys[j]] =
                    found[j] == kNoRow ? -1 : std::int64_t{found[j]};
            }
        }
    }

 private:
    using Bucket = KeyBucket<Key>;
    static_assert(sizeof(Bucket) == 64);
    struct Placed;
    struct Chunk;
    struct Filler;
    /// A block of keys; those that may be present, and the home bucket of each of these.
    struct Wanted {
        KeyBlock<Key> block;
        std::size_t rows = 0, n = 0;
        std::array<std::size_t, kKeyBlock> at;
        std::array<std::uint8_t, kKeyBlock> keys;
    };

    /// Three of four slots are used, so that few keys spill into the next bucket.
    static std::size_t bucketsFor(std::int64_t rows) {
        return static_cast<std::size_t>(rows) * 4 / (3 * Bucket::kKeys) + 2;
    }
    static std::size_t filterBytes(std::size_t buckets) { return (buckets / 2 + 1) * 8; }
    /// Uses the upper bits of spread(key); the filter uses the lower.
    std::size_t bucketOf(std::uint64_t hash) const {
        __extension__ using Wide = unsigned __int128;
        return static_cast<std::size_t>((static_cast<Wide>(hash) * numBuckets_) >> 64);
    }
    static std::uint64_t filterBits(std::uint64_t hash) {
        return std::uint64_t{1} << (hash & 63) | std::uint64_t{1} << (hash >> 6 & 63) |
               std::uint64_t{1} << (hash >> 12 & 63);
    }
    /// Finds the home buckets of the keys that pass the filter.
    void findHomes(Wanted& wanted) const {
        wanted.n = 0;
        std::array<std::size_t, kKeyBlock> homes;
        std::array<std::uint64_t, kKeyBlock> bits;  // in the filter's word
        for (std::size_t i = 0; i < wanted.rows; ++i) {
            const std::uint64_t hash = spread(wanted.block.keys[i]);
            homes[i] = bucketOf(hash);
            if (filter_ != nullptr) {
                bits[i] = filterBits(hash);
                __builtin_prefetch(&filter_[homes[i] / 2]);
            }
        }
        for (std::size_t i = 0; i < wanted.rows; ++i) {
            const bool mayBe = filter_ == nullptr || (filter_[homes[i] / 2] & bits[i]) == bits[i];
            wanted.keys[wanted.n] = static_cast<std::uint8_t>(i);
            wanted.at[wanted.n] = homes[i];
            wanted.n +=
                static_cast<std::size_t>(mayBe) & static_cast<std::size_t>(wanted.block.isKey[i]);
        }
    }
    /// Prefetches the buckets of the keys from index `from` on.
    void fetch(const Wanted& wanted, std::size_t from) const {
        for (std::size_t j = from; j < wanted.n; ++j) {
            __builtin_prefetch(&buckets_[wanted.at[j]]);
        }
    }
    std::size_t after(std::size_t at) const { return at + 1 == numBuckets_ ? 0 : at + 1; }
    /// Returns whether the next bucket may have the key; `found`: its row in this one, or kNoRow.
    bool isLeft(const Key& key, std::size_t at, std::uint32_t& found) const {
        const Bucket& bucket = buckets_[at];
        const unsigned equal = bucket.places(key);
        const auto place =
            static_cast<std::size_t>(__builtin_ctz(equal | 1U << (Bucket::kKeys - 1)));
        found = equal != 0 ? bucket.row(place) : kNoRow;
        return static_cast<bool>(static_cast<unsigned>(equal == 0) &
                                 static_cast<unsigned>(bucket.isFull()));
    }
    /// found[j]: a row of the key wanted.keys[j], or kNoRow. Prefetches one bucket of the next
    /// block per key: a core sustains few misses at once, so a burst of prefetches would be waited
    /// for as a whole. Keys missing in a full bucket wait until all others were searched, while
    /// their next buckets are prefetched. Branchless, as the outcomes are random.
    void searchAll(const Wanted& wanted, const Wanted& next,
                   std::array<std::uint32_t, kKeyBlock>& found) const {
        std::array<std::uint8_t, kKeyBlock> left;
        std::array<std::size_t, kKeyBlock> at;
        std::size_t n = 0;
        for (std::size_t j = 0; j < wanted.n; ++j) {
            if (j < next.n) {
                __builtin_prefetch(&buckets_[next.at[j]]);
            }
            left[n] = static_cast<std::uint8_t>(j);
            at[n] = wanted.at[j];
            n += isLeft(wanted.block.keys[wanted.keys[j]], wanted.at[j], found[j]) ? 1 : 0;
        }
        fetch(next, wanted.n);
        while (n > 0) {
            for (std::size_t k = 0; k < n; ++k) {
                at[k] = after(at[k]);
                __builtin_prefetch(&buckets_[at[k]]);
            }
            const std::size_t searched = n;
            n = 0;
            for (std::size_t k = 0; k < searched; ++k) {
                const std::uint8_t j = left[k];
                const std::size_t here = at[k];
                left[n] = j;
                at[n] = here;
                n += isLeft(wanted.block.keys[wanted.keys[j]], here, found[j]) ? 1 : 0;
            }
        }
    }
    /// Checks keys that match by hash; searches again for those that turn out different.
    template <class Asked>
    void compare(const Asked& asked, const Wanted& wanted,
                 std::array<std::uint32_t, kKeyBlock>& found) const {
        for (std::size_t j = 0; j < wanted.n; ++j) {
            asked.ask(found[j]);
        }
        for (std::size_t j = 0; j < wanted.n; ++j) {
            asked.fetch(found[j]);
        }
        for (std::size_t j = 0; j < wanted.n; ++j) {
            const std::size_t i = wanted.keys[j];
            if (found[j] != kNoRow && !asked.isEqual(i, found[j])) {
                found[j] = search(wanted.block.keys[i], wanted.at[j],
                                  [&](std::uint32_t row) { return asked.isEqual(i, row); });
            }
        }
    }
    /// The row with the key whose home bucket is `at`, or kNoRow.
    template <class IsEqual>
    std::uint32_t search(const Key& key, std::size_t at, IsEqual isEqual) const {
        for (;; at = after(at)) {
            const Bucket& bucket = buckets_[at];
            for (unsigned equal = bucket.places(key); equal != 0; equal &= equal - 1) {
                const std::uint32_t row =
                    bucket.row(static_cast<std::size_t>(__builtin_ctz(equal)));
                if (isEqual(row)) {
                    return row;
                }
            }
            if (!bucket.isFull()) {
                return kNoRow;
            }
        }
    }

    std::size_t numBuckets_ = 0;
    std::int64_t numKeys_ = 0;
    SystemMemory memory_;  ///< the buckets, then the filter
    Bucket* buckets_ = nullptr;
    std::uint64_t* filter_ = nullptr;  ///< may be null
};

extern template class KeyBuckets<std::uint64_t>;
extern template class KeyBuckets<ShortKey>;

}  // namespace millrace::recipe
