#pragma once
// Text for people: nearest names, sizes, counts.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace millrace {

/// The candidate with the smallest edit distance to `name`, if it is close enough (at most a third
/// of the length, at least one edit allowed); else empty.
std::string nearestName(std::string_view name, const std::vector<std::string>& candidates);
/// "; did you mean 'x'?" or, without a near candidate and with at most 8 in all, "; known: a, b";
/// or "".
std::string nameHint(std::string_view name, const std::vector<std::string>& candidates);
/// "1.2 GB", "340 kB" (powers of ten).
std::string formatBytes(double bytes);
/// 1234567 -> "1,234,567".
std::string formatCount(std::int64_t count);
/// A plain YAML scalar if YAML allows it (`isInBraces`: inside braces), else in double quotes.
std::string yamlScalar(const std::string& text, bool isInBraces);
/// Number of terminal columns that UTF-8 `text` takes (wide East Asian characters count two).
int displayWidth(std::string_view text);

}  // namespace millrace
