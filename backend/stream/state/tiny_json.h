#pragma once
// A small JSON for the C library, which has no dependencies: objects, lists, text, counts.
//
// TinyJson reads a document, TinyJsonMembers reads its members and keeps a message for the first
// wrong one, TinyJsonText writes an object. Threads: values. Failure: parse() is false for anything
// else (fractions, negative numbers, counts over kMaxCount, deeper than 16).
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::stream {

struct TinyJson {
    enum class Kind { kNull, kBool, kCount, kText, kList, kObject };
    Kind kind = Kind::kNull;
    std::int64_t count = 0;
    std::string text;
    std::vector<TinyJson> items;
    struct Member;
    std::vector<Member> members;

    static bool parse(std::string_view text, TinyJson& out);
    bool isCount() const { return kind == Kind::kCount; }
    /// The first member of that name; null if there is none.
    const TinyJson* find(std::string_view name) const;
    /// Returns false if it has no member of that name and kind.
    bool readCount(std::string_view name, std::int64_t& out) const;
    bool readText(std::string_view name, std::string& out) const;
    /// Reads a list of two counts; returns false for anything else.
    bool readPair(std::int64_t& first, std::int64_t& second) const;
};

struct TinyJson::Member {
    std::string name;
    TinyJson value;
};

/// Reads the required members of an object. Check wrong() after the reads; until then reads return
/// defaults.
class TinyJsonMembers {
 public:
    explicit TinyJsonMembers(const TinyJson& object);
    std::int64_t count(const char* name);
    /// For a member that may be absent.
    std::int64_t countOr(const char* name, std::int64_t absent);
    /// 32 lower-case hex digits.
    std::string hash(const char* name);
    const TinyJson& list(const char* name);
    const TinyJson& object(const char* name);
    /// Returns "", or the error of the first wrong member.
    const std::string& wrong() const { return wrong_; }

 private:
    const TinyJson& member(const char* name, TinyJson::Kind kind, const char* what);
    const TinyJson& object_;
    std::string wrong_;
};

/// Writes the members of an object in the order of the calls, without spaces.
class TinyJsonText {
 public:
    TinyJsonText& count(const char* name, std::int64_t value);
    TinyJsonText& text(const char* name, std::string_view value);
    TinyJsonText& counts(const char* name, const std::map<std::string, std::int64_t>& values);
    /// `json`: the value's text.
    TinyJsonText& member(const char* name, std::string_view json);
    /// A list of pairs of counts.
    template <class Items, class Item>
    TinyJsonText& pairs(const char* name, const Items& items, std::int64_t Item::* first,
                        std::int64_t Item::* second) {
        std::string list;
        for (const Item& item : items) {
            list += list.empty() ? "[" : ",[";
            list += std::to_string(item.*first) + "," + std::to_string(item.*second) + "]";
        }
        return member(name, "[" + list + "]");
    }
    std::string object() const { return "{" + text_ + "}"; }

 private:
    std::string text_;
};

/// `text` as a JSON string with its quotes.
std::string quoteJson(std::string_view text);

}  // namespace millrace::stream
