#pragma once
// The checkpoints of one run in one opened directory: listed, read, renamed and removed by base
// name, so that no name leads anywhere else.
//
// Threads: any. Owns: the directory's descriptor. Failure: kNotFound when a file or the directory
// is not there; kDataLoss when a file is damaged; any other error when it cannot be read, which
// says nothing about it. Names that are no checkpoint's are kInvalidArgument.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/checkpoint/checkpoint_file.h"
#include "backend/checkpoint/checkpoint_name.h"
#include "backend/core/status.h"
#include "backend/core/unique_fd.h"

namespace millrace::checkpoint {

/// The second name of a run's best checkpoint: no retention removes it, no attempt resumes from it.
inline constexpr char kBestName[] = "best.safetensors";

class CheckpointDirectory {
 public:
    static Result<CheckpointDirectory> open(const std::string& path);

    /// Newest step first, then newest attempt. Other files are left out.
    Result<std::vector<CheckpointName>> list() const;
    Result<CheckpointFacts> facts(const CheckpointName& name) const;
    /// Reads the whole file and holds it against its name.
    Result<CheckpointFacts> verify(const CheckpointName& name, const ReadWatch& watch) const;

    /// Fine when it is not there.
    Status remove(const CheckpointName& name) const;
    /// Renames NAME to NAME.WHY, or NAME.WHY-2 and so on when there is one: its new name.
    Result<std::string> setAside(const CheckpointName& name, std::string_view why) const;
    /// Gives the file the name kBestName too, in place of one that had it. It takes no room while
    /// the first name is there.
    Status linkAsBest(const CheckpointName& name) const;
    /// Of the file of that name.
    Result<CheckpointFacts> bestFacts() const;
    /// Takes the name kBestName from the file of these facts, and gives it to `next`. A file that
    /// has no other name becomes NAME.WHY. Nothing happens where another file has got the name.
    Status replaceBest(const CheckpointFacts& facts, std::string_view why,
                       const std::optional<CheckpointName>& next) const;
    /// Removes what killed writers left; only while none writes.
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
