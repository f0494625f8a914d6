#include "daemon/worker/loader/counting.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include <absl/strings/escaping.h>

#include "backend/core/hash.h"
#include "backend/core/memory_budget.h"
#include "backend/filesystem/file_cache.h"
#include "backend/filesystem/files.h"
#include "backend/recipe/value_counter.h"
#include "backend/text/json.h"
#include "backend/text/text.h"
#include "daemon/worker/loader/bare_spec.h"
#include "daemon/worker/loader/memory.h"
#include "daemon/worker/loader/progress.h"
#include "daemon/worker/loader/split_pass.h"

namespace millrace::loader {
namespace {

constexpr int kCacheVersion = 1;
constexpr std::int64_t kMegabyte = 1'000'000;
/// Limit for all counted values of a plan, in base64: job.json contains the plan and is sent to
/// other nodes as one message of at most 64 MiB.
constexpr std::size_t kValuesBytesMost = 48'000'000;

using Names = std::set<std::string>;

/// The values of an embedding, and the file with them.
struct Counted {
    recipe::CountedValues values;
    std::string hash, file;
    bool isCached = false;
};

Names featuresOf(const spec::RunSpec& spec, const Names& embeddings) {
    Names features;
    for (const std::string& name : embeddings) {
        const auto& own = spec.embeddings.at(name).features;
        features.insert(own.begin(), own.end());
    }
    return features;
}

bool draws(const spec::RunSpec& spec) {
    return std::any_of(spec.recipe.begin(), spec.recipe.end(), [](const spec::Step& step) {
        return step.enabled && step.as<spec::SampleStep>() != nullptr;
    });
}

/// Returns the spec without the parts that do not affect these embeddings' values.
spec::RunSpec valuesOnly(spec::RunSpec spec, const Names& embeddings) {
    const Names wanted = featuresOf(spec, embeddings);
    const auto isOther = [&wanted](const std::string& name) { return !wanted.contains(name); };
    spec::FeaturesSpec features;
    features.ids = spec.features.ids;
    features.lists = spec.features.lists;
    features.weighted = spec.features.weighted;
    features.sequences = spec.features.sequences;
    features.dedup = "off";
    std::erase_if(features.ids, isOther);
    std::erase_if(features.lists, isOther);
    std::erase_if(features.weighted, [&](const auto& one) { return isOther(one.name); });
    for (auto& [name, sequence] : features.sequences) {
        std::erase_if(sequence.columns, isOther);
    }
    std::erase_if(features.sequences, [](const auto& one) { return one.second.columns.empty(); });
    std::erase_if(spec.embeddings,
                  [&](const auto& one) { return !embeddings.contains(one.first); });
    spec::BatchSpec batch;
    batch.seed = draws(spec) ? spec.batch.seed : 0;
    batch.segmentSplits = 1;
    batch.order = "as_is";
    spec.batch = batch;
    spec.labels.clear();
    spec.eval.reset();
    return bareSpec(std::move(spec), std::move(features));
}

/// Returns only the training files, one split per segment, in no order.
stream::Plan filesOnly(stream::Plan plan) {
    plan.evalFiles.clear();
    plan.evalSchema = {};
    plan.countedTables.clear();
    plan.segmentSplits = 1;
    for (stream::PlanFile& file : plan.files) {
        for (stream::PlanSplit& split : file.splits) {
            split.partition = 0;
        }
    }
    return plan;
}

/// Two files: a hash of the inputs is the key of the values' hash, which is the key of the values.
class CountedStore {
 public:
    CountedStore(std::string directory, std::int64_t bytesMost)
        : directory_(std::move(directory)), bytesMost_(bytesMost) {}

    std::optional<Counted> read(const std::string& key) const {
        const auto text = directory_.empty() ? Result<std::string>(notFound("no cache"))
                                             : readFile(pathOf(key, "json"));
        const auto json = text.ok() ? parseJson(*text, key) : Result<Json>(text.status());
        if (!json.ok() || jsonInt(*json, "version") != kCacheVersion) {
            return std::nullopt;
        }
        Counted counted;
        counted.isCached = true;
        counted.hash = jsonString(*json, "hash");
        const bool isHash = counted.hash.size() == 32 &&
                            counted.hash.find_first_not_of("0123456789abcdef") == std::string::npos;
        auto file = isHash ? readFile(pathOf(counted.hash, "arrow"))
                           : Result<std::string>(notFound("no hash"));
        auto values = file.ok() ? recipe::CountedValues::ofFile(*file, counted.hash, key)
                                : Result<recipe::CountedValues>(file.status());
        if (!values.ok()) {
            return std::nullopt;
        }
        markUsed(pathOf(key, "json"));
        markUsed(pathOf(counted.hash, "arrow"));
        counted.file = *std::move(file);
        counted.values = *std::move(values);
        return counted;
    }

