#pragma once
// SyntaxParser: the pass that builds a SpecSyntax. Private to this folder.
#include "app/gui/models/spec/spec_syntax.h"

namespace millrace::gui {

class SyntaxParser {
 public:
    explicit SyntaxParser(SpecSyntax& out) : out_(out), text_(out.text_) {}
    void run();

 private:
    QChar at(int place) const { return place < size_ ? data_[place] : QChar(u'\0'); }
    QChar here() const { return at(pos_); }
    bool atEnd() const { return pos_ >= size_; }
    bool atLineEnd() const;
    bool isBlankAt(int place) const;
    int columnOf(int place) const;
    int lineEnd(int place) const;

    void skipSpaces();
    void skipToContent();
    void skipLine();
    void skipProperties();
    bool isDash(int place) const { return at(place) == u'-' && isBlankAt(place + 1); }
    /// The position of the ':' of a key that begins here on this line; -1: none.
    int keyColon(int place) const;
    int quoteEndOnLine(int place) const;

    int make(int parent, int begin);
    SyntaxNode& node(int index) { return out_.nodes_[static_cast<std::size_t>(index)]; }
    int makeNull(int parent, int place) { return make(parent, place); }
    int parseValue(int parent, int indent, bool isMapValue);
    int parseBlock(int parent, int indent);
    int parseInline(int parent, int indent);
    int parseMap(int parent, int column);
    void parseMember(int map, int column);
    void parseOrphan(int map);
    bool isOrphanBeforeKey() const;
    int parseSequence(int parent, int column);
    int parseFlow(int parent, int indent);
    bool skipInFlow(int indent);
    void parseFlowMember(int map, int indent);
    void parseFlowItem(int sequence, int indent);
    int parseFlowValue(int parent, int indent);
    int parseFlowPlain(int parent, int indent);
    int parseQuoted(int parent, int indent);
    int parsePlain(int parent, int indent);
    int plainEnd(int place) const;
    int continuationOf(int lineEnd, int indent) const;
    int parseBlockScalar(int parent, int indent);

    SpecSyntax& out_;
    const QString& text_;
    const QChar* data_ = nullptr;
    int size_ = 0, pos_ = 0, depth_ = 0;
};

}  // namespace millrace::gui
