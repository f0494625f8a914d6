#include "backend/segment/stream_input.h"

#include <algorithm>
#include <set>

#include <absl/strings/escaping.h>

#include "backend/dataset/plan/plan_builder.h"
#include "backend/dataset/side_table.h"
#include "backend/filesystem/paths.h"
#include "backend/segment/requests.h"
#include "backend/spec/bind.h"

namespace millrace::segment {

namespace {

constexpr std::size_t kEpochsKept = 3;

Result<Shuffle> shuffleOf(const spec::RunSpec& spec) {
    const std::string& name = spec.batch.shuffle;
    if (name == "rows") {
        return Shuffle::kRows;
    }
    if (name == "none") {
        return Shuffle::kNone;
    }
    if (name != "requests") {
        return invalidArgument("batch.shuffle: '", name, "' is not rows, requests or none");
    }
    if (spec.features.request.empty()) {
        return invalidArgument("batch.shuffle: requests needs features.request");
    }
    return Shuffle::kRequests;
}

Result<stream::SplitOrder> orderOf(const spec::RunSpec& spec) {
    if (spec.batch.order == "permuted") {
        return stream::SplitOrder::kPermuted;
    }
    if (spec.batch.order == "as_is") {
        return stream::SplitOrder::kAsIs;
    }
    if (spec.batch.order == "by") {
        return stream::SplitOrder::kByPartition;
    }
    return invalidArgument("batch.order: '", spec.batch.order, "' is not permuted, as_is or by");
}

Result<recipe::CountedValues> countedIn(const stream::Plan& plan, const std::string& hash) {
    for (const stream::CountedTable& table : plan.countedTables) {
        std::string file;
        if (table.hash == hash && absl::Base64Unescape(*table.file, &file)) {
            return recipe::CountedValues::ofFile(file, hash, "plan");
        }
    }
    return dataLoss("plan: it has no counted values ", hash, ", which the spec names");
}

// Expressions must be bound to the time zone rules whose files the plan pins.
Status checkZones(const spec::RunSpec& spec, const stream::Plan& plan) {
    for (const std::string& file : dataset::zoneFiles(spec)) {
        const bool isPlanned = std::ranges::any_of(
            plan.sideTables, [&](const stream::SideTable& table) { return table.path == file; });
        if (!isPlanned) {
            return failedPrecondition(file,
                                      ": the plan has no such rules of a time zone; it was "
                                      "made where TZDIR names another directory");
        }
    }
    return okStatus();
}

}  // namespace

Result<std::shared_ptr<const StreamInput>> StreamInput::open(
    spec::RunSpec spec, stream::Plan plan, recipe::Part part, MemoryBudget& budget,
    std::shared_ptr<recipe::SharedTables> shared, InputUse use) {
    std::shared_ptr<StreamInput> input(new StreamInput());
    input->shape_.streamHash = spec::streamHash(spec);
    input->shape_.planHash = plan.planHash();
    input->shape_.microRows = spec.batch.microRows;
    input->spec_ = std::move(spec);
    input->plan_ = std::move(plan);
    input->part_ = part;
    if (part == recipe::Part::kEval && !input->spec_.eval) {
        return invalidArgument("the spec has no eval section");
    }
    if (part == recipe::Part::kEval) {
        input->shuffle_ = Shuffle::kNone;
        input->order_ = stream::SplitOrder::kAsIs;
    } else {
        ASSIGN_OR_RETURN(input->shuffle_, shuffleOf(input->spec_));
        ASSIGN_OR_RETURN(input->order_, segment::orderOf(input->spec_));
    }
    input->cuts_ = stream::SegmentCuts(input->files(), input->plan_.segmentSplits, input->order_);
    input->shape_.numSegments = input->cuts_.count();
    auto cache = std::make_shared<dataset::MetadataCache>(cacheDirectory("facts"));
    std::vector<files::DataFile> checked;
    auto planned = std::make_shared<std::set<std::string>>();
    for (const stream::SideTable& table : input->plan_.sideTables) {
        ASSIGN_OR_RETURN(files::DataFile file, dataset::verifySideTable(table));
        planned->insert(table.path);
        checked.push_back(std::move(file));
    }
    recipe::TableSource tables =
        recipe::diskTables({input->spec_.baseDir, cache, std::move(planned), shared->threads()});
    tables.shared = std::move(shared);
    RETURN_IF_ERROR(checkZones(input->spec_, input->plan_));
    tables.counters = use.counters;
    tables.counted = [&plan = input->plan_](const std::string& hash) {
        return countedIn(plan, hash);
    };
    RETURN_IF_ERROR(input->bind(tables, cache, budget, use.frames));
    for (const files::DataFile& file : checked) {
        RETURN_IF_ERROR(dataset::verifyStill(file));  // it may have changed while it was loaded
    }
    return std::shared_ptr<const StreamInput>(std::move(input));
}

Status StreamInput::bind(const recipe::TableSource& tables,
                         const std::shared_ptr<dataset::MetadataCache>& cache, MemoryBudget& budget,
                         FrameUse use) {
    const spec::DatasetSpec& section =
        part_ == recipe::Part::kEval ? spec_.eval->dataset : spec_.dataset;
    ASSIGN_OR_RETURN(dataset_,
                     dataset::Dataset::ofPlan(
                         files(), dataset::readOptionsOf(section), cache,
                         part_ == recipe::Part::kEval ? plan_.schemaOfEval() : plan_.schema));
    hasRowGroups_ = dataset::readOptionsOf(section).format == "parquet";
    const bool hasOwnFiles = part_ == recipe::Part::kEval && !plan_.evalFiles.empty();
    expr::Schema trainSchema = dataset_->schema();
    if (hasOwnFiles) {
        ASSIGN_OR_RETURN(const auto train, dataset::Dataset::ofPlan(
                                               plan_.files, dataset::readOptionsOf(spec_.dataset),
                                               cache, plan_.schema));
        trainSchema = train->schema();
    }
    const spec::BindResult bound = spec::bindSchema(spec_, trainSchema, tables.schema,
                                                    hasOwnFiles ? &dataset_->schema() : nullptr);
    if (!bound.ok()) {
        return spec::toStatus(bound.errors, "spec");
    }
    ASSIGN_OR_RETURN(recipe_, recipe::CompiledRecipe::compile(spec_, part_, dataset_->schema(),
                                                              tables, &budget));
    dataset_->expectColumns(recipe_->columnsRead());
    columns_ = bound.columns;
    ASSIGN_OR_RETURN(std::set<std::string> deduplicated,
                     deduplicatedLists({spec_, bound.columns, *recipe_, dataset_, files()}));
    ASSIGN_OR_RETURN(shape_.layout, layoutOf(spec_, columns_, {std::move(deduplicated), use}));
    shape_.stepNames = recipe_->stepNames();
    shape_.stepReasons = recipe_->stepReasons();
    shape_.vocabularies = recipe_->vocabularies();
    shape_.heads = recipe_->heads();
    pruner_ = dataset::SplitPruner::make(spec_, dataset_->schema(), part_ == recipe::Part::kEval);
    return okStatus();
}

StreamInput::Order StreamInput::orderOf(std::uint32_t epoch) const {
    MutexLock lock(mutex_);
    Order& order = orders_[epoch];
    if (!order) {
        order = std::make_shared<const std::vector<stream::SplitRef>>(
            stream::splitOrder(files(), spec_.batch.seed, epoch, order_));
    }
    const Order result = order;
    while (orders_.size() > kEpochsKept) {
        orders_.erase(orders_.begin());
    }
    return result;
}

std::vector<stream::SplitRef> StreamInput::splitsOf(std::uint32_t epoch,
                                                    std::int64_t segment) const {
    const Order order = orderOf(epoch);
    const auto splits = cuts_.of(*order, segment);
    return {splits.begin(), splits.end()};
}

// Takes whole splits if they are small, otherwise part of one, whose pages are decompressed twice.
SegmentPart StreamInput::headOf(std::uint32_t epoch, std::int64_t segment,
                                std::int64_t least) const {
    // Objects are fetched whole, as announced.
    if (least <= 0 || shuffle_ != Shuffle::kNone || dataset_->hasObjects()) {
        return {};
    }
    const std::int64_t wanted = (least + microRows() - 1) / microRows() * microRows();
    SegmentPart head{SegmentPart::Kind::kHead};
    std::int64_t rows = 0, all = 0;
    for (const stream::SplitRef& ref : splitsOf(epoch, segment)) {
        const std::int64_t inSplit = files()[ref.file].splits[ref.split].rows;
        all += inSplit;
        if (rows >= wanted) {
            continue;
        }
        if (hasRowGroups_ && inSplit >= 2 * wanted) {
            head.headRows = wanted - rows;
            rows = wanted;
        } else {
            ++head.headSplits;
            rows += inSplit;
        }
    }
    return rows >= wanted && all >= 2 * rows ? head : SegmentPart();
}

bool StreamInput::readsPartsOfRowGroups() const {
    return hasRowGroups_ &&
           (recipe_->dropsRows() || std::ranges::any_of(files(), [](const stream::PlanFile& file) {
                return std::ranges::adjacent_find(file.splits, {}, &stream::PlanSplit::rowGroup) !=
                       file.splits.end();
            }));
}

std::int64_t StreamInput::decodedBytes(std::uint32_t epoch, std::int64_t segment,
                                       const SegmentPart& part) const {
    std::int64_t bytes = 0;
    std::size_t s = 0;
    for (const stream::SplitRef& ref : splitsOf(epoch, segment)) {
        const stream::PlanSplit& split = files()[ref.file].splits[ref.split];
        if (part.kind == SegmentPart::Kind::kHead && s++ == part.headSplits) {
            return bytes +
                   split.decodedBytes / std::max<std::int64_t>(split.rows, 1) * part.headRows;
        }
        bytes += split.decodedBytes;
    }
    return bytes;
}

std::string describeSegment(const StreamInput& input, std::uint32_t epoch, std::int64_t segment) {
    constexpr std::size_t kSplitsNamed = 8;
    const std::vector<stream::SplitRef> splits = input.splitsOf(epoch, segment);
    std::string text = strCat("segment ", segment, " of epoch ", epoch, " (");
    for (std::size_t s = 0; s < std::min(splits.size(), kSplitsNamed); ++s) {
        const stream::PlanFile& file = input.files()[splits[s].file];
        const stream::PlanSplit& split = file.splits[splits[s].split];
        strAppend(&text, s == 0 ? "" : ", ", file.relativePath, " row group ", split.rowGroup,
                  " rows ", split.firstRow, " to ", split.firstRow + split.rows - 1);
    }
    if (splits.size() > kSplitsNamed) {
        strAppend(&text, ", and ", splits.size() - kSplitsNamed, " more");
    }
    return text + ")";
}

}  // namespace millrace::segment
