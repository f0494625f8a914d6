#include "backend/dataset/content_hash.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <thread>
#include <tuple>

#include <xxhash.h>

#include "backend/core/bounded_queue.h"
#include "backend/core/hash.h"
#include "backend/core/mutex.h"
#include "backend/core/thread.h"
#include "backend/files/file_identity.h"
#include "backend/filesystem/directories.h"
#include "backend/objects/object_store.h"

namespace millrace::dataset {
namespace {

constexpr std::size_t kBlock = 1 << 18;  ///< still in the second-level cache when it is hashed
constexpr std::size_t kBlocksAhead = 4;
constexpr std::int64_t kLarge = std::int64_t{4} << 20;  ///< worth a thread

/// Cache of local files' hashes by file identity: a plan's tables are read for their hash when the
/// plan is made and again when it is run, often by the same process.
class KnownHashes {
 public:
    /// False for a recently changed file, whose times may hide another change, and for files on a
    /// server, which has a clock of its own.
    static bool mayKnow(const files::DataFile& file) {
        const auto now = std::chrono::system_clock::now().time_since_epoch();
        const std::int64_t nowNs = std::chrono::nanoseconds(now).count();
        return files::hasIdentity(file) && networkFileSystemOf(file.path).empty() &&
               nowNs - std::max(file.changeNs, file.mtimeNs) > kSettled;
    }
    std::optional<std::string> find(const files::DataFile& file) {
        MutexLock lock(mutex_);
        const auto known = hashes_.find(keyOf(file));
        return known == hashes_.end() ? std::nullopt : std::optional(known->second);
    }
    void keep(const files::DataFile& file, const std::string& hash) {
        MutexLock lock(mutex_);
        if (hashes_.size() >= kMost) {
            hashes_.clear();
        }
        hashes_[keyOf(file)] = hash;
    }

 private:
    static constexpr std::int64_t kSettled = 2'000'000'000;  // nanoseconds
    static constexpr std::size_t kMost = 1024;

    using Key = std::tuple<std::string, std::int64_t, std::uint64_t, std::uint64_t, std::int64_t,
                           std::int64_t>;
    static Key keyOf(const files::DataFile& file) {
        return {file.path, file.bytes, file.device, file.inode, file.mtimeNs, file.changeNs};
    }

    Mutex mutex_;
    std::map<Key, std::string> hashes_ MR_GUARDED_BY(mutex_);
};

KnownHashes& knownHashes() {
    static KnownHashes known;
    return known;
}

/// Reads a file's blocks one after another; the last one is empty.
class Blocks {
 public:
    explicit Blocks(const files::FileSource& source) : source_(source) {
        if (source.file().bytes >= kLarge && std::thread::hardware_concurrency() > 1) {
            for (std::size_t i = 0; i < kBlocksAhead; ++i) {
                free_.push(std::string());
            }
            reader_ = startThread("hash", [this](std::stop_token) { readAhead(); });
        }
    }
    ~Blocks() {
        read_.close();
        free_.close();
    }

    /// `block`: the previous one; it is replaced by the next.
    Status next(std::string& block) {
        if (!reader_.joinable()) {
            return read(block);
        }
        free_.push(std::move(block));
        auto [status, text] = *read_.pop();
        block = std::move(text);
        return status;
    }

 private:
    struct Read {
        Status status;
        std::string block;
    };

    Status read(std::string& block) {
        block.resize(kBlock);
        ASSIGN_OR_RETURN(const std::int64_t n,
                         source_.readSome(at_, static_cast<std::int64_t>(kBlock), block.data()));
        block.resize(static_cast<std::size_t>(n));
        at_ += n;
        return okStatus();
    }

    void readAhead() {
        for (;;) {
            std::optional<std::string> block = free_.pop();
            if (!block) {
                return;
            }
            Read done;
            done.status = read(*block);
            done.block = *std::move(block);
            const bool isEnd = !done.status.ok() || done.block.empty();
            if (!read_.push(std::move(done)) || isEnd) {
                return;
            }
        }
    }

    const files::FileSource& source_;
    std::int64_t at_ = 0;  ///< the reader thread's
    BoundedQueue<std::string> free_{kBlocksAhead + 1};
    BoundedQueue<Read> read_{kBlocksAhead + 1};
    std::jthread reader_;  ///< declared last: it ends first
};

Result<std::string> contentOf(const files::FileSource& source) {
    const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(),
                                                                         &XXH3_freeState);
    XXH3_128bits_reset(state.get());
    Blocks blocks(source);
    std::string block;
    do {
        RETURN_IF_ERROR(blocks.next(block));
        XXH3_128bits_update(state.get(), block.data(), block.size());
    } while (!block.empty());
    const XXH128_hash_t hash = XXH3_128bits_digest(state.get());
    RETURN_IF_ERROR(source.verify());
    return Sum128{hash.low64, hash.high64}.hex();
}

}  // namespace

Result<std::string> contentHash(const files::FileSource& source) {
    const files::DataFile& file = source.file();
    const bool mayKnow = !objects::isObjectUri(file.path) && KnownHashes::mayKnow(file);
    if (mayKnow) {
        if (std::optional<std::string> known = knownHashes().find(file)) {
            return *known;
        }
    }
    ASSIGN_OR_RETURN(std::string hash, contentOf(source));
    if (mayKnow) {
        knownHashes().keep(file, hash);
    }
    return hash;
}

}  // namespace millrace::dataset
