#pragma once
// The checkpoints of one run in one opened directory. Files are listed, read, renamed and removed
// by base name, so that no name can refer to a file elsewhere.
//
// Threads: any. Owns: the directory's descriptor. Failure: kNotFound if a file or the directory
// does not exist; kDataLoss if a file is damaged; any other error if it could not be read, which
// proves nothing about the file. Names other than a checkpoint's are kInvalidArgument.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/checkpoint/checkpoint_file.h"
#include "backend/checkpoint/checkpoint_name.h"
#include "backend/core/status.h"
#include "backend/core/unique_fd.h"

namespace millrace::checkpoint {

/// The second name of a run's best checkpoint: retention never removes it, no attempt resumes from
/// it.
inline constexpr char kBestName[] = "best.safetensors";

class CheckpointDirectory {
 public:
    static Result<CheckpointDirectory> open(const std::string& path);

    /// Newest step first, then newest attempt. Skips other files.
    Result<std::vector<CheckpointName>> list() const;
    Result<CheckpointInfo> facts(const CheckpointName& name) const;
    /// Reads the whole file and verifies it against its name.
    Result<CheckpointInfo> verify(const CheckpointName& name, const ReadWatch& watch) const;

    /// Succeeds if the file does not exist.
    Status remove(const CheckpointName& name) const;
    /// Renames NAME to NAME.WHY, or NAME.WHY-2 and so on if that exists; returns the new name.
    Result<std::string> setAside(const CheckpointName& name, std::string_view why) const;
    /// Gives the file the name kBestName as well, replacing any file that had it. The second name
    /// takes no space while the first exists.
    Status linkAsBest(const CheckpointName& name) const;
    /// Facts of the file named kBestName.
    Result<CheckpointInfo> bestFacts() const;
    /// Removes the name kBestName from the file with these facts, and gives it to `next`. A file
    /// without another name becomes NAME.WHY. Does nothing if another file has the name by now.
    Status replaceBest(const CheckpointInfo& facts, std::string_view why,
                       const std::optional<CheckpointName>& next) const;
    /// Removes what killed writers left; call it only while none writes.
    Status removeLeftovers() const;

    std::string pathOf(const CheckpointName& name) const { return path_ + "/" + name.text(); }

 private:
    CheckpointDirectory(std::string path, UniqueFd fd)
        : path_(std::move(path)), fd_(std::move(fd)) {}
    Result<std::vector<std::string>> entries() const;
    Result<UniqueFd> openFile(const std::string& name) const;
    /// Renames to STEM.WHY, or STEM.WHY-2 and so on.
    Result<std::string> moveAside(const std::string& from, const std::string& stem,
                                  std::string_view why) const;

    std::string path_;
    UniqueFd fd_;
};

}  // namespace millrace::checkpoint
