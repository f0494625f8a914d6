#include "backend/spec/trainable.h"

#include <algorithm>
#include <memory>
#include <set>
#include <variant>

#include <absl/strings/match.h>
#include <absl/strings/str_replace.h>

#include "backend/expr/expression.h"
#include "backend/spec/bind.h"
#include "backend/spec/spec_checks.h"
#include "backend/spec/training/optimisation.h"
#include "backend/text/text.h"

namespace millrace::spec {
namespace {

constexpr double kFloatBytes = 4, kDoubleBytes = 8;
/// Bytes of a row's index to its gradient in a step.
constexpr double kPlaceBytes = 4;

bool hasEmbedding(const RunSpec& spec, const std::string& feature) {
    return std::ranges::any_of(spec.embeddings, [&](const auto& entry) {
        const auto& features = entry.second.features;
        return std::ranges::find(features, feature) != features.end();
    });
}

double bytesOf(const EmbeddingSpec& table, const RunSpec& spec) {
    const TrainGroup group = tableGroup(spec.train);
    const auto floats = static_cast<double>(table.dim + stateFloats(group, table.dim));
    const double bytes = spec.train.precision == "fp64" ? kDoubleBytes : kFloatBytes;
    return static_cast<double>(table.rows) * (floats * bytes + kPlaceBytes);
}

// Rejects keys of the built-in trainer: the script of `command` has its own, so they would have no
// effect.
void checkScript(const RunSpec& spec, Problems& problems) {
    const auto refuse = [&](const std::string& key, bool isGiven) {
        if (isGiven) {
            problems.add(key, "check", key,
                         ": is the script's own with `command`; leave the key out");
        }
    };
    const Json given = spec.toJson(), usual = RunSpec().toJson();
    for (const Key& key : keyTable()) {
        const std::string_view name = key.limits.jsonName;
        const std::string path = name.empty() ? key.path : strCat("train.", name);
        const Json::json_pointer at("/" + absl::StrReplaceAll(path, {{".", "/"}}));
        if (key.limits.isTrainers) {
            refuse(path, given.value(at, Json()) != usual.value(at, Json()));
        }
    }
    refuse("eval.every_steps", spec.eval && spec.eval->everySteps != 0);
    if (spec.command.front().empty()) {
        problems.add("command", "check",
                     "command: its first item is the program, not an empty text");
    }
}

// Built-in trainer: checks that the device it computes on exists, and that GPUs given are used.
void checkDevice(const RunSpec& spec, Problems& problems) {
    const bool hasGpu = spec.resources.gpusPerRank > 0;
    const bool isMean = !spec.model.hasTables();
    if (spec.resources.gpusPerRank > 1) {
        problems.add("resources.gpus_per_rank", "check", "resources.gpus_per_rank is ",
                     spec.resources.gpusPerRank,
                     "; a rank of the built-in trainer computes on one GPU");
    }
    if (spec.train.device == "cuda" && !hasGpu) {
        problems.add(
            "train.device", "check",
            "train.device is cuda, but the run asks for no GPU: add resources.gpus_per_rank: 1");
    }
    if (hasGpu && (spec.train.device == "cpu" || isMean)) {
        problems.add("resources.gpus_per_rank", "check",
                     "resources.gpus_per_rank: the run would hold a GPU that it does not use (",
                     isMean ? "model.type target_mean computes on the CPU" : "train.device is cpu",
                     "): leave the key out");
    }
    const bool isOnGpu = hasGpu && spec.train.device != "cpu";
    if (spec.train.tf32 && (!isOnGpu || spec.train.precision != "fp32")) {
        problems.add("train.tf32", "check",
                     "train.tf32: is for matrix products in fp32 on a GPU; leave the key out");
    }
    if (!spec.train.deterministic && !isOnGpu) {
        problems.add("train.deterministic", "check",
                     "train.deterministic: on a CPU every run gives the same bits anyway; leave "
                     "the key out");
    }
    if (isMean && spec.train.precision != "fp32") {
        problems.add(
            "train.precision", "check",
            "train.precision: target_mean counts and divides in float64; leave the key out");
    }
}

void checkWorkers(const RunSpec& spec, Problems& problems) {
    const bool isScript = !spec.command.empty();
    if (isScript) {
        checkScript(spec, problems);
    } else if (spec.train.ranks > 1 && !spec.model.hasTables()) {
        problems.add("train.ranks", "check", "train.ranks is ", spec.train.ranks,
                     "; model.type target_mean sums up the stream in one");
    }
    if (!isScript && spec.train.noProgressMinutes != TrainSpec().noProgressMinutes) {
        problems.add("train.no_progress_minutes", "check",
                     "train.no_progress_minutes: is for a script of `command`; the built-in "
                     "trainer is watched without it");
    }
    if (!isScript && spec.train.exitMinutes != TrainSpec().exitMinutes) {
        problems.add("train.exit_minutes", "check",
                     "train.exit_minutes: is for a script of `command`; the built-in trainer "
                     "leaves at once");
    }
    if (!isScript) {
        checkDevice(spec, problems);
    }
}

// Models read only the ids of sequences, cut by their times; other values have no use.
void checkSequences(const RunSpec& spec, const expr::Schema& columns, Problems& problems) {
    for (const auto& [name, sequence] : spec.features.sequences) {
        const std::string path = strCat("features.sequences.", name);
        for (const std::string& column : sequence.columns) {
            const expr::Field* field = columns.find(column);
            if (field != nullptr &&
                sequenceValue(sequence, column, field->type) == SequenceValue::kFloat) {
                problems.add(path, "check", path, ": column '", column,
                             "' holds numbers; model.type ", spec.model.type(),
                             " reads the ids of sequences only: leave it out");
            }
        }
    }
}

void checkInputs(const RunSpec& spec, Problems& problems) {
    const FeaturesSpec& f = spec.features;
    const std::size_t dense = f.dense.size() + f.vectors.size();
    const std::size_t embedded =
        f.ids.size() + f.lists.size() + f.weighted.size() + pooledColumns(spec).size();
    std::visit([&](const auto& model) { model.checkInputs(dense, embedded, problems); },
               spec.model.body);
}

bool asksForNan(const expr::Expr& expr) {
    const bool isTest =
        expr->op == expr::ExprOp::kCall && (absl::EqualsIgnoreCase(expr->name, "isnan") ||
                                            absl::EqualsIgnoreCase(expr->name, "isfinite"));
    return isTest || std::ranges::any_of(expr->children, asksForNan);
}

// The columns of an expression; none of one that deals with NaN itself.
std::set<std::string> columnsRead(const std::string& text) {
    const auto parsed = expr::tryParseExpression(text);
    const auto* expr = std::get_if<expr::Expr>(&parsed);
    if (expr == nullptr || asksForNan(*expr)) {
        return {};
    }
    const std::vector<std::string> names = expr::collectColumns(*expr);
    return {names.begin(), names.end()};
}

std::string nanTest(const std::string& column) {
    const auto node = std::make_shared<expr::ExprNode>();
    node->op = expr::ExprOp::kColumn;
    node->name = column;
    return strCat("isnan(", expr::expressionText(node), ")");
}

}  // namespace

std::vector<PooledColumn> pooledColumns(const RunSpec& spec) {
    std::vector<PooledColumn> pooled;
    for (const auto& [name, sequence] : spec.features.sequences) {
        for (const std::string& column : sequence.columns) {
            if (column != sequence.time && hasEmbedding(spec, column)) {
                pooled.push_back({strCat(name, ".", column), column});
            }
        }
    }
    return pooled;
}

SpecErrors checkTrainable(const RunSpec& spec, const expr::Schema& columns) {
    SpecErrors errors;
    Problems problems(spec.source, errors);
    checkWorkers(spec, problems);
    if (spec.command.empty()) {
        checkEarlyStop(spec, problems);
    }
    if (spec.model.hasTables()) {
        checkOptimisation(spec, problems);
        checkSequences(spec, columns, problems);
        checkInputs(spec, problems);
    }
    return errors;
}

double tableBytes(const RunSpec& spec) {
    double bytes = 0;
    if (spec.model.hasTables()) {
        for (const auto& [name, table] : spec.embeddings) {
            bytes += bytesOf(table, spec);
        }
    }
    // With checkpoints in the background, rank 0 keeps a copy of its tables.
    const bool copies = spec.train.checkpointCopy && spec.train.checkpointEverySteps > 0;
    return bytes * (static_cast<double>(spec.train.ranks) + (copies ? 1 : 0));
}

Status checkTableMemory(const RunSpec& spec, std::int64_t bytes) {
    const double need = tableBytes(spec);
    if (need <= static_cast<double>(bytes)) {
        return okStatus();
    }
    const auto largest =
        std::ranges::max_element(spec.embeddings, [&](const auto& a, const auto& b) {
            return bytesOf(a.second, spec) < bytesOf(b.second, spec);
        });
    return invalidArgument("embeddings.", largest->first, ".rows: the tables need ",
                           formatBytes(need), " in the trainer",
                           spec.train.ranks > 1 ? strCat("'s ", spec.train.ranks, " ranks") : "",
                           ", with the state of ", tableGroup(spec.train).optimizer,
                           "; this machine has ", formatBytes(static_cast<double>(bytes)),
                           ". The largest has ", formatCount(largest->second.rows), " rows of ",
                           largest->second.dim, " floats: fewer rows or a smaller dim help",
                           spec.train.checkpointCopy && spec.train.checkpointEverySteps > 0
                               ? ", or train.checkpoint.copy: false"
                               : "");
}

std::string countedType(const expr::DataType& type) {
    const expr::DataType element = type.isList ? type.element() : type;
    return element.isString()                        ? "string"
           : element.kind == expr::TypeKind::kUint64 ? "uint64"
                                                     : "int64";
}

std::map<std::string, std::string> nanTests(const LabelSpec& label, const std::vector<Step>& steps,
                                            const expr::Schema& columns) {
    const auto isFloat = [&columns](const std::string& name) {
        const expr::Field* field = columns.find(name);
        return field != nullptr && field->type.isFloat();
    };
    std::set<std::string> read = columnsRead(label.expr);
    for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
        const auto* derive = step->as<DeriveStep>();
        if (!step->enabled || derive == nullptr) {
            continue;
        }
        for (const NamedExpr& made : derive->columns) {
            if (read.contains(made.name) && !isFloat(made.name)) {
                read.merge(columnsRead(made.expr));
            }
        }
    }
    std::map<std::string, std::string> tests;
    for (const std::string& name : read) {
        if (isFloat(name)) {
            tests[name] = nanTest(name);
        }
    }
    return tests;
}

}  // namespace millrace::spec
