#pragma once
// Micro-batches from the feed's ring (feed_reader.h) as BatchViews, without a copy.
//
// Reconnects to a feed that went away, for up to `lease`, and resumes with the batch that was due.
// An evaluation stream ends with kUnavailable instead and must be opened again. Threads: one owner.
// Failure: the feed's own message; a frame that lacks a column or holds another type is kDataLoss
// and the message names the column.
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backend/feed/feed_reader.h"
#include "backend/train/batch_source.h"

namespace millrace::train {

struct FeedSourceOptions {
    std::string socketPath;
    std::string stream = "train";  ///< or "eval"
    std::string state;             ///< "" is the start
    std::int64_t attempt = 0;
    int rank = 0, worldSize = 1;
    int abortFd = -1;  ///< when readable: next() returns kStopped
    std::chrono::milliseconds connectTimeout{30'000};
    std::chrono::milliseconds lease{600'000};
    bool isGlance = false;  ///< reads the first batches only: another source will need the rest
    bool hasDense = false;
    std::vector<std::string> vectors;   ///< after the dense block, in this order
    std::vector<std::string> features;  ///< ids, lists, weighted lists, or int64 carry columns
    std::vector<std::string> heads;     ///< a head that frames lack has no labels (eval only)
    bool isJoined = false;              ///< the feed joins this rank's micro-batches of a step into
                                        ///< one
    /// Called after ring memory is mapped and before it is unmapped; an error that it returns ends
    /// the stream. May be null.
    std::function<Status(void* memory, std::size_t bytes, bool isMapped)> onRing;
};

class FeedSource final : public BatchSource {
 public:
    static Result<std::unique_ptr<BatchSource>> open(const FeedSourceOptions& options);
    ~FeedSource() override;
    FeedSource(const FeedSource&) = delete;
    FeedSource& operator=(const FeedSource&) = delete;

    Result<FeedEvent> next() override;
    Result<std::string> state(std::int64_t epoch, std::int64_t nextMicroBatch) override;

 private:
    FeedSource(const FeedSourceOptions& options, millrace_feed* feed)
        : options_(options), feed_(feed) {}
    static void ringTold(void* source, void* memory, std::uint64_t bytes, std::int32_t isMapped);
    void release();
    void takeRest();
    Result<FeedEvent> reconnect();
    Result<FeedEvent> view(const millrace_feed_event& event);
    Status fillInputs(BatchView& batch) const;
    Status fillHeads(BatchView& batch) const;
    Status fillRowIds(BatchView& batch) const;

    FeedSourceOptions options_;
    millrace_feed* feed_;
    millrace_batch* held_ = nullptr;
    Status ringStatus_;             ///< last result of onRing
    std::int64_t lostSinceNs_ = 0;  // steady; 0: connected
};

}  // namespace millrace::train
