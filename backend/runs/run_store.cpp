#include "backend/runs/run_store.h"

#include "backend/runs/schema.h"
#include "backend/runs/store_file.h"

namespace millrace::runs {
namespace {

Result<std::unique_ptr<Database>> openWriter(const std::string& path) {
    ASSIGN_OR_RETURN(auto db, Database::open(path, Database::Mode::kWrite));
    // The file's version first: nothing of a foreign or newer file is touched.
    RETURN_IF_ERROR(makeSchema(*db));
    RETURN_IF_ERROR(db->exec("PRAGMA journal_mode = WAL"));
    RETURN_IF_ERROR(db->exec("PRAGMA synchronous = FULL"));
    // Where its log could not be opened for writing, for whatever passing reason, SQLite only reads
    // from then on and says so with the first write.
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

// The parts borrow what `file` owns: its address stays when file_ takes it over, behind them.
RunStore::RunStore(std::unique_ptr<StoreFile> file)
    : RunTable(*file),
      RunLists(*file),
      RunLines(*file),
      RunCheckpoints(*file),
      RunMetrics(*file),
      DocumentPages(*file),
      StoreCare(*file),
      file_(std::move(file)) {}

RunStore::~RunStore() = default;

}  // namespace millrace::runs
