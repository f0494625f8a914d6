#pragma once
// CheckpointOut writes a script's checkpoint file under a temporary name and then renames it.
//
// It is a safetensors file: the script's bytes are the tensor `content`. Threads: one owner.
// Owns: the file, removed unless it was committed. Failure: write() is false, `why` is the message.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "backend/feed/link/run_link.h"

namespace millrace::ring {

class CheckpointOut {
 public:
    CheckpointOut(const std::string& directory, const std::string& name);
    CheckpointOut(const CheckpointOut&) = delete;
    CheckpointOut& operator=(const CheckpointOut&) = delete;
    ~CheckpointOut();

    /// `lines`: those that the daemon has not acknowledged. When this returns true, the file is
    /// synced under its name.
    bool write(const millrace_run_file& file, const std::vector<std::string>& lines);
    std::uint64_t bytes() const { return at_; }
    /// Identifies the file's content; call after write().
    const std::string& checksum() const { return checksum_; }

    std::string why;

 private:
    struct Header;

    bool failed(const std::string& place);
    bool readFacts(std::string_view facts);
    bool openSource(const millrace_run_file& file);
    bool putContent(const millrace_run_file& file, std::string& hash);
    bool put(const void* data, std::uint64_t bytes, std::uint64_t at);
    bool commit();

    const std::string directory_, path_, aside_;
    int fd_ = -1, source_ = -1;
    std::uint64_t contentBytes_ = 0, at_ = 0;
    std::string facts_;  ///< members, without the brackets
    std::string checksum_;
};

}  // namespace millrace::ring
