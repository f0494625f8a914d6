#pragma once
// A side table looked up by key and time: among the rows with the key, finds the newest that is not
// newer than the given time and within the tolerance. Private to recipe.
//
// Rows without a time never match. Threads: immutable after make(), shared by all.
// Owns: its memory, reserved in the budget.
#include <cstdint>
#include <memory>
#include <vector>

#include "backend/recipe/join/join_table.h"
#include "backend/spec/run_spec.h"

namespace millrace::recipe {

class AsOfTable {
 public:
    /// `keys` and `times` are the table's columns. A key and time that occur twice are
    /// kInvalidArgument unless the first may be taken.
    static Result<std::shared_ptr<const AsOfTable>> make(const JoinTable::Options& options,
                                                         const std::vector<JoinKeySpec>& specs,
                                                         const std::vector<eval::ArrayPtr>& keys,
                                                         const eval::ArrayPtr& times,
                                                         const expr::DataType& timeType,
                                                         const spec::AsOf& asOf);

    /// The table's row for each row, or -1, and the number of misses by reason.
    struct Found {
        std::vector<std::int64_t> rows;
        std::int64_t noKey = 0, noneBefore = 0, tooOld = 0;
    };
    Result<Found> find(const std::vector<eval::ArrayPtr>& left, const eval::ArrayPtr& times,
                       const expr::DataType& timeType) const;
    std::int64_t bytes() const { return keys_->bytes() + bytes_; }

 private:
    AsOfTable() = default;
    Status fill(const JoinTable::Options& options, const std::vector<std::int64_t>& keyOf,
                const arrow::Array& times, const spec::AsOf& asOf);
    void putEntries(const std::vector<std::int64_t>& keyOf, const arrow::Array& times,
                    std::int64_t firstKey, std::int64_t endKey);
    Status sortKey(const JoinTable::Options& options, const spec::AsOf& asOf, std::size_t key);
    void findNewest(const arrow::Array& times, Found& found) const;

    std::shared_ptr<const JoinTable> keys_;  ///< numbers of keys
    std::vector<std::uint32_t> starts_;      ///< by key number, plus one: start of its entries
    std::vector<std::int64_t> times_;        ///< by entry, ascending within a key
    std::vector<std::uint32_t> rows_;        ///< by entry
    std::int64_t bytes_ = 0;                 ///< of the three vectors
    std::uint64_t tolerance_ = 0;            ///< in the times' unit; the maximum: unlimited
    MemoryBudget::Reservation reservation_;
};

/// Times as int64: microseconds for dates and timestamps, or the integers themselves; nulls stay
/// null.
Result<eval::ArrayPtr> timesAsInt64(const eval::ArrayPtr& values, const expr::DataType& type);

}  // namespace millrace::recipe
