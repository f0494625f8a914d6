#include "backend/text/utf8.h"

#include <cstdint>
#include <cstring>

namespace millrace {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

struct Piece {
    std::size_t size = 1;  // bytes to advance
    bool isValid = false;
};

bool isBetween(char c, unsigned char low, unsigned char high) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= low && byte <= high;
}

// Table 3-7 of the Unicode standard: a sequence's length and the range of its second byte. It
// excludes overlong forms, surrogates and code points above U+10FFFF.
struct Lead {
    std::size_t size;
    unsigned char low, high;
};

Lead leadOf(unsigned char byte) {
    if (byte >= 0xc2 && byte <= 0xdf) {
        return {2, 0x80, 0xbf};
    }
    if (byte >= 0xe0 && byte <= 0xef) {
        return {3, static_cast<unsigned char>(byte == 0xe0 ? 0xa0 : 0x80),
                static_cast<unsigned char>(byte == 0xed ? 0x9f : 0xbf)};
    }
    if (byte >= 0xf0 && byte <= 0xf4) {
        return {4, static_cast<unsigned char>(byte == 0xf0 ? 0x90 : 0x80),
                static_cast<unsigned char>(byte == 0xf4 ? 0x8f : 0xbf)};
    }
    return {1, 0, 0};
}

Piece pieceAt(std::string_view text, std::size_t at) {
    const auto first = static_cast<unsigned char>(text[at]);
    if (first < 0x80) {
        return {1, true};
    }
    const Lead lead = leadOf(first);
    std::size_t size = 1;
    while (size < lead.size && at + size < text.size() &&
           isBetween(text[at + size], size == 1 ? lead.low : 0x80, size == 1 ? lead.high : 0xbf)) {
        ++size;
    }
    return {size, lead.size > 1 && size == lead.size};
}

// Number of plain ASCII bytes from `at` on, eight at a time: nearly all text is ASCII.
std::size_t asciiFrom(std::string_view text, std::size_t at) {
    constexpr std::uint64_t kHighBits = 0x8080808080808080U;
    std::size_t end = at;
    std::uint64_t word = 0;
    for (; end + sizeof word <= text.size(); end += sizeof word) {
        std::memcpy(&word, text.data() + end, sizeof word);
        if ((word & kHighBits) != 0) {
            break;
        }
    }
    return end - at;
}

}  // namespace

std::size_t utf8Prefix(std::string_view text) {
    std::size_t at = 0;
    while (at < text.size()) {
        at += asciiFrom(text, at);
        if (at == text.size()) {
            break;
        }
        const Piece piece = pieceAt(text, at);
        if (!piece.isValid) {
            return at;
        }
        at += piece.size;
    }
    return at;
}

bool isUtf8(std::string_view bytes) {
    return utf8Prefix(bytes) == bytes.size();
}

std::string toUtf8(std::string_view bytes, std::size_t mostBytes) {
    // Text far after the cut is not examined.
    const std::string_view text = mostBytes < bytes.size() ? bytes.substr(0, mostBytes + 4) : bytes;
    const std::size_t valid = utf8Prefix(text);
    if (valid == bytes.size() && valid <= mostBytes) {
        return std::string(bytes);
    }
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
        const Piece piece = pieceAt(text, at);
        const std::string_view next = piece.isValid ? text.substr(at, piece.size) : kReplacement;
        if (out.size() + next.size() > mostBytes) {
            break;
        }
        out += next;
        at += piece.size;
    }
    return out;
}

std::optional<BadByte> findBadByte(std::string_view text) {
    const std::size_t end = utf8Prefix(text);
    if (end == text.size()) {
        return std::nullopt;
    }
    BadByte bad;
    bad.byte = static_cast<unsigned char>(text[end]);
    for (const char c : text.substr(0, end)) {
        const bool isContinuation = isBetween(c, 0x80, 0xbf);
        bad.line += c == '\n' ? 1 : 0;
        bad.column = c == '\n' ? 1 : bad.column + (isContinuation ? 0 : 1);
    }
    return bad;
}

}  // namespace millrace
