#pragma once
// The scores of a run's evaluation, one a row and head, by the row's key (docs/formats/scores.md).
//
// Threads: values. Failure: a file that is not whole is kDataLoss with its path; one of another
// version is kFailedPrecondition. Nothing that a file claims is believed before it is checked.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/core/status.h"

namespace millrace::scores {

/// Of more rows those with the lowest keys are kept: keys are hashes, so that all runs keep the
/// same ones.
inline constexpr std::size_t kRowsMost = 10'000'000;
inline constexpr std::size_t kHeadsMost = 1'000;

/// One head: as many values as there are keys.
struct HeadScores {
    std::string name;
    std::vector<float> scores;
    std::vector<float> labels;  ///< NaN where there is none
    bool operator==(const HeadScores&) const = default;
};

struct Scores {
    std::int64_t step = 0;            ///< after which the model was evaluated
    std::uint64_t rowsEvaluated = 0;  ///< of which these are all, or those with the lowest keys
    std::string hash;  ///< of the evaluation, 32 hex digits (docs/formats/evaluation.md)
    std::vector<std::uint64_t> keys;  ///< rowKey(); ascending in a file
    std::vector<HeadScores> heads;
    std::int64_t attempt = 1;  ///< that evaluated the model: in the file's name alone
    bool operator==(const Scores&) const = default;

    bool isSample() const { return rowsEvaluated > keys.size(); }
    /// Puts rows into the order of their keys and lets go of all but the first `most`.
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

/// DIRECTORY/scores-STEP.aATTEMPT.zst, atomically; other files of scores go. `scores` is settled.
Status writeScores(const std::string& directory, const Scores& scores);
/// Removes the other files of scores beside this one.
void dropOthers(const std::string& directory, const ScoreName& kept);
/// Reads a file that came from another machine in pieces of 1 MiB: kDataLoss where its checksum
/// does not fit, or its step is not the one in the name of `path`.
Status verifyScores(int fd, const std::string& path);
Result<Scores> readScores(const std::string& path);
/// What stands inside of the zstd frame; `path` is for messages.
Result<Scores> parseScores(const std::string& path, std::string_view bytes);
/// The path of the latest step's; kNotFound where there is none.
Result<std::string> findScores(const std::string& directory);
/// Removes the scores of models that a run has left behind: those not on its course.
void dropScores(const std::string& directory,
                const std::function<bool(std::int64_t attempt, std::int64_t step)>& isOnCourse);

}  // namespace millrace::scores
