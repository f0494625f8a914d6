#pragma once
// SideThread: one thread for work that would hold the agent's up, files that are read whole above
// all; what it finds is dealt with on the agent's.
//
// Threads: run() from the owner's; `work` runs on a thread of this object's, what it returns on
// the owner's, by way of `deliver`. Without start() both happen at once, on the caller's: for
// tests. Bounded: kMostWaiting pieces of work. Owns: the thread; end() waits for the work that is
// running, which sees `isEnding` turn true, and drops the rest.
#include <functional>
#include <string>
#include <thread>

#include "backend/core/bounded_queue.h"
#include "backend/core/thread.h"

namespace millrace::agent {

class SideThread {
 public:
    static constexpr std::size_t kMostWaiting = 10'000;
    using Then = std::function<void()>;
    using IsEnding = std::function<bool()>;
    using Work = std::function<Then(const IsEnding& isEnding)>;

    SideThread(std::string name, std::function<void(Then)> deliver)
        : name_(std::move(name)), deliver_(std::move(deliver)), queue_(kMostWaiting) {}
    ~SideThread() { end(); }

    /// Before the owner's thread: run() asks whether it was.
    void start() {
        isStarted_ = true;
        thread_ = startThread(name_, [this](const std::stop_token& stop) {
            while (std::optional<Work> work = queue_.pop()) {
                if (stop.stop_requested()) {
                    return;
                }
                deliver_((*work)([&stop] { return stop.stop_requested(); }));
            }
        });
    }

    void end() {
        queue_.close();
        thread_.request_stop();
        if (thread_.joinable()) {
            thread_.join();
        }
    }

    /// False when there is no room, or after end().
    bool run(Work work) {
        if (!isStarted_) {
            work([] { return false; })();
            return true;
        }
        return queue_.tryPush(std::move(work));
    }

 private:
    const std::string name_;
    const std::function<void(Then)> deliver_;
    BoundedQueue<Work> queue_;
    bool isStarted_ = false;
    std::jthread thread_;
};

/// Those of the agent, each for one kind of work.
struct SideThreads {
    explicit SideThreads(const std::function<void(SideThread::Then)>& deliver)
        : files("agent-files", deliver),
          documents("agent-docs", deliver),
          counting("agent-counts", deliver) {}
    void start() {
        files.start();
        documents.start();
        counting.start();
    }
    void end() {
        files.end();
        documents.end();
        counting.end();
    }
    SideThread files, documents, counting;
};

}  // namespace millrace::agent
