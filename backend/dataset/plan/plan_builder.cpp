#include "backend/dataset/plan/plan_builder.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <set>

#include "backend/dataset/plan/plan_partitions.h"
#include "backend/dataset/side_table.h"
#include "backend/expr/expression.h"

namespace millrace::dataset {
namespace {

/// Collects the names in a part of a spec; those in the schema are the columns that it reads.
class NameCollector {
 public:
    void expression(const std::string& text) {
        if (text.empty()) {
            return;
        }
        const Result<expr::Expr> tree = expr::parseExpression(text);
        if (tree.ok()) {
            all(expr::collectColumns(*tree));
        }
    }
    /// Adds the left side of a join: a name, or an expression.
    void joined(const std::string& text) {
        names_.insert(text);
        expression(text);
    }
    void all(const std::vector<std::string>& names) { names_.insert(names.begin(), names.end()); }

    void step(const spec::Step& step) {
        if (!step.enabled) {
            return;
        }
        const spec::StepReads reads = step.reads();
        for (const std::string& text : reads.expressions) {
            expression(text);
        }
        for (const std::string& text : reads.lookedUp) {
            joined(text);
        }
        all(reads.columns);
    }

    void features(const spec::FeaturesSpec& features) {
        for (const spec::DenseFeature& dense : features.dense) {
            names_.insert(dense.column);
        }
        all(features.vectors);
        all(features.ids);
        all(features.lists);
        all(features.carry);
        for (const spec::WeightedFeature& weighted : features.weighted) {
            all({weighted.ids, weighted.weights});
        }
        for (const auto& [name, sequence] : features.sequences) {
            all(sequence.columns);
            all({sequence.time, sequence.before});
        }
        names_.insert(features.request);
        names_.insert(features.user);
    }

    void label(const spec::LabelSpec& label) {
        expression(label.expr);
        expression(label.weight);
        expression(label.where);
    }

    const std::set<std::string>& names() const { return names_; }

