#include "backend/recipe/key_buckets.h"

#include <algorithm>
#include <span>

#include <sys/mman.h>

#include "backend/core/parallel.h"

namespace millrace::recipe {
namespace {

constexpr std::size_t kChunkRows = std::size_t{1} << 18;  ///< whose keys are known at a time
constexpr std::size_t kLoadRows = std::size_t{1} << 13;   ///< that a thread takes at a time
constexpr std::size_t kManyRows = std::size_t{1} << 15;   ///< worth several threads
constexpr std::size_t kAhead = 32;                        ///< buckets asked for together

// Makes the whole pages of a stretch there in one go. Without it a page is read before it is
// written, and so made twice: once as the zero page that all share. Older kernels refuse, which
// costs just that.
void makePages(const void* begin, const void* end) {
#ifdef MADV_POPULATE_WRITE
    constexpr std::uintptr_t kPage = 4096;
    const std::uintptr_t from =
        (reinterpret_cast<std::uintptr_t>(begin) + kPage - 1) & ~(kPage - 1);
    const std::uintptr_t to = reinterpret_cast<std::uintptr_t>(end) & ~(kPage - 1);
    if (from < to) {
        (void)::madvise(reinterpret_cast<void*>(from), to - from, MADV_POPULATE_WRITE);
    }
#else
    (void)begin;
    (void)end;
#endif
}

}  // namespace

/// The keys of some rows, for all threads.
template <class Key>
struct KeyBuckets<Key>::Chunk {
    std::int64_t from = 0;
    std::size_t rows = 0;
    std::vector<Key> keys;
    std::vector<std::uint8_t> isKey;

    void load(const Source& source, std::size_t begin, std::size_t end) {
        KeyBlock<Key> block;
        for (; begin < end; begin += kKeyBlock) {
            const std::size_t n = std::min(kKeyBlock, end - begin);
            source.load(from + static_cast<std::int64_t>(begin), n, block);
            std::copy_n(block.keys.begin(), n, keys.begin() + static_cast<std::ptrdiff_t>(begin));
            std::copy_n(block.isKey.begin(), n, isKey.begin() + static_cast<std::ptrdiff_t>(begin));
        }
    }
};

/// Puts keys into the buckets of one range.
template <class Key>
struct KeyBuckets<Key>::Filler {
    KeyBuckets& table;
    const Source& source;
    std::size_t begin, end;  ///< of its buckets
    bool isFirstTaken;
    EqualRows equal{};
    std::int64_t numKeys = 0;
    std::vector<std::uint32_t> waiting{};  ///< rows of the chunk whose keys leave the range

    bool isDone() const { return equal.first != kNoRow; }

    void makeMemory() {
        makePages(table.buckets_.get() + begin, table.buckets_.get() + end);
        if (table.filter_ != nullptr) {
            makePages(table.filter_ + begin / 2, table.filter_ + end / 2);
        }
    }

    void add(const Chunk& chunk) {
        std::array<std::uint32_t, kAhead + 1> rows;
        std::size_t n = 0;
        for (std::size_t i = 0; i < chunk.rows && !isDone(); ++i) {
            const std::size_t home = table.bucketOf(spread(chunk.keys[i]));
            rows[n] = static_cast<std::uint32_t>(i);
            // Without a branch: which thread's a key is, is chance.
            n += static_cast<std::size_t>(home >= begin) & static_cast<std::size_t>(home < end) &
                 static_cast<std::size_t>(chunk.isKey[i]);
            if (n == kAhead) {
                put(chunk, {rows.data(), n});
                n = 0;
            }
        }
        put(chunk, {rows.data(), n});
    }

    /// When no other thread is at work.
    void addWaiting(const Chunk& chunk) {
        for (const std::uint32_t i : waiting) {
            if (!isDone()) {
                put(chunk, i, table.bucketOf(spread(chunk.keys[i])), true);
            }
        }
        waiting.clear();
    }

 private:
    void put(const Chunk& chunk, std::span<const std::uint32_t> rows) {
        std::array<std::size_t, kAhead> at;
        for (std::size_t i = 0; i < rows.size(); ++i) {
            const std::uint64_t hash = spread(chunk.keys[rows[i]]);
            at[i] = table.bucketOf(hash);
            __builtin_prefetch(&table.buckets_.get()[at[i]], 1);
            if (table.filter_ != nullptr) {
                table.filter_[at[i] / 2] |= filterBits(hash);
            }
        }
        const bool isAlone = begin == 0 && end == table.numBuckets_;
        for (std::size_t i = 0; i < rows.size() && !isDone(); ++i) {
            put(chunk, rows[i], at[i], isAlone);
        }
    }

