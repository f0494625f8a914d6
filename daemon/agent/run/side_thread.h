#pragma once
// SideThread: one thread for work that would block the agent's thread, above all reading whole
// files. The results are handled on the agent's thread.
//
// Threads: run() is called on the owner's thread; `work` runs on a thread of this object, and the
// function that it returns on the owner's, by way of `deliver`. Without start() both run at once on
// the caller's thread: for tests. Bounded: kMostWaiting pieces of work. Owns: the thread; end()
// waits for the work that is running, which sees `isEnding` turn true, and drops the rest.
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

    /// Call before the owner's thread starts: run() asks whether this was called.
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

/// The agent's side threads, each for one kind of work.
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
