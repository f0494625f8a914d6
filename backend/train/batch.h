#pragma once
// One micro-batch as learners read it: pointers into a frame (or a test's vectors), no copies.
//
// Owns: nothing; it is valid while the frame behind it is held.
#include <cstddef>
#include <cstdint>
#include <vector>

namespace millrace::train {

/// Row-major floats [rows, width]: the dense block of a frame, or one `vectors` feature.
struct DenseColumn {
    const float* values = nullptr;
    std::int64_t width = 0;
};

/// The ids of one feature, at most one list per row.
///
/// Row r is item i = inverse ? inverse[r] : r. An `ids` feature has no offsets: its value is
/// values[i]. A list is values[offsets[i] .. offsets[i + 1]). A weighted list has one float per
/// value.
struct IdColumn {
    const std::int64_t* values = nullptr;
    const std::int64_t* offsets = nullptr;
    const std::uint32_t* inverse = nullptr;
    const float* weights = nullptr;
    std::int64_t items = -1;  ///< with `inverse`: number of items; -1: one per row

    /// The range of row `row` in `values`.
    std::int64_t itemAt(std::int64_t row) const { return inverse ? inverse[row] : row; }
    std::int64_t begin(std::int64_t row) const {
        return offsets ? offsets[itemAt(row)] : itemAt(row);
    }
    std::int64_t end(std::int64_t row) const {
        return offsets ? offsets[itemAt(row) + 1] : itemAt(row) + 1;
    }
};

/// One head's columns, each [rows]. Without weights every weight is 1; without masks every label is
/// present.
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
    /// Origin of each row, [rows]: a file of the plan and a row in that file. Null: not known.
    const std::uint32_t* rowFiles = nullptr;
    const std::uint64_t* rowNumbers = nullptr;
    /// The frame that holds all columns, so that it can be copied to a device whole; null if they
    /// are elsewhere.
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
