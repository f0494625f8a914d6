#pragma once
// The scores of a run's evaluation, one per row and head, by the row's key
// (docs/formats/scores.md).
//
// Threads: values. Failure: an incomplete file is kDataLoss with its path; a file of another
// version is kFailedPrecondition. Everything that a file claims is checked before use.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/core/status.h"

namespace millrace::scores {

/// With more rows, only those with the lowest keys are kept: keys are hashes, so all runs keep the
/// same rows.
inline constexpr std::size_t kRowsMost = 10'000'000;
inline constexpr std::size_t kHeadsMost = 1'000;

/// One head: one value per key.
struct HeadScores {
    std::string name;
    std::vector<float> scores;
    std::vector<float> labels;  ///< NaN if missing
    bool operator==(const HeadScores&) const = default;
};

struct Scores {
    std::int64_t step = 0;            ///< the step after which the model was evaluated
    std::uint64_t rowsEvaluated = 0;  ///< the file has all of them, or those with the lowest keys
    std::string hash;  ///< of the evaluation, 32 hex digits (docs/formats/evaluation.md)
    std::vector<std::uint64_t> keys;  ///< rowKey(); ascending in a file
    std::vector<HeadScores> heads;
    std::int64_t attempt = 1;  ///< attempt that evaluated the model: only in the file's name
    bool operator==(const Scores&) const = default;

    bool isSample() const { return rowsEvaluated > keys.size(); }
    /// Sorts rows by key and keeps only the first `most`.
    void settle(std::size_t most = kRowsMost);
};

/// Step and attempt of a file name such as "scores-400.a2.zst".
struct ScoreName {
    std::int64_t step = 0, attempt = 1;
    std::string text() const;
    /// Nothing for another name.
    static std::optional<ScoreName> parse(std::string_view name);
    bool operator==(const ScoreName&) const = default;
};

/// Writes DIRECTORY/scores-STEP.aATTEMPT.zst atomically; removes other score files. `scores` must
/// be settled.
Status writeScores(const std::string& directory, const Scores& scores);
/// Removes the other score files beside this one.
void dropOthers(const std::string& directory, const ScoreName& kept);
/// Reads a file from another machine in pieces of 1 MiB: kDataLoss if its checksum does not match,
/// or if its step differs from the step in the name of `path`.
Status verifyScores(int fd, const std::string& path);
Result<Scores> readScores(const std::string& path);
/// Parses the content of the zstd frame; `path` is for messages.
Result<Scores> parseScores(const std::string& path, std::string_view bytes);
/// The path of the latest step's scores; kNotFound if there are none.
Result<std::string> findScores(const std::string& directory);
/// Removes scores of models that the run has discarded: those not on its course.
void dropScores(const std::string& directory,
                const std::function<bool(std::int64_t attempt, std::int64_t step)>& isOnCourse);

}  // namespace millrace::scores
