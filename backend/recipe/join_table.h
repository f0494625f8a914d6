#pragma once
// A side table in memory, looked up by key: an open-addressing hash table over the key columns.
//
// One integer-like key column is hashed by value; others by their canonical bytes. A null in a key
// never matches. Threads: immutable after make().
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backend/core/memory_budget.h"
#include "backend/core/status.h"
#include "backend/recipe/kernels.h"
#include "backend/spec/schema.h"

namespace millrace::recipe {

struct JoinKeySpec {
    std::string left, right;
    spec::DataType leftType, rightType;
};

class JoinTable {
 public:
    /// `keys` are the table's columns, parallel to `specs`; `name` is for messages. A key that
    /// occurs twice is kInvalidArgument unless `isFirstTaken`.
    static Result<std::shared_ptr<const JoinTable>> make(const std::string& name,
                                                         const std::vector<JoinKeySpec>& specs,
                                                         std::vector<ArrayPtr> keys,
                                                         bool isFirstTaken);

    /// The table's row for each row of the left columns, or -1.
    Result<std::vector<std::int64_t>> find(const std::vector<ArrayPtr>& left) const;

    std::int64_t bytes() const;

 private:
    struct Slot {
        std::uint64_t key = 0;  ///< the integer, or the hash of the bytes
        std::int64_t row = -1;
    };

    JoinTable() = default;
    Status insertIntegers(const std::string& name, const arrow::Array& keys, bool isFirstTaken);
    Status insertBytes(const std::string& name, const std::vector<ArrayPtr>& keys,
                       bool isFirstTaken);
    void makeSlots(std::int64_t rows);
    /// The slot that holds the key, or the empty one where it belongs.
    std::size_t slotOf(std::uint64_t key, std::string_view bytes) const;
    std::string_view bytesOf(std::int64_t row) const;
    Status duplicate(const std::string& name, const std::vector<ArrayPtr>& keys, std::int64_t first,
                     std::int64_t second) const;

    std::vector<JoinKeySpec> specs_;
    std::vector<spec::DataType> types_;  ///< what both sides are brought to
    bool isInteger_ = false;
    std::vector<Slot> slots_;
    std::uint64_t mask_ = 0;
    std::string arena_;                     ///< canonical bytes of all keys
    std::vector<std::uint64_t> arenaEnds_;  ///< by row
};

}  // namespace millrace::recipe
