#pragma once
// Parses YAML text into a plain tree with positions. Private to spec; yaml-cpp's types stay in the
// .cpp.
//
// Failure: errors as values. At most 1 MB of text, 50 levels and 100,000 nodes (aliases count each
// time they are used), one document, unique keys that are plain text.
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/spec/spec_reader.h"

namespace millrace::spec {

inline constexpr std::size_t kSpecBytesMax = 1'000'000;
/// How the message about a text that is not YAML begins.
inline constexpr std::string_view kNotYaml = "not YAML: ";

struct YamlNode {
    enum class Kind { kNull, kScalar, kSequence, kMap };
    struct Member;

    Kind kind = Kind::kNull;
    std::string text;          ///< of a scalar
    bool isQuoted = false;     ///< quoted or a block: text, never a number or bool
    bool isSet = false;        ///< from --set: no position in the text
    expr::Position position;   ///< where it begins
    std::size_t offset = 0;    ///< byte where it begins
    std::size_t numNodes = 1;  ///< of the subtree
    std::vector<YamlNode> items;
    std::vector<Member> members;

    bool isNull() const { return kind == Kind::kNull; }
    bool isScalar() const { return kind == Kind::kScalar; }
    bool isSequence() const { return kind == Kind::kSequence; }
    bool isMap() const { return kind == Kind::kMap; }
    const YamlNode* find(std::string_view key) const;
    YamlNode* find(std::string_view key);
    /// A map at this node's position with this node as its only member.
    YamlNode within(std::string_view key) const;
    /// "a map", "a list", "the number 3", "the text 'x'", "nothing": for messages.
    std::string describe() const;
};

struct YamlNode::Member {
    std::string key;
    expr::Position keyPosition;
    YamlNode value;
};

/// Returns nothing after an error, which is appended. `isSet` marks all nodes as --set's.
std::optional<YamlNode> parseYaml(std::string_view text, bool isSet, SpecErrors& errors);

}  // namespace millrace::spec
