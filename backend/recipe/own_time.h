#pragma once
// Processor time of this thread, without the time spent in the column source. Private to recipe.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "backend/dataset/column_cost.h"
#include "backend/recipe/compiled_recipe.h"
#include "backend/recipe/feature_batch.h"

namespace millrace::recipe {

class OwnTime {
 public:
    explicit OwnTime(const SplitInput& split) : split_(split), readNs_(readNs()) {}
    /// Time since the previous call, or since construction.
    std::int64_t ns() {
        const std::int64_t busy = clock_.lap(), read = readNs();
        return busy - (read - std::exchange(readNs_, read));
    }

 private:
    std::int64_t readNs() const { return split_.source == nullptr ? 0 : split_.source->readNs(); }
    const SplitInput& split_;
    std::int64_t readNs_;
    dataset::BusyClock clock_;
};

/// Records in the batch the time of features made one after another: each lasts from the end of the
/// previous one, the first from this object's construction. There may be thousands, so each costs
/// one reading of the cheap clock; at the end all are scaled to their total processor time.
class FeatureTimes {
 public:
    FeatureTimes(FeatureBatch& batch, const SplitInput& split)
        : batch_(batch), first_(batch.featureTimes.size()), time_(split) {}
    FeatureTimes(const FeatureTimes&) = delete;
    FeatureTimes& operator=(const FeatureTimes&) = delete;
    ~FeatureTimes() {
        const double wall = static_cast<double>(std::max<std::int64_t>(1, wall_.sinceStartNs()));
        const double share = static_cast<double>(time_.ns()) / wall;
        for (std::size_t i = first_; i < batch_.featureTimes.size(); ++i) {
            std::int64_t& ns = batch_.featureTimes[i].busyNs;
            ns = static_cast<std::int64_t>(static_cast<double>(ns) * share);
        }
    }
    void note(const std::string& name) { batch_.featureTimes.push_back({name, wall_.lap()}); }

 private:
    FeatureBatch& batch_;
    const std::size_t first_;
    OwnTime time_;
    dataset::WallClock wall_;
};

/// Records a feature's time when it goes out of scope.
class FeatureTimer {
 public:
    FeatureTimer(FeatureTimes& times, const std::string& name) : times_(times), name_(name) {}
    FeatureTimer(const FeatureTimer&) = delete;
    FeatureTimer& operator=(const FeatureTimer&) = delete;
    ~FeatureTimer() { times_.note(name_); }

 private:
    FeatureTimes& times_;
    const std::string& name_;
};

}  // namespace millrace::recipe
