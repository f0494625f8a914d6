#pragma once
// Chooses the evaluation rows of a first spec: the latest tenth by a time, else a tenth by a hash.
//
// No part is ever empty, and a key is never constant: both sides of a hash need distinct keys.
// Threads: pure. Failure: kInvalidArgument if no column distinguishes rows.
#include <string>
#include <vector>

#include "backend/core/status.h"
#include "backend/expr/expression.h"
#include "backend/profile/profiler.h"

namespace millrace::profile {

using expr::sqlName;

struct SpecSplit {
    std::string train, eval;  ///< conditions
    std::string why;          ///< sentence for a comment
    std::string instead;      ///< the hash's condition as an alternative, if a time decides
    /// The single column whose hash decides. Each value is in one part only, so the column must not
    /// be a feature. "": several columns together, or a time, decide.
    std::string key;
};

/// A time by which rows may be split.
struct SplitTime {
    ColumnProfile profile;
    std::string expression;  ///< a column's name in SQL, or what makes a time of its texts
    bool mayBeNull = false;  ///< training takes the rows without a time
};

/// `times`: the likeliest first. `keys`: others that may tell rows apart, those that tell most
/// apart first. `evalShare`: the share of the rows that a hash keeps for evaluation.
Result<SpecSplit> chooseSplit(const DatasetProfile& profile, const std::vector<SplitTime>& times,
                              const std::vector<const ColumnProfile*>& keys,
                              double evalShare = 0.1);

}  // namespace millrace::profile
