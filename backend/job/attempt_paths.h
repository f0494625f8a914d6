#pragma once
// Where the files of a run and of its attempts lie: the names on which daemon, engine and workers
// agree (docs/formats/job.md).
//
//   ROOT/<run>/checkpoints/    with the scores of the latest evaluation; may be a link to a
//                              directory that all nodes see
//   ROOT/<run>/a<attempt>/{job.json, rank.sock, feed.sock, data.join, steps.page, <worker>/}
//
// Threads: values. Failure: none; only attempts(), workers() and sharedCheckpoints() look at the
// disk, and what cannot be read is not there.
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace millrace::job {

/// The feed's name: its role, its folder, its worker in the store.
inline constexpr std::string_view kFeed = "feed";
/// "feed", and "feed1", ... of relays.
std::string feedName(int feed);
/// One data worker; several are data0, data1, ...
inline constexpr std::string_view kData = "data";
/// "rank0": the same of a rank.
std::string rankName(int rank);
/// The rank of such a name; nothing for another worker's.
std::optional<int> rankOf(std::string_view worker);

/// What the key of an attempt's gang says, "<run>.a<attempt>", and of one beside it,
/// "<run>.a<attempt>.<letter><number>".
struct PartOfAttempt {
    std::string run;
    int attempt = 1;
    int number = 0;
};
/// Nothing for another key.
std::optional<PartOfAttempt> attemptOf(std::string_view key);
std::optional<PartOfAttempt> partOf(std::string_view key, char letter);
/// Of any of these: its run and attempt.
std::optional<PartOfAttempt> ownerOf(std::string_view key);

/// The folder of one attempt.
class AttemptPaths {
 public:
    explicit AttemptPaths(std::string directory) : directory_(std::move(directory)) {}
    /// Of the attempt whose job.json this is.
    static AttemptPaths ofJob(const std::string& jobPath);

    const std::string& directory() const { return directory_; }
    std::string jobFile() const { return directory_ + "/job.json"; }
    std::string rankSocket() const { return directory_ + "/rank.sock"; }
    std::string feedSocket() const { return directory_ + "/feed.sock"; }
    /// Checkpoints and scores of rank 0 on a node, until they have been sent to the head.
    std::string checkpoints() const { return directory_ + "/checkpoints"; }
    /// What data workers join with.
    std::string joinFile() const { return directory_ + "/data.join"; }
    /// What ranks that are scripts share (ring::StepPage).
    std::string stepPage() const { return directory_ + "/steps.page"; }
    /// Where the ranks of the built-in trainer meet.
    std::string groupSocket() const { return directory_ + "/ranks.sock"; }
    /// A worker's own folder: its log, what it keeps for a while.
    std::string worker(std::string_view name) const;
    /// Names of the workers that have a log, sorted.
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
    /// The directory that checkpoints() is a link to, which all nodes see; "": it is none.
    std::string sharedCheckpoints() const;
    AttemptPaths attempt(int number) const;
    /// Numbers of the attempts that have a folder, ascending.
    std::vector<int> attempts() const;

 private:
    std::string directory_;
};

}  // namespace millrace::job
