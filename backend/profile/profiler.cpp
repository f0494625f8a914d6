#include "backend/profile/profiler.h"

#include <algorithm>
#include <chrono>
#include <random>
#include <thread>

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "backend/arrays/arrow_bridge.h"
#include "backend/core/thread.h"
#include "backend/dataset/split_reader.h"

namespace millrace::profile {

namespace {

constexpr std::int64_t kSplitBytes = 256'000'000;
constexpr std::int64_t kSampleBytes = 64'000'000;  ///< limit of the sample that the advisor writes
                                                   ///< repeatedly
constexpr std::int64_t kSampleRowsLeast = 1024, kSampleRowsMost = 200'000;
constexpr std::uint64_t kSeed = 1;

std::vector<dataset::SplitRange> splitsOf(const files::FileMetadata& facts, std::uint32_t file) {
    std::vector<dataset::SplitRange> splits;
    std::int64_t firstRow = 0;
    for (std::size_t c = 0; c < facts.chunks.size(); ++c) {
        const files::ColumnChunkMetadata& chunk = facts.chunks[c];
        std::int64_t decoded = 0;
        for (const std::int64_t bytes : chunk.decodedBytes) {
            decoded += bytes;
        }
        const std::int64_t cuts =
            std::max<std::int64_t>(1, (decoded + kSplitBytes - 1) / kSplitBytes);
        const std::int64_t rows = (chunk.rows + cuts - 1) / cuts;
        for (std::int64_t at = 0; at < chunk.rows; at += rows) {
            splits.push_back({file, static_cast<std::int64_t>(c), firstRow + at,
                              std::min(rows, chunk.rows - at)});
        }
        firstRow += chunk.rows;
    }
    return splits;
}

class Profiler {
 public:
    Profiler(std::shared_ptr<const dataset::Dataset> dataset, const ProfileOptions& options,
             ProfileProgress& progress, const std::stop_token& stop)
        : dataset_(std::move(dataset)), options_(options), progress_(progress), stop_(stop) {}

    Result<DatasetProfile> run() {
        RETURN_IF_ERROR(open());
        const auto start = std::chrono::steady_clock::now();
        for (const dataset::SplitRange& split : splits_) {
            RETURN_IF_ERROR(readSplit(split));
            profile_.rowsRead += split.rows;
            ++profile_.splitsRead;
            ++progress_.splitsDone;
            const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
            if (!options_.isFull && spent.count() > options_.seconds) {
                break;
            }
        }
        RETURN_IF_ERROR(lookAtRows());
        return std::move(profile_);
    }

 private:
    struct Hand {
        std::unique_ptr<dataset::SplitReader> reader;
        std::vector<std::size_t> columns;
        std::map<std::string, ReadCost> costs;
        Status status;
    };

    Status open() {
        for (const expr::Field& field : dataset_->schema().fields) {
            profile_.columns.emplace_back(field.name, field.type);
        }
        profile_.refused = dataset_->schema().refused;
        ASSIGN_OR_RETURN(profile_.facts, dataset::columnFacts(*dataset_));
        for (std::uint32_t file = 0; file < dataset_->files().size(); ++file) {
            ASSIGN_OR_RETURN(const auto facts, dataset_->facts(file));
            profile_.rows += facts->rows;
            rowGroups_ += static_cast<std::int64_t>(facts->chunks.size());
            const auto splits = splitsOf(*facts, file);
            splits_.insert(splits_.end(), splits.begin(), splits.end());
        }
        std::mt19937_64 random(kSeed);
        for (std::size_t i = splits_.size(); i > 1; --i) {
            std::swap(splits_[i - 1], splits_[random() % i]);
        }
        profile_.splits = progress_.splits = static_cast<std::int64_t>(splits_.size());
        // Formats that parse all columns together are read by one thread.
        const bool isParquet = dataset_->options().format == "parquet";
        hands_.resize(static_cast<std::size_t>(isParquet ? std::max(1, options_.threads) : 1));
        for (std::size_t c = 0; c < profile_.columns.size(); ++c) {
            hands_[c % hands_.size()].columns.push_back(c);
        }
        for (Hand& hand : hands_) {
            hand.reader = std::make_unique<dataset::SplitReader>(dataset_);
        }
        return okStatus();
    }

    Status readSplit(const dataset::SplitRange& split) {
        if (stop_.stop_requested()) {
            return cancelled("stopped");
        }
        {
            std::vector<std::jthread> threads;
            for (std::size_t h = 1; h < hands_.size(); ++h) {
                threads.push_back(startThread(
                    strCat("profile-", h),
                    [this, &split, h](std::stop_token) { readColumns(split, hands_[h]); }));
            }
            readColumns(split, hands_.front());
        }
        for (Hand& hand : hands_) {
            RETURN_IF_ERROR(hand.status);
            for (const auto& [column, cost] : hand.costs) {
                profile_.costs[column].cpuSeconds += cost.cpuSeconds;
                profile_.costs[column].rows += cost.rows;
            }
            hand.costs.clear();
        }
        return okStatus();
    }

    void readColumns(const dataset::SplitRange& split, Hand& hand) {
        // Reads Parquet columns one by one: only one is in memory. Other formats share one parse.
        const bool isParquet = dataset_->options().format == "parquet";
        std::vector<std::string> names;
        for (const std::size_t c : hand.columns) {
            names.push_back(profile_.columns[c].name());
        }
        for (std::size_t i = 0; i < names.size() && !stop_.stop_requested();) {
            const std::vector<std::string> wanted =
                isParquet ? std::vector<std::string>{names[i]} : names;
            const auto arrays = hand.reader->readColumns(split, wanted);
            if (!arrays.ok()) {
                hand.status = arrays.status();
                return;
            }
            for (const auto& array : *arrays) {
                profile_.columns[hand.columns[i++]].add(*array);
            }
            for (const dataset::ColumnCost& cost : hand.reader->takeCosts()) {
                ReadCost& sum = hand.costs[cost.column];
                sum.cpuSeconds += static_cast<double>(cost.busyNs) * 1e-9;
                sum.rows += split.rows;
            }
        }
    }

