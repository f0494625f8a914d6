#pragma once
// The changes of a run to its spec: the keys of its variation and of --set, and their positions in
// the text as submitted.
//
// Threads: any. Failure: for an unreadable text, returns the changes without positions.
#include <QString>
#include <vector>

#include "backend/values/run_detail.h"

namespace millrace::gui {

struct SpecChange {
    QString path;    ///< "recipe.negatives.keep"
    QString before;  ///< the base's value; "" if it has none
    QString after;
    QString origin;  ///< "variation keep-30", "--set"
    int begin = -1;  ///< of the base's value in the text; -1: not there
    int end = -1;
    int changeBegin = -1;  ///< of the variation's own entry
    int changeEnd = -1;
};

std::vector<SpecChange> changesOf(const values::RunDetail& run);

}  // namespace millrace::gui
