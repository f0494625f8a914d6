#include "backend/recipe/compiled_recipe.h"

#include <algorithm>
#include <set>

#include "backend/dataset/plan/plan_builder.h"
#include "backend/eval/evaluation_pool.h"
#include "backend/recipe/outputs.h"
#include "backend/recipe/own_time.h"
#include "backend/recipe/row_set.h"
#include "backend/recipe/steps.h"
#include "backend/spec/bind.h"

namespace millrace::recipe {
namespace {

struct NamedStep {
    std::string name;
    StepPtr step;
    bool dropsRows = false;
};

/// A piece of a split that is being run. It must not be moved: the rows refer to the input.
struct PieceRun {
    PieceRun(const SplitInput& piece, const expr::ColumnIndex& schema)
        : input(piece), rows(input, schema) {
        batch.file = piece.file;
    }
    const SplitInput input;
    RowSet rows;
    FeatureBatch batch;
    Status status;
};

/// A chain of steps and the columns after it.
struct Chain {
    std::vector<NamedStep> steps;
    expr::Schema columns;
};

/// A step that first reads the lists that it and the steps after it would request one by one:
/// threads share the work of one combined read.
class ListsFirst : public CompiledStep {
 public:
    ListsFirst(StepPtr step, std::vector<std::string> lists)
        : step_(std::move(step)), lists_(std::move(lists)) {}
    Status run(RowSet& rows, const RunContext& context, StepCount& count) const override {
        RETURN_IF_ERROR(rows.prefetch(lists_, /*mayRepeat=*/true));
        return step_->run(rows, context, count);
    }
    std::vector<std::string> reasons() const override { return step_->reasons(); }
    void addTables(TableSizes& sizes) const override { step_->addTables(sizes); }

 private:
    const StepPtr step_;
    const std::vector<std::string> lists_;
};

/// A run of adjacent truncations. They can fail only on what they read, so the first error is the
/// same whether each reads its own list or the first one reads them all.
class TruncationRun {
 public:
    void add(const spec::Step& step, std::vector<NamedStep>& steps) {
        const auto* truncate = step.as<spec::TruncateStep>();
        if (truncate == nullptr) {
            end(steps);
            return;
        }
        if (lists_.empty()) {
            first_ = steps.size() - 1;
        }
        if (!made_.contains(truncate->column)) {
            lists_.push_back(truncate->column);
        }
        made_.insert(truncate->as);
    }
    void end(std::vector<NamedStep>& steps) {
        if (lists_.size() > 1) {
            StepPtr& first = steps[first_].step;
            first = std::make_unique<ListsFirst>(std::move(first), std::move(lists_));
        }
        lists_.clear();
        made_.clear();
    }

 private:
    std::size_t first_ = 0;
    std::vector<std::string> lists_;
    std::set<std::string> made_;
};

Result<Chain> compileChain(const std::vector<spec::Step>& steps, const expr::Schema& schema,
                           Part part, const TableSource& tables) {
    Chain chain;
    chain.columns = schema;
    TruncationRun truncations;
    for (const spec::Step& step : steps) {
        if (!step.enabled || (part == Part::kEval && step.dropsOrWeighs())) {
            continue;
        }
        ASSIGN_OR_RETURN(StepPtr compiled, compileStep(step, chain.columns, part, tables));
        ASSIGN_OR_RETURN(chain.columns, spec::columnsAfter(step, chain.columns, tables.schema));
        // Joins may drop rows without a match.
        const bool mayDrop = step.dropsOrWeighs() || step.lookup() != nullptr;
        chain.steps.push_back({step.name, std::move(compiled), mayDrop});
        truncations.add(step, chain.steps);
    }
    truncations.end(chain.steps);
    return chain;
}

class RecipeOfPart : public CompiledRecipe {
 public:
    RecipeOfPart(const spec::RunSpec& spec, Part part, const expr::Schema& schema)
        : part_(part), seed_(spec.batch.seed), schema_(schema) {}

