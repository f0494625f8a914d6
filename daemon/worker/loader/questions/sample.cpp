#include "daemon/worker/loader/questions/sample.h"

#include <algorithm>
#include <optional>

#include "backend/core/memory_budget.h"
#include "backend/dataset/plan/plan_builder.h"
#include "backend/dataset/split_reader.h"
#include "backend/recipe/staged_recipe.h"
#include "daemon/worker/loader/spec_error.h"

namespace millrace::loader {
namespace {

using DatasetPtr = std::shared_ptr<const dataset::Dataset>;

constexpr std::int64_t kTableBytesMax = std::int64_t{4} << 30;
constexpr std::int64_t kFirstWindow = 256;  // rows that a filter's first try reads
constexpr std::int64_t kWindowGrowth = 8;

// Some consecutive rows of a split. Reads a part of a Parquet row group, and whole splits of other
// files.
class Window final : public recipe::ColumnSource {
 public:
    Window(dataset::SplitReader& reader, dataset::SplitRange range)
        : reader_(reader), range_(range) {}
    Result<std::vector<std::shared_ptr<arrow::Array>>> columns(
        const std::vector<std::string>& names) override {
        return reader_.readColumns(range_, names);
    }
    const dataset::SplitRange& range() const { return range_; }

 private:
    dataset::SplitReader& reader_;
    const dataset::SplitRange range_;
};

// The spec of one variation, bound to its dataset.
struct Bound {
    spec::RunSpec spec;
    DatasetPtr dataset;
    std::vector<std::string> baseColumns;  ///< used to measure splits
};

class Sampler {
 public:
    Sampler(const SampleRequest& request, SampleReply& reply)
        : request_(request),
          reply_(reply),
          cache_(factsCache()),
          tables_(recipe::diskTables({request.spec.baseDir, cache_})) {}

    void run() {
        const std::optional<Bound> bound = bind();
        if (!bound) {
            return;
        }
        const Result<std::optional<Split>> split = findSplit(*bound);
        if (!split.ok()) {
            fail(split.status(), "dataset", "file", nullptr);
            return;
        }
        if (!*split) {
            return;
        }
        const Status status = sample(*bound, **split);
        if (!status.ok()) {
            fail(status, "dataset", "file", &bound->spec);
        }
    }

 private:
    struct Split {
        dataset::SplitRange range;
        std::string relativePath;
    };

    void fail(const Status& status, std::string path, std::string code, const spec::RunSpec* spec) {
        reply_.errors.push_back(errorOf(status, std::move(path), std::move(code), spec));
    }

    std::optional<spec::RunSpec> read(const spec::SpecReader& reader,
                                      const std::string& variation) {
        spec::ResolvedSpec read = reader.resolve(variation);
        if (!read.ok()) {
            reply_.errors = std::move(read.errors);
        }
        return std::move(read.spec);
    }

    std::optional<Bound> bind() {
        const ResolveRequest& text = request_.spec;
        const auto reader = spec::SpecReader::parse(
            text.text, {text.fileName, text.baseDir, text.sets}, reply_.errors);
        if (!reader) {
            return std::nullopt;
        }
        std::optional<spec::RunSpec> base = read(*reader, "");
        if (!base) {
            return std::nullopt;
        }
        if (!base->hasDataset()) {
            reply_.errors.push_back(noDataset(*base));
            return std::nullopt;
        }
        std::optional<spec::RunSpec> chosen =
            request_.variation.empty() ? base : read(*reader, request_.variation);
        if (!chosen) {
            return std::nullopt;
        }
        Bound bound{*std::move(chosen), open(base->dataset, *base), {}};
        if (bound.dataset == nullptr) {
            return std::nullopt;
        }
        // A variation may read other files; splits are still measured by the base's columns.
        spec::bindSchema(*base, bound.dataset->schema(), tables_.schema);
        bound.baseColumns = dataset::columnsRead(*base, bound.dataset->schema());
        if (!request_.variation.empty()) {
            bound.dataset = open(bound.spec.dataset, bound.spec);
            if (bound.dataset == nullptr) {
                return std::nullopt;
            }
        }
        spec::BindResult result =
            spec::bindSchema(bound.spec, bound.dataset->schema(), tables_.schema);
        reply_.errors = std::move(result.errors);
        return bound;
    }

    DatasetPtr open(const spec::DatasetSpec& section, const spec::RunSpec& spec) {
        const Result<DatasetPtr> opened = dataset::Dataset::open(
            section.path, request_.spec.baseDir, dataset::readOptionsOf(section), cache_);
        if (!opened.ok()) {
            fail(opened.status(), "dataset.path", "file", &spec);
            return nullptr;
        }
        return *opened;
    }

    // Leaves side tables out of the plan: hashing them is of no use here.
    Result<std::optional<Split>> findSplit(const Bound& bound) {
        spec::RunSpec files = bound.spec;
        files.recipe.clear();
        files.embeddings.clear();
        files.eval.reset();
        files.batch.segmentSplits = 1;
        files.batch.order = "as_is";
        ASSIGN_OR_RETURN(const stream::Plan plan,
                         dataset::buildPlan(files, *bound.dataset, nullptr, bound.baseColumns));
        reply_.splits = plan.numSplits();
        std::int64_t before = 0;
        for (std::size_t f = 0; f < plan.files.size(); ++f) {
            const auto& splits = plan.files[f].splits;
            const std::int64_t at = request_.split - before;
            if (at >= 0 && at < static_cast<std::int64_t>(splits.size())) {
                const stream::PlanSplit& split = splits[static_cast<std::size_t>(at)];
                reply_.splitRows = split.rows;
                return std::optional(Split{
                    {static_cast<std::uint32_t>(f), split.rowGroup, split.firstRow, split.rows},
                    plan.files[f].relativePath});
            }
            before += static_cast<std::int64_t>(splits.size());
        }
        fail(invalidArgument("split ", request_.split, " is not in the plan: it has ", before,
                             ", numbered from 0"),
             "", "range", nullptr);
        return std::optional<Split>();
    }

