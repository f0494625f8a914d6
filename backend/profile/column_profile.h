#pragma once
// Profile of one column's values, from the rows that were read.
//
// For lists it describes the elements and the lengths. Threads: one owner.
#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/expr/schema.h"
#include "backend/profile/date_formats.h"
#include "backend/profile/sketches.h"
#include "backend/text/json.h"

namespace arrow {
class Array;
}  // namespace arrow

namespace millrace::profile {

class ColumnProfile {
 public:
    static constexpr std::size_t kTextsMost = 20, kTextBytesMost = 64, kExamplesMost = 4;

    ColumnProfile(std::string name, expr::DataType type)
        : name_(std::move(name)), type_(std::move(type)) {}

    /// Adds one split's values, of the dataset's pinned type.
    void add(const arrow::Array& values);

    const std::string& name() const { return name_; }
    const expr::DataType& type() const { return type_; }
    std::int64_t rows() const { return rows_; }
    std::int64_t nulls() const { return nulls_; }
    /// Estimated from a few thousand values on, and then never above the number of values.
    double distinct() const { return std::min(distinct_.estimate(), static_cast<double>(values_)); }
    /// Whether they were counted individually.
    bool isDistinctExact() const { return distinct_.standardError() == 0; }
    bool hasNumbers() const { return numbers_.count() > 0; }
    double min() const { return min_; }
    double max() const { return max_; }
    /// The mean of the numbers without NaN; not finite if one of them is not.
    double mean() const { return sum_ / static_cast<double>(numbers_.count()); }
    double quantile(double q) const { return numbers_.quantile(q); }
    double shareBelow(double value) const { return numbers_.shareBelow(value); }
    /// Values that are NaN. They are not numbers, and not nulls.
    std::int64_t nans() const { return nans_; }
    /// Every number was 0 or 1 (true or false), and both occurred.
    bool isZeroOne() const { return ones_ > 0 && zeros_ > 0 && ones_ + zeros_ == values_ - nans_; }
    double onesShare() const {
        return values_ > nans_ ? static_cast<double>(ones_) / static_cast<double>(values_ - nans_)
                               : 0;
    }
    /// Every number was whole.
    bool isWhole() const { return values_ > 0 && fractions_ == 0; }
    double meanLength() const;
    /// Occurrences of each text, if there are at most kTextsMost texts of at most kTextBytesMost
    /// bytes; else empty.
    const std::map<std::string, std::int64_t, std::less<>>& texts() const { return texts_; }
    /// The first distinct values, up to kExamplesMost, as text.
    const std::vector<std::string>& examples() const { return examples_; }
    /// The formats of strptime() that read every text or integer, as DateFormats::all().
    std::vector<std::string> dateFormats() const;
    /// The profile of the times that the texts show; none unless a single format reads them all.
    /// A blank text counts as a null.
    std::optional<ColumnProfile> times() const;

    /// {rows, nulls, distinct, min, max, quantiles: {"0.05": ..}, list_length: {..}, ...} for the
    /// rows that were read.
    Json toJson() const;

 private:
    void addNumber(double value);
    template <class ArrayType>
    void addNumbers(const arrow::Array& values);
    void addScalars(const arrow::Array& values);
    void addLengths(const arrow::Array& values);
    void addText(std::string_view text);
    void addExamples(const arrow::Array& values);

    std::string name_;
    expr::DataType type_;
    std::int64_t rows_ = 0, nulls_ = 0;
    std::int64_t values_ = 0;  ///< not null; of lists: elements
    std::int64_t zeros_ = 0, ones_ = 0, fractions_ = 0, nans_ = 0;
    double min_ = 0, max_ = 0, sum_ = 0;
    DistinctSketch distinct_;
    QuantileSketch numbers_, lengths_;  ///< lengths_: of lists, or of texts in bytes
    std::int64_t maxLength_ = 0, totalLength_ = 0;
    std::map<std::string, std::int64_t, std::less<>> texts_;
    bool hasManyTexts_ = false;
    std::vector<std::string> examples_;
    DateFormats dates_;
};

}  // namespace millrace::profile
