#include "app/gui/models/live/log_ring.h"

#include <algorithm>

namespace millrace::gui {

LogRing::LogRing(std::size_t numLinesMax, std::size_t bytesMax)
    : numLinesMax_(std::max(numLinesMax, kBlockLines)), bytesMax_(bytesMax) {}

void LogRing::append(std::uint64_t sequence, Line line, std::string_view text) {
    // Sequences within a block are consecutive, so that finding a line is a subtraction.
    const bool fits = !blocks_.empty() && blocks_.back()->lines.size() < kBlockLines &&
                      blocks_.back()->firstSequence + blocks_.back()->lines.size() == sequence;
    if (!fits) {
        if (!blocks_.empty()) {
            blocks_.back()->bytes.shrink_to_fit();
        }
        blocks_.push_back(std::make_unique<Block>());
        blocks_.back()->firstSequence = sequence;
        blocks_.back()->lines.reserve(kBlockLines);
    }
    Block& block = *blocks_.back();
    text = text.substr(0, kLineBytesMax);
    line.offset = static_cast<std::uint32_t>(block.bytes.size());
    line.length = static_cast<std::uint32_t>(text.size());
    block.bytes.append(text);
    block.lines.push_back(line);
    ++numLines_;
    bytes_ += text.size();
}

std::uint64_t LogRing::evict() {
    std::uint64_t numLeft = 0;
    while (blocks_.size() > 1 && isOver()) {
        const Block& block = *blocks_.front();
        for (const Line& line : block.lines) {
            numLeft += line.numMissing == 0 ? 1 : 0;
        }
        numLines_ -= block.lines.size();
        bytes_ -= block.bytes.size();
        blocks_.pop_front();
    }
    return numLeft;
}

std::uint64_t LogRing::sequenceAfterEviction() const {
    std::size_t lines = numLines_, bytes = bytes_, i = 0;
    while (i + 1 < blocks_.size() && (lines > numLinesMax_ || bytes > bytesMax_)) {
        lines -= blocks_[i]->lines.size();
        bytes -= blocks_[i]->bytes.size();
        ++i;
    }
    return blocks_.empty() ? 0 : blocks_[i]->firstSequence;
}

void LogRing::splice(LogRing& other) {
    for (std::unique_ptr<Block>& block : other.blocks_) {
        blocks_.push_back(std::move(block));
    }
    numLines_ += other.numLines_;
    bytes_ += other.bytes_;
    other.clear();
}

void LogRing::clear() {
    blocks_.clear();
    numLines_ = bytes_ = 0;
}

LogRing::Place LogRing::at(std::uint64_t sequence) const {
    const auto after = std::upper_bound(
        blocks_.begin(), blocks_.end(), sequence,
        [](std::uint64_t value, const auto& block) { return value < block->firstSequence; });
    const Block& block = **std::prev(after);
    return {&block, &block.lines[sequence - block.firstSequence]};
}

}  // namespace millrace::gui
