#pragma once
// Warnings about a planned run that are not errors: how side tables were read, and compressed files
// that are read out of order.
//
// Threads: one owner. Failure: none; errors of side tables are reported where the tables are used.
#include "backend/dataset/side_table.h"
#include "daemon/worker/loader/resolve.h"

namespace millrace::loader {

/// Adds them to `run.warnings`. `place`: where relative paths of side tables begin, and the cache.
void addNotes(ResolvedRun& run, const dataset::TablePlace& place);

}  // namespace millrace::loader
