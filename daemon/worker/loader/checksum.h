#pragma once
// Checksum: sums over every value that a stream delivers, and the text by which two streams are
// compared.
//
// The text is that of the loader benchmark (not documented in docs/guides; tests/bench/loader):
// rows, sum of the first head's labels, list lengths, ids, list values, dense; each column weighted
// by its position, lists expanded. Threads: a value.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "backend/feed/feed_reader.h"
#include "backend/frame/frame.h"

namespace millrace::loader {

class Checksum {
 public:
    /// Reads every value of a frame.
    void add(const frame::FrameView& frame);
    /// Does the same for a batch that came through a ring.
    void add(const millrace_batch* batch);
    /// Adds another one's sums. Dense sums depend on the order of adding: add in the order of the
    /// sequence.
    void merge(const Checksum& other);
    std::int64_t rows() const { return rows_; }
    /// "rows:labels:lengths:ids:lists:dense".
    std::string text() const;

 private:
    struct Column;
    void addColumn(const Column& column, std::int64_t rows);
    void addFloats(const float* values, std::size_t width, std::int64_t rows);
    void addInteger(const Column& column, std::int64_t rows);
    void addList(const Column& column, std::int64_t rows);
    void startFrame(std::int64_t rows);

    std::int64_t rows_ = 0;
    std::int64_t labels_ = 0;
    std::uint64_t others_ = 0;  ///< weights, masks, further labels: read, not part of the text
    std::vector<double> dense_;
    std::vector<std::uint64_t> ids_, lists_, lengths_;
    std::vector<std::uint64_t> repeats_;  ///< rows of each stored item of the current column
    // Indices of the current frame's next columns.
    std::size_t nextDense_ = 0, nextId_ = 0, nextList_ = 0;
    bool hasLabel_ = false;
};

}  // namespace millrace::loader
