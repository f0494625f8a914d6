#pragma once
// From job.json to what the train room needs: the trainer knows no spec, the spec no trainer.
#include <string>
#include <vector>

#include "backend/job/job_file.h"
#include "backend/train/feed_source.h"
#include "backend/train/trainer.h"

namespace millrace::trainer {

struct TrainerJob : job::JobFile {
    std::string path;       ///< of the job file
    std::string directory;  ///< the rank's own

    static Result<TrainerJob> read(const std::string& path, int rank);
};

/// Model, optimizer and loop of the spec. `vectorsWidth`: floats a row of all `features.vectors`.
/// Messages name the key of the spec.
Result<train::TrainerOptions> trainerOptions(const TrainerJob& job, int rank,
                                             std::int64_t vectorsWidth);

/// The parts of another run's checkpoint that this job's model starts with (train.init_from).
train::InitFrom initFromOf(const TrainerJob& job, const train::TrainerOptions& options,
                           const train::Checkpoint& checkpoint);

/// The path of a file by its number in the plan, which is read anew: plans are large, and nothing
/// but an error asks. "file 3" where the plan does not tell.
std::string fileNameOf(const TrainerJob& job, std::uint32_t file);

/// How the frames of `stream` ("train", "eval") become batches for that model.
train::FeedSourceOptions feedOptions(const TrainerJob& job, int rank,
                                     const train::TrainerOptions& options,
                                     const std::string& stream);

}  // namespace millrace::trainer
