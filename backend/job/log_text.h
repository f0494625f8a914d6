#pragma once
// Parses a line of a worker's log as written by its guardian: "RFC3339 o|e text", or "RFC3339 m
// text" from the guardian itself.
//
// A worker's own structured line is "TIME level event ...": its time nearly equals the guardian's,
// so it is not shown twice. Pure. Failure: returns nothing for an invalid line, or for the
// guardian's own mark (log-offset).
#include <cstdint>
#include <optional>
#include <string_view>

namespace millrace::job {

struct LogText {
    std::int64_t timeMs = 0;
    char origin = 'o';       ///< 'o' stdout, 'e' stderr, 'm' the guardian
    std::string_view level;  ///< "debug", "info", "warn", "warning", "error"; "": the line has none
    std::string_view text;   ///< without the fields above; refers to the line's own bytes
};

std::optional<LogText> splitLogLine(std::string_view line);

/// Removes the last line from `bytes`, which must end with a line, and returns it without its end.
std::string_view takeLastLine(std::string_view& bytes);

}  // namespace millrace::job
