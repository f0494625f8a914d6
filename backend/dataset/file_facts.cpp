#include "backend/dataset/file_facts.h"

#include <algorithm>
#include <atomic>

#include "backend/core/files.h"
#include "backend/core/hash.h"
#include "backend/core/thread.h"
#include "backend/dataset/csv_scan.h"
#include "backend/dataset/footers.h"

namespace millrace::dataset {
namespace {

constexpr int kVersion = 1;  ///< of the facts on disk; another one is read anew

std::string keyOf(const DataFile& file, const ReadOptions& options) {
    return strCat(file.path, "\n", file.bytes, "\n", file.mtimeNs, "\n", file.inode, "\n",
                  options.cacheKey());
}

}  // namespace

std::string ReadOptions::cacheKey() const {
    if (format != "csv") {
        return strCat(format, "/", kVersion);
    }
    return strCat("csv/", kVersion, "/", csvSplitRows, "/", static_cast<int>(csvDelimiter), "/",
                  csvHasHeader ? 1 : 0);
}

Json FileFacts::toJson() const {
    Json columns = Json::array();
    for (const spec::Field& field : schema.fields) {
        columns.push_back({field.name, static_cast<int>(field.type.kind), field.type.isList,
                           field.type.listSize, field.type.nullable});
    }
    Json stretches = Json::array();
    for (const ChunkFacts& chunk : chunks) {
        stretches.push_back(
            {chunk.rows, chunk.offset, chunk.bytes, chunk.firstLine, chunk.decodedBytes});
    }
    return {{"version", kVersion}, {"columns", columns},  {"unsupported", unsupported},
            {"rows", rows},        {"hash", contentHash}, {"chunks", stretches}};
}

Result<FileFacts> FileFacts::fromJson(const Json& json) {
    if (jsonInt(json, "version") != kVersion) {
        return invalidArgument("file facts: version ", jsonInt(json, "version"), " is not ",
                               kVersion);
    }
    try {
        FileFacts facts;
        for (const Json& c : json.at("columns")) {
            facts.schema.fields.push_back(
                {c.at(0).get<std::string>(),
                 {static_cast<spec::TypeKind>(c.at(1).get<int>()), c.at(2).get<bool>(),
                  c.at(3).get<std::int32_t>(), c.at(4).get<bool>()}});
        }
        facts.unsupported = json.at("unsupported").get<std::vector<std::string>>();
        facts.rows = json.at("rows").get<std::int64_t>();
        facts.contentHash = json.at("hash").get<std::string>();
        for (const Json& c : json.at("chunks")) {
            facts.chunks.push_back({c.at(0).get<std::int64_t>(), c.at(1).get<std::int64_t>(),
                                    c.at(2).get<std::int64_t>(), c.at(3).get<std::int64_t>(),
                                    c.at(4).get<std::vector<std::int64_t>>()});
            if (facts.chunks.back().decodedBytes.size() != facts.schema.fields.size()) {
                return invalidArgument("file facts: a chunk has sizes of other columns");
            }
        }
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

std::shared_ptr<const FileFacts> FactsCache::fromDisk(const std::string& key) const {
    if (directory_.empty()) {
        return nullptr;
    }
    const Result<std::string> text = readFile(strCat(directory_, "/", hashHex(key), ".json"));
    if (!text.ok()) {
        return nullptr;
    }
    const Result<Json> json = parseJson(*text, "facts");
    if (!json.ok() || jsonString(*json, "key") != key) {
        return nullptr;
    }
    Result<FileFacts> facts = FileFacts::fromJson(jsonMember(*json, "facts"));
    return facts.ok() ? std::make_shared<const FileFacts>(*std::move(facts)) : nullptr;
}

void FactsCache::toDisk(const std::string& key, const FileFacts& facts) const {
    if (directory_.empty() || !makeDirectories(directory_, 0700).ok()) {
        return;
    }
    // Two processes may write the same entry at once; each writes aside under its own pid. Not
    // synced to disk: an entry that is lost or torn is made again.
    const std::string path = strCat(directory_, "/", hashHex(key), ".json");
    writeFileAtomic(path, dumpJson({{"key", key}, {"facts", facts.toJson()}}), 0600).IgnoreError();
}

Result<std::shared_ptr<const FileFacts>> FactsCache::get(const DataFile& file,
                                                         const ReadOptions& options) {
    const std::string key = keyOf(file, options);
    {
        MutexLock lock(mutex_);
        const auto it = facts_.find(key);
        if (it != facts_.end()) {
            return it->second;
        }
    }
    std::shared_ptr<const FileFacts> facts = fromDisk(key);
    if (facts == nullptr) {
        ASSIGN_OR_RETURN(FileFacts read, readFacts(file, options));
        ASSIGN_OR_RETURN(const DataFile now, statFile(file.path, file.path));
        if (now.bytes != file.bytes || now.mtimeNs != file.mtimeNs || now.inode != file.inode) {
            return failedPrecondition(file.path, ": was changed while it was read; try again");
        }
        toDisk(key, read);
        facts = std::make_shared<const FileFacts>(std::move(read));
    }
    MutexLock lock(mutex_);
    return facts_.emplace(key, std::move(facts)).first->second;
}

Result<std::vector<std::shared_ptr<const FileFacts>>> FactsCache::getAll(
    const std::vector<DataFile>& files, const ReadOptions& options, int threads) {
    std::vector<std::shared_ptr<const FileFacts>> facts(files.size());
    std::vector<Status> errors(files.size());
    std::atomic<std::size_t> next{0};
    std::atomic<bool> hasFailed{false};
    const auto work = [&] {
        for (std::size_t i = next++; i < files.size() && !hasFailed; i = next++) {
            Result<std::shared_ptr<const FileFacts>> one = get(files[i], options);
            if (one.ok()) {
                facts[i] = *std::move(one);
            } else {
                errors[i] = one.status();
                hasFailed = true;
            }
        }
    };
    const auto extra =
        std::min<std::size_t>(static_cast<std::size_t>(std::max(threads, 1)), files.size());
    {
        std::vector<std::jthread> helpers;
        for (std::size_t i = 1; i < extra; ++i) {
            helpers.push_back(startThread("footers", [&](std::stop_token) { work(); }));
        }
        work();
    }
    for (const Status& error : errors) {
        RETURN_IF_ERROR(error);
    }
    return facts;
}

}  // namespace millrace::dataset
