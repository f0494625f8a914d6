#pragma once
// SpecSyntax: the YAML of a spec as a tree with positions, even while it is being typed.
//
// Reads all that spec::SpecReader reads, and recovers from errors: an open bracket or quote ends
// where the indentation implies it, a word at a key's position is a member without a colon. The
// reader decides whether a text is valid; this is for positions: highlighting, completion, and
// edits that leave everything else unchanged. Threads: an immutable value; 2,000 lines take about a
// millisecond. Bounded: above kSpecTextMax characters and below 60 levels nothing is read.
#include <QString>
#include <QStringView>
#include <cstdint>
#include <vector>

namespace millrace::gui {

/// The reader's limit (1 MB), which an editor can handle.
inline constexpr int kSpecTextMax = 1'000'000;

struct SyntaxNode {
    enum class Kind : std::uint8_t { kNull, kScalar, kSequence, kMap };
    enum class Style : std::uint8_t { kPlain, kSingle, kDouble, kBlockScalar, kBlock, kFlow };

    Kind kind = Kind::kNull;
    Style style = Style::kPlain;
    bool hasColon = true;            ///< false: a word at the position of `key:`
    bool isOpen = false;             ///< a quote or bracket that is not closed
    int begin = 0, end = 0;          ///< of the value: UTF-16, [begin, end)
    int keyBegin = -1, keyEnd = -1;  ///< of a member's key, quotes included
    int entryBegin = 0;              ///< the item's '-', or the member's key
    int parent = -1;
    int column = 0;  ///< of a block collection's entries, from 0
    QString key;     ///< without quotes
    std::vector<int> children;

    bool isMap() const { return kind == Kind::kMap; }
    bool isSequence() const { return kind == Kind::kSequence; }
    bool isScalar() const { return kind == Kind::kScalar; }
    bool isNull() const { return kind == Kind::kNull; }
    bool isFlow() const { return style == Style::kFlow; }
};

struct TextRange {
    int begin = 0, end = 0;
    bool operator==(const TextRange&) const = default;
};

class SpecSyntax {
 public:
    explicit SpecSyntax(QString text = {});

    const QString& text() const { return text_; }
    bool isEmpty() const { return nodes_.empty(); }
    int root() const { return nodes_.empty() ? -1 : 0; }
    const SyntaxNode& node(int index) const { return nodes_[static_cast<std::size_t>(index)]; }
    int numNodes() const { return static_cast<int>(nodes_.size()); }
    /// In order, without their line ends.
    const std::vector<TextRange>& comments() const { return comments_; }

    /// The member of a map; -1 if there is none.
    int member(int map, QStringView key) const;
    /// A scalar without quotes, escapes and folding; "" for every other node.
    QString value(int index) const;
    /// The node's text, unchanged.
    QString raw(int index) const;
    /// On one line; a collection as a flow collection.
    QString inlined(int index) const;
    /// The deepest node whose key or value contains the position; -1: none.
    int at(int place) const;

 private:
    friend class SyntaxParser;
    QString text_;
    std::vector<SyntaxNode> nodes_;
    std::vector<TextRange> comments_;
};

/// Undoes quotes and escapes of a scalar as written.
QString unquoted(QStringView raw);
/// Text as a YAML scalar on one line: plain if that reads back as the same text, else quoted.
/// `isFlow`: inside brackets. `isText`: also quotes words like true and 12.
QString quotedScalar(const QString& text, bool isFlow, bool isText);

}  // namespace millrace::gui
