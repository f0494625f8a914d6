#pragma once
// The rows of a rank's share of the running step, in the order in which its learner takes them.
// Threads: one owner.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "backend/train/batch.h"

namespace millrace::train {

/// Returns the name of a file by its number in the plan, for messages.
using FileName = std::function<std::string(std::uint32_t)>;

class StepRows {
 public:
    void clear();
    void add(const BatchView& batch);
    /// Returns "3 of 512 rows, part-3.csv row 17, ..." for rows by their positions here; "" for
    /// none. Rows count from 0 in their file. If `fileName` is empty, files appear by number.
    std::string told(const std::vector<std::int64_t>& places, const FileName& fileName) const;

 private:
    std::vector<std::uint32_t> files_;
    std::vector<std::uint64_t> numbers_;
};

}  // namespace millrace::train
