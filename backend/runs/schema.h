#pragma once
// The run store's schema: what a new file gets, and which files this program reads.
#include <string>

#include "backend/core/status.h"
#include "backend/runs/database.h"

namespace millrace::runs {

/// Marks an SQLite file as a run store ("MRun").
inline constexpr std::int64_t kApplicationId = 0x4d52756e;

/// The schema that this program reads and writes (docs/formats/metrics.md). Lower numbers are of
/// development versions that nobody got.
inline constexpr int kSchema = 8;

/// Makes the tables of a new file in one transaction; a file that has them is left alone.
/// kFailedPrecondition, with a sentence that says what to do, for a file of another schema and for
/// one that is no run store.
Status makeSchema(Database& db);

}  // namespace millrace::runs
