#pragma once
// ValueCounter: counts the values of one embedding's features, so that ids can be assigned by
// frequency. A recipe's encoders get numbers from it; the caller that has the recipe's surviving
// rows counts those numbers.
//
// A value gets its number when it first appears and is counted by that number, so repeated work (a
// split retried for lack of memory) counts once. The result depends on the rows alone.
// Threads: number() and add() from any; take() after all of them. Owns: the values, reserved in the
// budget. Failure: kInvalidArgument if the distinct values exceed the budget.
#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "backend/core/memory_budget.h"
#include "backend/core/mutex.h"
#include "backend/core/status.h"
#include "backend/eval/kernels.h"
#include "backend/recipe/counted_values.h"

namespace millrace::recipe {

class ValueCounter {
 public:
    /// `name`: the embedding's. `budget` outlives the counter.
    ValueCounter(std::string name, MemoryBudget& budget)
        : name_(std::move(name)), budget_(budget) {}

    /// Type as in spec::countedType(); call it before the first number().
    void setType(std::string type) { type_ = std::move(type); }

    /// Returns each value's number from 1, or 0 for null, as int64 without nulls.
    Result<eval::ArrayPtr> number(const eval::ArrayPtr& values);
    /// Counts each occurrence; 0 is not counted.
    void add(std::span<const std::int64_t> numbers);
    /// Returns the values with at least `minCount` occurrences, by descending count, then ascending
    /// (integers as numbers, texts by their bytes); at most `most` (0: all).
    Result<CountedValues> take(std::int64_t minCount, std::int64_t most);

 private:
    static constexpr std::size_t kShards = 64;
    struct Shard {
        Mutex mutex;
        /// Maps a value's bytes, which sort like the values, to its index in `counts`.
        std::unordered_map<std::string, std::size_t> places MR_GUARDED_BY(mutex);
        std::vector<std::int64_t> counts MR_GUARDED_BY(mutex);
        std::vector<const std::string*> values MR_GUARDED_BY(mutex);
        MemoryBudget::Reservation reservation MR_GUARDED_BY(mutex);
        std::int64_t bytes MR_GUARDED_BY(mutex) = 0;
    };
    struct Counted {
        const std::string* value;
        std::int64_t count;
    };
    Result<std::int64_t> numberOf(std::string_view bytes);
    Status grow(Shard& shard, std::int64_t bytes) MR_REQUIRES(shard.mutex);
    Result<CountedValues> valuesOf(std::span<const Counted> counted) const;

    const std::string name_;
    std::string type_ = "int64";
    MemoryBudget& budget_;
    std::atomic<std::int64_t> numValues_{0};
    std::array<Shard, kShards> shards_;
};

/// Counters by embedding.
using ValueCounters = std::map<std::string, std::unique_ptr<ValueCounter>>;

}  // namespace millrace::recipe
