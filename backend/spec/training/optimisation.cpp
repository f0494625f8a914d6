#include "backend/spec/training/optimisation.h"

#include <algorithm>

#include "backend/spec/spec_checks.h"
#include "backend/text/text.h"

namespace millrace::spec {
namespace {

TrainGroup filled(const TrainGroup& group, const TrainSpec& train) {
    TrainGroup out = group;
    out.optimizer = group.optimizer.empty() ? train.optimizer : group.optimizer;
    out.learningRate = group.learningRate.value_or(train.learningRate);
    out.weightDecay = group.weightDecay.value_or(train.weightDecay);
    out.momentum = group.momentum.value_or(train.momentum);
    return out;
}

bool decays(const ScheduleSpec& schedule) {
    return schedule.type == "linear" || schedule.type == "cosine";
}

// Rejects a key of another schedule type: it would suggest an effect that it does not have.
void checkSchedule(const ScheduleSpec& s, Problems& problems) {
    const ScheduleSpec usual;
    const auto refuse = [&](bool isWrong, const char* key, const std::string& why) {
        if (isWrong) {
            const std::string path = strCat("train.schedule.", key);
            problems.add(path, "check", path, ": ", why);
        }
    };
    const std::string isOf = strCat("train.schedule.type ", s.type, " does not read it");
    if (decays(s)) {
        refuse(
            s.steps <= s.warmupSteps, "steps",
            strCat("type ", s.type, " needs the step at which the rates are at their end, behind ",
                   s.warmupSteps, " steps of warm-up"));
    } else {
        refuse(s.steps != 0, "steps", isOf);
        refuse(s.final != usual.final, "final", isOf);
    }
    if (s.type == "step") {
        refuse(s.everySteps == 0, "every_steps", "type step needs the interval, in steps");
    } else {
        refuse(s.everySteps != 0, "every_steps", isOf);
        refuse(s.factor != usual.factor, "factor", isOf);
    }
}

/// Names of the metrics that an evaluation reports: the first head's, then each head's.
std::vector<std::string> evaluationMetrics(const RunSpec& spec) {
    std::vector<std::string> out;
    for (const std::string& figure : spec.eval->metrics) {
        out.push_back(strCat("eval.", figure));
        for (const auto& [head, label] : spec.labels) {
            out.push_back(strCat("eval.", head, ".", figure));
        }
    }
    return out;
}

std::string groupText(const TrainGroup& group) {
    std::string text = strCat(group.optimizer, ", rate ", *group.learningRate);
    if (*group.weightDecay != 0) {
        strAppend(&text, ", weight decay ", *group.weightDecay);
    }
    if (*group.momentum != 0 && group.optimizer == "sgd") {
        strAppend(&text, ", momentum ", *group.momentum);
    }
    return text;
}

std::string scheduleText(const ScheduleSpec& s) {
    std::string text;
    if (s.warmupSteps > 0) {
        strAppend(&text, "; rates grow until step ", formatCount(s.warmupSteps));
    }
    if (decays(s)) {
        strAppend(&text, "; ", s.type,
                  s.final == 0 ? " down to 0" : strCat(" down to ", s.final, " of them"),
                  " at step ", formatCount(s.steps));
    } else if (s.type == "step") {
        strAppend(&text, "; times ", s.factor, " every ", formatCount(s.everySteps), " steps");
    }
    return text;
}

}  // namespace

TrainGroup denseGroup(const TrainSpec& train) {
    return filled(train.groups.dense, train);
}

TrainGroup tableGroup(const TrainSpec& train) {
    return filled(train.groups.embeddings, train);
}

std::int64_t stateFloats(const TrainGroup& group, std::int64_t dim) {
    if (group.optimizer == "sgd") {
        return group.momentum.value_or(0) != 0 ? dim : 0;
    }
    if (group.optimizer == "rowwise_adagrad") {
        return 1;
    }
    return group.optimizer == "adagrad" ? dim : 2 * dim;
}

void checkOptimisation(const RunSpec& spec, Problems& problems) {
    checkSchedule(spec.train.schedule, problems);
    const TrainGroup usual;
    if (spec.train.groups.embeddings != usual && spec.embeddings.empty()) {
        problems.add("train.groups.embeddings", "check",
                     "train.groups.embeddings: the model has no embedding tables; leave the key "
                     "out");
    }
}

std::optional<bool> isHigherBetter(const EarlyStopSpec& stop) {
    if (stop.mode != "auto") {
        return stop.mode == "max";
    }
    const std::string figure = stop.metric.substr(stop.metric.rfind('.') + 1);
    if (figure == "auc") {
        return true;
    }
    return figure == "log_loss" || figure == "normalized_entropy" ? std::optional(false)
                                                                  : std::nullopt;
}

void checkEarlyStop(const RunSpec& spec, Problems& problems) {
    const EarlyStopSpec& stop = spec.train.earlyStop;
    const auto refuse = [&](const char* key, std::string why) {
        problems.add(strCat("train.early_stop", key), "check", "train.early_stop", key, ": ", why);
    };
    if (stop.patience == 0) {
        if (stop != EarlyStopSpec()) {
            refuse("", "needs patience, the evaluations that may be no better");
        }
        return;
    }
    if (!spec.eval || spec.eval->everySteps == 0) {
        return refuse("", "needs evaluations while the model learns: eval with every_steps");
    }
    const std::vector<std::string> known = evaluationMetrics(spec);
    if (std::ranges::find(known, stop.metric) == known.end()) {
        return refuse(".metric", strCat("'", stop.metric, "' is not a figure of the evaluation",
                                        nameHint(stop.metric, known)));
    }
    if (!isHigherBetter(stop)) {
        refuse(".mode", strCat("whether less or more of ", stop.metric,
                               " is better does not show in its name: min or max"));
    }
}

void warnOfOptimisation(const RunSpec& spec, std::vector<std::string>& warnings) {
    const TrainSpec& train = spec.train;
    const TrainGroup dense = denseGroup(train), tables = tableGroup(train);
    if (train.momentum != 0 && dense.optimizer != "sgd" && tables.optimizer != "sgd") {
        warnings.push_back("train.momentum is for sgd; " + train.optimizer + " does not use it");
    }
    const auto warnOfMomentum = [&](const char* name, const TrainGroup& group) {
        if (group.momentum.value_or(0) != 0 && filled(group, train).optimizer != "sgd") {
            warnings.push_back(strCat("train.groups.", name, ".momentum is for sgd; ",
                                      filled(group, train).optimizer, " does not use it"));
        }
    };
    warnOfMomentum("dense", train.groups.dense);
    warnOfMomentum("embeddings", train.groups.embeddings);
}

std::string describeOptimisation(const RunSpec& spec) {
    if (!spec.model.hasTables()) {
        return "";
    }
    const TrainSpec& train = spec.train;
    const TrainGroup dense = denseGroup(train), tables = tableGroup(train);
    std::string text = groupText(dense);
    if (tables != dense && !spec.embeddings.empty()) {
        text = strCat("layers: ", text, "; embeddings: ", groupText(tables));
    }
    text += scheduleText(train.schedule);
    if (train.clipNorm > 0) {
        strAppend(&text, "; clipped at norm ", train.clipNorm);
    }
    if (train.dropout > 0) {
        strAppend(&text, "; dropout ", train.dropout);
    }
    if (train.earlyStop.patience > 0) {
        strAppend(&text, "; until ", train.earlyStop.patience,
                  " evaluations in a row have no better ", train.earlyStop.metric);
    }
    return text;
}

}  // namespace millrace::spec
