#pragma once
// Finds the formats of strptime() that read every text of a column. Used by ColumnProfile.
//
// The first text gives the possible formats; each further text removes those that do not read it.
// Threads: one owner.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "backend/expr/time_format.h"
#include "backend/profile/sketches.h"

namespace millrace::profile {

/// The times that a format reads, in microseconds since 1970.
struct DateReading {
    std::string format;
    QuantileSketch times;
    std::int64_t earliest = 0, latest = 0;
};

class DateFormats {
 public:
    /// Blank texts are skipped: they count as missing.
    void add(std::string_view text);
    /// The formats that read every text so far, the likeliest first. Several if the texts do not
    /// tell which number is the day.
    std::vector<const DateReading*> all() const;
    /// Whether no format reads every text.
    bool isNone() const { return hasTexts_ && open_.empty(); }

 private:
    struct Candidate {
        DateReading reading;
        expr::TimeFormat format;

        int numYears() const;
        bool read(std::string_view text);
    };
    bool hasTexts_ = false;
    std::vector<Candidate> open_;
};

}  // namespace millrace::profile
