#pragma once
// StoreFile: the run store's file, shared by its parts: three connections, each under its lock.
//
// Writes, short reads and browsing (lists, metrics) have separate connections, so that neither a
// long list nor a long series delays a commit or an acknowledgement. Threads: any, under the locks;
// no lock is taken while another is held. Owns: the connections.
#include <memory>
#include <string>

#include "backend/core/clock.h"
#include "backend/core/mutex.h"
#include "backend/core/status.h"
#include "backend/runs/database.h"

namespace millrace::runs {

class StoreFile {
 public:
    /// Opens or creates the file. `ofClock` outlives it.
    static Result<std::unique_ptr<StoreFile>> open(const std::string& path, const Clock& ofClock);

    const std::string path;
    const Clock& clock;
    Mutex writeMutex, readMutex, browseMutex;
    std::unique_ptr<Database> writer MR_GUARDED_BY(writeMutex);
    std::unique_ptr<Database> reader MR_GUARDED_BY(readMutex);
    std::unique_ptr<Database> browser MR_GUARDED_BY(browseMutex);

 private:
    struct Connections {
        std::unique_ptr<Database> writer, reader, browser;
    };
    StoreFile(std::string ofPath, Connections connections, const Clock& ofClock)
        : path(std::move(ofPath)),
          clock(ofClock),
          writer(std::move(connections.writer)),
          reader(std::move(connections.reader)),
          browser(std::move(connections.browser)) {}
};

}  // namespace millrace::runs
