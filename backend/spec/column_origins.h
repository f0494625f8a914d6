#pragma once
// Which columns at the end of a recipe are the dataset's own, as they stand.
#include <map>
#include <string>
#include <vector>

#include "backend/spec/run_spec.h"

namespace millrace::spec {

class ColumnOrigins {
 public:
    ColumnOrigins() = default;
    /// Of what the enabled steps leave.
    explicit ColumnOrigins(const std::vector<Step>& recipe);

    /// The dataset's column whose values the column has: itself, or the one that a step gave
    /// another name. "" for what a step computed or joined.
    std::string of(const std::string& column) const;

 private:
    std::map<std::string, std::string> made_;  ///< by name, of columns that a step made
};

}  // namespace millrace::spec
