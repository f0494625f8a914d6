#include "backend/dataset/metadata_cache.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "backend/core/parallel.h"
#include "backend/csv/csv_scan.h"
#include "backend/dataset/footers.h"
#include "backend/files/facts_pack.h"
#include "backend/files/file_identity.h"
#include "backend/objects/object_store.h"

namespace millrace::dataset {
namespace {

constexpr std::int64_t kSettleNs = 3'000'000'000;
constexpr std::size_t kSmallPack = 256;

std::string keyOf(const files::DataFile& file, const files::ReadOptions& options) {
    return strCat(file.path, "\n", file.bytes, "\n", file.mtimeNs, "\n", file.inode, "\n",
                  options.cacheKey());
}

/// The facts of a file that did not change while it was read.
Result<std::shared_ptr<const files::FileMetadata>> readUnchanged(const files::DataFile& file,
                                                                 const files::ReadOptions& options,
                                                                 int threads) {
    ASSIGN_OR_RETURN(files::FileMetadata read, readFacts(file, options, threads));
    // An object is written as a whole or not at all, and another request would cost its latency.
    if (!objects::isObjectUri(file.path)) {
        if (!files::verifyAtPath(file).ok()) {
            return failedPrecondition(file.path, ": was changed while it was read; try again");
        }
    }
    return std::make_shared<const files::FileMetadata>(std::move(read));
}

/// A store's times have a resolution of a second: a recent object may change again undetected.
bool isSettled(const files::DataFile& file) {
    const auto now = std::chrono::duration_cast<std::chrono::nanoseconds>(
        std::chrono::system_clock::now().time_since_epoch());
    return !objects::isObjectUri(file.path) || file.mtimeNs + kSettleNs < now.count();
}

/// Reads files[missing] in up to `threads` threads; returns the first error in file order.
Status readMissing(const std::vector<files::DataFile>& files,
                   const std::vector<std::size_t>& missing, const files::ReadOptions& options,
                   int threads, std::vector<std::shared_ptr<const files::FileMetadata>>& facts) {
    const bool isRemote = !missing.empty() && objects::isObjectUri(files[missing.front()].path);
    // With fewer files than threads, several threads read one file.
    const int within =
        std::max(1, threads / static_cast<int>(std::max<std::size_t>(
                                  1, std::min<std::size_t>(missing.size(), 1 << 20))));
    return parallelFor(missing.size(), isRemote ? kRemoteThreads : threads, "footers",
                       [&](std::size_t m) -> Status {
                           ASSIGN_OR_RETURN(facts[missing[m]],
                                            readUnchanged(files[missing[m]], options, within));
                           return okStatus();
                       });
}

}  // namespace

Result<files::FileMetadata> readFacts(const files::DataFile& file,
                                      const files::ReadOptions& options, int threads) {
    if (options.format == "csv") {
        return csv::scanCsv(file, options, threads);
    }
    if (options.format == "arrow") {
        return readArrowFacts(file);
    }
    if (options.format == "parquet") {
        return readParquetFacts(file);
    }
    return invalidArgument("dataset.format: '", options.format,
                           "' is not known; known: parquet, csv, arrow");
}

Result<std::shared_ptr<const files::FileMetadata>> MetadataCache::get(
    const files::DataFile& file, const files::ReadOptions& options) {
    const std::string key = keyOf(file, options);
    const std::string path = directory_.empty() ? "" : files::packPath(directory_, key);
    std::shared_ptr<const files::FileMetadata> facts;
    {
        MutexLock lock(mutex_);
        auto it = facts_.find(key);
        // A pack is read once; an entry under its own path records that.
        if (it == facts_.end() && !path.empty() && facts_.emplace(path, nullptr).second) {
            facts_.merge(files::readPack(path));
            it = facts_.find(key);
        }
        if (it != facts_.end()) {
            return it->second;
        }
    }
    ASSIGN_OR_RETURN(facts, readUnchanged(file, options, 1));
    if (!directory_.empty() && isSettled(file)) {
        // Reads of single files only make small packs; getAll() writes the large ones.
        files::FactsByKey pack = files::readPack(path);
        if (pack.size() < kSmallPack) {
            files::addToPack(directory_, path, std::move(pack), {{key, facts}});
        }
    }
    MutexLock lock(mutex_);
    return facts_.emplace(key, std::move(facts)).first->second;
}

Result<std::vector<std::shared_ptr<const files::FileMetadata>>> MetadataCache::getAll(
    const std::vector<files::DataFile>& files, const files::ReadOptions& options, int threads) {
    std::vector<std::shared_ptr<const files::FileMetadata>> facts(files.size());
    std::vector<std::string> keys(files.size());
    std::map<std::string, std::vector<std::size_t>> packs;
    for (std::size_t i = 0; i < files.size(); ++i) {
        keys[i] = keyOf(files[i], options);
        MutexLock lock(mutex_);
        const auto it = facts_.find(keys[i]);
        if (it != facts_.end()) {
            facts[i] = it->second;
        } else {
            packs[directory_.empty() ? "" : files::packPath(directory_, keys[i])].push_back(i);
        }
    }
    std::map<std::string, files::FactsByKey> onDisk;
    std::vector<std::size_t> missing;
    for (const auto& [path, members] : packs) {
        files::FactsByKey& pack = onDisk[path];
        pack = path.empty() ? files::FactsByKey() : files::readPack(path);
        for (const std::size_t i : members) {
            const auto at = pack.find(keys[i]);
            if (at != pack.end()) {
                facts[i] = at->second;
            } else {
                missing.push_back(i);
            }
        }
    }
    std::ranges::sort(missing);
    RETURN_IF_ERROR(readMissing(files, missing, options, threads, facts));
    std::map<std::string, files::FactsByKey> added;
    for (const std::size_t i : missing) {
        if (!directory_.empty() && isSettled(files[i])) {
            added[files::packPath(directory_, keys[i])].emplace(keys[i], facts[i]);
        }
    }
    for (const auto& [path, members] : added) {
        files::addToPack(directory_, path, std::move(onDisk[path]), members);
    }
    MutexLock lock(mutex_);
    for (std::size_t i = 0; i < files.size(); ++i) {
        facts_.emplace(std::move(keys[i]), facts[i]);
    }
    return facts;
}

}  // namespace millrace::dataset
