#include "backend/dataset/file_facts.h"

#include <algorithm>
#include <chrono>

#include "backend/core/hash.h"
#include "backend/core/parallel.h"
#include "backend/dataset/csv_scan.h"
#include "backend/dataset/facts_pack.h"
#include "backend/dataset/file_identity.h"
#include "backend/dataset/footers.h"
#include "backend/objects/object_store.h"

namespace millrace::dataset {
namespace {

constexpr std::int64_t kSettleNs = 3'000'000'000;
constexpr std::size_t kSmallPack = 256;
constexpr int kRemoteThreads = 32;  // footers of objects wait for latency, not for a core
constexpr int kVersion = 4;         ///< of the facts on disk; another one is read anew

std::string keyOf(const DataFile& file, const ReadOptions& options) {
    return strCat(file.path, "\n", file.bytes, "\n", file.mtimeNs, "\n", file.inode, "\n",
                  options.cacheKey());
}

/// The facts of a file that was the same before and after it was read.
Result<std::shared_ptr<const FileFacts>> readUnchanged(const DataFile& file,
                                                       const ReadOptions& options) {
    ASSIGN_OR_RETURN(FileFacts read, readFacts(file, options));
    // An object is written as a whole or not at all, and another request costs its latency.
    if (!objects::isObjectUri(file.path)) {
        if (!verifyAtPath(file).ok()) {
            return failedPrecondition(file.path, ": was changed while it was read; try again");
        }
    }
    return std::make_shared<const FileFacts>(std::move(read));
}

/// A store tells times by the second: what was just written may be written again unseen.
bool isSettled(const DataFile& file) {
    const auto now = std::chrono::duration_cast<std::chrono::nanoseconds>(
        std::chrono::system_clock::now().time_since_epoch());
    return !objects::isObjectUri(file.path) || file.mtimeNs + kSettleNs < now.count();
}

/// Reads files[missing] by up to `threads` threads; the first error in file order.
Status readMissing(const std::vector<DataFile>& files, const std::vector<std::size_t>& missing,
                   const ReadOptions& options, int threads,
                   std::vector<std::shared_ptr<const FileFacts>>& facts) {
    const bool isRemote = !missing.empty() && objects::isObjectUri(files[missing.front()].path);
    return parallelFor(missing.size(), isRemote ? kRemoteThreads : threads, "footers",
                       [&](std::size_t m) -> Status {
                           ASSIGN_OR_RETURN(facts[missing[m]],
                                            readUnchanged(files[missing[m]], options));
                           return okStatus();
                       });
}

}  // namespace

std::string ReadOptions::cacheKey() const {
    if (format != "csv") {
        return strCat(format, "/", kVersion);
    }
    std::string key = strCat("csv/", kVersion, "/", csvSplitRows, "/",
                             static_cast<int>(csvDelimiter), "/", csvHasHeader ? 1 : 0);
    strAppend(&key, "/", csvReading());
    for (const auto& [name, type] : csvTypes) {
        // Which rows are left out depends on the types.
        strAppend(&key, csvDropsBadRows ? strCat("/", dumpJson(Json::array({name, type}))) : "");
    }
    return key;
}

std::string ReadOptions::csvReading() const {
    const ReadOptions usual;
    const bool isUsual = csvQuote == usual.csvQuote && csvComment == usual.csvComment &&
                         csvSkipRows == usual.csvSkipRows && !csvHasDecimalComma &&
                         csvNullValues.empty() && !csvDropsBadRows;
    return isUsual ? ""
                   : dumpJson(Json::array({static_cast<int>(csvQuote), static_cast<int>(csvComment),
                                         csvSkipRows, csvHasDecimalComma, csvNullValues,
                                         csvDropsBadRows}));
}

Json FileFacts::toJson() const {
    Json columns = Json::array();
    for (const spec::Field& field : schema.fields) {
        columns.push_back({field.name, static_cast<int>(field.type.kind), field.type.isList,
                           field.type.listSize, field.type.nullable});
    }
    Json refused = Json::array();
    for (const spec::RefusedColumn& column : schema.refused) {
        refused.push_back({column.name, column.why, column.hasFields});
    }
    Json stretches = Json::array();
    for (const ChunkFacts& chunk : chunks) {
        stretches.push_back(
            {chunk.rows, chunk.offset, chunk.bytes, chunk.firstLine, chunk.decodedBytes});
    }
    return {{"version", kVersion}, {"columns", columns}, {"refused", refused}, {"rows", rows},
            {"hash", contentHash}, {"etag", etag},       {"chunks", stretches},
            {"csv", csvFactsText(*this)}};
}

Result<FileFacts> FileFacts::fromJson(const Json& json) {
    if (jsonInt(json, "version") != kVersion) {
        return invalidArgument("file facts: version ", jsonInt(json, "version"), " is not ",
                               kVersion);
    }
    try {
        FileFacts facts;
        for (const Json& c : json.at("columns")) {
            const int kind = c.at(1).get<int>();
            if (kind < 0 || kind > static_cast<int>(spec::TypeKind::kTimestamp)) {
                return invalidArgument("file facts: a column has type ", kind, ", which is none");
            }
            facts.schema.fields.push_back(
                {c.at(0).get<std::string>(),
                 {static_cast<spec::TypeKind>(kind), c.at(2).get<bool>(),
                  c.at(3).get<std::int32_t>(), c.at(4).get<bool>()}});
        }
        for (const Json& c : json.at("refused")) {
            facts.schema.refused.push_back(
                {c.at(0).get<std::string>(), c.at(1).get<std::string>(), c.at(2).get<bool>()});
        }
        facts.rows = json.at("rows").get<std::int64_t>();
        facts.contentHash = json.at("hash").get<std::string>();
        facts.etag = json.at("etag").get<std::string>();
        for (const Json& c : json.at("chunks")) {
            facts.chunks.push_back({c.at(0).get<std::int64_t>(), c.at(1).get<std::int64_t>(),
                                    c.at(2).get<std::int64_t>(), c.at(3).get<std::int64_t>(),
                                    c.at(4).get<std::vector<std::int64_t>>()});
            if (facts.chunks.back().decodedBytes.size() != facts.schema.fields.size()) {
                return invalidArgument("file facts: a chunk has sizes of other columns");
            }
        }
        RETURN_IF_ERROR(readCsvFacts(json.at("csv").get<std::string>(), facts));
        return facts;
    } catch (const Json::exception& e) {
        return invalidArgument("file facts: ", e.what());
    }
}

Result<FileFacts> readFacts(const DataFile& file, const ReadOptions& options) {
    if (options.format == "csv") {
        return scanCsv(file, options);
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

Result<std::shared_ptr<const FileFacts>> FactsCache::get(const DataFile& file,
                                                         const ReadOptions& options) {
    const std::string key = keyOf(file, options);
    const std::string path = directory_.empty() ? "" : packPath(directory_, key);
    std::shared_ptr<const FileFacts> facts;
    {
        MutexLock lock(mutex_);
        auto it = facts_.find(key);
        // A pack is read once; that it was stands among the facts under its own path.
        if (it == facts_.end() && !path.empty() && facts_.emplace(path, nullptr).second) {
            facts_.merge(readPack(path));
            it = facts_.find(key);
        }
        if (it != facts_.end()) {
            return it->second;
        }
    }
    ASSIGN_OR_RETURN(facts, readUnchanged(file, options));
    if (!directory_.empty() && isSettled(file)) {
        // One file at a time only makes small packs: a large one is getAll()'s to write.
        FactsByKey pack = readPack(path);
        if (pack.size() < kSmallPack) {
            addToPack(directory_, path, std::move(pack), {{key, facts}});
        }
    }
    MutexLock lock(mutex_);
    return facts_.emplace(key, std::move(facts)).first->second;
}

Result<std::vector<std::shared_ptr<const FileFacts>>> FactsCache::getAll(
    const std::vector<DataFile>& files, const ReadOptions& options, int threads) {
    std::vector<std::shared_ptr<const FileFacts>> facts(files.size());
    std::vector<std::string> keys(files.size());
    std::map<std::string, std::vector<std::size_t>> packs;
    for (std::size_t i = 0; i < files.size(); ++i) {
        keys[i] = keyOf(files[i], options);
        MutexLock lock(mutex_);
        const auto it = facts_.find(keys[i]);
        if (it != facts_.end()) {
            facts[i] = it->second;
        } else {
            packs[directory_.empty() ? "" : packPath(directory_, keys[i])].push_back(i);
        }
    }
    std::map<std::string, FactsByKey> onDisk;
    std::vector<std::size_t> missing;
    for (const auto& [path, members] : packs) {
        FactsByKey& pack = onDisk[path];
        pack = path.empty() ? FactsByKey() : readPack(path);
        for (const std::size_t i : members) {
            const auto at = pack.find(keys[i]);
            if (at != pack.end()) {
                facts[i] = at->second;
            } else {
                missing.push_back(i);
            }
        }
    }
    std::sort(missing.begin(), missing.end());
    RETURN_IF_ERROR(readMissing(files, missing, options, threads, facts));
    std::map<std::string, FactsByKey> added;
    for (const std::size_t i : missing) {
        if (!directory_.empty() && isSettled(files[i])) {
            added[packPath(directory_, keys[i])].emplace(keys[i], facts[i]);
        }
    }
    for (const auto& [path, members] : added) {
        addToPack(directory_, path, std::move(onDisk[path]), members);
    }
    MutexLock lock(mutex_);
    for (std::size_t i = 0; i < files.size(); ++i) {
        facts_.emplace(std::move(keys[i]), facts[i]);
    }
    return facts;
}

}  // namespace millrace::dataset
