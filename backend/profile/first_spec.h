#pragma once
// Writes a first spec from the profile of a dataset's columns: `millrace init`.
//
// It has a label (chosen by name, then by values), dense features, ids and lists; column_guess.h
// decides how each column is used. Tables are sized by the number of distinct ids. It also selects
// rows for evaluation (spec_split.h) and has comments with the reasons. Users are meant to read and
// edit it.
// Threads: pure.
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "backend/core/status.h"
#include "backend/profile/column_guess.h"
#include "backend/profile/profiler.h"

namespace millrace::profile {

struct FirstSpecOptions {
    std::string name;
    std::vector<std::string> paths;              ///< as the spec is to have them
    std::string format;                          ///< where the path's ending does not say it
    std::string csv;                             ///< YAML of dataset.csv, where it is not as usual
    std::string label;                           ///< column or condition; "": it is guessed
    bool splitsByTime = true;                    ///< where there is a time; false: a hash decides
    double evalShare = 0.1;                      ///< of the rows, where a hash decides
    std::int64_t trainedRows = 0;                ///< of an epoch; 0: it is estimated
    double idAuc = 0.5;                          ///< how well an id alone orders rows by the label
    std::map<std::string, std::string> remarks;  ///< by column: what its comment says besides
};

/// How the spec uses a column, with the reason.
struct ColumnUse {
    std::string column;
    std::string_view use;  ///< nameOfUse()
    std::string why;
};

struct FirstSpec {
    std::string text;                ///< YAML
    std::vector<ColumnUse> uses;     ///< by column of the profile, then those that are not read
    std::string label;               ///< the column or condition behind the label
    std::vector<std::string> notes;  ///< what a user should look at first
};

/// YAML of `fill` for a dense column with nulls: its mean, with three digits of the column's
/// spread: 1970.3 for values from 1930 to 2010.
std::string fillText(double mean, double spread);

/// kInvalidArgument if no column can become a label or a feature.
Result<FirstSpec> firstSpec(const DatasetProfile& profile, const FirstSpecOptions& options);

}  // namespace millrace::profile
