#include "backend/runs/run_store.h"

#include "backend/runs/schema.h"
#include "backend/runs/store_file.h"

namespace millrace::runs {
namespace {

Result<std::unique_ptr<Database>> openWriter(const std::string& path) {
    ASSIGN_OR_RETURN(auto db, Database::open(path, Database::Mode::kWrite));
    // Checks the file's version first, so that a foreign or newer file is not changed.
    RETURN_IF_ERROR(makeSchema(*db));
    RETURN_IF_ERROR(db->exec("PRAGMA journal_mode = WAL"));
    RETURN_IF_ERROR(db->exec("PRAGMA synchronous = FULL"));
    // If SQLite could not open its log for writing, even for a passing reason, it only reads from
    // then on and reports that at the first write.
    RETURN_IF_ERROR(Transaction::begin(*db).status());
    return db;
}

}  // namespace

Result<std::unique_ptr<StoreFile>> StoreFile::open(const std::string& path, const Clock& ofClock) {
    Connections connections;
    ASSIGN_OR_RETURN(connections.writer, openWriter(path));
    for (auto* reader : {&connections.reader, &connections.browser}) {
        ASSIGN_OR_RETURN(*reader, Database::open(path, Database::Mode::kReadOnly));
        RETURN_IF_ERROR((*reader)->exec("PRAGMA query_only = 1"));
    }
    return std::unique_ptr<StoreFile>(new StoreFile(path, std::move(connections), ofClock));
}

Result<std::unique_ptr<RunStore>> RunStore::open(const std::string& path, const Clock& clock) {
    ASSIGN_OR_RETURN(auto file, StoreFile::open(path, clock));
    return std::unique_ptr<RunStore>(new RunStore(std::move(file)));
}

// The parts refer to objects that `file` owns: its address stays the same when file_ takes it over.
RunStore::RunStore(std::unique_ptr<StoreFile> file)
    : RunTable(*file),
      RunLists(*file),
      RunLines(*file),
      RunCheckpoints(*file),
      RunMetrics(*file),
      DocumentPages(*file),
      StoreMaintenance(*file),
      file_(std::move(file)) {}

RunStore::~RunStore() = default;

}  // namespace millrace::runs
