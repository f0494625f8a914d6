#pragma once
// One micro-batch as the learners see it: pointers into a frame (or a test's vectors), no copies.
//
// Owns: nothing; valid while the frame it was made from is held.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace millrace::train {

/// Row-major floats [rows, width]: the dense block of a frame, or one `vectors` feature.
struct DenseColumn {
    const float* values = nullptr;
    std::int64_t width = 0;
};

/// The ids of one feature, at most one list a row.
///
/// Row r is item i = inverse ? inverse[r] : r. An `ids` feature has no offsets and the value
/// values[i]; a list holds values[offsets[i] .. offsets[i + 1]). A weighted list has one
/// float per value.
struct IdColumn {
    const std::int64_t* values = nullptr;
    const std::int64_t* offsets = nullptr;
    const std::uint32_t* inverse = nullptr;
    const float* weights = nullptr;
    std::int64_t items = -1;  ///< with `inverse`: how many there are; -1: one a row

    /// The range of row `row` in `values`.
    std::int64_t itemAt(std::int64_t row) const { return inverse ? inverse[row] : row; }
    std::int64_t begin(std::int64_t row) const {
        return offsets ? offsets[itemAt(row)] : itemAt(row);
    }
    std::int64_t end(std::int64_t row) const {
        return offsets ? offsets[itemAt(row) + 1] : itemAt(row) + 1;
    }
};

/// One head's columns, each [rows]. Null weights: 1. Null masks: every label is there.
struct HeadColumn {
    const float* labels = nullptr;
    const float* weights = nullptr;
    const std::uint8_t* masks = nullptr;  ///< 1: the label is not null
};

struct BatchView {
    std::int64_t rows = 0;
    std::int64_t epoch = 0;
    std::vector<DenseColumn> dense;
    std::vector<IdColumn> ids;  ///< in the order of LearnerOptions::features
    std::vector<HeadColumn> heads;
    /// Which row each is, [rows]: a file of the plan and a row in it. Null: not known.
    const std::uint32_t* rowFiles = nullptr;
    const std::uint64_t* rowNumbers = nullptr;
    /// The frame that all columns lie in, so that it can go to a device whole; null: they do not.
    const std::byte* frame = nullptr;
    std::size_t frameBytes = 0;

    std::int64_t denseWidth() const {
        std::int64_t width = 0;
        for (const DenseColumn& column : dense) {
            width += column.width;
        }
        return width;
    }
};

}  // namespace millrace::train
