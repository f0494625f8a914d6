#pragma once
// The checkpoints of one run in one opened directory: listed, read, renamed and removed by base
// name, so that no name leads anywhere else.
//
// Threads: any. Owns: the directory's descriptor. Failure: kNotFound when a file or the directory
// is not there; kDataLoss when a file is damaged; any other error when it cannot be read, which
// says nothing about it. Names that are no checkpoint's are kInvalidArgument.
#include <string>
#include <string_view>
#include <vector>

#include "backend/checkpoint/checkpoint_file.h"
#include "backend/checkpoint/checkpoint_name.h"
#include "backend/core/status.h"
#include "backend/core/unique_fd.h"

namespace millrace::checkpoint {

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
    /// Removes what killed writers left; only while none writes.
    Status removeLeftovers() const;

    std::string pathOf(const CheckpointName& name) const { return path_ + "/" + name.text(); }

 private:
    CheckpointDirectory(std::string path, UniqueFd fd)
        : path_(std::move(path)), fd_(std::move(fd)) {}
    Result<std::vector<std::string>> entries() const;
    Result<UniqueFd> openFile(const CheckpointName& name) const;

    std::string path_;
    UniqueFd fd_;
};

}  // namespace millrace::checkpoint
