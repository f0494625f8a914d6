#pragma once
// LogWatcher: notifies the followers of a run when its workers' logs grow, so that no follower
// needs to poll.
//
// It uses inotify: for each followed run it watches the folders of the run, its attempts and their
// workers, including later ones. Threads: any; onNews is called on the watcher's own thread
// ("log-news"), at most 20 times per second. The thread starts with the first subscription and
// sleeps while nothing is written. Owns: the thread and the watches. Bounded: at most `foldersMax`
// folders of all runs. Failure: none; a run that cannot be watched completely is notified ten times
// per second.
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "backend/core/mutex.h"
#include "backend/core/unique_fd.h"
#include "backend/job/attempt_paths.h"
#include "backend/job/worker_logs.h"

namespace millrace::job {

class LogWatcher {
 public:
    static constexpr std::size_t kFoldersMax = 4'096;
    explicit LogWatcher(std::size_t foldersMax = kFoldersMax) : foldersMax_(foldersMax) {}
    /// Destroy it after its subscriptions.
    ~LogWatcher();

    LogSubscription subscribe(const RunPaths& run, OnLogNews onNews);
    /// Number of folders watched now.
    std::size_t numFolders() const;

 private:
    enum class Level { kRun, kAttempt, kWorker };
    struct Folder {
        std::string run;  ///< its directory
        std::string path;
        Level level = Level::kRun;
    };
    struct Followed {
        int subscriptions = 0;
        bool isBlind = false;  ///< some part of it cannot be watched
    };
    struct Listener {
        std::string run;
        OnLogNews onNews;
    };
    /// Events from the system.
    struct News {
        std::map<std::string, LogNews> runs;
        void add(const std::string& run, LogNews what);
        std::map<int, Folder> changed;  ///< folders with a new subfolder
    };

    void startLocked() MR_REQUIRES(mutex_);
    void unsubscribe(std::uint64_t id, const std::string& run);
    void watch(const Folder& folder);
    void watchBelow(const Folder& folder);
    bool watchLocked(const Folder& folder) MR_REQUIRES(mutex_);
    void wake();
    void loop(const std::stop_token& stop);
    bool hasBlind() const;
    News takeNews();
    void take(int descriptor, std::uint32_t what, const char* name, News& news) MR_REQUIRES(mutex_);
    void tell(const std::map<std::string, LogNews>& runs);

    const std::size_t foldersMax_;
    UniqueFd inotify_, wake_;  // created before the thread
    mutable Mutex mutex_;
    std::map<int, Folder> folders_ MR_GUARDED_BY(mutex_);  // by watch descriptor
    std::map<std::string, Followed> followed_ MR_GUARDED_BY(mutex_);
    Mutex listenersMutex_;
    std::map<std::uint64_t, Listener> listeners_ MR_GUARDED_BY(listenersMutex_);
    std::uint64_t nextListener_ MR_GUARDED_BY(listenersMutex_) = 1;
    std::jthread thread_;
};

}  // namespace millrace::job