    Status build(const spec::RunSpec& spec, const TableSource& tables) {
        const bool isEval = part_ == Part::kEval;
        if (isEval && !spec.eval.has_value()) {
            return invalidArgument("eval: the spec has no evaluation");
        }
        const std::string& where = isEval ? spec.eval->dataset.where : spec.dataset.where;
        stepNames_.push_back("where");
        if (!where.empty()) {
            ASSIGN_OR_RETURN(
                where_,
                compileFilter(where, schema_, isEval ? "eval.dataset.where" : "dataset.where"));
        }
        stepReasons_.push_back(where_ == nullptr ? std::vector<std::string>() : where_->reasons());
        const std::vector<spec::Step>& steps = isEval ? spec.eval->recipe : spec.recipe;
        ASSIGN_OR_RETURN(Chain chain, compileChain(steps, schema_, part_, tables));
        for (const NamedStep& step : chain.steps) {
            stepNames_.push_back(step.name);
            stepReasons_.push_back(step.step->reasons());
        }
        expr::Schema labelColumns = chain.columns;
        if (isEval) {
            ASSIGN_OR_RETURN(Chain labels,
                             compileChain(spec.eval->labelRecipe, schema_, part_, tables));
            labelColumns = labels.columns;
            labelSteps_ = std::move(labels.steps);
        }
        const auto& labels = isEval ? spec.eval->labels : spec.labels;
        ASSIGN_OR_RETURN(labels_, LabelMaker::make(labels, labelColumns));
        for (const auto& [head, label] : labels) {
            heads_.push_back(head);
        }
        ASSIGN_OR_RETURN(features_, FeatureMaker::make(spec, steps, chain.columns, tables));
        if (!isEval) {
            features_.addKeys(spec.features, chain.columns);
        }
        features_.setFile(columns_);
        steps_ = std::move(chain.steps);
        dropsRows_ =
            where_ != nullptr || (!isEval && std::ranges::any_of(steps, [](const spec::Step& step) {
                return step.enabled && step.dropsRows();
            }));
        columnsRead_ = readColumns(spec);
        return okStatus();
    }

    Result<FeatureBatch> run(const SplitInput& split, std::uint32_t epoch) const override {
        const RunContext context{seed_, epoch};
        const eval::EvaluationScope scope(split.pool);
        FeatureBatch batch;
        batch.file = split.file;
        RowSet rows(split, columns_);
        if (split.candidates != nullptr) {
            RETURN_IF_ERROR(rows.keep(*split.candidates));
        }
        RETURN_IF_ERROR(count(rows, context, where_.get(), batch));
        std::optional<RowSet> ofLabels;
        if (part_ == Part::kEval) {
            ofLabels.emplace(rows);
            for (const NamedStep& step : labelSteps_) {
                StepCount uncounted;
                RETURN_IF_ERROR(step.step->run(*ofLabels, context, uncounted));
            }
        }
        for (const NamedStep& step : steps_) {
            RETURN_IF_ERROR(count(rows, context, step.step.get(), batch));
        }
        RETURN_IF_ERROR(finish(ofLabels ? *ofLabels : rows, rows, batch));
        return batch;
    }

    // Runs each piece through as many stages as possible before the next piece, so that its columns
    // stay in the caches. A stage that drops rows ends such a group: no column is read before its
    // rows are known.
    Result<std::vector<FeatureBatch>> runPieces(SplitPieces& pieces,
                                                std::uint32_t epoch) const override {
        const RunContext context{seed_, epoch};
        std::vector<std::unique_ptr<PieceRun>> runs;
        for (std::size_t p = 0; p < pieces.count(); ++p) {
            runs.push_back(std::make_unique<PieceRun>(pieces.piece(p), columns_));
            const SplitInput& input = runs.back()->input;
            if (input.candidates != nullptr) {
                RETURN_IF_ERROR(runs.back()->rows.keep(*input.candidates));
            }
        }
        leave(pieces, runs);
        const std::size_t numStages = steps_.size() + 1;
        for (std::size_t at = 0; at <= numStages;) {
            std::size_t end = at;
            while (end < numStages && !dropsRows(end)) {
                ++end;
            }
            ++end;  // includes the stage that drops rows, or labels and features after the last
                    // stage
            pieces.each(
                [&](std::size_t p) { runs[p]->status = runStages(at, end, context, *runs[p]); });
            for (const std::unique_ptr<PieceRun>& run : runs) {
                RETURN_IF_ERROR(run->status);
            }
            leave(pieces, runs);
            at = end;
        }
        std::vector<FeatureBatch> batches;
        for (const std::unique_ptr<PieceRun>& run : runs) {
            batches.push_back(std::move(run->batch));
        }
        return batches;
    }

    const std::vector<std::string>& stepNames() const override { return stepNames_; }
    const std::vector<std::vector<std::string>>& stepReasons() const override {
        return stepReasons_;
    }
    const std::vector<std::string>& vocabularies() const override {
        return features_.vocabularies();
    }
    const std::vector<std::string>& heads() const override { return heads_; }
    const std::vector<std::string>& columnsRead() const override { return columnsRead_; }
    bool dropsRows() const override { return dropsRows_; }
    std::int64_t tableBytes() const override {
        TableSizes sizes;
        features_.addTables(sizes);
        for (const std::vector<NamedStep>* chain : {&steps_, &labelSteps_}) {
            for (const NamedStep& step : *chain) {
                step.step->addTables(sizes);
            }
        }
        std::int64_t bytes = 0;
        for (const auto& [table, size] : sizes) {
            bytes += size;
        }
        return bytes;
    }

