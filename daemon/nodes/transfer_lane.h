#pragma once
// TransferLane: moves files one after the other on a thread of its own, and retries each until it
// is moved. Used by FileMover, one for each direction.
//
// Threads: its own ("hand-over", "fetch") runs the work; move() and drop() from any. Owns: the
// thread, which the destructor stops and waits for. Bounded: one file per key, one transfer at a
// time. Failure: a failed transfer is retried after 0.2 to 5 s; move() returns why it failed.
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "backend/core/mutex.h"
#include "backend/core/status.h"

namespace millrace::nodes {

class TransferLane {
 public:
    /// The progress of a file.
    struct Standing {
        std::uint64_t bytes = 0, done = 0;  ///< 0: not known yet
        bool isDone = false;
        Status failure = okStatus();  ///< of the last try
    };
    struct Order {
        std::string key, path;
    };
    /// Moves one file; on the lane's thread. It returns soon after a stop request on `stop`.
    using Work = std::function<Status(const Order& order, const std::stop_token& stop)>;

    TransferLane(const std::string& name, Work work);
    ~TransferLane();

    /// Orders that the file at `path` is moved for `key`, instead of any other one. Called again,
    /// returns its progress.
    Standing move(const std::string& key, const std::string& path);
    void drop(const std::string& key);

    // For the work function:
    void tell(const Order& order, std::uint64_t bytes, std::uint64_t done);

 private:
    struct Transfer {
        std::string path;
        Standing standing;
        std::chrono::steady_clock::time_point due;
        std::chrono::milliseconds backoff{0};
    };

    void loop(const std::stop_token& stop);
    std::optional<Order> take(const std::stop_token& stop);
    void end(const Order& order, const Status& status);
    Transfer* find(const Order& order) MR_REQUIRES(mutex_);

    const Work work_;
    Mutex mutex_;
    CondVar wake_;
    std::map<std::string, Transfer> transfers_ MR_GUARDED_BY(mutex_);  ///< by key
    std::jthread thread_;
};

}  // namespace millrace::nodes
