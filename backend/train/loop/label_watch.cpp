#include "backend/train/loop/label_watch.h"

#include <algorithm>
#include <utility>

namespace millrace::train {

void LabelWatch::watch(const BatchView& batch) {
    for (std::size_t h = 0; h < seen_.size(); ++h) {
        Seen& seen = seen_[h];
        const HeadColumn& head = batch.heads[h];
        for (std::int64_t r = 0; r < batch.rows && !seen.isFine(); ++r) {
            if (!head.masks || head.masks[r]) {
                seen.least = std::min(seen.least, head.labels[r]);
                seen.most = std::max(seen.most, head.labels[r]);
            }
        }
    }
}

Status LabelWatch::endEpoch(const std::vector<std::string>& heads) {
    const std::vector<Seen> all = std::exchange(seen_, {});
    for (std::size_t h = 0; h < all.size(); ++h) {
        const Seen& seen = all[h];
        if (seen.least > seen.most) {
            return invalidArgument("labels.", heads[h],
                                   ": no row of the training set has a label: there is nothing to "
                                   "learn; check dataset.where and the recipe's steps");
        }
        if (!seen.isFine()) {
            return invalidArgument("labels.", heads[h], ": the label is ", seen.least,
                                   " in every row of the training set: a label needs both classes");
        }
    }
    return okStatus();
}

}  // namespace millrace::train
