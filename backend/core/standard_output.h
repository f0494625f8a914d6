#pragma once
// Standard output of a program, and what became of it. Every program prints through this file.
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
/// on. Fails with "standard output: " and the reason; returns ok where the reader has gone.
Status printText(std::string_view text);
/// The same as a program's last act. Returns `code`; where the write fails, the reason is on stderr
/// behind "PROGRAM: " and the code is that of the error (core/exit_codes.h).
int endWithText(std::string_view program, std::string_view text, int code = 0);

/// The buffer behind a std::ostream to standard output. After a failed write it takes nothing more,
/// so that the stream's own state says that output is lost.
class OutputBuffer final : public std::streambuf {
 public:
    /// `fd` stays open and the caller's. The program ignores SIGPIPE.
    explicit OutputBuffer(int fd);
    ~OutputBuffer() override { static_cast<void>(drain()); }
    OutputBuffer(const OutputBuffer&) = delete;
    OutputBuffer& operator=(const OutputBuffer&) = delete;

    /// Why a write failed; ok while none did, and where the reader has gone.
    const Status& status() const { return status_; }
    /// Whether nobody can read what is written from now on, also before anything is.
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
