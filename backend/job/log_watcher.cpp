#include "backend/job/log_watcher.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <utility>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "backend/core/thread.h"

namespace millrace::job {
namespace {

constexpr int kPauseMs = 50;   // between two notifications: many lines make one notification
constexpr int kBlindMs = 100;  // between two notifications for a run that cannot be watched
constexpr std::uint32_t kComes = IN_CREATE | IN_MOVED_TO | IN_ONLYDIR;

}  // namespace

LogWatcher::~LogWatcher() {
    thread_.request_stop();
    wake();
    if (thread_.joinable()) {
        thread_.join();
    }
}

LogSubscription LogWatcher::subscribe(const RunPaths& run, OnLogNews onNews) {
    std::uint64_t id = 0;
    {
        MutexLock lock(listenersMutex_);
        id = nextListener_++;
        listeners_[id] = {run.directory(), std::move(onNews)};
    }
    {
        MutexLock lock(mutex_);
        startLocked();
        ++followed_[run.directory()].subscriptions;
    }
    watch({run.directory(), run.directory(), Level::kRun});
    return {this, [id, directory = run.directory()](LogWatcher* watcher) {
                watcher->unsubscribe(id, directory);
            }};
}

void LogWatcher::startLocked() {
    if (thread_.joinable()) {
        return;
    }
    inotify_.reset(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
    wake_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    thread_ = startThread("log-news", [this](const std::stop_token& stop) { loop(stop); });
}

void LogWatcher::unsubscribe(std::uint64_t id, const std::string& run) {
    {
        MutexLock lock(listenersMutex_);
        listeners_.erase(id);
    }
    MutexLock lock(mutex_);
    if (--followed_[run].subscriptions > 0) {
        return;
    }
    followed_.erase(run);
    std::erase_if(folders_, [&](const auto& one) {
        const bool isOfRun = one.second.run == run;
        if (isOfRun) {
            ::inotify_rm_watch(inotify_.get(), one.first);
        }
        return isOfRun;
    });
}

std::size_t LogWatcher::numFolders() const {
    MutexLock lock(mutex_);
    return folders_.size();
}

void LogWatcher::wake() {
    const std::uint64_t one = 1;
    (void)!::write(wake_.get(), &one, sizeof one);
}

// Watches a folder and its subfolders. Adds the watch before listing, so that no subfolder is
// missed.
void LogWatcher::watch(const Folder& folder) {
    bool isWatched = false;
    {
        MutexLock lock(mutex_);
        isWatched = watchLocked(folder);
    }
    if (isWatched) {
        watchBelow(folder);
    }
}

void LogWatcher::watchBelow(const Folder& folder) {
    if (folder.level == Level::kWorker) {
        return;
    }
    const Level below = folder.level == Level::kRun ? Level::kAttempt : Level::kWorker;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(folder.path, error)) {
        if (entry.is_directory(error)) {
            watch({folder.run, entry.path().string(), below});
        }
    }
}

bool LogWatcher::watchLocked(const Folder& folder) {
    const auto followed = followed_.find(folder.run);
    if (followed == followed_.end()) {
        return false;
    }
    const bool hasRoom = folders_.size() < foldersMax_;
    const std::uint32_t what = folder.level == Level::kWorker ? kComes | IN_MODIFY : kComes;
    const int descriptor =
        hasRoom ? ::inotify_add_watch(inotify_.get(), folder.path.c_str(), what) : -1;
    if (descriptor >= 0) {
        folders_[descriptor] = folder;
        return true;
    }
    // A folder that disappeared has no lines to report; a run's own folder may be created later.
    const bool isGone = hasRoom && folder.level != Level::kRun && errno == ENOENT;
    if (!isGone && !std::exchange(followed->second.isBlind, true)) {
        wake();
    }
    return false;
}

bool LogWatcher::hasBlind() const {
    MutexLock lock(mutex_);
    return std::ranges::any_of(followed_, [](const auto& one) { return one.second.isBlind; });
}

void LogWatcher::loop(const std::stop_token& stop) {
    pollfd sources[] = {{wake_.get(), POLLIN, 0}, {inotify_.get(), POLLIN, 0}};
    while (!stop.stop_requested()) {
        ::poll(sources, std::size(sources), hasBlind() ? kBlindMs : -1);
        std::uint64_t count = 0;
        (void)!::read(wake_.get(), &count, sizeof count);
        const News news = takeNews();
        for (const auto& [descriptor, folder] : news.changed) {
            watchBelow(folder);
        }
        tell(news.runs);
        ::poll(sources, 1, kPauseMs);
    }
}

void LogWatcher::News::add(const std::string& run, LogNews what) {
    LogNews& told = runs.try_emplace(run, what).first->second;
    told = std::max(told, what);
}

LogWatcher::News LogWatcher::takeNews() {
    News news;
    MutexLock lock(mutex_);
    for (const auto& [run, followed] : followed_) {
        if (followed.isBlind) {
            news.add(run, LogNews::kWorkers);
        }
    }
    alignas(inotify_event) char buffer[16 << 10];
    for (ssize_t size; (size = ::read(inotify_.get(), buffer, sizeof buffer)) > 0;) {
        for (const char* at = buffer; at < buffer + size;) {
            const auto* event = reinterpret_cast<const inotify_event*>(at);
            take(event->wd, event->mask, event->len > 0 ? event->name : "", news);
            at += sizeof(inotify_event) + event->len;
        }
    }
    return news;
}

void LogWatcher::take(int descriptor, std::uint32_t what, const char* name, News& news) {
    if ((what & IN_Q_OVERFLOW) != 0) {  // the lost events may belong to any run
        for (const auto& [one, folder] : folders_) {
            news.add(folder.run, LogNews::kWorkers);
        }
        news.changed = folders_;
        return;
    }
    const auto found = folders_.find(descriptor);
    if (found == folders_.end()) {
        return;
    }
    const Folder& folder = found->second;
    if ((what & IN_IGNORED) != 0) {  // the folder was removed
        folders_.erase(found);
    } else if ((what & IN_ISDIR) != 0) {
        news.add(folder.run, LogNews::kWorkers);
        news.changed[descriptor] = folder;
    } else if (folder.level == Level::kWorker && std::string_view(name).starts_with("out.log")) {
        news.add(folder.run, (what & IN_MODIFY) != 0 ? LogNews::kLines : LogNews::kWorkers);
    }
}

// Holds the listeners' lock on purpose: unsubscribing waits for a call in progress.
void LogWatcher::tell(const std::map<std::string, LogNews>& runs) {
    MutexLock lock(listenersMutex_);
    for (const auto& [id, listener] : listeners_) {
        if (const auto news = runs.find(listener.run); news != runs.end()) {
            listener.onNews(news->second);
        }
    }
}

}  // namespace millrace::job
