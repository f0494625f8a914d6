#include "backend/table/row_stream.h"

#include <algorithm>
#include <map>
#include <set>
#include <thread>

#include <arrow/array.h>
#include <arrow/array/builder_primitive.h>
#include <arrow/compute/api_vector.h>
#include <arrow/compute/exec.h>
#include <arrow/datum.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "backend/arrays/arrow_bridge.h"
#include "backend/arrays/cut_rows.h"
#include "backend/core/thread.h"
#include "backend/dataset/side_table.h"
#include "backend/dataset/stored_types.h"
#include "backend/filesystem/paths.h"
#include "backend/spec/bind.h"
#include "backend/table/frame_table.h"

namespace millrace::table {

namespace {

constexpr std::int64_t kLeastValues = 100'000;  ///< smallest read that is worth waking a thread for

using arrays::fromArrow;
using ArrayPtr = std::shared_ptr<arrow::Array>;

// Leaves only what chooses rows: no labels, no features.
spec::RunSpec rowsOnly(const spec::RunSpec& spec) {
    spec::RunSpec rows = spec;
    rows.labels.clear();
    rows.features = {};
    rows.embeddings.clear();
    rows.eval.reset();
    return rows;
}

// Verifies before and after that the steps load the planned side tables.
Result<std::shared_ptr<const recipe::CompiledRecipe>> compiled(
    const spec::RunSpec& spec, const stream::Plan& plan, const expr::Schema& schema,
    const std::shared_ptr<dataset::MetadataCache>& cache, MemoryBudget& budget) {
    std::vector<files::DataFile> checked;
    auto planned = std::make_shared<std::set<std::string>>();
    for (const stream::SideTable& table : plan.sideTables) {
        ASSIGN_OR_RETURN(files::DataFile file, dataset::verifySideTable(table));
        planned->insert(table.path);
        checked.push_back(std::move(file));
    }
    const recipe::TableSource tables =
        recipe::diskTables({spec.baseDir, cache, std::move(planned)});
    auto recipe =
        recipe::CompiledRecipe::compile(spec, recipe::Part::kTrain, schema, tables, &budget);
    RETURN_IF_ERROR(recipe.status());
    for (const files::DataFile& file : checked) {
        RETURN_IF_ERROR(dataset::verifyStill(file));
    }
    return recipe;
}

/// Fails if the dataset has a column that the table cannot hold; columns without a name do not
/// count.
Status checkSupported(const dataset::Dataset& dataset) {
    const expr::ColumnIndex columns(dataset.schema());
    const auto refuse = [&dataset](std::size_t file, const std::string& name,
                                   std::string_view why) {
        return invalidArgument(dataset.files()[file].path, ": column '", name, "' ", why,
                               "; or say with --columns which columns the table is to have");
    };
    for (std::size_t file = 0; file < dataset.files().size(); ++file) {
        ASSIGN_OR_RETURN(const auto facts, dataset.facts(file));
        for (const expr::RefusedColumn& column : facts->schema.refused) {
            if (!column.hasFields && !column.name.empty()) {
                return refuse(file, column.name, column.why);
            }
        }
        for (const expr::Field& field : facts->schema.fields) {
            if (!field.name.empty() && columns.find(field.name) == nullptr) {
                return refuse(file, field.name,
                              "differs between the files, or is not in all of them; "
                              "`millrace dataset` says how, dataset.types or "
                              "dataset.missing_columns reads it");
            }
        }
    }
    return okStatus();
}

}  // namespace

// Gives the recipe the columns of one split; what it has read is kept for the table.
class RowStream::Columns final : public recipe::ColumnSource {
 public:
    /// `jobs`: null: no other thread helps. `number`: the split's in the plan.
    Columns(const segment::Readers& readers, const dataset::SplitRange& split,
            segment::WorkStealing* jobs, std::size_t number)
        : readers_(readers),
          split_(split),
          jobs_(jobs),
          number_(static_cast<std::int64_t>(number)) {}

    Result<std::vector<ArrayPtr>> columns(const std::vector<std::string>& names) override {
        std::vector<std::string> missing;
        for (const std::string& name : names) {
            if (!known_.contains(name)) {
                missing.push_back(name);
            }
        }
        ASSIGN_OR_RETURN(const auto read, readColumns(missing));
        for (std::size_t i = 0; i < missing.size(); ++i) {
            known_[missing[i]] = read[i];
        }
        std::vector<ArrayPtr> arrays;
        for (const std::string& name : names) {
            arrays.push_back(known_[name]);
        }
        return arrays;
    }

 private:
    Result<segment::ColumnArrays> readColumns(const std::vector<std::string>& names) {
        if (jobs_ != nullptr && readers_.own.readsByColumn() &&
            jobs_->isWorthSharing(split_.rows, split_.rows, 1, names.size())) {
            return jobs_->read({.flightNumber = number_}, split_, names, {}, readers_);
        }
        auto read = readers_.own.readColumns(split_, names);
        readers_.own.takeCosts();
        return read;
    }

