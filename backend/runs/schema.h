#pragma once
// The run store's schema: the tables of a new file, and which files this program reads.

#include "backend/core/status.h"
#include "backend/runs/database.h"

namespace millrace::runs {

/// Marks an SQLite file as a run store ("MRun").
inline constexpr std::int64_t kApplicationId = 0x4d52756e;

/// The schema that this program reads and writes (docs/formats/metrics.md). Lower numbers belong to
/// unreleased development versions.
inline constexpr int kSchema = 9;

/// Creates the tables of a new file in one transaction; leaves a file that has them unchanged.
/// kFailedPrecondition, with a message that names the remedy, for a file of another schema and for
/// a file that is not a run store.
Status makeSchema(Database& db);

}  // namespace millrace::runs