    void put(const Chunk& chunk, std::uint32_t i, std::size_t at, bool mayLeave) {
        const auto row = static_cast<std::uint32_t>(chunk.from) + i;
        for (;; ++at) {
            if (!mayLeave && at == end) {
                waiting.push_back(i);
                return;
            }
            at = at == table.numBuckets_ ? 0 : at;
            Bucket& bucket = table.buckets_.get()[at];
            for (unsigned same = bucket.places(chunk.keys[i]); same != 0; same &= same - 1) {
                const auto place = static_cast<std::size_t>(__builtin_ctz(same));
                const std::uint32_t known = bucket.row(place);
                if (!source.isEqual || source.isEqual(known, row)) {
                    equal = isFirstTaken ? equal : EqualRows{known, row};
                    return;
                }
            }
            if (!bucket.isFull()) {
                bucket.add(chunk.keys[i], row);
                ++numKeys;
                return;
            }
        }
    }
};

template <class Key>
void KeyBuckets<Key>::Unmap::operator()(Bucket* buckets) const {
    ::munmap(buckets, bytes);
}

template <class Key>
Status KeyBuckets<Key>::make(std::int64_t rows, const std::string& name, bool hasFilter) {
    numBuckets_ = bucketsFor(rows);
    const auto bytes = static_cast<std::size_t>(bytesFor(rows, hasFilter));
    // Pages of the system are zero until they are written, by the thread that needs them.
    void* memory =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return resourceExhausted(name, ": no memory for ", bytes, " bytes");
    }
    buckets_ = {static_cast<Bucket*>(memory), Unmap{bytes}};
    // Looked up at random places: huge pages save half of the time.
    ::madvise(memory, bytes, MADV_HUGEPAGE);
    filter_ = hasFilter ? reinterpret_cast<std::uint64_t*>(buckets_.get() + numBuckets_) : nullptr;
    return okStatus();
}

template <class Key>
EqualRows KeyBuckets<Key>::insert(const Source& source, std::int64_t rows, int threads,
                                  bool isFirstTaken) {
    const std::size_t all = static_cast<std::size_t>(rows);
    const std::size_t ranges = all < kManyRows ? 1 : static_cast<std::size_t>(std::max(threads, 1));
    std::vector<Filler> fillers;
    for (std::size_t i = 0; i < ranges; ++i) {
        // Even, for each word of the filter to be one thread's.
        const std::size_t end = numBuckets_ * (i + 1) / ranges / 2 * 2;
        fillers.push_back({*this, source, i == 0 ? 0 : fillers.back().end,
                           i + 1 == ranges ? numBuckets_ : end, isFirstTaken});
    }
    Chunk chunk;
    chunk.keys.resize(std::min(all, kChunkRows));
    chunk.isKey.resize(chunk.keys.size());
    const auto helpers = static_cast<int>(ranges);
    if (all >= kManyRows) {
        (void)parallelFor(ranges, helpers, "table", [&](std::size_t i) {
            fillers[i].makeMemory();
            return okStatus();
        });
    }
    for (std::size_t from = 0; from < all; from += chunk.rows) {
        chunk.from = static_cast<std::int64_t>(from);
        chunk.rows = std::min(kChunkRows, all - from);
        const std::size_t pieces = (chunk.rows + kLoadRows - 1) / kLoadRows;
        (void)parallelFor(pieces, helpers, "table", [&](std::size_t i) {
            chunk.load(source, i * kLoadRows, std::min(chunk.rows, (i + 1) * kLoadRows));
            return okStatus();
        });
        (void)parallelFor(ranges, helpers, "table", [&](std::size_t i) {
            fillers[i].add(chunk);
            return okStatus();
        });
        EqualRows first;
        for (Filler& filler : fillers) {
            filler.addWaiting(chunk);
            first = filler.equal.second < first.second ? filler.equal : first;
        }
        if (first.first != kNoRow) {
            return first;
        }
    }
    for (const Filler& filler : fillers) {
        numKeys_ += filler.numKeys;
    }
    return {};
}

template <class Key>
std::vector<std::int64_t> KeyBuckets<Key>::firstRows(std::int64_t rows) const {
    std::vector<bool> isFirst(static_cast<std::size_t>(rows));
    for (std::size_t at = 0; at < numBuckets_; ++at) {
        const Bucket& bucket = buckets_.get()[at];
        for (std::size_t i = 0; i < bucket.size(); ++i) {
            isFirst[bucket.row(i)] = true;
        }
    }
    std::vector<std::int64_t> firsts;
    firsts.reserve(static_cast<std::size_t>(numKeys_));
    for (std::size_t row = 0; row < isFirst.size(); ++row) {
        if (isFirst[row]) {
            firsts.push_back(static_cast<std::int64_t>(row));
        }
    }
    return firsts;
}

template class KeyBuckets<std::uint64_t>;
template class KeyBuckets<ShortKey>;

}  // namespace millrace::recipe
