#pragma once
// A side table's keys in memory, looked up by value. Read-only.
//
// A single integer-like key column is its own key: an array indexed by value if the values are
// dense, else buckets (key_buckets.h). Texts of up to twelve bytes are their own keys, too. Longer
// texts are hashed and compared with the table's own column, which is kept. Several columns are
// compared by their canonical bytes. A null in a key never matches. Threads: immutable after
// make(), shared by all. Owns: its memory, reserved in the budget before it is allocated.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backend/core/memory_budget.h"
#include "backend/core/status.h"
#include "backend/eval/kernels.h"
#include "backend/expr/schema.h"
#include "backend/recipe/join/key_buckets.h"
#include "backend/recipe/text_rows.h"

namespace millrace::recipe {

struct JoinKeySpec {
    std::string left, right;
    expr::DataType leftType, rightType;
};

class JoinTable {
 public:
    /// The results of find() for a key.
    enum class Finds {
        kRow,     ///< its row
        kNumber,  ///< a number of its own, below numKeys(), ascending by the keys' first rows
        kMember,  ///< any number: only membership counts
    };
    struct Options {
        std::string name;  ///< for messages
        /// Takes the first of several rows with one key; otherwise such a key is kInvalidArgument.
        bool isFirstTaken = false;
        MemoryBudget* budget = nullptr;  ///< may be null; outlives the table
        Finds finds = Finds::kRow;       ///< kinds other than kRow take the first
        int threads = 1;                 ///< that build the table
    };
    /// `keys` are the table's columns, parallel to `specs`. kResourceExhausted, with the bytes
    /// needed, if the budget has too little left.
    static Result<std::shared_ptr<const JoinTable>> make(const Options& options,
                                                         const std::vector<JoinKeySpec>& specs,
                                                         std::vector<eval::ArrayPtr> keys);

    /// Returns the result (see Finds) for each row of the left columns, or -1. A text column may
    /// come as dictionary<int32, string>: each of its texts is then looked up once.
    Result<std::vector<std::int64_t>> find(const std::vector<eval::ArrayPtr>& left) const;

    /// Like find(), for the table's own columns.
    Result<std::vector<std::int64_t>> findOwn(std::vector<eval::ArrayPtr> keys) const;

    std::int64_t bytes() const;
    std::int64_t numKeys() const { return numKeys_; }
    /// Upper bound of the bytes for finding rows by integers; other keys also take their own bytes.
    static std::int64_t bucketBytes(std::int64_t rows, Finds finds = Finds::kRow) {
        return KeyBuckets<>::bytesFor(rows, finds == Finds::kMember);
    }

 private:
    enum class Kind { kByValue, kIntegers, kShortTexts, kTexts, kTuples };

    JoinTable() = default;
    Status fill(const Options& options, std::vector<eval::ArrayPtr> keys);
    Status reserve(const Options& options, std::int64_t rows);
    Status bringToCommonTypes(const Options& options, std::vector<eval::ArrayPtr>& keys);
    Status keepTuples(const Options& options, const std::vector<eval::ArrayPtr>& keys);
    bool liesClose(const Options& options, const eval::ArrayPtr& keys);
    Status fillByValue(const Options& options, const eval::ArrayPtr& keys);
    Status fillShort(const Options& options, const eval::ArrayPtr& keys);
    Status fillBuckets(const Options& options, const std::vector<eval::ArrayPtr>& keys);
    /// Rebuilds the table from one row per key.
    Status fillAgain(const Options& options, const std::vector<eval::ArrayPtr>& keys);
    Status duplicate(const Options& options, const std::vector<eval::ArrayPtr>& keys,
                     EqualRows rows) const;
    Result<std::vector<std::int64_t>> findAll(const std::vector<eval::ArrayPtr>& keys) const;
    Result<std::vector<std::int64_t>> findByValue(const eval::ArrayPtr& keys) const;
    /// `numbers`, if not null, has for each row the index of its text.
    void lookUp(const arrow::StringArray& texts, const arrow::Int32Array* numbers,
                std::vector<std::int64_t>& found) const;
    Result<std::vector<std::int64_t>> findTexts(const eval::ArrayPtr& keys) const;

    std::vector<JoinKeySpec> specs_;
    std::vector<expr::DataType> types_;  ///< common types of both sides
    Kind kind_ = Kind::kIntegers;
    std::int64_t numKeys_ = 0;
    std::uint64_t least_ = 0, span_ = 0;  ///< kByValue: values from least_ to least_ + span_
    std::vector<std::uint32_t> byValue_;
    std::vector<std::uint64_t> isMember_;  ///< kByValue with Finds::kMember: a bit per value
    KeyBuckets<> buckets_;
    KeyBuckets<ShortKey> shorts_;  ///< kShortTexts
    ShortForm form_;
    eval::ArrayPtr texts_;                  ///< kTexts: the table's column
    std::vector<char> arena_;               ///< kTuples: canonical bytes of all keys
    std::vector<std::uint64_t> arenaEnds_;  ///< by row
    MemoryBudget::Reservation reservation_;
};

}  // namespace millrace::recipe