    const segment::Readers readers_;
    const dataset::SplitRange split_;
    segment::WorkStealing* const jobs_;
    const std::int64_t number_;
    std::map<std::string, ArrayPtr> known_;
};

// Consecutive rows of a split.
class RowStream::SomeRows final : public recipe::ColumnSource {
 public:
    SomeRows(Columns& whole, std::int64_t first, std::int64_t rows, arrow::MemoryPool* pool)
        : whole_(whole), first_(first), rows_(rows), pool_(pool) {}

    Result<std::vector<ArrayPtr>> columns(const std::vector<std::string>& names) override {
        ASSIGN_OR_RETURN(std::vector<ArrayPtr> arrays, whole_.columns(names));
        for (ArrayPtr& array : arrays) {
            ASSIGN_OR_RETURN(array, arrays::cutRows(array, first_, rows_, pool_));
        }
        return arrays;
    }

 private:
    Columns& whole_;
    const std::int64_t first_, rows_;
    arrow::MemoryPool* const pool_;
};

RowStream::RowStream() : jobs_(counters_, [] {}, kLeastValues) {}

Result<std::unique_ptr<RowStream>> RowStream::open(const spec::RunSpec& given,
                                                   const stream::Plan& plan, MemoryBudget& budget,
                                                   Options options) {
    std::unique_ptr<RowStream> rows(new RowStream());
    spec::RunSpec spec = rowsOnly(given);
    rows->files_ = plan.files;
    auto cache = std::make_shared<dataset::MetadataCache>(cacheDirectory("facts"));
    ASSIGN_OR_RETURN(rows->dataset_,
                     dataset::Dataset::ofPlan(rows->files_, dataset::readOptionsOf(spec.dataset),
                                              cache, plan.schema));
    if (options.columns.empty()) {
        RETURN_IF_ERROR(checkSupported(*rows->dataset_));
    }
    const std::vector<std::string> known = rows->dataset_->schema().names();
    ASSIGN_OR_RETURN(const std::vector<int> chosen, chooseColumns(known, options.columns));
    for (const int column : chosen) {
        rows->columns_.push_back(known[static_cast<std::size_t>(column)]);
    }
    ASSIGN_OR_RETURN(rows->recipe_, compiled(spec, plan, rows->dataset_->schema(), cache, budget));
    for (const spec::Step& step : spec.recipe) {
        rows->hasWeights_ |= step.enabled && step.weighs();
    }
    for (std::size_t file = 0; file < rows->files_.size(); ++file) {
        for (const stream::PlanSplit& split : rows->files_[file].splits) {
            rows->splits_.push_back({static_cast<std::uint32_t>(file), split});
        }
    }
    rows->options_ = std::move(options);
    RETURN_IF_ERROR(rows->makeSchema());
    return rows;
}

RowStream::~RowStream() = default;

Status RowStream::makeSchema() {
    ASSIGN_OR_RETURN(const auto types, dataset::storedTypes(*dataset_, columns_));
    arrow::FieldVector fields;
    for (const std::string& column : columns_) {
        fields.push_back(
            arrow::field(column, types.at(column), dataset_->schema().find(column)->type.nullable));
    }
    schema_ = arrow::schema(fields);
    return okStatus();
}

// Runs the recipe over all rows at once. If the results of its expressions do not fit, retries with
// half as many rows, down to one.
Result<std::vector<std::uint64_t>> RowStream::keptRows(const SplitPosition& place,
                                                       Columns& columns) const {
    const stream::PlanSplit& split = place.split;
    std::vector<std::uint64_t> kept;
    std::int64_t size = split.rows;
    for (std::int64_t done = 0; done < split.rows;) {
        const std::int64_t rows = std::min(size, split.rows - done);
        SomeRows some(columns, done, rows, options_.pool);
        recipe::ColumnSource& source = rows == split.rows
                                           ? static_cast<recipe::ColumnSource&>(columns)
                                           : static_cast<recipe::ColumnSource&>(some);
        const recipe::SplitInput input{place.file,
                                       files_[place.file].relativePath,
                                       static_cast<std::uint64_t>(split.firstRow + done),
                                       rows,
                                       &source,
                                       options_.pool};
        const Result<recipe::FeatureBatch> batch = recipe_->run(input, 0);
        if (batch.status().code() == absl::StatusCode::kResourceExhausted) {
            if (rows == 1) {
                return resourceExhausted(input.relativePath, ": row ", input.firstRow, ": ",
                                         messageOf(batch.status()));
            }
            size = rows / 2;
            continue;
        }
        RETURN_IF_ERROR(batch.status());
        kept.insert(kept.end(), batch->rowNumbers.begin(), batch->rowNumbers.end());
        done += rows;
    }
    return kept;
}

Result<BatchPtr> RowStream::readSplit(const segment::Readers& readers, std::size_t index) {
    const SplitPosition& place = splits_[index];
    const stream::PlanSplit& split = place.split;
    const dataset::SplitRange range{place.file, split.rowGroup, split.firstRow, split.rows};
    Columns columns(readers, range, options_.threads > 1 ? &jobs_ : nullptr, index);
    ASSIGN_OR_RETURN(const std::vector<std::uint64_t> kept, keptRows(place, columns));
    if (kept.empty()) {
        return fromArrow(arrow::RecordBatch::MakeEmpty(schema_), "rows");
    }
    ASSIGN_OR_RETURN(auto arrays, columns.columns(columns_));
    for (std::size_t c = 0; c < arrays.size(); ++c) {
        const auto& field = schema_->field(static_cast<int>(c));
        ASSIGN_OR_RETURN(arrays[c],
                         dataset::asStored(arrays[c], field->type(),
                                           strCat(files_[place.file].path, ": ", field->name())));
    }
    const BatchPtr whole = arrow::RecordBatch::Make(schema_, split.rows, std::move(arrays));
    if (std::ssize(kept) == split.rows) {
        return whole;
    }
    arrow::Int64Builder builder;
    for (const std::uint64_t row : kept) {
        RETURN_IF_ERROR(
            fromArrow(builder.Append(static_cast<std::int64_t>(row) - split.firstRow), "rows"));
    }
    ASSIGN_OR_RETURN(const auto indices, fromArrow(builder.Finish(), "rows"));
    arrow::compute::ExecContext context(arrow::default_memory_pool());
    context.set_use_threads(false);
    ASSIGN_OR_RETURN(
        const arrow::Datum taken,
        fromArrow(
            arrow::compute::Take(whole, indices, arrow::compute::TakeOptions::Defaults(), &context),
            "rows"));
    return taken.record_batch();
}

void RowStream::fail(const Status& error) {
    MutexLock lock(mutex_);
    if (error_.ok()) {
        error_ = error;
    }
    hasFailed_ = true;
    jobs_.tell();
}

/// Returns false if something has failed.
bool RowStream::awaitTurn(std::size_t split, dataset::SplitReader& helper) {
    for (std::size_t turn = turn_; turn != split && !hasFailed_; turn = turn_) {
        if (!doLeft()) {
            jobs_.helpUntil({.flightNumber = static_cast<std::int64_t>(turn)}, helper, [&] {
                return turn_ != turn || hasFailed_ || (left_ != nullptr && left_->isOpen());
            });
        }
    }
    return !hasFailed_;
}

Status RowStream::handOn(const Result<BatchPtr>& batch, std::size_t split, const BatchTaker& take) {
    RETURN_IF_ERROR(batch.status());
    const arrow::RecordBatch& rows = **batch;
    rowsRead_ += splits_[split].split.rows;
    rowsKept_ += rows.num_rows();
    if (left_ == nullptr) {
        return take(*batch);
    }
    for (std::int64_t at = 0; at < rows.num_rows(); at += kRowsTaken) {
        RETURN_IF_ERROR(take(rows.Slice(at, kRowsTaken)));
        jobs_.tell();
    }
    return okStatus();
}

// Hands a split on after all earlier ones; an error waits for its turn too, so that the first error
// in plan order is reported.
void RowStream::work(const BatchTaker& take, const std::stop_token& stop) {
    dataset::SplitReader reader(dataset_, options_.pool), helper(dataset_, options_.pool);
    for (std::size_t split = next_++; split < splits_.size(); split = next_++) {
        if (stop.stop_requested()) {
            return fail(cancelled("stopped"));
        }
        {
            const Result<BatchPtr> batch = readSplit({reader, helper}, split);
            if (!awaitTurn(split, helper)) {
                return;
            }
            const Status status = handOn(batch, split, take);
            if (!status.ok()) {
                return fail(status);
            }
        }
        ++turn_;
        jobs_.tell();
        while (doLeft()) {
        }
    }
    if (awaitTurn(splits_.size(), helper)) {
        while (doLeft()) {
        }
    }
}

Status RowStream::run(const BatchTaker& take, std::stop_token stop, SharedWork* left) {
    left_ = left;
    jobs_.firstIsDelivered();  // the first rows are not urgent here
    {
        std::vector<std::jthread> threads;
        for (int t = 0; t < options_.threads; ++t) {
            threads.push_back(startThread(
                strCat("rows-", t), [this, &take, stop](std::stop_token) { work(take, stop); }));
        }
    }
    {
        MutexLock lock(mutex_);
        RETURN_IF_ERROR(error_);
    }
    return dataset_->verifyFiles();
}

}  // namespace millrace::table
