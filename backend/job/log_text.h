#pragma once
// A line of a worker's log as its guardian wrote it: "RFC3339 o|e text", or "RFC3339 m text" from
// the guardian itself.
//
// A worker's own structured line is "TIME level event ...": its time is the guardian's to within a
// write, so that it is not shown twice. Pure. Failure: nothing for a line that is none, or only the
// guardian's own mark (log-offset).
#include <cstdint>
#include <optional>
#include <string_view>

namespace millrace::job {

struct LogText {
    std::int64_t timeMs = 0;
    char origin = 'o';       ///< 'o' stdout, 'e' stderr, 'm' the guardian
    std::string_view level;  ///< "debug", "info", "warn", "warning", "error"; "": none was said
    std::string_view text;   ///< without what stands above; of the line's own bytes
};

std::optional<LogText> splitLogLine(std::string_view line);

/// The last line of `bytes`, which end with one, without its end; `bytes` lose it.
std::string_view takeLastLine(std::string_view& bytes);

}  // namespace millrace::job
