#pragma once
// Log lines in blocks: text behind text, 40 bytes a line beside it, the oldest block leaves first.
//
// Lines are named by their sequence, which only grows; sequences of lines that left, or that were
// never taken in, are missing. Threads: one owner. Owns: the text. Failure: none; a line longer
// than kLineBytesMax is cut.
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
        std::uint64_t numMissing = 0;  ///< not 0: no line, but so many that never came
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

    /// `line.offset` and `length` are set here. The sequence must be above all before.
    void append(std::uint64_t sequence, Line line, std::string_view text);
    /// The first sequence that evict() would keep.
    std::uint64_t sequenceAfterEviction() const;
    /// Drops the oldest blocks until the bounds hold; returns how many real lines left.
    std::uint64_t evict();
    /// Puts another ring's blocks behind the own ones; it is empty afterwards.
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