    Status sample(const Bound& bound, const Split& split) {
        MemoryBudget budget(kTableBytesMax);
        const auto recipe =
            recipe::StagedRecipe::compile(bound.spec, bound.dataset->schema(), tables_, &budget);
        if (!recipe.ok()) {
            if (reply_.errors.empty()) {
                fail(recipe.status(), "dataset.where", "expression", &bound.spec);
            }
            return okStatus();
        }
        dataset::SplitReader reader(bound.dataset);
        std::int64_t rows = request_.rows;
        for (;;) {
            ASSIGN_OR_RETURN(recipe::StagedRows staged,
                             stages(**recipe, bound, split, rows, reader));
            const std::size_t bytes = bytesOf(staged);
            if (bytes <= kSampleBytesMax || rows <= 1) {
                answer(bound, staged);
                return okStatus();
            }
            rows = std::max<std::int64_t>(
                1, std::min(rows / 2, rows * static_cast<std::int64_t>(kSampleBytesMax) /
                                          static_cast<std::int64_t>(bytes)));
        }
    }

    // Reads few rows first, and more while dataset.where keeps too few of them.
    Result<recipe::StagedRows> stages(const recipe::StagedRecipe& recipe, const Bound& bound,
                                      const Split& split, std::int64_t rows,
                                      dataset::SplitReader& reader) {
        const std::int64_t end = split.range.rows;
        const std::int64_t from = std::min(request_.firstRow, end);
        const bool isWhole = bound.dataset->options().format != "parquet";
        const bool isFiltered = !bound.spec.dataset.where.empty();
        std::int64_t size = isFiltered ? std::max(kFirstWindow, 2 * rows) : rows;
        for (;; size *= kWindowGrowth) {
            dataset::SplitRange range = split.range;
            range.firstRow += isWhole ? 0 : from;
            range.rows = isWhole ? end : std::min(size, end - from);
            const bool isLast = isWhole || from + range.rows >= end;
            Window window(reader, range);
            const recipe::SplitInput input{range.file, split.relativePath,
                                           static_cast<std::uint64_t>(range.firstRow), range.rows,
                                           &window};
            const std::int64_t skip = isWhole ? from : 0;
            if (!isLast) {
                ASSIGN_OR_RETURN(const std::int64_t kept, recipe.count(input, skip, rows));
                if (kept < rows) {
                    continue;
                }
            }
            ASSIGN_OR_RETURN(recipe::StagedRows staged, recipe.run(input, skip, rows));
            for (recipe::Stage& stage : staged.stages) {
                for (std::int64_t& row : stage.rows) {
                    row += from - skip;
                }
            }
            return staged;
        }
    }

    static std::size_t bytesOf(const recipe::StagedRows& staged) {
        std::size_t bytes = 0;
        for (const recipe::Stage& stage : staged.stages) {
            for (const recipe::StageColumn& column : stage.columns) {
                for (const std::string& value : column.values) {
                    bytes += value.size() + 2;
                }
            }
        }
        return bytes;
    }

    void answer(const Bound& bound, recipe::StagedRows& staged) {
        for (recipe::Stage& stage : staged.stages) {
            reply_.stages.push_back(stageJson(bound.spec, stage));
        }
        if (!staged.status.ok() && reply_.errors.empty()) {
            fail(staged.status, strCat("recipe[", staged.failedStep, "]"), "expression",
                 &bound.spec);
        }
    }

    static Json stageJson(const spec::RunSpec& spec, recipe::Stage& stage) {
        const spec::Step* step =
            stage.step < 0 ? nullptr : &spec.recipe[static_cast<std::size_t>(stage.step)];
        const std::string& where = spec.dataset.where;
        Json columns = Json::array();
        for (recipe::StageColumn& column : stage.columns) {
            Json one = {{"name", std::move(column.name)},
                        {"type", std::move(column.type)},
                        {"values", std::move(column.values)}};
            if (!column.isNull.empty()) {
                one["is_null"] = column.isNull;
            }
            columns.push_back(std::move(one));
        }
        Json reasons = Json::array();
        for (recipe::StageReason& reason : stage.reasons) {
            reasons.push_back({{"name", std::move(reason.name)}, {"rows", reason.rows}});
        }
        return {{"step", step == nullptr ? "dataset" : step->name},
                {"kind", step == nullptr ? "dataset" : std::string(step->kind())},
                {"text",
                 step == nullptr ? (where.empty() ? "" : strCat("where: ", where)) : step->line()},
                {"is_enabled", step == nullptr || step->enabled},
                {"columns", std::move(columns)},
                {"row_ids", std::move(stage.rows)},
                {"rows_in", stage.rowsIn},
                {"rows_out", stage.rowsOut},
                {"reasons", std::move(reasons)}};
    }

    const SampleRequest& request_;
    SampleReply& reply_;
    std::shared_ptr<dataset::MetadataCache> cache_;
    recipe::TableSource tables_;
};

}  // namespace

SampleReply sampleSteps(const SampleRequest& request) {
    SampleReply reply;
    Sampler(request, reply).run();
    return reply;
}

}  // namespace millrace::loader
