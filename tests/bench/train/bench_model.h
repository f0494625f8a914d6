#pragma once
// What the measurements of learner_bench share: its arguments, the model that they describe, and
// batches in memory that have the form of frames. Threads: one owner.
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "backend/train/learner.h"

namespace millrace::train::bench {

using Arguments = std::map<std::string, std::string>;

/// The arguments of the command line, and defaults for the others. A name without a value gets
/// "yes".
Arguments argumentsOf(int argc, char** argv);
std::int64_t numberOf(const Arguments& arguments, const std::string& name);

LearnerOptions optionsOf(const Arguments& arguments);
Result<std::unique_ptr<Learner>> makeBenchLearner(const Arguments& arguments, Group& group);

/// One block with all columns, like a frame. Ids are skewed (u^4).
class Frame {
 public:
    Frame(const LearnerOptions& options, const Arguments& arguments, std::int64_t rows,
          std::mt19937_64& bits);
    const BatchView& view() const { return view_; }
    void* data() { return block_.data(); }
    std::size_t size() const { return block_.size(); }

 private:
    template <class T, class Make>
    const T* put(std::int64_t count, Make make);
    std::vector<std::byte> block_;
    std::size_t at_ = 0;
    BatchView view_;
};

/// 16 batches, pinned for a GPU.
Result<std::vector<std::unique_ptr<Frame>>> framesOf(const LearnerOptions& options,
                                                     const Arguments& arguments, std::int64_t rows);

/// One step with one batch.
Status step(Learner& learner, const BatchView& batch, LossSums& sums);

}  // namespace millrace::train::bench
