#pragma once
// Converts job.json into what the room `train` needs: the trainer does not know specs, and the spec
// does not know the trainer.
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

/// Model, optimizer and loop of the spec. `vectorsWidth`: floats per row of all `features.vectors`.
/// Errors name the key of the spec.
Result<train::TrainerOptions> trainerOptions(const TrainerJob& job, int rank,
                                             std::int64_t vectorsWidth);

/// The parts of another run's checkpoint with which this job's model starts (train.init_from).
train::InitFrom initFromOf(const TrainerJob& job, const train::TrainerOptions& options,
                           const train::Checkpoint& checkpoint);

/// The path of a file by its number in the plan. Reads the plan again: plans are large, and only
/// errors need it. "file 3" if the plan does not have it.
std::string fileNameOf(const TrainerJob& job, std::uint32_t file);

/// How the frames of `stream` ("train", "eval") become batches for that model.
train::FeedSourceOptions feedOptions(const TrainerJob& job, int rank,
                                     const train::TrainerOptions& options,
                                     const std::string& stream);

}  // namespace millrace::trainer
