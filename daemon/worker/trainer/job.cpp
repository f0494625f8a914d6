#include "daemon/worker/trainer/job.h"

#include <algorithm>
#include <map>

#include "backend/filesystem/files.h"
#include "backend/job/attempt_paths.h"
#include "backend/spec/column_origins.h"
#include "backend/spec/trainable.h"
#include "backend/spec/training/optimisation.h"
#include "backend/system/machine_memory.h"
#include "backend/train/torch_learner.h"

namespace millrace::trainer {
namespace {

/// A column of ids in frames, and the feature name that embeddings use for it.
struct InputColumn {
    std::string name, feature;
};

// The order is that of the features in the model and in checkpoints: changing it changes which
// weights belong to which column.
std::vector<InputColumn> inputColumns(const spec::RunSpec& spec) {
    std::vector<InputColumn> columns;
    const auto add = [&](const std::string& name) { columns.push_back({name, name}); };
    if (const auto* model = spec.model.as<spec::TargetMeanModel>()) {
        std::for_each(model->keys.begin(), model->keys.end(), add);
        return columns;
    }
    std::for_each(spec.features.ids.begin(), spec.features.ids.end(), add);
    std::for_each(spec.features.lists.begin(), spec.features.lists.end(), add);
    for (const spec::WeightedFeature& weighted : spec.features.weighted) {
        add(weighted.name);
    }
    for (const spec::PooledColumn& pooled : spec::pooledColumns(spec)) {
        columns.push_back({pooled.frameColumn, pooled.feature});
    }
    return columns;
}

Status addTables(const spec::RunSpec& spec, const std::vector<InputColumn>& columns,
                 train::LearnerOptions& out) {
    for (const auto& [name, embedding] : spec.embeddings) {
        const auto& shared = embedding.features;
        std::int64_t users = 0;
        for (std::size_t c = 0; c < columns.size(); ++c) {
            if (std::find(shared.begin(), shared.end(), columns[c].feature) != shared.end()) {
                out.features[c].table = static_cast<int>(out.tables.size());
                ++users;
            }
        }
        // A pattern like "s*" may match nothing of this variation: a table without features is not
        // made.
        if (users == 0) {
            continue;
        }
        if (embedding.rows < 1) {
            return invalidArgument("embeddings.", name,
                                   ": the number of rows is not known; submit the run again, which "
                                   "takes it from the vocabulary");
        }
        out.tables.push_back(
            {name, embedding.rows, embedding.dim > 0 ? embedding.dim : spec.model.embeddingDim});
    }
    return okStatus();
}

Result<train::OptimizerOptions> optimizerOf(const spec::TrainGroup& group) {
    train::OptimizerOptions out;
    ASSIGN_OR_RETURN(out.kind, train::parseOptimizer(group.optimizer));
    out.learningRate = *group.learningRate;
    out.weightDecay = *group.weightDecay;
    out.momentum = *group.momentum;
    return out;
}

Result<train::ScheduleOptions> scheduleOf(const spec::ScheduleSpec& schedule) {
    using Kind = train::ScheduleOptions::Kind;
    static const std::map<std::string, Kind> kKinds{{"constant", Kind::kConstant},
                                                    {"linear", Kind::kLinear},
                                                    {"cosine", Kind::kCosine},
                                                    {"step", Kind::kStep}};
    const auto kind = kKinds.find(schedule.type);
    if (kind == kKinds.end() || (kind->second == Kind::kStep && schedule.everySteps < 1)) {
        return invalidArgument("train.schedule: type ", schedule.type, " with every_steps ",
                               schedule.everySteps, " is not known here; submit the run again");
    }
    return train::ScheduleOptions{kind->second,   schedule.warmupSteps, schedule.steps,
                                  schedule.final, schedule.everySteps,  schedule.factor};
}

Status addOptimisation(const spec::TrainSpec& spec, train::LearnerOptions& out) {
    ASSIGN_OR_RETURN(out.optimizer, optimizerOf(spec::denseGroup(spec)));
    const spec::TrainGroup tables = spec::tableGroup(spec);
    // Equal groups share one optimizer.
    if (tables != spec::denseGroup(spec)) {
        ASSIGN_OR_RETURN(out.tableOptimizer, optimizerOf(tables));
    }
    ASSIGN_OR_RETURN(out.schedule, scheduleOf(spec.schedule));
    out.clipNorm = spec.clipNorm;
    out.dropout = spec.dropout;
    return okStatus();
}

Result<train::LearnerOptions> learnerOptions(const spec::RunSpec& spec, std::int64_t vectorsWidth) {
    train::LearnerOptions out;
    out.model = spec.model.type();
    out.embeddingDim = spec.model.embeddingDim;
    if (const auto* dlrm = spec.model.as<spec::DlrmModel>()) {
        out.bottom = dlrm->bottom;
        out.top = dlrm->top;
    } else if (const auto* mlp = spec.model.as<spec::MlpModel>()) {
        out.hidden = mlp->hidden;
    } else if (const auto* dcn = spec.model.as<spec::DcnModel>()) {
        out.hidden = dcn->hidden;
        out.crossLayers = dcn->crossLayers;
        out.crossRank = dcn->crossRank;
    } else if (const auto* means = spec.model.as<spec::TargetMeanModel>()) {
        out.keys = means->keys;
        out.smoothing = means->smoothing;
    }
    out.heads = spec.heads();
    out.seed = spec.batch.seed;
    out.threads = static_cast<int>(spec.train.threads);
    // The spec's `auto` becomes a device here: a GPU only if the run was granted one. Target means
    // are computed on the CPU.
    const bool isOnGpu =
        spec.model.hasTables() && spec.train.device != "cpu" && spec.resources.gpusPerRank > 0;
    out.device = isOnGpu ? "cuda" : "cpu";
    out.precision = spec.train.precision;
    out.isDeterministic = spec.train.deterministic;
    out.usesTf32 = spec.train.tf32;
    const std::vector<InputColumn> columns = inputColumns(spec);
    for (const InputColumn& column : columns) {
        out.features.push_back({column.name, -1});
    }
    RETURN_IF_ERROR(addOptimisation(spec.train, out));
    if (spec.model.hasTables()) {
        out.denseWidth = static_cast<std::int64_t>(spec.features.dense.size()) + vectorsWidth;
        RETURN_IF_ERROR(addTables(spec, columns, out));
        RETURN_IF_ERROR(spec::checkTableMemory(spec, machineMemory()));
    }
    return out;
}

// The description that `millrace.load_model` needs beside the tensors (docs/formats/checkpoint.md).
Json moduleOf(const spec::RunSpec& spec, const train::LearnerOptions& learner) {
    Json features = Json::array();
    for (const train::FeatureOptions& feature : learner.features) {
        Json one = {{"name", feature.name}};
        if (feature.table >= 0) {
            one["table"] = learner.tables[static_cast<std::size_t>(feature.table)].name;
        }
        features.push_back(std::move(one));
    }
    Json module = {
        {"type", learner.model}, {"heads", learner.heads}, {"features", std::move(features)}};
    if (spec.model.hasTables()) {
        module["dense"] = Json::array();
        for (const spec::DenseFeature& dense : spec.features.dense) {
            module["dense"].push_back(dense.column);
        }
        module["vectors"] = spec.features.vectors;
        module["embedding_dim"] = learner.embeddingDim;
    } else {
        module["smoothing"] = learner.smoothing;
    }
    module["inputs"] = spec::inputsOf(spec, spec.recipe);
    if (spec.eval) {
        Json evaluated = spec::inputsOf(spec, spec.eval->recipe);
        if (evaluated != module["inputs"]) {
            module["eval_inputs"] = std::move(evaluated);
        }
    }
    return module;
}

}  // namespace

Result<TrainerJob> TrainerJob::read(const std::string& path, int rank) {
    TrainerJob job;
    ASSIGN_OR_RETURN(static_cast<job::JobFile&>(job), job::JobFile::read(path));
    job.path = path;
    job.planText = {};  // large with very many files; only the feed needs it
    job.directory = job::AttemptPaths::ofJob(path).worker(job::rankName(rank));
    RETURN_IF_ERROR(makeDirectories(job.directory, 0700));
    return job;
}

Result<train::TrainerOptions> trainerOptions(const TrainerJob& job, int rank,
                                             std::int64_t vectorsWidth) {
    const spec::RunSpec& spec = job.spec;
    if (rank < 0 || rank >= spec.train.ranks) {
        return invalidArgument("--rank ", rank, ": the run has ", spec.train.ranks, " ranks");
    }
    if (spec.batch.microRows < 1 || spec.batch.rows % spec.batch.microRows != 0) {
        return invalidArgument("batch.micro_rows: ", spec.batch.microRows,
                               " does not divide batch.rows (", spec.batch.rows, ")");
    }
    train::TrainerOptions out;
    ASSIGN_OR_RETURN(out.learner, learnerOptions(spec, vectorsWidth));
    out.microBatchesPerStep = spec.microBatchesPerStep();
    out.epochs = spec.batch.epochs;
    out.maxSteps = spec.train.maxSteps;
    out.hasEval = spec.eval.has_value();
    out.evalEverySteps = spec.eval ? spec.eval->everySteps : 0;
    if (spec.eval) {
        out.eval.metrics = spec.eval->metrics;
    }
    out.earlyStop = {spec.train.earlyStop.metric, spec.train.earlyStop.patience,
                     spec.train.earlyStop.minDelta,
                     spec::isHigherBetter(spec.train.earlyStop).value_or(false)};
    out.checkpoints.everySteps = spec.train.checkpointEverySteps;
    out.checkpoints.keep = spec.train.checkpointKeep;
    out.checkpoints.isCopied = spec.train.checkpointCopy;
    out.checkpoints.directory = job.checkpointDirectory;
    out.eval.scoresDirectory = job.checkpointDirectory;
    out.eval.attempt = job.attempt;
    out.attempt = job.attempt;
    out.identity = {{"run", job.run}, {"spec_hash", job.specHash}, {"stream_hash", job.streamHash}};
    out.module = moduleOf(spec, out.learner);
    const Json all = spec.toJson();
    Json trainKeys = jsonMember(all, "train");
    for (const char* key : {"checkpoint", "max_restarts", "max_steps", "init_from",
                            "init_optimizer", "init_best", "early_stop", "nodes"}) {
        if (trainKeys.is_object()) {
            trainKeys.erase(key);
        }
    }
    if (trainKeys.is_object()) {
        trainKeys["device"] = out.learner.device;
    }
    // Keys that change the numbers that training computes, stored in checkpoints: a resume names
    // those that differ. Left out are keys that only decide when training stops, starts or saves,
    // and where it runs; the device is the one in use, not `auto`.
    out.numericKeys = {{"train", trainKeys},
                       {"model", jsonMember(all, "model")},
                       {"batch", {{"rows", spec.batch.rows}, {"epochs", spec.batch.epochs}}}};
    return out;
}

train::InitFrom initFromOf(const TrainerJob& job, const train::TrainerOptions& options,
                           const train::Checkpoint& checkpoint) {
    const Json& was = jsonMember(checkpoint.meta(), "module");
    const auto inputOf = [](const Json& module, const std::string& name) {
        const Json& inputs = jsonMember(module, "inputs");
        const auto found = std::find_if(inputs.begin(), inputs.end(), [&](const Json& input) {
            return jsonString(input, "name") == name;
        });
        return found == inputs.end() ? Json() : *found;
    };
    train::InitFrom from;
    from.checkpoint = &checkpoint;
    from.takesOptimizer = job.spec.train.initOptimizer;
    from.hasSameInput = jsonMember(was, "dense") == jsonMember(options.module, "dense") &&
                        jsonMember(was, "vectors") == jsonMember(options.module, "vectors");
    for (const train::FeatureOptions& feature : options.learner.features) {
        const Json before = inputOf(was, feature.name), now = inputOf(options.module, feature.name);
        if (feature.table < 0 || before.is_null()) {
            continue;
        }
        const std::string& table =
            options.learner.tables[static_cast<std::size_t>(feature.table)].name;
        // A row means another id if only one of the runs has a vocabulary. If both have one, the
        // rows that both have mean the same values: users append new ones
        // (docs/reference/models.md).
        const bool hasVocabulary = !jsonString(now, "vocabulary").empty();
        if (hasVocabulary != !jsonString(before, "vocabulary").empty()) {
            from.changed.insert(table);
        } else if (hasVocabulary) {
            from.growing.insert(table);
        }
    }
    return from;
}

std::string fileNameOf(const TrainerJob& job, std::uint32_t file) {
    const Result<job::JobFile> whole = job::JobFile::read(job.path);
    const Result<Json> plan = whole.ok() ? parseJson(whole->planText, "plan") : whole.status();
    const Json& files = plan.ok() ? jsonMember(*plan, "files") : Json();
    return file < files.size() ? jsonString(files[file], "path") : strCat("file ", file);
}

train::FeedSourceOptions feedOptions(const TrainerJob& job, int rank,
                                     const train::TrainerOptions& options,
                                     const std::string& stream) {
    train::FeedSourceOptions out;
    out.socketPath = job.feedSocket;
    out.stream = stream;
    out.attempt = job.attempt;
    out.rank = rank;
    out.worldSize = static_cast<int>(job.spec.train.ranks);
    out.heads = options.learner.heads;
    // A GPU takes this rank's share of a step at once, a CPU a micro-batch at a time.
    out.isJoined = options.learner.device == "cuda";
    if (out.isJoined) {
        out.onRing = [device = options.learner.device](void* memory, std::size_t bytes,
                                                       bool isMapped) {
            return isMapped ? train::pinRing(device, memory, bytes)
                            : train::unpinRing(device, memory);
        };
    }
    for (const train::FeatureOptions& feature : options.learner.features) {
        out.features.push_back(feature.name);
    }
    if (options.learner.model != "target_mean") {
        out.hasDense = !job.spec.features.dense.empty();
        out.vectors = job.spec.features.vectors;
    }
    return out;
}

}  // namespace millrace::trainer
