// Maps a byte of a scalar's value back to its byte in the YAML text.
#include <algorithm>
#include <tuple>
#include <utility>

#include "backend/spec/yaml/tree_reader.h"

namespace millrace::spec {
namespace {

bool isBlank(char c) {
    return c == ' ' || c == '\t' || c == '\r';
}

/// Bytes of an escape in a double-quoted scalar: in the text, and in the value.
std::pair<std::size_t, std::size_t> escapeSizes(std::string_view text, std::size_t at) {
    const char kind = at + 1 < text.size() ? text[at + 1] : '\0';
    const std::size_t digits = kind == 'x' ? 2 : kind == 'u' ? 4 : kind == 'U' ? 8 : 0;
    if (digits == 0) {
        return {2, kind == 'N' || kind == '_' ? 2 : kind == 'L' || kind == 'P' ? 3 : 1};
    }
    unsigned long code = 0;
    for (std::size_t i = 0; i < digits && at + 2 + i < text.size(); ++i) {
        const char c = text[at + 2 + i];
        code = code * 16 + static_cast<unsigned long>(c <= '9'   ? c - '0'
                                                      : c <= 'F' ? c - 'A' + 10
                                                                 : c - 'a' + 10);
    }
    const std::size_t bytes = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    return {2 + digits, bytes};
}

/// Plain and quoted scalars: lines are folded into one.
std::size_t flowByte(std::string_view text, std::size_t at, std::size_t offset) {
    const char quote = text[at] == '"' || text[at] == '\'' ? text[at] : '\0';
    at += quote != '\0' ? 1 : 0;
    while (at < text.size()) {
        std::size_t end = at;  // a line's end, with the blanks around it
        while (end < text.size() && isBlank(text[end])) {
            ++end;
        }
        std::size_t taken = 1, given = 1;
        if (end < text.size() && text[end] == '\n') {
            std::size_t lines = 0;
            while (end < text.size() && (isBlank(text[end]) || text[end] == '\n')) {
                lines += text[end++] == '\n' ? 1 : 0;
            }
            taken = end - at;
            given = lines > 1 ? lines - 1 : 1;
        } else if (quote == '"' && text[at] == '\\') {
            std::tie(taken, given) = escapeSizes(text, at);
        } else if (quote == '\'' && text[at] == '\'') {
            taken = 2;
        }
        if (offset < given) {
            return at;
        }
        offset -= given;
        at += taken;
    }
    return std::min(at, text.size());
}

/// `|` and `>`: each line begins after the indentation of the first.
std::size_t blockByte(std::string_view text, std::size_t at, std::size_t offset) {
    const auto lineEnd = [&](std::size_t from) {
        const std::size_t end = text.find('\n', from);
        return end == std::string_view::npos ? text.size() : end;
    };
    std::size_t line = std::min(lineEnd(at) + 1, text.size());
    std::size_t indent = text.find_first_not_of(" \n", line);
    indent = indent == std::string_view::npos ? line : indent;
    const std::size_t lineStart = text.rfind('\n', indent);
    const std::size_t width = lineStart == std::string_view::npos ? 0 : indent - lineStart - 1;
    while (line < text.size()) {
        const std::size_t end = lineEnd(line);
        const std::size_t begin = std::min(line + width, end);
        if (offset <= end - begin) {
            return begin + offset;
        }
        offset -= end - begin + 1;
        line = end + 1;
    }
    return std::min(at, text.size());
}

}  // namespace

std::size_t scalarByte(std::string_view text, std::size_t start, std::size_t offset) {
    std::size_t at = start;
    while (at < text.size() && (text[at] == '&' || text[at] == '!')) {  // skips an anchor or tag
        while (at < text.size() && !isBlank(text[at]) && text[at] != '\n') {
            ++at;
        }
        while (at < text.size() && (isBlank(text[at]) || text[at] == '\n')) {
            ++at;
        }
    }
    if (at >= text.size()) {
        return std::min(start, text.size());
    }
    return text[at] == '|' || text[at] == '>' ? blockByte(text, at, offset)
                                              : flowByte(text, at, offset);
}

std::size_t SourceMap::Place::written(std::size_t offset) const {
    std::size_t before = 0, beforeWritten = 0;  // end of the previous constant
    for (const Constant& one : constants) {
        if (offset < one.at) {
            break;
        }
        if (offset < one.at + one.size) {
            return one.writtenAt;
        }
        before = one.at + one.size;
        beforeWritten = one.writtenAt + one.writtenSize;
    }
    return beforeWritten + (offset - before);
}

expr::Position SourceMap::find(const std::string& path, std::size_t offset) const {
    const auto it = places_.find(path);
    if (it != places_.end()) {
        const Place& place = it->second;
        return place.isSet ? expr::Position{}
                           : expr::positionAt(
                                 *text_, scalarByte(*text_, place.offset, place.written(offset)));
    }
    const std::size_t end = path.find_last_of(".[");
    return end == std::string::npos ? expr::Position{} : find(path.substr(0, end));
}

}  // namespace millrace::spec
