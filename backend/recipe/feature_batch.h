#pragma once
// FeatureBatch: a recipe's output for one split: the surviving rows in file order, ready to be
// gathered.
//
// Every column is contiguous, `rows` long, without nulls, and addressed by a raw pointer; `owners`
// keeps the memory alive. Offsets of lists are absolute positions in `values` and need not start at
// 0 (they may be a view of the decoder's memory). Lists that repeat over rows may be stored once:
// `items` then has each row's list.
// Threads: a value; move it.
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "backend/spec/bind.h"

namespace millrace::recipe {

/// Rows that count for a head but lack its label: they are masked.
struct LabelGaps {
    std::int64_t nulls = 0, nans = 0;

    void add(const LabelGaps& other) {
        nulls += other.nulls;
        nans += other.nans;
    }
};

/// One head. weight = the label's weight x the recipe's row weight (in the eval part only the
/// label's weight); mask is 1 if the label counts.
struct LabelColumn {
    std::string head;
    std::vector<float> label, weight, mask;
    LabelGaps gaps{};
};

struct DenseColumn {
    std::string name;
    const float* values = nullptr;
};

struct IdColumn {
    std::string name;
    const std::int64_t* values = nullptr;  ///< in [0, rows of its table); 0 is null
};

struct ListColumn {
    std::string name;
    const std::int64_t* values = nullptr;
    const std::int32_t* offsets = nullptr;  ///< stored lists + 1
    const std::int32_t* items = nullptr;    ///< per row its stored list; null: one list per row
};

struct VectorColumn {
    std::string name;
    std::int32_t width = 0;
    const float* values = nullptr;  ///< [rows, width], row-major
};

/// Lists of ids, each id with a weight.
struct WeightedColumn {
    std::string name;
    const std::int64_t* values = nullptr;
    const float* weights = nullptr;
    const std::int32_t* offsets = nullptr;  ///< rows + 1
};

/// One of the aligned lists of a sequence; all lists of a sequence share one `offsets`.
struct SequenceColumn {
    std::string sequence, name;
    spec::SequenceValue value = spec::SequenceValue::kId;
    const void* values = nullptr;           ///< kFloat: float; else int64
    const std::int32_t* offsets = nullptr;  ///< rows + 1
};

/// A column passed through unchanged, including nulls; lists may be dictionary<int32, list>.
struct CarryColumn {
    std::string name;
    std::shared_ptr<arrow::Array> array;
};

/// Time of one expression of a step, without reading.
struct ExpressionTime {
    std::string column;  ///< the column that it makes
    std::int64_t busyNs = 0;
};

/// Largest number of reasons per step.
inline constexpr std::size_t kReasonsMax = 4;

struct StepCount {
    std::int64_t rowsIn = 0, rowsOut = 0;
    /// Number of rows by outcome, parallel to CompiledRecipe::stepReasons().
    std::array<std::int64_t, kReasonsMax> reasons{};
    std::int64_t busyNs = 0;                  ///< without reading columns; of this run only
    std::vector<ExpressionTime> expressions;  ///< likewise; for steps with several expressions

    void add(const StepCount& other) {
        rowsIn += other.rowsIn;
        rowsOut += other.rowsOut;
        for (std::size_t i = 0; i < kReasonsMax; ++i) {
            reasons[i] += other.reasons[i];
        }
    }
};

/// Use of a feature's vocabulary.
struct IdCount {
    std::int64_t ids = 0;      ///< ids that are not null
    std::int64_t unknown = 0;  ///< those missing in the vocabulary

    void add(const IdCount& other) {
        ids += other.ids;
        unknown += other.unknown;
    }
};

/// Time for one feature, from its column's values to the batch's, without reading.
struct FeatureTime {
    std::string name;
    std::int64_t busyNs = 0;
};

struct FeatureBatch {
    std::int64_t rows = 0;
    std::uint32_t file = 0;
    std::vector<std::uint64_t> rowNumbers;  ///< row in the file, ascending
    std::vector<LabelColumn> heads;         ///< sorted by name, as in the spec
    std::vector<DenseColumn> dense;         ///< in the spec's order, patterns expanded
    std::vector<IdColumn> ids;
    std::vector<ListColumn> lists;
    std::vector<VectorColumn> vectors;
    std::vector<WeightedColumn> weighted;
    std::vector<SequenceColumn> sequences;  ///< sequence after sequence, sorted by name
    std::vector<CarryColumn> carry;
    /// Keys that tell each row's request or user from others (row_keys.h); empty without
    /// features.request and features.user.
    std::vector<std::uint64_t> requestKeys, userKeys;
    std::vector<StepCount> steps;       ///< parallel to CompiledRecipe::stepNames()
    std::vector<IdCount> vocabularies;  ///< parallel to CompiledRecipe::vocabularies()
    std::int64_t decodedBytes = 0;      ///< of the columns above, for the memory budget
    std::int64_t labelsNs = 0;          ///< time for the heads, without reading
    std::vector<FeatureTime> featureTimes;
    std::vector<std::shared_ptr<const void>> owners;
    /// Owners of `dense` and `ids`: may be released once these are copied.
    std::vector<std::shared_ptr<const void>> rowOwners;
};

}  // namespace millrace::recipe
