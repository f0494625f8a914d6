#pragma once
// A directory that appears whole or not at all.
//
// Files are written into a hidden directory beside the target (".NAME.partial-PID") and the
// directory is renamed at the end; what a killed process left there is removed by the next one
// with the same target. Threads: one owner. Owns: the hidden directory until commit().
// Failure: kFailedPrecondition when the target exists; with isForced it is replaced, but only when
// it holds nothing but a table's files. A full disk: kResourceExhausted.
#include <string>

#include "backend/core/status.h"

namespace millrace::table {

class OutputPlace {
 public:
    static Result<OutputPlace> open(const std::string& target, bool isForced);
    OutputPlace(OutputPlace&& other) noexcept;
    OutputPlace& operator=(OutputPlace&&) = delete;
    ~OutputPlace();  ///< an uncommitted directory is removed

    /// Where to write.
    const std::string& path() const { return aside_; }
    const std::string& target() const { return target_; }
    /// Syncs the files and gives the directory its name.
    Status commit();

 private:
    OutputPlace(std::string target, std::string aside, bool isForced)
        : target_(std::move(target)), aside_(std::move(aside)), isForced_(isForced) {}
    std::string target_, aside_;
    bool isForced_;
};

}  // namespace millrace::table
