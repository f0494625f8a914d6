#include "backend/telemetry/proc_files.h"

#include "backend/filesystem/files.h"
#include "backend/text/numbers.h"

namespace millrace::telemetry {
namespace {

constexpr std::size_t kFileBytesMax = std::size_t{1} << 20;

}  // namespace

std::string readProcFile(const std::string& path) {
    Result<std::string> text = readFile(path, kFileBytesMax);
    return text.ok() ? std::move(*text) : std::string();
}

std::vector<std::string_view> linesOf(std::string_view text) {
    std::vector<std::string_view> lines;
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        lines.push_back(text.substr(0, end));
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    }
    return lines;
}

std::vector<std::string_view> fieldsOf(std::string_view line) {
    constexpr std::string_view kBlanks = " \t";
    std::vector<std::string_view> fields;
    std::size_t at = line.find_first_not_of(kBlanks);
    while (at != std::string_view::npos) {
        const std::size_t end = line.find_first_of(kBlanks, at);
        fields.push_back(line.substr(at, end == std::string_view::npos ? end : end - at));
        at = line.find_first_not_of(kBlanks, end);
    }
    return fields;
}

std::optional<std::uint64_t> unsignedOf(std::string_view text) {
    return parseNumber<std::uint64_t>(text);
}

std::optional<double> realOf(std::string_view text) {
    return parseNumber<double>(text);
}

std::optional<std::uint64_t> kiloBytesOf(std::string_view text, std::string_view key) {
    for (const std::string_view line : linesOf(text)) {
        const std::vector<std::string_view> fields = fieldsOf(line);
        if (fields.size() >= 2 && fields[0] == key) {
            const std::optional<std::uint64_t> value = unsignedOf(fields[1]);
            return value ? std::optional(*value * 1024) : std::nullopt;
        }
    }
    return std::nullopt;
}

}  // namespace millrace::telemetry
