#include "backend/recipe/join/key_buckets.h"

#include <numeric>
#include <span>

#include <sys/mman.h>

#include "backend/core/parallel.h"

namespace millrace::recipe {
namespace {

constexpr std::size_t kChunkRows = std::size_t{1} << 18;  ///< rows whose keys are loaded at a time
constexpr std::size_t kLoadRows = std::size_t{1} << 13;   ///< rows that a thread takes at a time
constexpr std::size_t kManyRows = std::size_t{1} << 15;   ///< worth several threads
constexpr std::size_t kAhead = 32;                        ///< buckets that are prefetched together

// Faults in the whole pages of a range at once. Otherwise a page that is read before it is written
// faults twice: first as the shared zero page. Older kernels reject the call, which only costs that
// time.
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

/// A key with its home bucket.
template <class Key>
struct KeyBuckets<Key>::Placed {
    Key key;
    std::uint32_t row;
    std::uint32_t home;
};

/// The keys of some rows, grouped by piece and by range of home buckets: the thread that fills a
/// range reads exactly its own keys, sequentially.
template <class Key>
struct KeyBuckets<Key>::Chunk {
    std::int64_t from = 0;
    std::size_t rows = 0, numRanges = 1;
    std::uint64_t reciprocal = 0;     ///< of the number of buckets per range
    std::vector<Placed> placed;       ///< kLoadRows per piece; within a range, in row order
    std::vector<std::uint32_t> ends;  ///< of a piece's ranges, numRanges + 1 per piece, starting
                                      ///< with 0

    std::size_t numPieces() const { return (rows + kLoadRows - 1) / kLoadRows; }
    std::span<const Placed> of(std::size_t piece, std::size_t range) const {
        const std::uint32_t* const end = ends.data() + piece * (numRanges + 1) + range;
        return std::span(placed).subspan(piece * kLoadRows + end[0], end[1] - end[0]);
    }

    void load(const KeyBuckets& table, const Source& source, std::size_t piece) {
        const std::size_t first = piece * kLoadRows, n = std::min(kLoadRows, rows - first);
        std::array<KeyBlock<Key>, kLoadRows / kKeyBlock> blocks;
        std::array<std::uint32_t, kLoadRows> homes;
        std::array<std::uint16_t, kLoadRows> ranges;
        std::vector<std::uint32_t> count(numRanges + 1);  // number of keys in earlier ranges, then
                                                          // positions
        for (std::size_t begin = 0; begin < n; begin += kKeyBlock) {
            KeyBlock<Key>& block = blocks[begin / kKeyBlock];
            const std::size_t here = std::min(kKeyBlock, n - begin);
            source.load(from + static_cast<std::int64_t>(first + begin), here, block);
            for (std::size_t i = 0; i < here; ++i) {
                const auto home = static_cast<std::uint32_t>(table.bucketOf(spread(block.keys[i])));
                homes[begin + i] = home;
                ranges[begin + i] = static_cast<std::uint16_t>(rangeOf(home));
                count[rangeOf(home) + 1] += block.isKey[i] ? 1 : 0;
            }
        }
        std::partial_sum(count.begin(), count.end(), count.begin());
        std::ranges::copy(count, ends.data() + piece * (numRanges + 1));
        const auto firstRow = static_cast<std::uint32_t>(from) + static_cast<std::uint32_t>(first);
        for (std::size_t i = 0; i < n; ++i) {  // branchless, as the range is random
            const KeyBlock<Key>& block = blocks[i / kKeyBlock];
            if (block.isKey[i % kKeyBlock]) {
                placed[first + count[ranges[i]]++] = {
                    block.keys[i % kKeyBlock], firstRow + static_cast<std::uint32_t>(i), homes[i]};
            }
        }
    }

 private:
    /// home / rangeBuckets, by multiplication (exact for 32 bits: Lemire, Kaser, Kurz, "Faster
    /// remainder by direct computation", 2019).
    std::size_t rangeOf(std::uint32_t home) const {
        __extension__ using Wide = unsigned __int128;
        return static_cast<std::size_t>((static_cast<Wide>(reciprocal) * home) >> 64);
    }
};

/// Puts keys into the buckets of one range.
template <class Key>
struct KeyBuckets<Key>::Filler {
    KeyBuckets& table;
    const Source& source;
    std::size_t range, begin, end;  ///< of its buckets
    bool isFirstTaken;
    EqualRows equal{};
    std::int64_t numKeys = 0;
    std::vector<Placed> waiting{};  ///< keys of the chunk that left the range

    void makeMemory() {
        makePages(table.buckets_ + begin, table.buckets_ + end);
        if (table.filter_ != nullptr) {
            makePages(table.filter_ + begin / 2, table.filter_ + end / 2);
        }
    }

    void add(const Chunk& chunk) {
        const bool isAlone = begin == 0 && end == table.numBuckets_;
        for (std::size_t piece = 0; piece < chunk.numPieces(); ++piece) {
            const std::span<const Placed> placed = chunk.of(piece, range);
            for (const Placed& one : placed.first(std::min(kAhead, placed.size()))) {
                askFor(one);
            }
            for (std::size_t i = 0; i < placed.size() && equal.first == kNoRow; i += kAhead) {
                const std::span<const Placed> rest = placed.subspan(i);
                const std::size_t now = std::min(kAhead, rest.size());
                put(rest.first(now), rest.subspan(now, std::min(kAhead, rest.size() - now)),
                    isAlone);
            }
        }
    }

