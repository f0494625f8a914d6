#pragma once
// The run store's schema, as numbered steps that are never edited once released.
#include <string>

#include "backend/core/status.h"
#include "backend/runs/database.h"

namespace millrace::runs {

/// Marks an SQLite file as a run store ("MRun").
inline constexpr std::int64_t kApplicationId = 0x4d52756e;

/// The newest schema this build knows.
int newestSchema();

/// Where the store lies as it was before it was brought on from a schema.
std::string copyBeforeMigration(const std::string& path, int version);

/// Brings the file to the newest schema, each step in a transaction, after a copy of it has been
/// made. kFailedPrecondition for a file of a newer Millrace or one that is no run store;
/// kResourceExhausted when there is no room for the copy.
Status migrate(Database& db);

}  // namespace millrace::runs
