#pragma once
// Paths of the files of a run and its attempts: the names that daemon, engine and workers share
// (docs/formats/job.md).
//
//   ROOT/<run>/checkpoints/    with the scores of the latest evaluation; may be a link to a
//                              directory that all nodes see
//   ROOT/<run>/a<attempt>/{job.json, rank.sock, feed.sock, data.join, steps.page, <worker>/}
//
// Threads: values. Failure: none; only attempts(), workers() and sharedCheckpoints() read the disk,
// and they treat unreadable entries as absent.
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace millrace::job {

/// The feed's name: its role, its folder, its worker name in the store.
inline constexpr std::string_view kFeed = "feed";
/// "feed"; for relays "feed1", ...
std::string feedName(int feed);
/// Name of a single data worker; several are data0, data1, ...
inline constexpr std::string_view kData = "data";
/// "rank0", ...: the same for a rank.
std::string rankName(int rank);
/// The rank for such a name; nothing for another worker's name.
std::optional<int> rankOf(std::string_view worker);

/// The parts of a gang's key: "<run>.a<attempt>" for an attempt's gang,
/// "<run>.a<attempt>.<letter><number>" for additional ones.
struct PartOfAttempt {
    std::string run;
    int attempt = 1;
    int number = 0;
};
/// Nothing for a key of another form.
std::optional<PartOfAttempt> attemptOf(std::string_view key);
std::optional<PartOfAttempt> partOf(std::string_view key, char letter);
/// The run and attempt of a key of either form.
std::optional<PartOfAttempt> ownerOf(std::string_view key);

/// The folder of one attempt.
class AttemptPaths {
 public:
    explicit AttemptPaths(std::string directory) : directory_(std::move(directory)) {}
    /// Paths of the attempt with this job.json.
    static AttemptPaths ofJob(const std::string& jobPath);

    const std::string& directory() const { return directory_; }
    std::string jobFile() const { return directory_ + "/job.json"; }
    std::string rankSocket() const { return directory_ + "/rank.sock"; }
    std::string feedSocket() const { return directory_ + "/feed.sock"; }
    /// Rank 0's checkpoints and scores on a node, until they have been sent to the head.
    std::string checkpoints() const { return directory_ + "/checkpoints"; }
    /// Contains what data workers need to join.
    std::string joinFile() const { return directory_ + "/data.join"; }
    /// Shared by ranks that are scripts (ring::StepPage).
    std::string stepPage() const { return directory_ + "/steps.page"; }
    /// Rendezvous of the built-in trainer's ranks.
    std::string groupSocket() const { return directory_ + "/ranks.sock"; }
    /// A worker's own folder, with its log and temporary files.
    std::string worker(std::string_view name) const;
    /// Names of the workers with a log, sorted.
    std::vector<std::string> workers() const;

 private:
    std::string directory_;
};

class RunPaths {
 public:
    /// `root`: the directory of all runs.
    RunPaths(std::string_view root, std::string_view runId);

    const std::string& directory() const { return directory_; }
    std::string checkpoints() const { return directory_ + "/checkpoints"; }
    /// The target of checkpoints() if it is a link to a directory that all nodes see; else "".
    std::string sharedCheckpoints() const;
    AttemptPaths attempt(int number) const;
    /// Numbers of the attempts with a folder, ascending.
    std::vector<int> attempts() const;

 private:
    std::string directory_;
};

}  // namespace millrace::job
