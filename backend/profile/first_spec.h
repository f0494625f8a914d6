#pragma once
// A first spec from what a dataset's columns are like: `millrace init`.
//
// A label (by name, then by its values), dense features, ids (with a table sized by how many
// different ones there are), lists (column_guess.h says which column is what), rows for evaluation
// (spec_split.h), and comments that say why. It is meant to be read and changed. Threads: pure.
#include <string>
#include <string_view>
#include <vector>

#include "backend/core/status.h"
#include "backend/profile/column_guess.h"
#include "backend/profile/profiler.h"

namespace millrace::profile {

struct FirstSpecOptions {
    std::string name;
    std::vector<std::string> paths;  ///< as they are to stand in the spec
    std::string format;              ///< where the path's ending does not say it
    std::string delimiter;           ///< of CSV files, where their ending does not say it
    std::string label;               ///< column; "": it is guessed
    bool splitsByTime = true;        ///< where there is a time; false: a hash decides
    double evalShare = 0.1;          ///< of the rows, where a hash decides
};

/// How the spec uses a column, and why.
struct ColumnUse {
    std::string column;
    std::string_view use;  ///< nameOfUse()
    std::string why;
};

struct FirstSpec {
    std::string text;                ///< YAML
    std::vector<ColumnUse> uses;     ///< by column of the profile
    std::string label;               ///< the column that the label was made of
    std::vector<std::string> notes;  ///< what a reader should look at first
};

/// kInvalidArgument when there is no column that a label or a feature could be made of.
Result<FirstSpec> firstSpec(const DatasetProfile& profile, const FirstSpecOptions& options);

}  // namespace millrace::profile
