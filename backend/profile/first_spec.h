#pragma once
// A first spec from what a dataset's columns are like: `millrace init`.
//
// A label (by name, then by its values), dense features (floats and small numbers), ids (integers
// and texts, with a table sized by how many different ones there are), lists, and comments that say
// why. It is meant to be read and changed. Threads: pure.
#include <string>
#include <vector>

#include "backend/core/status.h"
#include "backend/profile/profiler.h"

namespace millrace::profile {

struct FirstSpecOptions {
    std::string name;
    std::vector<std::string> paths;  ///< as they are to stand in the spec
    std::string format;              ///< where the path's ending does not say it
    std::string label;               ///< column; "": it is guessed
};

struct FirstSpec {
    std::string text;                ///< YAML
    std::string label;               ///< the column that the label was made of
    std::vector<std::string> notes;  ///< what a reader should look at first
};

/// kInvalidArgument when there is no column that a label or a feature could be made of.
Result<FirstSpec> firstSpec(const DatasetProfile& profile, const FirstSpecOptions& options);

}  // namespace millrace::profile
