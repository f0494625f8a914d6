#pragma once
// Refuses hashes, texts and keys of columns that are integers in some of a dataset's files and
// floats in others, or dates and timestamps.
//
// Such a column is read as the wider type in all files. Sums and comparisons of its values do not
// notice; its hash and its text do, also in the files that were there before: one new file would
// move the split of a dataset by `hash01(id)`. Threads: pure functions. Failure: kInvalidArgument
// names the place, the column, a file and the key that gives the column one type.
#include <map>
#include <string>

#include "backend/core/status.h"
#include "backend/spec/run_spec.h"

namespace millrace::recipe {

/// By name, why: what follows the name in a sentence.
using MixedColumns = std::map<std::string, std::string>;

/// `train` and `eval`: the mixed columns of the files of the bound `spec`.
Status checkMixed(const spec::RunSpec& spec, const MixedColumns& train, const MixedColumns& eval);

}  // namespace millrace::recipe
