#pragma once
// One run of the trainer over streams in memory.
#include "tests/unit/train/fakes.h"

namespace millrace::train::test {

/// One run over MemoryStreams.
struct TrainerFixture {
    Scratch scratch;
    MemoryStream train, eval;
    RecordingReporter reporter;
    SystemClock systemClock;
    const Clock* clock = &systemClock;
    TrainerOptions options;

    explicit TrainerFixture(const std::string& model = "target_mean") {
        options.learner = smallModel(model);
        options.microBatchesPerStep = 4;
        options.epochs = train.epochs;
        options.checkpoints.directory = scratch / "checkpoints";
        options.identity = {{"stream_hash", "s"}, {"spec_hash", "t"}};
        options.numericKeys = {{"train", {{"threads", 1}, {"learning_rate", 0.01}}}};
        eval.rows = 90;
    }
    Result<std::unique_ptr<Trainer>> make(const Checkpoint* resume = nullptr,
                                          const InitFrom* initFrom = nullptr,
                                          Group& group = alone()) {
        const auto open = [this](const char* name,
                                 const std::string& state) -> Result<std::unique_ptr<BatchSource>> {
            const bool isTrain = std::string_view(name) == "train";
            return std::unique_ptr<BatchSource>(new MemorySource(
                isTrain ? train : eval, isTrain ? 1 : 2, isTrain ? train.epochs : 1, state));
        };
        return Trainer::make(options, resume, initFrom, open, group, reporter, *clock);
    }
    std::string pathOf(const rank::Checkpoint& line) const {
        return options.checkpoints.directory + "/" + line.name;
    }
};

}  // namespace millrace::train::test