    /// Call it while no other thread is at work.
    void addWaiting() {
        for (const Placed& one : waiting) {
            put({&one, 1}, {}, true);
        }
        waiting.clear();
    }

 private:
    /// Prefetches the key's bucket.
    void askFor(const Placed& one) {
        __builtin_prefetch(&table.buckets_[one.home], 1);
        if (table.filter_ != nullptr) {
            table.filter_[one.home / 2] |= filterBits(spread(one.key));
        }
    }

    /// Prefetches the next keys' buckets meanwhile, one per key: a core sustains few misses at
    /// once, so a burst of prefetches would be waited for as a whole. Keys whose bucket is full
    /// wait until the others are inserted, while their next buckets are prefetched. Equal keys find
    /// the same buckets full, and so stay in row order.
    void put(std::span<const Placed> keys, std::span<const Placed> ahead, bool mayLeave) {
        std::array<Placed, kAhead> left;
        std::size_t n = 0;
        for (std::size_t i = 0; i < keys.size(); ++i) {
            if (i < ahead.size()) {
                askFor(ahead[i]);
            }
            left[n] = keys[i];
            n += isPut(keys[i]) ? 0 : 1;
        }
        n = goOn({left.data(), n}, mayLeave);
        while (n > 0) {
            const std::size_t tried = n;
            n = 0;
            for (std::size_t i = 0; i < tried; ++i) {
                const Placed one = left[i];
                left[n] = one;
                n += isPut(one) ? 0 : 1;
            }
            n = goOn({left.data(), n}, mayLeave);
        }
    }

    /// Returns false if the bucket is full of other keys.
    bool isPut(const Placed& one) {
        const auto& [key, row, home] = one;
        Bucket& bucket = table.buckets_[home];
        for (unsigned same = bucket.places(key); same != 0; same &= same - 1) {
            const std::uint32_t known = bucket.row(static_cast<std::size_t>(__builtin_ctz(same)));
            if (!source.isEqual || source.isEqual(known, row)) {
                equal = isFirstTaken || equal.second < row ? equal : EqualRows{known, row};
                return true;
            }
        }
        if (bucket.isFull()) {
            return false;
        }
        bucket.add(key, row);
        ++numKeys;
        return true;
    }

    /// Moves each key to its next bucket; returns how many stay in the range.
    std::size_t goOn(std::span<Placed> left, bool mayLeave) {
        std::size_t n = 0;
        for (const Placed& one : left) {
            const std::size_t next = std::size_t{one.home} + 1;
            if (!mayLeave && next == end) {
                waiting.push_back(one);
                continue;
            }
            left[n] = one;
            left[n].home = static_cast<std::uint32_t>(next == table.numBuckets_ ? 0 : next);
            __builtin_prefetch(&table.buckets_[left[n++].home], 1);
        }
        return n;
    }
};

template <class Key>
Status KeyBuckets<Key>::make(std::int64_t rows, const std::string& name, bool hasFilter) {
    numBuckets_ = bucketsFor(rows);
    const auto bytes = static_cast<std::size_t>(bytesFor(rows, hasFilter));
    ASSIGN_OR_RETURN(memory_, SystemMemory::make(bytes, name));
    buckets_ = memory_.as<Bucket>();
    filter_ = hasFilter ? reinterpret_cast<std::uint64_t*>(buckets_ + numBuckets_) : nullptr;
    return okStatus();
}

template <class Key>
EqualRows KeyBuckets<Key>::insert(const Source& source, std::int64_t rows, int threads,
                                  bool isFirstTaken) {
    const auto all = static_cast<std::size_t>(rows);
    const std::size_t wished = all < kManyRows ? 1 : static_cast<std::size_t>(std::max(threads, 1));
    Chunk chunk;
    // Even, so that each word of the filter belongs to one thread.
    const std::size_t rangeBuckets = (numBuckets_ / wished + 2) / 2 * 2;
    chunk.reciprocal = ~std::uint64_t{0} / rangeBuckets + 1;
    std::vector<Filler> fillers;
    for (std::size_t begin = 0; begin < numBuckets_; begin += rangeBuckets) {
        const std::size_t end = std::min(begin + rangeBuckets, numBuckets_);
        fillers.push_back({*this, source, fillers.size(), begin, end, isFirstTaken});
    }
    chunk.numRanges = fillers.size();
    chunk.rows = std::min(all, kChunkRows);
    chunk.placed.resize(chunk.numPieces() * kLoadRows);
    chunk.ends.resize(chunk.numPieces() * (chunk.numRanges + 1));
    const auto helpers = static_cast<int>(wished);
    if (all >= kManyRows) {
        (void)parallelFor(fillers.size(), helpers, "table", [&](std::size_t i) {
            fillers[i].makeMemory();
            return okStatus();
        });
    }
    for (std::size_t from = 0; from < all; from += chunk.rows) {
        chunk.from = static_cast<std::int64_t>(from);
        chunk.rows = std::min(kChunkRows, all - from);
        (void)parallelFor(chunk.numPieces(), helpers, "table", [&](std::size_t piece) {
            chunk.load(*this, source, piece);
            return okStatus();
        });
        (void)parallelFor(fillers.size(), helpers, "table", [&](std::size_t i) {
            fillers[i].add(chunk);
            return okStatus();
        });
        EqualRows first;
        for (Filler& filler : fillers) {
            filler.addWaiting();
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
        const Bucket& bucket = buckets_[at];
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
