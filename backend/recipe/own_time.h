#pragma once
// Processor time of this thread since its making, without what the column source took of it.
// Private to the room.
#include <cstdint>
#include <string>

#include "backend/dataset/column_cost.h"
#include "backend/recipe/compiled_recipe.h"
#include "backend/recipe/feature_batch.h"

namespace millrace::recipe {

class OwnTime {
 public:
    explicit OwnTime(const SplitInput& split) : split_(split), readNs_(readNs()) {}
    /// Once.
    std::int64_t ns() { return clock_.lap({}, 0).busyNs - (readNs() - readNs_); }

 private:
    std::int64_t readNs() const { return split_.source == nullptr ? 0 : split_.source->readNs(); }
    const SplitInput& split_;
    const std::int64_t readNs_;
    dataset::CostClock clock_;
};

/// Notes in the batch what a feature took, from its making to its end.
class FeatureTimer {
 public:
    FeatureTimer(FeatureBatch& batch, const std::string& name, const SplitInput& split)
        : batch_(batch), name_(name), time_(split) {}
    FeatureTimer(const FeatureTimer&) = delete;
    FeatureTimer& operator=(const FeatureTimer&) = delete;
    ~FeatureTimer() { batch_.featureTimes.push_back({name_, time_.ns()}); }

 private:
    FeatureBatch& batch_;
    const std::string& name_;
    OwnTime time_;
};

}  // namespace millrace::recipe
