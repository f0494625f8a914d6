#include "backend/train/ranks/vote.h"

#include <cstring>

namespace millrace::train {
namespace {

// As doubles: three flags, rows, then loss and weight of each head.
constexpr std::size_t kHeader = 4;

std::vector<double> packed(const Vote& vote) {
    std::vector<double> out{vote.hasStopped ? 1.0 : 0.0, vote.wantsStop ? 1.0 : 0.0,
                            vote.wantsCheckpoint ? 1.0 : 0.0, static_cast<double>(vote.sums.rows)};
    out.insert(out.end(), vote.sums.loss.begin(), vote.sums.loss.end());
    out.insert(out.end(), vote.sums.weight.begin(), vote.sums.weight.end());
    return out;
}

}  // namespace

Result<Vote> vote(const Vote& mine, Group& group) {
    if (group.size() == 1) {
        return mine;
    }
    const std::vector<double> own = packed(mine);
    ASSIGN_OR_RETURN(const std::vector<std::string> all,
                     group.gather(bytesOfValues(std::span<const double>(own))));
    Vote out;
    const std::size_t heads = mine.sums.loss.size();
    for (std::size_t r = 0; r < all.size(); ++r) {
        if (all[r].size() != own.size() * sizeof(double)) {
            return internalError("ranks: rank ", r, " votes on another model");
        }
        std::vector<double> one(own.size());
        std::memcpy(one.data(), all[r].data(), all[r].size());
        out.hasStopped = out.hasStopped || one[0] != 0;
        out.wantsStop = out.wantsStop || one[1] != 0;
        out.wantsCheckpoint = out.wantsCheckpoint || one[2] != 0;
        LossSums sums;
        sums.rows = static_cast<std::int64_t>(one[3]);
        sums.loss.assign(one.begin() + kHeader,
                         one.begin() + static_cast<std::ptrdiff_t>(kHeader + heads));
        sums.weight.assign(one.begin() + static_cast<std::ptrdiff_t>(kHeader + heads), one.end());
        out.sums += sums;
    }
    return out;
}

}  // namespace millrace::train
