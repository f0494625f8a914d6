#include "backend/dataset/read_ahead.h"

#include <algorithm>
#include <set>

#include <arrow/buffer.h>
#include <arrow/memory_pool.h>

#include "backend/core/thread.h"
#include "backend/dataset/split_reader.h"
#include "backend/objects/object_store.h"

namespace millrace::dataset {
namespace {

constexpr std::size_t kAnnouncedMax = 65'536;
constexpr int kBlocksLookedAt = 8;

}  // namespace

/// A range of a file. Its fields except `range` are guarded by the read-ahead's lock; its bytes
/// belong to the running requests until `partsLeft` is 0.
struct ReadAhead::Block {
    pages::ByteRange range;
    std::shared_ptr<arrow::Buffer> bytes;
    int partsLeft = 0;
    Status error;
};

struct ReadAhead::Part {
    std::uint32_t file = 0;
    BlockPtr block;
    pages::ByteRange range;
};

/// One split that was announced or needed, and not yet released.
struct ReadAhead::Entry {
    std::vector<std::string> wanted;  ///< announced, not yet requested
    std::set<std::string> asked;
    std::vector<BlockPtr> blocks;
};

ReadAhead::ReadAhead(std::shared_ptr<const Dataset> dataset, arrow::MemoryPool* pool,
                     ReadAheadOptions options)
    : dataset_(std::move(dataset)),
      pool_(pool == nullptr ? arrow::default_memory_pool() : pool),
      options_(options) {
    // At least two threads: one may wait for room.
    for (int i = 0; i < std::max(options_.connections, 2); ++i) {
        threads_.push_back(
            startThread(strCat("fetch-", i), [this](std::stop_token stop) { work(stop); }));
    }
}

ReadAhead::~ReadAhead() {
    {
        MutexLock lock(mutex_);
        isStopped_ = true;
        changed_.notifyAll();
    }
    for (std::jthread& thread : threads_) {
        thread.request_stop();  // stops all first: each has a request to abort
    }
    threads_.clear();
}

void ReadAhead::announce(const SplitRange& split, const std::vector<std::string>& columns) {
    MutexLock lock(mutex_);
    const Key key{split.file, split.chunk};
    if (announced_.size() >= kAnnouncedMax || entries_.contains(key)) {
        return;
    }
    entries_[key].wanted = columns;
    announced_.push_back(key);
    changed_.notifyAll();
}

void ReadAhead::need(const SplitRange& split, const std::vector<std::string>& columns) {
    const Key key{split.file, split.chunk};
    std::vector<std::string> missing;
    {
        MutexLock lock(mutex_);
        Entry& entry = entries_[key];
        // Requests the announced columns together with the needed ones, in one go.
        for (const std::vector<std::string>* names :
             {&columns, static_cast<const std::vector<std::string>*>(&entry.wanted)}) {
            for (const std::string& name : *names) {
                if (entry.asked.insert(name).second) {
                    missing.push_back(name);
                }
            }
        }
        entry.wanted.clear();
    }
    if (!missing.empty()) {
        expand(key, missing, true);
    }
}

void ReadAhead::release(const SplitRange& split) {
    MutexLock lock(mutex_);
    const auto it = entries_.find({split.file, split.chunk});
    if (it == entries_.end()) {
        return;
    }
    for (const BlockPtr& block : it->second.blocks) {
        held_ -= block->range.bytes;
        blocks_.erase({split.file, block->range.offset});
    }
    entries_.erase(it);
    changed_.notifyAll();
}

/// Blocks from different requests may overlap: checks a few.
ReadAhead::BlockPtr ReadAhead::blockOfLocked(std::uint32_t file, std::int64_t offset,
                                             std::int64_t bytes) const {
    auto it = blocks_.upper_bound({file, offset});
    for (int i = 0; i < kBlocksLookedAt && it != blocks_.begin(); ++i) {
        --it;
        if (it->first.first != file) {
            break;
        }
        if (offset + bytes <= it->second->range.end()) {
            return it->second;
        }
    }
    return nullptr;
}

Result<std::shared_ptr<arrow::Buffer>> ReadAhead::take(std::uint32_t file, std::int64_t offset,
                                                       std::int64_t bytes) {
    MutexLock lock(mutex_);
    const BlockPtr block = blockOfLocked(file, offset, bytes);
    if (block == nullptr) {
        return std::shared_ptr<arrow::Buffer>();
    }
    while (block->partsLeft > 0 && block->error.ok() && !isStopped_) {
        changed_.wait(mutex_);
    }
    RETURN_IF_ERROR(block->error);
    if (block->partsLeft > 0) {
        return std::shared_ptr<arrow::Buffer>();
    }
    return arrow::SliceBuffer(block->bytes, offset - block->range.offset, bytes);
}

bool ReadAhead::hasWorkLocked() const {
    const bool hasRoom = held_ < options_.bytesMax;
    return !parts_.empty() || (!announced_.empty() && !isExpanding_ && hasRoom);
}

void ReadAhead::work(const std::stop_token& stop) {
    for (;;) {
        Part part;
        Key key;
        std::vector<std::string> columns;
        {
            MutexLock lock(mutex_);
            while (!isStopped_ && !hasWorkLocked()) {
                changed_.wait(mutex_);
            }
            if (isStopped_) {
                return;
            }
            if (!parts_.empty()) {
                part = std::move(parts_.front());
                parts_.pop_front();
            } else {
                key = announced_.front();
                announced_.pop_front();
                const auto it = entries_.find(key);
                if (it == entries_.end() || it->second.wanted.empty()) {
                    continue;  // released, or read already
                }
                columns.swap(it->second.wanted);
                it->second.asked.insert(columns.begin(), columns.end());
                isExpanding_ = true;
            }
        }
        if (part.block != nullptr) {
            fetch(part, stop);
            continue;
        }
        expand(key, columns, false);
        MutexLock lock(mutex_);
        isExpanding_ = false;
        changed_.notifyAll();
    }
}

Result<std::vector<pages::ByteRange>> ReadAhead::rangesOf(const Key& key,
                                                          const std::vector<std::string>& columns) {
    const auto [file, chunk] = key;
    ASSIGN_OR_RETURN(const std::shared_ptr<const files::FileMetadata> facts, dataset_->facts(file));
    const std::string& format = dataset_->options().format;
    if (chunk < 0 || chunk >= static_cast<std::int64_t>(facts->chunks.size())) {
        return std::vector<pages::ByteRange>();
    }
    const files::ColumnChunkMetadata& stretch = facts->chunks[static_cast<std::size_t>(chunk)];
    if (format == "csv" && !facts->isCompressed) {
        return std::vector<pages::ByteRange>{{stretch.offset, stretch.bytes}};
    }
    if (format != "parquet") {
        return std::vector<pages::ByteRange>();
    }
    ASSIGN_OR_RETURN(const files::DataFile data, dataset_->checkedFile(file));
    ASSIGN_OR_RETURN(const files::FileSource source, files::FileSource::open(data, pool_));
    ASSIGN_OR_RETURN(const auto footer,
                     dataset_->footers().get(data, source, facts->contentHash, columns));
    return pages::columnRanges(*footer.metadata, static_cast<int>(chunk), columns,
                               options_.hasIndexes);
}

std::vector<ReadAhead::BlockPtr> ReadAhead::blocksOf(
    const std::vector<pages::ByteRange>& ranges) const {
    std::vector<BlockPtr> blocks;
    for (const pages::ByteRange& range : ranges) {
        pages::ByteRange* last = blocks.empty() ? nullptr : &blocks.back()->range;
        if (last != nullptr && range.offset <= last->end() + options_.gapBytes &&
            range.end() - last->offset <= options_.requestBytes) {
            last->bytes = std::max(last->end(), range.end()) - last->offset;
            continue;
        }
        blocks.push_back(std::make_shared<Block>());
        blocks.back()->range = range;
    }
    return blocks;
}

/// Returns false once the read-ahead stops. A single block may exceed the limit.
bool ReadAhead::waitForRoom(std::int64_t bytes) {
    MutexLock lock(mutex_);
    while (!isStopped_ && held_ > 0 && held_ + bytes > options_.bytesMax) {
        changed_.wait(mutex_);
    }
    return !isStopped_;
}

void ReadAhead::expand(const Key& key, const std::vector<std::string>& columns, bool isUrgent) {
    // If a file cannot be read, the reader will report it.
    const Result<std::vector<pages::ByteRange>> ranges = rangesOf(key, columns);
    if (!ranges.ok()) {
        return;
    }
    std::vector<BlockPtr> blocks = blocksOf(*ranges);
    if (isUrgent) {
        std::ranges::reverse(blocks);  // each is put in front of the previous one
    }
    for (const BlockPtr& block : blocks) {
        if (!isUrgent && !waitForRoom(block->range.bytes)) {
            return;
        }
        auto bytes = arrow::AllocateBuffer(block->range.bytes, pool_);
        if (!bytes.ok()) {
            continue;
        }
        block->bytes = *std::move(bytes);
        add(key, block, isUrgent);
    }
}

void ReadAhead::add(const Key& key, BlockPtr block, bool isUrgent) {
    MutexLock lock(mutex_);
    const auto entry = entries_.find(key);
    if (entry == entries_.end() ||
        !blocks_.emplace(std::pair(key.first, block->range.offset), block).second) {
        return;  // released meanwhile, or present already
    }
    entry->second.blocks.push_back(block);
    held_ += block->range.bytes;
    heldMost_ = std::max(heldMost_.load(), held_);
    const std::int64_t count =
        (block->range.bytes + options_.requestBytes - 1) / options_.requestBytes;
    block->partsLeft = static_cast<int>(count);
    for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t begin = block->range.offset + i * options_.requestBytes;
        const std::int64_t bytes = std::min(options_.requestBytes, block->range.end() - begin);
        Part part{key.first, block, {begin, bytes}};
        if (isUrgent) {
            parts_.push_front(std::move(part));
        } else {
            parts_.push_back(std::move(part));
        }
    }
    changed_.notifyAll();
}

Status ReadAhead::read(const Part& part, const std::stop_token& stop) {
    ++requests_;
    const Block& block = *part.block;
    ASSIGN_OR_RETURN(const files::DataFile file, dataset_->checkedFile(part.file));
    ASSIGN_OR_RETURN(const auto store, objects::ObjectStore::open());
    ASSIGN_OR_RETURN(
        const objects::ObjectBytes read,
        store->read(file.path, {part.range.offset, part.range.bytes, file.etag},
                    block.bytes->mutable_data() + (part.range.offset - block.range.offset), stop));
    return read.count == part.range.bytes
               ? okStatus()
               : dataLoss(file.path, ": truncated while the run reads it");
}

void ReadAhead::fetch(const Part& part, const std::stop_token& stop) {
    Block& block = *part.block;
    const Status status = read(part, stop);
    MutexLock lock(mutex_);
    --block.partsLeft;
    block.error = block.error.ok() ? status : block.error;
    changed_.notifyAll();
}

}  // namespace millrace::dataset
