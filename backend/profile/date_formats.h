#pragma once
// Finds the formats of strptime() that read every text of a column. Used by ColumnProfile.
//
// The first text gives the possible formats; each further text removes those that do not read it.
// Threads: one owner.
#include <string>
#include <string_view>
#include <vector>

#include "backend/expr/time_format.h"

namespace millrace::profile {

class DateFormats {
 public:
    /// Blank texts are skipped: they count as missing.
    void add(std::string_view text);
    /// The formats that read every text so far, the likeliest first. Several if the texts do not
    /// tell which number is the day.
    std::vector<std::string> all() const;
    /// Whether no format reads every text.
    bool isNone() const { return hasTexts_ && open_.empty(); }

 private:
    struct Candidate {
        std::string text;
        expr::TimeFormat format;
        int firstYear = 0, lastYear = 0;  ///< of the texts so far

        int numYears() const { return lastYear - firstYear + 1; }
        bool read(std::string_view text, bool isFirst);
    };
    bool hasTexts_ = false;
    std::vector<Candidate> open_;
};

}  // namespace millrace::profile
