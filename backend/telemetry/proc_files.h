#pragma once
// Reads the kernel's text files. Private to telemetry. Missing files and invalid numbers give empty
// results.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::telemetry {

/// The file's text, at most 1 MB; "" if it cannot be read.
std::string readProcFile(const std::string& path);
/// The lines of a text, without their ends.
std::vector<std::string_view> linesOf(std::string_view text);
/// The fields between blanks.
std::vector<std::string_view> fieldsOf(std::string_view line);
std::optional<std::uint64_t> unsignedOf(std::string_view text);
std::optional<double> realOf(std::string_view text);
/// "MemTotal:   12 kB" -> 12 * 1024 for the key "MemTotal:".
std::optional<std::uint64_t> kiloBytesOf(std::string_view text, std::string_view key);

}  // namespace millrace::telemetry
