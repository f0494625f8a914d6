#pragma once
// StopAgreement: decides after which step the ranks of several machines stop (decision 0040). Used
// by GangListener.
//
// The ranks of one machine agree in a page that they share. Ranks of several machines are held
// first: each reports the furthest step that was begun on its machine and begins no later one. All
// ranks then stop after the furthest of these steps. A rank that has done all of its steps counts
// as one that reports the last step. A value; one owner.
#include <algorithm>
#include <cstdint>
#include <set>

#include "backend/rank/rank_line.h"

namespace millrace::agent {

class StopAgreement {
 public:
    /// Beyond every step: a rank that is not done yet does all remaining steps.
    static constexpr std::int64_t kLastStep = std::int64_t{1} << 60;

    explicit StopAgreement(int ranks) : ranks_(ranks) {}

    /// The present order to a rank.
    rank::Stop word() const {
        return isAgreed() ? rank::Stop{rank::Stop::Kind::kBehind, step_}
                          : rank::Stop{rank::Stop::Kind::kHold};
    }
    /// True: with this answer all ranks have answered, and all must be told.
    bool held(std::int64_t rank, std::int64_t step) {
        const bool wasAgreed = isAgreed();
        if (!wasAgreed && rank >= 0 && rank < ranks_) {
            step_ = std::max(step_, step);
            spoken_.insert(rank);
        }
        return !wasAgreed && isAgreed();
    }
    bool done(std::int64_t rank) { return held(rank, kLastStep); }
    bool isAgreed() const { return static_cast<int>(spoken_.size()) == ranks_; }

 private:
    const int ranks_;
    std::int64_t step_ = 0;
    std::set<std::int64_t> spoken_;
};

}  // namespace millrace::agent
