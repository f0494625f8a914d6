#pragma once
// Which rows a rank's share of the running step has, in the order in which its learner takes them.
// Threads: one owner.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "backend/train/batch.h"

namespace millrace::train {

/// The name of a file by its number in the plan, for people.
using FileName = std::function<std::string(std::uint32_t)>;

class StepRows {
 public:
    void clear();
    void add(const BatchView& batch);
    /// "3 of 512 rows, part-3.csv row 17, ...", of rows by their places here; "" of none. Rows are
    /// counted from 0 in their file. `fileName` may be empty: files are told by their numbers.
    std::string told(const std::vector<std::int64_t>& places, const FileName& fileName) const;

 private:
    std::vector<std::uint32_t> files_;
    std::vector<std::uint64_t> numbers_;
};

}  // namespace millrace::train
