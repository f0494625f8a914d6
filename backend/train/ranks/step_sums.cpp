#include "backend/train/ranks/step_sums.h"

#include <cstring>

namespace millrace::train {
namespace {

// Encoded as doubles: rows, then the loss of each head, then the weight of each head.
constexpr std::size_t kHeader = 1;

std::vector<double> packed(const LossSums& sums) {
    std::vector<double> out{static_cast<double>(sums.rows)};
    out.insert(out.end(), sums.loss.begin(), sums.loss.end());
    out.insert(out.end(), sums.weight.begin(), sums.weight.end());
    return out;
}

}  // namespace

Result<LossSums> sumOverRanks(LossSums mine, Group& group) {
    if (group.size() == 1) {
        return mine;
    }
    const std::vector<double> own = packed(mine);
    ASSIGN_OR_RETURN(const std::vector<std::string> all,
                     group.gather(bytesOfValues(std::span<const double>(own))));
    LossSums out;
    const auto heads = static_cast<std::ptrdiff_t>(mine.loss.size());
    for (std::size_t r = 0; r < all.size(); ++r) {
        if (all[r].size() != own.size() * sizeof(double)) {
            return internalError("ranks: rank ", r, " trains another model");
        }
        std::vector<double> one(own.size());
        std::memcpy(one.data(), all[r].data(), all[r].size());
        LossSums sums;
        sums.rows = static_cast<std::int64_t>(one[0]);
        sums.loss.assign(one.begin() + kHeader, one.begin() + kHeader + heads);
        sums.weight.assign(one.begin() + kHeader + heads, one.end());
        out += sums;
    }
    return out;
}

}  // namespace millrace::train