 private:
    std::set<std::string> names_;
};

std::int64_t decodedBytes(const files::FileMetadata& facts, const files::ColumnChunkMetadata& chunk,
                          const std::vector<std::string>& columns) {
    std::int64_t bytes = 0;
    for (std::size_t i = 0; i < facts.schema.fields.size(); ++i) {
        if (std::ranges::binary_search(columns, facts.schema.fields[i].name)) {
            bytes += chunk.decodedBytes[i];
        }
    }
    return bytes;
}

/// Adds one split per chunk; a chunk larger than twice the target is divided into equal row ranges.
void addSplits(stream::PlanFile& file, std::int64_t chunk, std::int64_t firstRow, std::int64_t rows,
               std::int64_t bytes) {
    std::int64_t pieces = 1;
    if (bytes > 2 * kSegmentTargetBytes) {
        pieces = std::min(rows, (bytes + kSegmentTargetBytes - 1) / kSegmentTargetBytes);
    }
    const std::int64_t end = firstRow + rows;
    const std::int64_t range = (rows + pieces - 1) / std::max<std::int64_t>(pieces, 1);
    do {
        const std::int64_t take = std::min(range, end - firstRow);
        const auto share = rows == 0 ? 0.0 : static_cast<double>(take) / static_cast<double>(rows);
        file.splits.push_back(
            {chunk, firstRow, take, static_cast<std::int64_t>(share * static_cast<double>(bytes))});
        firstRow += take;
    } while (firstRow < end);
}

Result<std::vector<stream::PlanFile>> planFiles(const Dataset& dataset,
                                                const std::vector<std::string>& columns) {
    std::vector<stream::PlanFile> files;
    for (std::size_t i = 0; i < dataset.files().size(); ++i) {
        ASSIGN_OR_RETURN(const std::shared_ptr<const files::FileMetadata> facts, dataset.facts(i));
        stream::PlanFile file;
        file.path = dataset.files()[i].path;
        file.relativePath = dataset.files()[i].relativePath;
        file.bytes = dataset.files()[i].bytes;
        file.footerHash = facts->contentHash;
        file.rows = facts->rows;
        std::int64_t row = 0;
        for (std::size_t c = 0; c < facts->chunks.size(); ++c) {
            const files::ColumnChunkMetadata& chunk = facts->chunks[c];
            addSplits(file, static_cast<std::int64_t>(c), row, chunk.rows,
                      decodedBytes(*facts, chunk, columns));
            row += chunk.rows;
        }
        files.push_back(std::move(file));
    }
    return files;
}

/// The columns that the files hold.
expr::Schema storedColumns(const Dataset& dataset) {
    expr::Schema schema;
    for (const expr::Field& field : dataset.schema().fields) {
        // A null type's name cannot be parsed back: such schemas are left out, and columns looked
        // up again.
        if (field.type.kind == expr::TypeKind::kNull) {
            return {};
        }
        if (dataset.partition(field.name) == nullptr) {
            schema.fields.push_back(field);
        }
    }
    return schema;
}

/// Every expression of the steps.
void addExpressions(const std::vector<spec::Step>& steps, std::vector<std::string>& texts) {
    for (const spec::Step& step : steps) {
        if (!step.enabled) {
            continue;
        }
        const spec::StepReads reads = step.reads();
        texts.insert(texts.end(), reads.expressions.begin(), reads.expressions.end());
        texts.insert(texts.end(), reads.lookedUp.begin(), reads.lookedUp.end());
        texts.insert(texts.end(), reads.ofTable.begin(), reads.ofTable.end());
        for (const spec::MadeColumn& column : step.makes()) {
            if (column.isOfTable) {
                texts.push_back(column.expr);
            }
        }
    }
}

void addExpressions(const std::map<std::string, spec::LabelSpec>& labels,
                    std::vector<std::string>& texts) {
    for (const auto& [head, label] : labels) {
        texts.insert(texts.end(), {label.expr, label.weight, label.where});
    }
}

Status addTables(const spec::RunSpec& spec, const std::shared_ptr<MetadataCache>& cache,
                 stream::Plan& plan) {
    std::map<std::vector<std::string>, spec::TableRef> tables;
    const auto collect = [&tables](const std::vector<spec::Step>& steps) {
        for (const spec::Step& step : steps) {
            const spec::TableLookup* lookup = step.lookup();
            if (step.enabled && lookup != nullptr && !lookup->table.empty()) {
                tables.emplace(lookup->table.paths, lookup->table);
            }
        }
    };
    collect(spec.recipe);
    if (spec.eval.has_value()) {
        collect(spec.eval->recipe);
        collect(spec.eval->labelRecipe);
    }
    for (const auto& [name, embedding] : spec.embeddings) {
        if (embedding.vocabulary.has_value() && !embedding.vocabulary->isCounted()) {
            tables.emplace(embedding.vocabulary->table.paths, embedding.vocabulary->table);
        }
    }
    std::set<std::string> paths;  // a file may belong to several tables
    for (const auto& [name, table] : tables) {
        ASSIGN_OR_RETURN(std::vector<stream::SideTable> files,
                         sideTablesOf(table, {spec.baseDir, cache}));
        for (stream::SideTable& file : files) {
            if (paths.insert(file.path).second) {
                plan.sideTables.push_back(std::move(file));
            }
        }
    }
    for (const std::string& path : zoneFiles(spec)) {
        ASSIGN_OR_RETURN(stream::SideTable rules, sideFileOf(path));
        plan.sideTables.push_back(std::move(rules));
    }
    return okStatus();
}

/// How many of the largest sizes fit into `target` together.
std::int64_t largestThatFit(std::vector<std::int64_t> sizes, std::int64_t target) {
    std::ranges::sort(sizes, std::greater<>());
    std::int64_t sum = 0, count = 0;
    for (const std::int64_t size : sizes) {
        sum += size;
        if (sum > target) {
            break;
        }
        ++count;
    }
    return count;
}

Status orderBy(const std::string& column, const Dataset& train, stream::Plan& plan,
               std::vector<std::string>* warnings) {
    ASSIGN_OR_RETURN(const PartitionSummary summary, partitionSplits(train, column, plan.files));
    if (summary.several > 0 && warnings != nullptr) {
        warnings->push_back(strCat("batch.order: ", summary.several, " of ", summary.partitions,
                                   " partitions by '", column,
                                   "' are row groups that hold several values, which are shuffled "
                                   "together; row groups that end where the value changes, or "
                                   "directories ",
                                   column, "=VALUE, keep them apart"));
    }
    return okStatus();
}

}  // namespace

std::vector<std::string> columnsRead(const spec::RunSpec& spec, const expr::Schema& schema) {
    NameCollector collector;
    collector.expression(spec.dataset.where);
    for (const spec::Step& step : spec.recipe) {
        collector.step(step);
    }
    for (const auto& [head, label] : spec.labels) {
        collector.label(label);
    }
    collector.features(spec.features);
    std::vector<std::string> columns;
    for (const std::string& name : collector.names()) {
        if (schema.find(name) != nullptr) {
            columns.push_back(name);
        }
    }
    return columns;
}

std::vector<std::string> zoneFiles(const spec::RunSpec& spec) {
    std::vector<std::string> texts = {spec.dataset.where};
    addExpressions(spec.recipe, texts);
    addExpressions(spec.labels, texts);
    if (spec.eval.has_value()) {
        texts.push_back(spec.eval->dataset.where);
        addExpressions(spec.eval->recipe, texts);
        addExpressions(spec.eval->labelRecipe, texts);
        addExpressions(spec.eval->labels, texts);
    }
    std::set<std::string> files;
    for (const std::string& text : texts) {
        const Result<expr::Expr> tree = expr::parseExpression(text);
        for (const std::string& zone :
             tree.ok() ? expr::collectZones(*tree) : std::vector<std::string>{}) {
            files.insert(TimeZone::pathOf(zone));
        }
    }
    return {files.begin(), files.end()};
}

SegmentSize defaultSegmentSize(const std::vector<stream::PlanFile>& files) {
    std::vector<std::int64_t> bytes, rows;
    for (const stream::PlanFile& file : files) {
        for (const stream::PlanSplit& split : file.splits) {
            bytes.push_back(split.decodedBytes);
            rows.push_back(split.rows);
        }
    }
    const auto splits = static_cast<std::int64_t>(rows.size());
    const std::int64_t byBytes = largestThatFit(std::move(bytes), kSegmentTargetBytes);
    const std::int64_t byRows = largestThatFit(std::move(rows), kSegmentTargetRows);
    const std::int64_t fitting = std::max<std::int64_t>(std::min(byBytes, byRows), 1);
    if (fitting >= splits) {
        return {std::max<std::int64_t>(splits, 1), stream::SegmentRule::kAll};
    }
    return {fitting, byRows < byBytes ? stream::SegmentRule::kRows : stream::SegmentRule::kBytes};
}

Result<stream::Plan> buildPlan(const spec::RunSpec& spec, const Dataset& train, const Dataset* eval,
                               const std::vector<std::string>& baseColumns,
                               std::vector<std::string>* warnings) {
    std::vector<std::string> columns = baseColumns;
    if (columns.empty()) {
        columns = columnsRead(spec, train.schema());
    }
    std::ranges::sort(columns);
    stream::Plan plan;
    ASSIGN_OR_RETURN(plan.files, planFiles(train, columns));
    if (spec.batch.order == "by") {
        RETURN_IF_ERROR(orderBy(spec.batch.orderBy, train, plan, warnings));
    }
    plan.schema = storedColumns(train);
    if (eval != nullptr) {
        ASSIGN_OR_RETURN(plan.evalFiles, planFiles(*eval, columns));
        plan.evalSchema = storedColumns(*eval);
    }
    RETURN_IF_ERROR(addTables(spec, train.cache(), plan));
    plan.segmentSplits = spec.batch.segmentSplits;
    if (plan.segmentSplits <= 0) {
        const SegmentSize size = defaultSegmentSize(plan.files);
        plan.segmentSplits = size.splits;
        plan.segmentRule = size.rule;
    }
    return plan;
}

}  // namespace millrace::dataset
