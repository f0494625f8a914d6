#pragma once
// WorkerLog: a command's stdout and stderr as time-stamped lines in a bounded pair of files.
//
// Line: "RFC3339 o|e text"; the guardian's own: "RFC3339 m text". out.log is renamed to out.log.1
// when it reaches its limit; the next one starts with "RFC3339 m log-offset N", N counting all
// bytes written before it. Failure: none. Lines that cannot be written are dropped and counted, and
// the count becomes a line once there is room again: a full disk never stops the command. Used by
// Guardian. Threads: one.
#include <cstdint>
#include <string>
#include <string_view>

#include "backend/core/unique_fd.h"

namespace millrace::exec {

/// Longer lines are cut to this length, in bytes.
inline constexpr std::size_t kLineBytesMax = std::size_t{64} << 10;

class WorkerLog {
 public:
    /// Continues an existing out.log.
    WorkerLog(std::string directory, std::int64_t fileBytesMax);
    /// Adds bytes of stream 'o' or 'e', cut anywhere.
    void add(char stream, std::string_view bytes);
    /// Adds a line of the guardian's own.
    void note(std::string_view text);
    /// Writes lines that are not complete yet.
    void flush();
    std::int64_t numDropped() const { return numDroppedTotal_; }

 private:
    struct Partial {
        std::string text;
        std::int64_t cutBytes = 0;  // of this line, not kept
        bool afterReturn = false;   // a line feed that follows belongs to the carriage return
        bool isStarted = false;
    };
    void append(Partial& partial, std::string_view piece);
    void endLine(Partial& partial, char stream, const std::string& time, std::string& out);
    void write(const std::string& lines, std::int64_t numLines);
    bool writeWhole(std::string_view bytes);
    void openFile();
    void rotate();

    const std::string directory_;
    const std::int64_t fileBytesMax_;
    UniqueFd file_;
    std::int64_t size_ = 0;    // of out.log
    std::int64_t offset_ = 0;  // of out.log's first byte among all bytes written
    std::int64_t numDropped_ = 0, numDroppedTotal_ = 0;
    std::int64_t numLines_ = 0;  // collected by add() for one write
    Partial out_, err_;
};

}  // namespace millrace::exec
