#pragma once
// A format of strptime(), such as '%d.%m.%Y': reads texts of dates and times. The typing of
// expressions parses each format once; evaluation and `init` read texts with it.
//
// Fields and their ranges are DuckDB's: numbers may have leading zeros or not, names are English in
// any case, blanks of the format match any run of blanks, and blanks around a text are skipped.
// Threads: immutable. Failure: kInvalidArgument, one sentence.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/core/status.h"

namespace millrace::expr {

class TimeFormat {
 public:
    /// "unknown %Q in the format; known are %Y %y ...".
    static Result<TimeFormat> make(std::string_view format);
    /// Microseconds since 1970 in UTC; nothing if the text does not match. Fields that the format
    /// lacks are those of 1900-01-01 00:00:00.
    std::optional<std::int64_t> parse(std::string_view text) const;

 private:
    /// A literal text, then a field. The last part has no field.
    struct Part {
        std::string literal;
        char field = 0;  ///< 'Y', 'm', ...; 0: none
    };
    bool has(char field) const;

    std::vector<Part> parts_;
    bool isDayOfYear_ = false;  ///< %j decides, as there is neither %m nor %d
};

}  // namespace millrace::expr
