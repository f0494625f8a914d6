#include "backend/train/init_from.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "backend/core/log.h"
#include "backend/train/learner.h"

namespace millrace::train {
namespace {

constexpr std::string_view kInput = "input.", kTable = "embedding.", kState = "optimizer.";

/// Returns "user" for "embedding.user.weight" and for its optimizer's state, "" for other tensors.
std::string tableOf(std::string_view name) {
    name.remove_prefix(name.starts_with(kState) ? kState.size() : 0);
    const std::size_t end = name.rfind(".weight");
    return name.starts_with(kTable) && end != std::string_view::npos
               ? std::string(name.substr(kTable.size(), end - kTable.size()))
               : "";
}

/// Equal shapes, or, with `mayGrow`, shapes that differ in the number of rows only.
bool fits(const TensorRef& from, const TensorRef& to, bool mayGrow) {
    return from.shape == to.shape ||
           (mayGrow && from.shape.size() == to.shape.size() && !to.shape.empty() &&
            std::equal(to.shape.begin() + 1, to.shape.end(), from.shape.begin() + 1));
}

/// Copies the rows that both tensors have.
void copyBytes(const TensorRef& from, const TensorRef& to) {
    std::memcpy(to.data, from.data,
                static_cast<std::size_t>(std::min(from.numBytes(), to.numBytes())));
}

Status checkOptimizer(const InitFrom& from, const Json& numericKeys) {
    const Json& was = jsonMember(from.checkpoint->meta(), "numeric_keys");
    for (const std::string& change : changedKeys(was, numericKeys)) {
        const bool isOptimizer =
            change.starts_with("train.optimizer ") || change.starts_with("train.groups");
        if (from.takesOptimizer && isOptimizer) {
            return failedPrecondition(change,
                                      ": its state is of no use to another; leave `optimizer` "
                                      "out of train.init_from");
        }
    }
    return okStatus();
}

}  // namespace

Result<std::vector<std::string>> copyMatching(const InitFrom& from,
                                              const std::vector<TensorRef>& tensors) {
    std::vector<std::string> left;
    bool hasWeight = false;
    for (const TensorRef& to : tensors) {
        if (!to.isWeight && !from.takesOptimizer) {
            continue;
        }
        const TensorRef* has = from.checkpoint->find(to.name);
        const bool isInput = to.name.starts_with(kInput);
        const std::string table = tableOf(to.name);
        if (has == nullptr || (isInput && !from.hasSameInput) || from.changed.contains(table) ||
            !fits(*has, to, from.growing.contains(table))) {
            left.push_back(to.name);
            continue;
        }
        if (has->type != to.type) {
            return failedPrecondition("checkpoint ", from.checkpoint->path(), ": ", to.name, " is ",
                                      checkpoint::nameOf(has->type), "; this model needs ",
                                      checkpoint::nameOf(to.type),
                                      "; give train.precision of that run");
        }
        copyBytes(*has, to);
        hasWeight = hasWeight || (to.isWeight && !isInput);
        if (has->shape != to.shape) {
            left.push_back(to.name);
        }
    }
    return hasWeight ? Result<std::vector<std::string>>(std::move(left))
                     : failedPrecondition("checkpoint ", from.checkpoint->path(),
                                          ": none of its tensors has the name and shape of one of "
                                          "this model");
}

Status beginFrom(const InitFrom& from, const Json& numericKeys, Learner& learner) {
    constexpr char kKey[] = "train.init_from";
    RETURN_IF_ERROR(annotate(checkOptimizer(from, numericKeys), kKey));
    const Result<std::vector<std::string>> left = learner.begin(from);
    RETURN_IF_ERROR(annotate(left.status(), kKey));
    for (const std::string& name : *left) {
        logInfo("train: begins fresh, at least in part", {{"tensor", name}});
    }
    return okStatus();
}

}  // namespace millrace::train
