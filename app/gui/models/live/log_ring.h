#pragma once
// LogRing: log lines in blocks: their text, and 40 bytes per line beside it. The oldest block is
// evicted first.
//
// Lines are identified by their sequence, which only grows; the sequences of lines that were
// evicted or never added are missing. Threads: one owner. Owns: the text. Failure: none; a line
// longer than kLineBytesMax is cut.
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backend/values/log_line.h"

namespace millrace::gui {

class LogRing {
 public:
    static constexpr std::size_t kBlockLines = 1'024;
    static constexpr std::size_t kLineBytesMax = std::size_t{64} << 10;

    struct Line {
        std::int64_t timeMs = 0;
        std::uint64_t numMissing = 0;  ///< not 0: a gap of this many lines
        std::uint32_t offset = 0, length = 0;
        std::uint16_t worker = 0;
        std::int16_t attempt = 0;
        values::LogLevel level = values::LogLevel::kNone;
        values::LogLevel filterLevel = values::LogLevel::kNone;  ///< of the line it belongs to
        bool isStderr = false;
    };
    struct Block {
        std::uint64_t firstSequence = 0;
        std::string bytes;
        std::vector<Line> lines;
        std::string_view textOf(const Line& line) const {
            return std::string_view(bytes).substr(line.offset, line.length);
        }
    };
    struct Place {
        const Block* block = nullptr;
        const Line* line = nullptr;
        std::string_view text() const { return block->textOf(*line); }
    };

    static Line gap(std::uint64_t numMissing) {
        Line line;
        line.numMissing = numMissing;
        return line;
    }

    LogRing(std::size_t numLinesMax, std::size_t bytesMax);

    /// Sets `line.offset` and `length`. The sequence must be above all earlier ones.
    void append(std::uint64_t sequence, Line line, std::string_view text);
    /// The first sequence that evict() would keep.
    std::uint64_t sequenceAfterEviction() const;
    /// Drops the oldest blocks until the bounds hold; returns the number of real lines dropped.
    std::uint64_t evict();
    /// Moves another ring's blocks after its own ones; the other is empty afterwards.
    void splice(LogRing& other);
    void clear();

    bool isEmpty() const { return blocks_.empty(); }
    std::size_t numLines() const { return numLines_; }
    std::size_t bytesUsed() const { return bytes_ + numLines_ * sizeof(Line); }
    std::uint64_t firstSequence() const { return blocks_.front()->firstSequence; }
    /// The line with this sequence; it must be there.
    Place at(std::uint64_t sequence) const;
    const std::deque<std::unique_ptr<Block>>& blocks() const { return blocks_; }

 private:
    bool isOver() const { return numLines_ > numLinesMax_ || bytes_ > bytesMax_; }
    std::size_t numLinesMax_, bytesMax_;
    std::deque<std::unique_ptr<Block>> blocks_;
    std::size_t numLines_ = 0, bytes_ = 0;
};

}  // namespace millrace::gui