    void write(const std::string& key, const Counted& counted) const {
        if (directory_.empty() || !makeDirectories(directory_, 0700).ok() ||
            !writeFileAtomic(pathOf(counted.hash, "arrow"), counted.file).ok()) {
            return;
        }
        const Status written = writeFileAtomic(
            pathOf(key, "json"), dumpJson({{"version", kCacheVersion}, {"hash", counted.hash}}));
        static_cast<void>(written);  // the next one counts again
        boundFileCache(directory_, {bytesMost_, bytesMost_});
    }

 private:
    std::string pathOf(const std::string& name, std::string_view ending) const {
        return strCat(directory_, "/", name, ".", ending);
    }
    const std::string directory_;
    const std::int64_t bytesMost_;
};

/// A column of the counting stream's frames, and the counter of its values.
struct Column {
    std::size_t index = 0;
    bool isList = false;
    recipe::ValueCounter* counter = nullptr;
};

std::vector<Column> columnsOf(const segment::StreamInput& input, recipe::ValueCounters& counters) {
    std::vector<Column> columns;
    const auto add = [&](frame::Role role, const std::string& name, const std::string& feature) {
        for (const auto& [table, embedding] : input.spec().embeddings) {
            const auto& own = embedding.features;
            if (std::find(own.begin(), own.end(), feature) != own.end()) {
                columns.push_back({static_cast<std::size_t>(input.layout().find(role, name)),
                                   role != frame::Role::kId, counters.at(table).get()});
            }
        }
    };
    const spec::FeaturesSpec& features = input.spec().features;
    for (const std::string& name : features.ids) {
        add(frame::Role::kId, name, name);
    }
    for (const std::string& name : features.lists) {
        add(frame::Role::kList, name, name);
    }
    for (const spec::WeightedFeature& weighted : features.weighted) {
        add(frame::Role::kWeighted, weighted.name, weighted.name);
    }
    for (const auto& [name, sequence] : features.sequences) {
        for (const std::string& column : sequence.columns) {
            add(frame::Role::kSequence, strCat(name, ".", column), column);
        }
    }
    return columns;
}

void countChunk(const segment::Chunk& chunk, const std::vector<Column>& columns) {
    for (const Column& column : columns) {
        const segment::Chunk::Column& ids = chunk.columns[column.index];
        const auto* numbers = reinterpret_cast<const std::int64_t*>(ids.values);
        if (!column.isList) {
            column.counter->add({numbers, static_cast<std::size_t>(chunk.rows)});
            continue;
        }
        for (std::int64_t row = 0; row < chunk.rows; ++row) {
            const segment::ListSlice slice = ids.slice(row);
            column.counter->add({numbers + slice.begin, static_cast<std::size_t>(slice.count)});
        }
    }
}

/// One pass over the rows for all embeddings of `spec`, which is valuesOnly().
class Counting {
 public:
    static Result<std::unique_ptr<Counting>> open(const spec::RunSpec& spec, stream::Plan plan) {
        const int threads = loaderThreads(spec, 0);
        const LoaderNeed need = loaderNeed(spec, plan, {.threads = threads});
        const std::int64_t limitMb = spec.resources.memoryLimitMb;
        RETURN_IF_ERROR(LoaderMemory(limitMb, need).admitted());
        const std::int64_t left = limitMb * kMegabyte - need.threads;
        const std::int64_t pool =
            std::max(need.segment, std::min(left / 2, threads * need.segment));
        auto counting = std::make_unique<Counting>(left - pool);
        for (const auto& [name, embedding] : spec.embeddings) {
            counting->counters_[name] =
                std::make_unique<recipe::ValueCounter>(name, counting->budget_);
        }
        ASSIGN_OR_RETURN(auto input,
                         segment::StreamInput::open(
                             spec, std::move(plan), recipe::Part::kTrain, counting->budget_,
                             std::make_shared<recipe::SharedTables>(threads),
                             {segment::FrameUse::kModel, &counting->counters_}));
        auto columns = columnsOf(*input, counting->counters_);
        counting->pass_.emplace(std::move(input), pool, threads,
                                [columns = std::move(columns)](const auto& output) {
                                    for (const segment::Chunk& chunk : output.chunks) {
                                        countChunk(chunk, columns);
                                    }
                                });
        return counting;
    }
    explicit Counting(std::int64_t bytes) : budget_(bytes) {}

