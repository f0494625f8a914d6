#pragma once
// The run store's schema, as numbered steps that are never edited once released.
#include "backend/core/status.h"
#include "backend/runs/database.h"

namespace millrace::runs {

/// Marks an SQLite file as a run store ("MRun").
inline constexpr std::int64_t kApplicationId = 0x4d52756e;

/// The newest schema this build knows.
int newestSchema();

/// Brings the file to the newest schema, each step in a transaction. kFailedPrecondition for a file
/// of a newer Millrace or one that is no run store.
Status migrate(Database& db);

}  // namespace millrace::runs
