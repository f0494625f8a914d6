#pragma once
// The feature kinds made of several lists: weighted (ids and weights) and sequences (aligned lists
// with one set of offsets). Private to recipe.
//
// Threads: immutable after make(). Failure: lists of one row with different lengths, and weights
// that are not finite; the message names file, row and feature.
#include <string>
#include <vector>

#include "backend/eval/list_view.h"
#include "backend/recipe/feature_batch.h"
#include "backend/recipe/id_encoder.h"
#include "backend/recipe/row_set.h"
#include "backend/spec/bind.h"

namespace millrace::recipe {

class ListFeatures {
 public:
    /// `schema`: the columns after the recipe.
    static Result<ListFeatures> make(const spec::FeaturesSpec& features, EncoderMaker& encoders,
                                     const expr::Schema& schema);
    Status run(RowSet& rows, FeatureBatch& batch) const;

    /// The columns that are read.
    const std::vector<std::string>& columns() const { return columns_; }

 private:
    struct Weighted {
        std::string name, ids, weights;
        expr::DataType weightType;
        IdEncoder encoder;
    };
    struct Element {
        std::string column;
        expr::DataType type;  ///< of an element
        spec::SequenceValue value = spec::SequenceValue::kId;
        IdEncoder encoder;  ///< kId
    };
    struct Sequence {
        std::string name, time, before;
        expr::DataType timeType, beforeType;
        std::int64_t last = 0;
        std::vector<Element> elements;
    };
    Status weighted(const Weighted& feature, RowSet& rows, FeatureBatch& batch) const;
    Status sequence(const Sequence& feature, RowSet& rows, FeatureBatch& batch) const;
    /// `time` may be null.
    static Status checkAligned(const Sequence& feature, const std::vector<eval::ListView>& lists,
                               const eval::ListView* time, const RowSet& rows, std::int64_t row);
    Status addWeighted(const spec::FeaturesSpec& features, EncoderMaker& encoders,
                       const expr::Schema& schema);
    Status addSequences(const spec::FeaturesSpec& features, EncoderMaker& encoders,
                        const expr::Schema& schema);

    std::vector<Weighted> weighted_;
    std::vector<Sequence> sequences_;
    std::vector<std::string> columns_;
};

}  // namespace millrace::recipe
