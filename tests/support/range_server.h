#pragma once
// A small S3 server for tests and benchmarks: serves a directory's files as objects, by ranges, and
// injects faults. The file ROOT/BUCKET/KEY is the object KEY; it checks no signature.
//
// It is as fast as the machine (sendfile), so a benchmark measures the injected latency. It answers
// HEAD and GET of an object and version 2 of a bucket's listing; clients cannot write.
// Threads: any; one thread per connection, all joined by the destructor. Loopback only.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "backend/core/mutex.h"
#include "backend/core/status.h"
#include "backend/core/unique_fd.h"

namespace millrace::test {

class RangeServer {
 public:
    struct Faults {
        std::chrono::milliseconds latency{0};  ///< before every answer
        int failEvery = 0;                     ///< each n-th GET is answered with 503
        int cutEvery = 0;                      ///< each n-th GET ends in the middle of its body
        std::int64_t vanishAfter = -1;  ///< calls vanish() after this number of GETs of objects
        bool deniesAll = false;         ///< 403
        std::string onlyKey;            ///< other access keys: 400, ExpiredToken; "": any is let in
        bool ignoresRanges = false;     ///< 200 and the whole object
        std::int64_t stallsAfter = -1;  ///< sends this number of bytes of each body, then stalls
        std::int64_t shiftsRangesBy = 0;  ///< answers another range than the requested one
        bool hasNoEtags = false;
        bool ignoresIfMatch = false;
        std::string headers;  ///< more headers of objects: "Name: value\r\n"...
    };

    static Result<std::unique_ptr<RangeServer>> start(std::string root, int port = 0);
    ~RangeServer();
    RangeServer(const RangeServer&) = delete;
    RangeServer& operator=(const RangeServer&) = delete;

    int port() const { return port_; }
    std::string endpoint() const { return strCat("http://127.0.0.1:", port_); }
    void setFaults(const Faults& faults);
    /// Closes the listener and every connection: from now on nothing answers.
    void vanish();

    /// Value of the If-Match header of the last GET of an object; empty: it had none.
    std::string lastIfMatch() const;
    std::int64_t gets() const { return gets_.load(); }  ///< GETs of objects
    /// Number of the newest GET whose answer stalls after all bytes that it may send.
    std::int64_t stoodStill() const { return stoodStill_.load(); }
    std::int64_t heads() const { return heads_.load(); }     ///< HEADs of objects
    std::int64_t lists() const { return lists_.load(); }     ///< pages of listings
    int gettingMost() const { return gettingMost_.load(); }  ///< GETs under way at a time
    std::int64_t connections() const { return connections_.load(); }
    std::int64_t bytesSent() const { return bytesSent_.load(); }  ///< of objects
    /// Wait until this number of GETs of objects, or of connections, has arrived.
    void waitForGets(std::int64_t count);
    void waitForConnections(std::int64_t count);

 private:
    struct Request {
        std::string method, path;
        std::map<std::string, std::string> query, headers;
    };
    RangeServer(std::string root, UniqueFd listener, int port);
    void accept();
    void serve(int fd);
    bool answer(int fd, const Request& request);
    bool answerList(int fd, const std::string& bucket, const Request& request);
    bool answerObject(int fd, const std::string& file, const Request& request);
    bool sendBody(int fd, const std::string& head, const std::string& file, std::int64_t offset,
                  std::int64_t bytes);
    void pause(std::chrono::milliseconds time);
    void waitUntil(const std::atomic<std::int64_t>& counter, std::int64_t count);
    void increase(std::atomic<std::int64_t>& counter, std::int64_t by = 1);

    const std::string root_;
    const int port_;
    std::atomic<std::int64_t> gets_{0}, heads_{0}, lists_{0}, connections_{0}, bytesSent_{0};
    std::atomic<std::int64_t> stoodStill_{0};
    std::atomic<int> getting_{0}, gettingMost_{0};
    mutable Mutex mutex_;
    CondVar changed_;
    std::string lastIfMatch_ MR_GUARDED_BY(mutex_);
    bool isEnded_ MR_GUARDED_BY(mutex_) = false;
    Faults faults_ MR_GUARDED_BY(mutex_);
    UniqueFd listener_ MR_GUARDED_BY(mutex_);
    std::map<int, bool> open_ MR_GUARDED_BY(mutex_);  ///< connections
    std::vector<std::jthread> threads_ MR_GUARDED_BY(mutex_);
    std::jthread acceptor_;
};

}  // namespace millrace::test
