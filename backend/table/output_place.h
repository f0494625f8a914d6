#pragma once
// An output directory that appears complete or not at all.
//
// Files are written into a hidden directory beside the target (".NAME.partial-PID"), which is
// renamed at the end. The next process with the same target removes what a killed process left
// there. Threads: one owner. Owns: the hidden directory until commit().
// Failure: kFailedPrecondition if the target exists; isForced replaces it, but only if it holds
// nothing but a table's files. A full disk: kResourceExhausted.
#include <string>

#include "backend/core/status.h"

namespace millrace::table {

class OutputPlace {
 public:
    static Result<OutputPlace> open(const std::string& target, bool isForced);
    OutputPlace(OutputPlace&& other) noexcept;
    OutputPlace& operator=(OutputPlace&&) = delete;
    ~OutputPlace();  ///< removes an uncommitted directory

    /// The directory to write into.
    const std::string& path() const { return aside_; }
    const std::string& target() const { return target_; }
    /// Syncs the files and renames the directory to its target.
    Status commit();

 private:
    OutputPlace(std::string target, std::string aside, bool isForced)
        : target_(std::move(target)), aside_(std::move(aside)), isForced_(isForced) {}
    std::string target_, aside_;
    bool isForced_;
};

}  // namespace millrace::table
