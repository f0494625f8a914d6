#pragma once
// What a run changed in its spec: the keys of its variation and of --set, and their places in the
// text as submitted.
//
// Threads: any. Failure: a text that cannot be read gives the changes without places.
#include <QString>
#include <vector>

#include "backend/values/run_detail.h"

namespace millrace::gui {

struct SpecChange {
    QString path;    ///< "recipe.negatives.keep"
    QString before;  ///< as the base says; "" where it says nothing
    QString after;
    QString origin;  ///< "variation keep-30", "--set"
    int begin = -1;  ///< of the base's value in the text; -1: not there
    int end = -1;
    int changeBegin = -1;  ///< of the variation's own entry
    int changeEnd = -1;
};

std::vector<SpecChange> changesOf(const values::RunDetail& run);

}  // namespace millrace::gui