 private:
    /// Stage 0 is `where`; the steps follow.
    const CompiledStep* stageOf(std::size_t stage) const {
        return stage == 0 ? where_.get() : steps_[stage - 1].step.get();
    }
    bool dropsRows(std::size_t stage) const {
        return stage == 0 ? where_ != nullptr : steps_[stage - 1].dropsRows;
    }

    static void leave(SplitPieces& pieces, const std::vector<std::unique_ptr<PieceRun>>& runs) {
        std::vector<const std::vector<std::int64_t>*> left;
        for (const std::unique_ptr<PieceRun>& run : runs) {
            left.push_back(run->rows.selection());
        }
        pieces.leave(left);
    }

    // Runs stages [at, end); labels and features follow the last stage.
    Status runStages(std::size_t at, std::size_t end, const RunContext& context,
                     PieceRun& run) const {
        const eval::EvaluationScope scope(run.input.pool);
        for (; at < end && at <= steps_.size(); ++at) {
            RETURN_IF_ERROR(count(run.rows, context, stageOf(at), run.batch));
        }
        return at < end ? finish(run.rows, run.rows, run.batch) : okStatus();
    }

    Status finish(RowSet& labelled, RowSet& rows, FeatureBatch& batch) const {
        if (labelled.rows() != rows.rows()) {
            return internalError("evaluation lost rows: ", labelled.rows(), " labels, ",
                                 rows.rows(), " rows");
        }
        OwnTime labelTime(rows.split());
        RETURN_IF_ERROR(labels_.run(labelled, part_ == Part::kTrain, batch));
        batch.labelsNs = labelTime.ns();
        RETURN_IF_ERROR(features_.run(rows, batch));
        batch.rows = rows.rows();
        batch.rowNumbers = rows.rowNumbers();
        batch.decodedBytes += batch.rows * static_cast<std::int64_t>(8 + 12 * batch.heads.size());
        return okStatus();
    }

    static Status count(RowSet& rows, const RunContext& context, const CompiledStep* step,
                        FeatureBatch& batch) {
        StepCount count{rows.rows(), rows.rows(), {}};
        if (step != nullptr) {
            OwnTime time(rows.split());
            RETURN_IF_ERROR(step->run(rows, context, count));
            count.rowsOut = rows.rows();
            count.busyNs = time.ns();
        }
        batch.steps.push_back(count);
        return okStatus();
    }

    std::vector<std::string> readColumns(const spec::RunSpec& spec) const {
        if (part_ == Part::kTrain) {
            return dataset::columnsRead(spec, schema_);
        }
        spec::RunSpec asTrain = spec;
        asTrain.dataset.where = spec.eval->dataset.where;
        asTrain.labels = spec.eval->labels;
        asTrain.recipe = spec.eval->recipe;
        asTrain.recipe.insert(asTrain.recipe.end(), spec.eval->labelRecipe.begin(),
                              spec.eval->labelRecipe.end());
        return dataset::columnsRead(asTrain, schema_);
    }

    const Part part_;
    const std::uint64_t seed_;
    const expr::Schema schema_;
    const expr::ColumnIndex columns_{schema_};
    bool dropsRows_ = false;
    StepPtr where_;
    std::vector<NamedStep> steps_, labelSteps_;
    LabelMaker labels_;
    FeatureMaker features_;
    std::vector<std::string> stepNames_, heads_, columnsRead_;
    std::vector<std::vector<std::string>> stepReasons_;
};

}  // namespace

TableSource diskTables(const dataset::TablePlace& place) {
    TableSource source;
    source.schema = [place](const spec::TableRef& table) {
        return dataset::tableSchema(table, place);
    };
    source.load = [place](const spec::TableRef& table, const std::vector<std::string>& columns) {
        return dataset::loadTable(table, columns, place);
    };
    source.size = [place](const spec::TableRef& table, const std::vector<std::string>& columns) {
        return dataset::tableSize(table, columns, place);
    };
    return source;
}

Result<std::shared_ptr<const CompiledRecipe>> CompiledRecipe::compile(const spec::RunSpec& spec,
                                                                      Part part,
                                                                      const expr::Schema& schema,
                                                                      const TableSource& tables,
                                                                      MemoryBudget* budget) {
    auto recipe = std::make_shared<RecipeOfPart>(spec, part, schema);
    TableSource counted = tables;
    counted.budget = budget;
    RETURN_IF_ERROR(recipe->build(spec, counted));
    return std::shared_ptr<const CompiledRecipe>(std::move(recipe));
}

}  // namespace millrace::recipe
