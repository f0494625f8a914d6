#pragma once
// A side table's keys in memory, looked up by value: a read-only hash table of cache-line buckets.
//
// A bucket holds five 64-bit keys with their row numbers in 64 bytes, so that a look-up costs one
// cache miss; looked up are blocks of keys whose buckets are asked for ahead. One integer-like key
// column is its own key; others are hashed and compared by their canonical bytes. A null in a key
// never matches. Threads: immutable after make(), shared by all of them.
// Owns: its memory, reserved in the budget before it is taken.
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backend/core/memory_budget.h"
#include "backend/core/status.h"
#include "backend/eval/kernels.h"
#include "backend/expr/schema.h"

namespace millrace::recipe {

struct JoinKeySpec {
    std::string left, right;
    expr::DataType leftType, rightType;
};

class JoinTable {
 public:
    struct Options {
        std::string name;  ///< for messages
        /// Takes the first of rows with one key; else such a key is kInvalidArgument.
        bool isFirstTaken = false;
        MemoryBudget* budget = nullptr;  ///< may be null; outlives the table
    };
    /// `keys` are the table's columns, parallel to `specs`. kResourceExhausted with the bytes that
    /// it needs when they are more than the budget has left.
    static Result<std::shared_ptr<const JoinTable>> make(const Options& options,
                                                         const std::vector<JoinKeySpec>& specs,
                                                         std::vector<eval::ArrayPtr> keys);

    /// The table's row for each row of the left columns, or -1.
    Result<std::vector<std::int64_t>> find(const std::vector<eval::ArrayPtr>& left) const;

    /// The same for the table's own columns: the first row with each row's key.
    Result<std::vector<std::int64_t>> findOwn(std::vector<eval::ArrayPtr> keys) const;

    std::int64_t bytes() const;
    /// Bytes of the buckets of a table of so many rows; keys that are no integers need more.
    static std::int64_t bucketBytes(std::int64_t rows);

 private:
    static constexpr std::size_t kBucketKeys = 5;
    struct alignas(64) Bucket {
        std::array<std::uint64_t, kBucketKeys> keys;  ///< the integer, or the hash of the bytes
        std::array<std::uint32_t, kBucketKeys> rows;
        std::uint32_t count;
    };
    static_assert(sizeof(Bucket) == 64);
    struct Free {
        void operator()(Bucket* buckets) const;
    };
    static constexpr std::uint32_t kNoRow = ~std::uint32_t{0};

    JoinTable() = default;
    static std::size_t numBuckets(std::int64_t rows);
    Status reserve(const Options& options, std::int64_t rows);
    Status bringToCommonTypes(const Options& options, std::vector<eval::ArrayPtr>& keys);
    Status insertIntegers(const Options& options, const eval::ArrayPtr& keys);
    Status insertBytes(const Options& options, const std::vector<eval::ArrayPtr>& keys);
    Status duplicate(const Options& options, const std::vector<eval::ArrayPtr>& keys,
                     std::int64_t first, std::int64_t second) const;
    std::size_t bucketOf(std::uint64_t key) const;
    void prefetch(std::uint64_t key) const { __builtin_prefetch(&buckets_.get()[bucketOf(key)]); }
    /// The row that has the key, or kNoRow.
    template <class IsEqual>
    std::uint32_t find(std::uint64_t key, IsEqual isEqual) const;
    /// The row that has the key already, or kNoRow after `row` was put in.
    template <class IsEqual>
    std::uint32_t insert(std::uint64_t key, std::uint32_t row, IsEqual isEqual);
    std::string_view bytesOf(std::uint32_t row) const;
    Result<std::vector<std::int64_t>> findIntegers(const eval::ArrayPtr& keys) const;
    Result<std::vector<std::int64_t>> findBytes(const std::vector<eval::ArrayPtr>& keys) const;

    std::vector<JoinKeySpec> specs_;
    std::vector<expr::DataType> types_;  ///< what both sides are brought to
    bool isInteger_ = false;
    std::size_t numBuckets_ = 0;
    std::unique_ptr<Bucket, Free> buckets_;
    std::string arena_;                     ///< canonical bytes of all keys
    std::vector<std::uint64_t> arenaEnds_;  ///< by row
    MemoryBudget::Reservation reservation_;
};

}  // namespace millrace::recipe
