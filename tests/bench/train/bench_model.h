#pragma once
// What the measurements of learner_bench share: its arguments, the model they name, and batches in
// memory like frames. Threads: one owner.
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

/// Those of the command line over the usual ones; "yes" for a name without a value.
Arguments argumentsOf(int argc, char** argv);
std::int64_t numberOf(const Arguments& arguments, const std::string& name);

LearnerOptions optionsOf(const Arguments& arguments);
/// By --learner: the loops, the tensors, or what the trainer takes.
Result<std::unique_ptr<Learner>> makeBenchLearner(const Arguments& arguments, Group& group);

/// One block with all columns, as a frame. Ids are skewed (u^4).
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

/// 16 of them, pinned for a GPU.
Result<std::vector<std::unique_ptr<Frame>>> framesOf(const LearnerOptions& options,
                                                     const Arguments& arguments, std::int64_t rows);

/// One step of one batch.
Status step(Learner& learner, const BatchView& batch, LossSums& sums);

}  // namespace millrace::train::bench
