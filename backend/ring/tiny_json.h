#pragma once
// A small JSON reader for the C library, which has no dependencies: objects, lists, text, counts.
//
// Failure: parse() is false for anything else (fractions, negative numbers, deeper than 16).
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::ring {

struct TinyJson {
    enum class Kind { kNull, kBool, kCount, kText, kList, kObject };
    Kind kind = Kind::kNull;
    std::uint64_t count = 0;
    std::string text;
    std::vector<TinyJson> items;
    struct Member;
    std::vector<Member> members;

    static bool parse(std::string_view text, TinyJson& out);
    const TinyJson* find(std::string_view name) const;
    /// False when there is no such member of that kind.
    bool readCount(std::string_view name, std::uint64_t& out) const;
    bool readText(std::string_view name, std::string& out) const;
};

struct TinyJson::Member {
    std::string name;
    TinyJson value;
};

/// `text` as a JSON string with its quotes.
std::string quoteJson(std::string_view text);

}  // namespace millrace::ring