    Status run(const CountingOptions& options, std::int64_t allRows) {
        const Watch watch;
        return watch.run([&](const std::stop_token& stop) { return pass_->run(0, stop); },
                         [&](double seconds) {
                             if (options.progress) {
                                 options.progress(pass_->rowsScanned(), allRows, seconds);
                             }
                         });
    }

    Result<Counted> take(const std::string& name, const spec::VocabularySpec& vocabulary) {
        Counted counted;
        ASSIGN_OR_RETURN(counted.values, counters_.at(name)->take(
                                             vocabulary.minCount,
                                             std::max<std::int64_t>(vocabulary.maxRows - 1, 0)));
        counted.hash = counted.values.hash();
        ASSIGN_OR_RETURN(counted.file, counted.values.toFile());
        return counted;
    }

 private:
    MemoryBudget budget_;
    recipe::ValueCounters counters_;
    std::optional<SplitPass> pass_;
};

using CountedByName = std::map<std::string, Counted>;

Status countMissing(const spec::RunSpec& spec, const stream::Plan& plan,
                    const CountingOptions& options, const Names& missing, CountedByName& found) {
    ASSIGN_OR_RETURN(const auto counting, Counting::open(valuesOnly(spec, missing), plan));
    RETURN_IF_ERROR(counting->run(options, plan.numRows()));
    for (const std::string& name : missing) {
        ASSIGN_OR_RETURN(found[name], counting->take(name, *spec.embeddings.at(name).vocabulary));
    }
    return okStatus();
}

void pin(const std::string& name, const Counted& counted, spec::RunSpec& spec, stream::Plan& plan) {
    spec::EmbeddingSpec& embedding = spec.embeddings.at(name);
    const std::int64_t values = counted.values.values->length();
    embedding.rows = values + 1;
    embedding.vocabulary->hash = counted.hash;
    const bool isKnown = std::any_of(plan.countedTables.begin(), plan.countedTables.end(),
                                     [&](const auto& table) { return table.hash == counted.hash; });
    if (!isKnown) {
        plan.countedTables.push_back(
            {counted.hash, values, counted.values.bytes(),
             std::make_shared<const std::string>(absl::Base64Escape(counted.file))});
    }
}

Status checkSize(const stream::Plan& plan, const CountedByName& found) {
    std::size_t bytes = 0;
    for (const stream::CountedTable& table : plan.countedTables) {
        bytes += table.file->size();
    }
    if (bytes <= kValuesBytesMost) {
        return okStatus();
    }
    const auto largest = std::max_element(
        found.begin(), found.end(),
        [](const auto& a, const auto& b) { return a.second.file.size() < b.second.file.size(); });
    return invalidArgument(
        "embeddings.", largest->first, ".vocabulary: it has ",
        formatCount(largest->second.values.values->length()),
        " values; all counted values together take ", formatBytes(static_cast<double>(bytes)),
        " of the run's plan, which holds at most ",
        formatBytes(static_cast<double>(kValuesBytesMost)),
        ". A min_count or max_rows leaves out rare values, and rows instead of the vocabulary "
        "hashes them");
}

std::string noteOf(const std::string& name, const Counted& counted) {
    return strCat("embeddings.", name,
                  ".vocabulary: ", formatCount(counted.values.values->length()), " values, ",
                  counted.isCached ? "counted before" : "counted now");
}

// "a, b and 3 more".
std::string listOf(const std::vector<std::string>& names) {
    constexpr std::size_t kMostNamed = 6;
    std::string list;
    for (std::size_t i = 0; i < names.size() && i < kMostNamed; ++i) {
        strAppend(&list, list.empty() ? "" : ", ", names[i]);
    }
    return names.size() <= kMostNamed ? list
                                      : strCat(list, " and ", names.size() - kMostNamed, " more");
}

// One note for all keys, where nothing is counted: what was counted before, and what is missing.
std::string noteOfAll(const CountedByName& found, const Names& missing) {
    std::vector<std::string> known;
    for (const auto& [name, counted] : found) {
        known.push_back(
            strCat(name, " with ", formatCount(counted.values.values->length()), " values"));
    }
    std::string text = "embeddings";
    if (!known.empty()) {
        strAppend(&text, ": vocabularies counted before: ", listOf(known));
    }
    if (!missing.empty()) {
        strAppend(&text, known.empty() ? ": " : "; ", "vocabularies counted when the run starts: ",
                  listOf({missing.begin(), missing.end()}),
                  "; their rows and the hashes of spec and stream are known then");
    }
    return text;
}

}  // namespace

bool isPending(const spec::RunSpec& spec) {
    return std::any_of(spec.embeddings.begin(), spec.embeddings.end(), [](const auto& one) {
        return one.second.vocabulary && one.second.vocabulary->isPending();
    });
}

void takeCounted(const spec::RunSpec& from, const stream::Plan& fromPlan, spec::RunSpec& spec,
                 stream::Plan& plan) {
    for (auto& [name, embedding] : spec.embeddings) {
        const auto own = from.embeddings.find(name);
        if (!embedding.vocabulary || !embedding.vocabulary->isPending() ||
            own == from.embeddings.end() || !own->second.vocabulary ||
            own->second.features != embedding.features) {
            continue;
        }
        const std::string& hash = own->second.vocabulary->hash;
        const auto isIt = [&hash](const stream::CountedTable& one) { return one.hash == hash; };
        const auto table = std::ranges::find_if(fromPlan.countedTables, isIt);
        if (table == fromPlan.countedTables.end()) {
            continue;
        }
        embedding.rows = own->second.rows;
        embedding.vocabulary->hash = hash;
        if (std::ranges::none_of(plan.countedTables, isIt)) {
            plan.countedTables.push_back(*table);
        }
    }
}

Status checkSameValues(const spec::RunSpec& run, const spec::RunSpec& spec) {
    for (const auto& [name, embedding] : spec.embeddings) {
        const auto own = run.embeddings.find(name);
        const bool isCounted = own != run.embeddings.end() && own->second.vocabulary &&
                               own->second.features == embedding.features &&
                               !own->second.vocabulary->hash.empty() && embedding.vocabulary;
        if (isCounted && own->second.vocabulary->hash != embedding.vocabulary->hash) {
            return failedPrecondition(
                "embeddings.", name, ".vocabulary: the training rows have other values now (hash ",
                embedding.vocabulary->hash, ") than the run counted (",
                own->second.vocabulary->hash, "), so ids would differ from those of the model");
        }
    }
    return okStatus();
}

Status countValues(spec::RunSpec& spec, stream::Plan& plan, const CountingOptions& options,
                   std::vector<std::string>& notes) {
    const stream::Plan files = filesOnly(plan);
    const std::string planHash = files.planHash();
    const CountedStore store(options.directory, options.cacheBytesMost);
    std::map<std::string, std::string> keys;
    CountedByName found;
    Names missing;
    for (const auto& [name, embedding] : spec.embeddings) {
        if (!embedding.vocabulary || !embedding.vocabulary->isPending()) {
            continue;
        }
        keys[name] = hashHex(strCat(kCacheVersion, "\n", spec::streamHash(valuesOnly(spec, {name})),
                                    "\n", planHash, "\n", options.filesVersion));
        if (auto counted = store.read(keys[name])) {
            found[name] = *std::move(counted);
        } else {
            missing.insert(name);
        }
    }
    if (!missing.empty() && options.mayCount) {
        RETURN_IF_ERROR(countMissing(spec, files, options, missing, found));
    }
    for (const auto& [name, counted] : found) {
        if (!counted.isCached) {
            store.write(keys[name], counted);
        }
        pin(name, counted, spec, plan);
        if (options.mayCount) {
            notes.push_back(noteOf(name, counted));
        }
    }
    if (!options.mayCount && !keys.empty()) {
        notes.push_back(noteOfAll(found, missing));
    }
    return checkSize(plan, found);
}

}  // namespace millrace::loader
