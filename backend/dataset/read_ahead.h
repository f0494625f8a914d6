#pragma once
// Fetches column chunks of objects before they are decoded, to hide latency.
//
// Splits are announced in the order in which they will be read. Their column chunks become blocks:
// adjacent ranges are merged into one request, large blocks are divided into several; requests run
// in parallel on the read-ahead's own threads. Fetched but unreleased bytes stay below a limit that
// covers latency x bandwidth (16 requests of 8 MB cover 100 ms at 1.2 GB/s). They are taken from
// the caller's pool and so count against the memory limit. If the pool is exhausted, splits are
// fetched only when they are needed.
//
// Threads: any; owns `connections` threads, named "fetch-N", joined by the destructor. Destroyed
// before the pool. Failure: the reader of the bytes gets the error of a failed request; what cannot
// be planned (no footer, no memory) is left for the reader to fetch.
#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <arrow/type_fwd.h>

#include "backend/core/mutex.h"
#include "backend/dataset/dataset.h"
#include "backend/files/file_source.h"
#include "backend/pages/parquet_footers.h"

namespace millrace::dataset {

struct SplitRange;

struct ReadAheadOptions {
    std::int64_t bytesMax = 128'000'000;  ///< fetched or being fetched, and not yet released
    int connections = 16;                 ///< requests at a time
    std::int64_t requestBytes = 8'000'000;
    std::int64_t gapBytes = 256'000;  ///< gaps up to this size are read instead of starting a new
                                      ///< request
    bool hasIndexes = false;          ///< fetches page indexes too, since rows will be skipped
};

class ReadAhead : public files::FetchedBytes {
 public:
    /// `pool` outlives the read-ahead and the buffers from take().
    ReadAhead(std::shared_ptr<const Dataset> dataset, arrow::MemoryPool* pool,
              ReadAheadOptions options = {});
    ~ReadAhead() override;
    ReadAhead(const ReadAhead&) = delete;
    ReadAhead& operator=(const ReadAhead&) = delete;

    const ReadAheadOptions& options() const { return options_; }

    /// Announces that these columns of the split will be read soon. Repeating it has no effect.
    void announce(const SplitRange& split, const std::vector<std::string>& columns);
    /// Fetches these columns before everything that is only announced. Waits for the file's footer.
    void need(const SplitRange& split, const std::vector<std::string>& columns);
    /// Releases the split's memory.
    void release(const SplitRange& split);

    Result<std::shared_ptr<arrow::Buffer>> take(std::uint32_t file, std::int64_t offset,
                                                std::int64_t bytes) override;

    /// Requests made so far.
    std::int64_t requests() const { return requests_.load(); }
    /// Peak of the bytes held so far.
    std::int64_t bytesHeldMost() const { return heldMost_.load(); }

 private:
    struct Block;
    struct Part;
    struct Entry;
    using BlockPtr = std::shared_ptr<Block>;
    using Key = std::pair<std::uint32_t, std::int64_t>;  ///< file, chunk

    void work(const std::stop_token& stop);
    BlockPtr blockOfLocked(std::uint32_t file, std::int64_t offset, std::int64_t bytes) const
        MR_REQUIRES(mutex_);
    bool hasWorkLocked() const MR_REQUIRES(mutex_);
    void expand(const Key& key, const std::vector<std::string>& columns, bool isUrgent);
    Result<std::vector<pages::ByteRange>> rangesOf(const Key& key,
                                                   const std::vector<std::string>& columns);
    std::vector<BlockPtr> blocksOf(const std::vector<pages::ByteRange>& ranges) const;
    bool waitForRoom(std::int64_t bytes);
    void add(const Key& key, BlockPtr block, bool isUrgent);
    void fetch(const Part& part, const std::stop_token& stop);
    Status read(const Part& part, const std::stop_token& stop);

    const std::shared_ptr<const Dataset> dataset_;
    arrow::MemoryPool* const pool_;
    const ReadAheadOptions options_;
    std::atomic<std::int64_t> requests_{0}, heldMost_{0};

    Mutex mutex_;
    CondVar changed_;
    bool isStopped_ MR_GUARDED_BY(mutex_) = false;
    bool isExpanding_ MR_GUARDED_BY(mutex_) = false;
    std::int64_t held_ MR_GUARDED_BY(mutex_) = 0;
    std::deque<Key> announced_ MR_GUARDED_BY(mutex_);
    std::deque<Part> parts_ MR_GUARDED_BY(mutex_);
    std::map<Key, Entry> entries_ MR_GUARDED_BY(mutex_);
    std::map<std::pair<std::uint32_t, std::int64_t>, BlockPtr> blocks_ MR_GUARDED_BY(mutex_);
    std::vector<std::jthread> threads_;
};

}  // namespace millrace::dataset
