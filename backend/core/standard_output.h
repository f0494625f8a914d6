#pragma once
// A program's standard output, with error handling. Every program prints through this file.
//
// A failed write (a full disk, a closed descriptor) is an error of the program. A pipe whose reader
// has gone is not: the reader has what it wanted, and the rest is dropped silently.
// Threads: one.
#include <array>
#include <streambuf>
#include <string_view>

#include "backend/core/status.h"

namespace millrace {

/// Writes the whole output of a program that prints one text and ends. Ignores SIGPIPE from then
/// on. Fails with "standard output: " and the reason; succeeds if the reader has gone.
Status printText(std::string_view text);
/// Like printText(), as a program's last act. Returns `code`. If the write fails, prints the reason
/// on stderr after "PROGRAM: " and returns the error's code (core/exit_codes.h).
int endWithText(std::string_view program, std::string_view text, int code = 0);

/// The buffer behind a std::ostream to standard output. After a failed write it accepts nothing
/// more, so that the stream's own state shows that output was lost.
class OutputBuffer final : public std::streambuf {
 public:
    /// `fd` stays open and belongs to the caller. The program must ignore SIGPIPE.
    explicit OutputBuffer(int fd);
    ~OutputBuffer() override { static_cast<void>(drain()); }
    OutputBuffer(const OutputBuffer&) = delete;
    OutputBuffer& operator=(const OutputBuffer&) = delete;

    /// Why a write failed; OK if none did, or if the reader has gone.
    const Status& status() const { return status_; }
    /// Whether the reader has gone; valid even before anything is written.
    bool hasNoReader() const;

 protected:
    int_type overflow(int_type character) override;
    int sync() override { return drain() ? 0 : -1; }

 private:
    bool drain();

    const int fd_;
    std::array<char, 1 << 14> bytes_;
    Status status_;
    bool isLost_ = false;
};

}  // namespace millrace