    // Examines the first split's rows together: to find requests, and as the advisor's sample.
    Status lookAtRows() {
        if (splits_.empty() || profile_.columns.empty()) {
            return okStatus();
        }
        ASSIGN_OR_RETURN(const auto sample, readSample(splits_.front()));
        if (!options_.request.empty() && sample->schema()->GetFieldIndex(options_.request) < 0) {
            return invalidArgument("--request: the dataset has no column '", options_.request, "'");
        }
        profile_.request = findRequest(*sample, options_.request);
        if (!options_.advises) {
            return okStatus();
        }
        progress_.isMeasuring = true;
        AdviceInput input;
        input.dataset = options_.dataset;
        input.format = dataset_->options().format;
        input.columns = profile_.facts;
        input.rows = profile_.rows;
        input.rowGroups = rowGroups_;
        for (const dataset::ColumnInfo& column : profile_.facts) {
            input.decodedBytes += column.decodedBytes.value_or(0);
        }
        input.request = profile_.request;
        input.sample = sample;
        input.directory = options_.directory;
        profile_.advice = advise(input, stop_);
        return stop_.stop_requested() ? cancelled("stopped") : okStatus();
    }

    // Adjacent rows: those of the split and, if they are few, of neighbouring splits in the file.
    Result<std::shared_ptr<arrow::RecordBatch>> readSample(const dataset::SplitRange& split) const {
        std::int64_t decoded = 0;
        for (const dataset::ColumnInfo& column : profile_.facts) {
            decoded += column.decodedBytes.value_or(0);
        }
        const double perRow = static_cast<double>(decoded) /
                              static_cast<double>(std::max<std::int64_t>(1, profile_.rows));
        const std::int64_t wanted =
            std::clamp(static_cast<std::int64_t>(kSampleBytes / std::max(1.0, perRow)),
                       kSampleRowsLeast, kSampleRowsMost);
        ASSIGN_OR_RETURN(const auto facts, dataset_->facts(split.file));
        std::vector<dataset::SplitRange> all = splitsOf(*facts, split.file);
        const auto own = std::find_if(all.begin(), all.end(), [&split](const auto& other) {
            return other.firstRow == split.firstRow;
        });
        auto first = own, last = own + 1;
        std::int64_t rows = own->rows;
        while (rows < wanted && (last != all.end() || first != all.begin())) {
            rows += last != all.end() ? (last++)->rows : (--first)->rows;
        }
        dataset::SplitReader reader(dataset_);
        std::vector<std::shared_ptr<arrow::RecordBatch>> parts;
        std::int64_t left = wanted;
        for (auto part = first; part != last && left > 0; ++part) {
            part->rows = std::min(part->rows, left);
            left -= part->rows;
            ASSIGN_OR_RETURN(auto batch, readRows(reader, *part));
            parts.push_back(std::move(batch));
        }
        return arrays::fromArrow(arrow::ConcatenateRecordBatches(parts), "sample");
    }

    Result<std::shared_ptr<arrow::RecordBatch>> readRows(dataset::SplitReader& reader,
                                                         const dataset::SplitRange& split) const {
        const std::vector<std::string> names = dataset_->schema().names();
        ASSIGN_OR_RETURN(auto arrays, reader.readColumns(split, names));
        reader.takeCosts();
        arrow::FieldVector fields;
        for (std::size_t c = 0; c < names.size(); ++c) {
            fields.push_back(arrow::field(names[c], arrays[c]->type(),
                                          dataset_->schema().fields[c].type.nullable));
        }
        return arrow::RecordBatch::Make(arrow::schema(fields), split.rows, std::move(arrays));
    }

    const std::shared_ptr<const dataset::Dataset> dataset_;
    const ProfileOptions& options_;
    ProfileProgress& progress_;
    const std::stop_token stop_;
    DatasetProfile profile_;
    std::vector<dataset::SplitRange> splits_;
    std::vector<Hand> hands_;
    std::int64_t rowGroups_ = 0;
};

}  // namespace

Result<DatasetProfile> profile(std::shared_ptr<const dataset::Dataset> dataset,
                               const ProfileOptions& options, ProfileProgress& progress,
                               const std::stop_token& stop) {
    return Profiler(std::move(dataset), options, progress, stop).run();
}

Json DatasetProfile::toJson() const {
    Json list = Json::array();
    for (std::size_t c = 0; c < columns.size(); ++c) {
        Json one = facts[c].toJson();
        one["profile"] = columns[c].toJson();
        const auto cost = costs.find(columns[c].name());
        one["read_ns_per_row"] =
            cost == costs.end() || cost->second.rows == 0
                ? Json()
                : Json(cost->second.cpuSeconds * 1e9 / static_cast<double>(cost->second.rows));
        list.push_back(std::move(one));
    }
    Json adviceList = Json::array();
    for (const Advice& one : advice) {
        adviceList.push_back(one.toJson());
    }
    Json requestJson;
    if (request) {
        requestJson = {{"column", request->column},
                       {"rows_per_request", request->rowsPerRequest},
                       {"adjacent_share", request->adjacentShare()}};
    }
    return {{"rows", rows},
            {"rows_read", rowsRead},
            {"splits", splits},
            {"splits_read", splitsRead},
            {"complete", isComplete()},
            {"request", std::move(requestJson)},
            {"columns", std::move(list)},
            {"advice", std::move(adviceList)}};
}

}  // namespace millrace::profile
