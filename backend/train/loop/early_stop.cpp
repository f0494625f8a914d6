#include "backend/train/loop/early_stop.h"

#include <cmath>

#include "backend/text/text.h"

namespace millrace::train {

bool EarlyStop::take(std::int64_t step, double value) {
    const double gain = options_.isHigherBetter ? value - best_ : best_ - value;
    const bool isBest = !std::isnan(value) && (bestStep_ < 0 || gain > options_.minDelta);
    if (isBest) {
        best_ = value;
        bestStep_ = step;
        worse_ = 0;
    } else {
        ++worse_;
    }
    return isBest;
}

std::string EarlyStop::sentence() const {
    if (bestStep_ < 0) {
        return isDue() ? strCat("stopped early: ", options_.metric, " was not a number in ", worse_,
                                worse_ == 1 ? " evaluation" : " evaluations")
                       : "";
    }
    const char* evaluations = worse_ == 1 ? " evaluation was" : " evaluations were";
    const std::string best =
        strCat(options_.metric, " ", best_, " of step ", formatCount(bestStep_));
    return isDue() ? strCat("stopped early: ", worse_, evaluations, " no better than ", best)
                   : strCat("the best was ", best);
}

Json EarlyStop::state() const {
    return {{"metric", options_.metric},
            {"higher_is_better", options_.isHigherBetter},
            {"best", jsonNumber(best_)},
            {"best_step", bestStep_},
            {"worse", worse_}};
}

// A best value of another metric is ignored.
void EarlyStop::restore(const Json& state) {
    const Result<double> best = jsonDouble(jsonMember(state, "best"));
    if (jsonString(state, "metric") != options_.metric || !best.ok()) {
        return;
    }
    best_ = *best;
    bestStep_ = jsonInt(state, "best_step", -1);
    worse_ = jsonInt(state, "worse");
}

}  // namespace millrace::train
