// One pass over any text, after every key press. Invalid YAML becomes the nearest node that still
// has positions (a word without a colon is a key that is being typed). Every function leaves pos_
// after the text it consumed, and every loop advances it: no text makes it hang.
#include "app/gui/models/spec/spec_syntax_parser.h"

#include <algorithm>

namespace millrace::gui {
namespace {

constexpr int kDepthMax = 60;  ///< a text of brackets alone must not use up the stack

using NodeKind = SyntaxNode::Kind;
using Style = SyntaxNode::Style;

bool isFlowMark(QChar c) {
    return c == u',' || c == u'[' || c == u']' || c == u'{' || c == u'}';
}

}  // namespace

void SyntaxParser::run() {
    data_ = text_.constData();
    size_ = static_cast<int>(text_.size());
    if (size_ > kSpecTextMax) {
        return;
    }
    out_.nodes_.reserve(static_cast<std::size_t>(size_ / 16 + 4));
    skipToContent();
    parseBlock(-1, -1);
    while (!atEnd()) {  // the rest of a broken text: at least its comments
        skipLine();
        skipToContent();
    }
}

bool SyntaxParser::isBlankAt(int place) const {
    const QChar c = at(place);
    return place >= size_ || c == u' ' || c == u'\t' || c == u'\n' || c == u'\r';
}

int SyntaxParser::columnOf(int place) const {
    int start = place;
    while (start > 0 && data_[start - 1] != u'\n') {
        --start;
    }
    return place - start;
}

int SyntaxParser::lineEnd(int place) const {
    while (place < size_ && data_[place] != u'\n') {
        ++place;
    }
    return place;
}

void SyntaxParser::skipSpaces() {
    while (!atEnd() && (here() == u' ' || here() == u'\t' || here() == u'\r')) {
        ++pos_;
    }
}

// '#' begins a comment only after a blank: "a#b" is a word.
bool SyntaxParser::atLineEnd() const {
    return atEnd() || here() == u'\n' || (here() == u'#' && (pos_ == 0 || isBlankAt(pos_ - 1)));
}

void SyntaxParser::skipLine() {
    const int end = lineEnd(pos_);
    for (; pos_ < end; ++pos_) {
        if (atLineEnd()) {
            out_.comments_.push_back({pos_, end});
            break;
        }
    }
    pos_ = end;
}

void SyntaxParser::skipToContent() {
    while (!atEnd()) {
        skipSpaces();
        if (atEnd()) {
            return;
        }
        if (here() == u'\n') {
            ++pos_;
        } else if (atLineEnd()) {
            skipLine();
        } else if ((pos_ == 0 || data_[pos_ - 1] == u'\n') &&
                   (here() == u'%' || (at(pos_ + 1) == here() && at(pos_ + 2) == here() &&
                                       (here() == u'-' || here() == u'.')))) {
            skipLine();  // a directive or a document's mark
        } else {
            return;
        }
    }
}

void SyntaxParser::skipProperties() {
    while (here() == u'&' || here() == u'!') {
        while (!isBlankAt(pos_)) {
            ++pos_;
        }
        skipSpaces();
    }
}

int SyntaxParser::quoteEndOnLine(int place) const {
    const QChar quote = at(place);
    for (int i = place + 1; i < size_ && data_[i] != u'\n'; ++i) {
        if (data_[i] == u'\\' && quote == u'"') {
            ++i;
        } else if (data_[i] == quote) {
            if (quote == u'\'' && at(i + 1) == quote) {
                ++i;
            } else {
                return i + 1;
            }
        }
    }
    return -1;
}

int SyntaxParser::keyColon(int place) const {
    const QChar first = at(place);
    if (first == u'[' || first == u'{' || first == u'|' || first == u'>' || first == u'#') {
        return -1;
    }
    if (first == u'"' || first == u'\'') {
        int i = quoteEndOnLine(place);
        while (i >= 0 && (at(i) == u' ' || at(i) == u'\t')) {
            ++i;
        }
        return i >= 0 && at(i) == u':' && isBlankAt(i + 1) ? i : -1;
    }
    for (int i = place; i < size_ && data_[i] != u'\n'; ++i) {
        if (data_[i] == u':' && isBlankAt(i + 1)) {
            return i;
        }
        if (data_[i] == u'#' && i > place && isBlankAt(i - 1)) {
            return -1;
        }
    }
    return -1;
}

int SyntaxParser::make(int parent, int begin) {
    const int index = static_cast<int>(out_.nodes_.size());
    out_.nodes_.emplace_back();
    SyntaxNode& made = out_.nodes_.back();
    made.parent = parent;
    made.begin = made.end = begin;
    if (parent >= 0) {
        node(parent).children.push_back(index);
    }
    return index;
}

// Parses the text after "key:" or "- ". `indent`: the column of the key or the dash; lower lines
// must be indented further; a sequence may be in its key's own column. On the same line a map or
// sequence can begin after a dash ("- a: 1"), never after a key ("a: b: 1").
int SyntaxParser::parseValue(int parent, int indent, bool isMapValue) {
    const int after = pos_;
    skipSpaces();
    skipProperties();
    if (!atLineEnd()) {
        if (!isMapValue && (isDash(pos_) || keyColon(pos_) >= 0)) {
            return parseBlock(parent, indent);
        }
        return parseInline(parent, indent);
    }
    skipToContent();
    if (!atEnd()) {
        const int column = columnOf(pos_);
        if (column > indent || (isMapValue && column == indent && isDash(pos_))) {
            return parseBlock(parent, indent);
        }
    }
    return makeNull(parent, after);
}

int SyntaxParser::parseBlock(int parent, int indent) {
    if (atEnd()) {
        return makeNull(parent, size_);
    }
    const int column = columnOf(pos_);
    if (depth_ >= kDepthMax) {
        const int index = makeNull(parent, pos_);
        skipLine();
        return index;
    }
    ++depth_;
    int index = 0;
    if (isDash(pos_)) {
        index = parseSequence(parent, column);
    } else if (keyColon(pos_) >= 0 || isOrphanBeforeKey()) {
        index = parseMap(parent, column);
    } else {
        index = parseInline(parent, indent);
    }
    --depth_;
    return index;
}

// A word on a line of its own, with a key below it in the same column: a key that is being typed.
bool SyntaxParser::isOrphanBeforeKey() const {
    const int column = columnOf(pos_);
    int next = lineEnd(pos_);
    while (next < size_) {
        int content = next + 1;
        while (content < size_ && (data_[content] == u' ' || data_[content] == u'\r')) {
            ++content;
        }
        if (content < size_ && data_[content] != u'\n' && data_[content] != u'#') {
            return content - next - 1 == column && !isDash(content) && keyColon(content) >= 0;
        }
        next = lineEnd(content);
    }
    return false;
}

int SyntaxParser::parseMap(int parent, int column) {
    const int index = make(parent, pos_);
    node(index).kind = NodeKind::kMap;
    node(index).style = Style::kBlock;
    node(index).column = column;
    while (!atEnd()) {
        const int here = columnOf(pos_);
        if (here < column || (here == column && isDash(pos_))) {
            break;
        }
        if (here > column) {  // indented too far: belongs to nothing
            skipLine();
        } else if (keyColon(pos_) >= 0) {
            parseMember(index, column);
        } else {
            parseOrphan(index);
        }
        skipToContent();
    }
    const SyntaxNode& last = node(node(index).children.back());
    node(index).end = std::max(last.end, last.keyEnd);
    return index;
}

void SyntaxParser::parseMember(int map, int column) {
    const int begin = pos_, colon = keyColon(pos_);
    int end = colon;
    while (end > begin && isBlankAt(end - 1)) {
        --end;
    }
    pos_ = colon + 1;
    const int value = parseValue(map, column, true);
    SyntaxNode& made = node(value);
    made.entryBegin = made.keyBegin = begin;
    made.keyEnd = end;
    made.key = unquoted(QStringView(text_).mid(begin, end - begin));
}

// A key without a colon: the completion offers what it could become.
void SyntaxParser::parseOrphan(int map) {
    const int begin = pos_, end = plainEnd(pos_);
    const int index = makeNull(map, end);
    SyntaxNode& made = node(index);
    made.entryBegin = made.keyBegin = begin;
    made.keyEnd = end;
    made.hasColon = false;
    made.key = text_.mid(begin, end - begin);
    pos_ = std::max(end, begin + 1);
    skipLine();
}

int SyntaxParser::parseSequence(int parent, int column) {
    const int index = make(parent, pos_);
    node(index).kind = NodeKind::kSequence;
    node(index).style = Style::kBlock;
    node(index).column = column;
    while (!atEnd()) {
        const int here = columnOf(pos_);
        if (here < column || (here == column && !isDash(pos_))) {
            break;
        }
        if (here > column) {
            skipLine();
        } else {
            const int dash = pos_++;
            const int item = parseValue(index, column, false);
            node(item).entryBegin = dash;
            node(index).end = std::max(node(item).end, dash + 1);
        }
        skipToContent();
    }
    return index;
}

int SyntaxParser::parseInline(int parent, int indent) {
    const QChar c = here();
    int index = 0;
    if (c == u'|' || c == u'>') {
        return parseBlockScalar(parent, indent);
    }
    if (c == u'[' || c == u'{') {
        index = parseFlow(parent, indent);
    } else if (c == u'"' || c == u'\'') {
        index = parseQuoted(parent, indent);
    } else {
        return parsePlain(parent, indent);
    }
    skipLine();  // after a closed quote or bracket only a comment may follow; all else is an error
    return index;
}

int SyntaxParser::plainEnd(int place) const {
    int end = place;
    for (int i = place; i < size_ && data_[i] != u'\n'; ++i) {
        if (data_[i] == u'#' && i > place && isBlankAt(i - 1)) {
            break;
        }
        if (!isBlankAt(i)) {
            end = i + 1;
        }
    }
    return end;
}

/// Returns where a plain scalar continues after the line that ends at `lineEnd`, or -1.
int SyntaxParser::continuationOf(int lineEnd, int indent) const {
    int next = lineEnd;
    while (next < size_ && data_[next] == u'\n') {
        int content = next + 1;
        while (content < size_ && (data_[content] == u' ' || data_[content] == u'\r')) {
            ++content;
        }
        if (content >= size_) {
            return -1;
        }
        if (data_[content] == u'\n') {
            next = content;
            continue;
        }
        const bool isMark = content == next + 1 && at(content) == u'-' && at(content + 1) == u'-';
        const bool goesOn = content - next - 1 > indent && data_[content] != u'#' && !isMark &&
                            keyColon(content) < 0;
        return goesOn ? content : -1;
    }
    return -1;
}

// A plain scalar continues over lines that are indented further, up to a comment or the next key.
int SyntaxParser::parsePlain(int parent, int indent) {
    const int index = make(parent, pos_);
    int end = plainEnd(pos_);
    int next = 0;
    while (next >= 0) {
        const int stop = lineEnd(end);
        bool hasComment = false;
        for (int i = end; i < stop; ++i) {
            hasComment = hasComment || data_[i] == u'#';
        }
        next = hasComment ? -1 : continuationOf(stop, indent);
        end = next >= 0 ? plainEnd(next) : end;
    }
    node(index).kind = end > pos_ ? NodeKind::kScalar : NodeKind::kNull;
    node(index).end = end;
    pos_ = std::max(end, pos_ + 1);
    skipLine();
    return index;
}

// An unclosed quote ends before the first line that is not indented further, so that the rest of
// the text keeps its colours while it is typed.
int SyntaxParser::parseQuoted(int parent, int indent) {
    const int index = make(parent, pos_);
    const QChar quote = here();
    node(index).kind = NodeKind::kScalar;
    node(index).style = quote == u'"' ? Style::kDouble : Style::kSingle;
    int i = pos_ + 1;
    for (; i < size_; ++i) {
        const QChar c = data_[i];
        if (c == u'\\' && quote == u'"') {
            ++i;
        } else if (c == quote && quote == u'\'' && at(i + 1) == quote) {
            ++i;
        } else if (c == quote) {
            node(index).end = pos_ = i + 1;
            return index;
        } else if (c == u'\n') {
            int content = i + 1;
            while (content < size_ && (data_[content] == u' ' || data_[content] == u'\r')) {
                ++content;
            }
            const bool isBlank = content < size_ && data_[content] == u'\n';
            if (!isBlank && (content >= size_ || content - i - 1 <= indent)) {
                break;
            }
        }
    }
    node(index).isOpen = true;
    node(index).end = pos_ = std::min(i, size_);
    return index;
}

// "|" and ">": the first line with text sets the indentation, unless a digit does ("|2").
int SyntaxParser::parseBlockScalar(int parent, int indent) {
    const int index = make(parent, pos_);
    node(index).kind = NodeKind::kScalar;
    node(index).style = Style::kBlockScalar;
    int blockIndent = 0;
    for (int i = pos_ + 1; i < size_ && !isBlankAt(i); ++i) {
        if (data_[i].isDigit()) {
            blockIndent = std::max(indent, 0) + data_[i].digitValue();
        }
    }
    int end = plainEnd(pos_);
    skipLine();
    while (!atEnd()) {
        int content = pos_ + 1;
        while (content < size_ && (data_[content] == u' ' || data_[content] == u'\r')) {
            ++content;
        }
        const bool isBlank = content >= size_ || data_[content] == u'\n';
        const int column = content - pos_ - 1;
        if (!isBlank && blockIndent == 0) {
            blockIndent = std::max(column, indent + 1);
        }
        if (!isBlank && column < blockIndent) {
            break;
        }
        const int stop = lineEnd(content);
        end = isBlank ? end : stop;
        pos_ = stop;
    }
    node(index).end = end;
    pos_ = std::max(pos_, end);
    return index;
}

int SyntaxParser::parseFlow(int parent, int indent) {
    const int index = make(parent, pos_);
    const bool isMap = here() == u'{';
    node(index).kind = isMap ? NodeKind::kMap : NodeKind::kSequence;
    node(index).style = Style::kFlow;
    if (++depth_ > kDepthMax) {
        pos_ = lineEnd(pos_);
    } else {
        ++pos_;
    }
    bool isClosed = false;
    while (skipInFlow(indent)) {
        const int before = pos_;
        if (here() == (isMap ? u'}' : u']')) {
            ++pos_;
            isClosed = true;
            break;
        }
        if (here() == u',' || here() == u']' || here() == u'}') {
            ++pos_;
        } else if (isMap) {
            parseFlowMember(index, indent);
        } else {
            parseFlowItem(index, indent);
        }
        pos_ = std::max(pos_, before + 1);
    }
    --depth_;
    int end = std::min(pos_, size_);
    while (!isClosed && end > node(index).begin + 1 && isBlankAt(end - 1)) {
        --end;
    }
    node(index).isOpen = !isClosed;
    node(index).end = end;
    return index;
}

/// Skips blanks and comments. Returns false where an open bracket ends: at the end of the text or
/// before a line that is not indented further than its owner.
bool SyntaxParser::skipInFlow(int indent) {
    while (!atEnd()) {
        skipSpaces();
        if (atEnd()) {
            return false;
        }
        if (here() == u'#' && isBlankAt(pos_ - 1)) {
            skipLine();
        } else if (here() != u'\n') {
            return true;
        } else {
            int content = pos_ + 1;
            while (content < size_ && (data_[content] == u' ' || data_[content] == u'\r')) {
                ++content;
            }
            const QChar c = at(content);
            const bool isFree = content >= size_ || c == u'\n' || c == u'#' || isFlowMark(c);
            if (!isFree && content - pos_ - 1 <= indent) {
                return false;
            }
            ++pos_;
        }
    }
    return false;
}

void SyntaxParser::parseFlowMember(int map, int indent) {
    const int begin = pos_;
    // The key is read as a value, then removed from the tree again.
    const int keyNode = parseFlowValue(map, indent);
    const int keyEnd = node(keyNode).end;
    const QString key = node(keyNode).isScalar() ? out_.value(keyNode) : QString();
    node(map).children.pop_back();
    out_.nodes_.resize(static_cast<std::size_t>(keyNode));
    const int afterKey = pos_;
    const bool goesOn = skipInFlow(indent);
    const bool hasColon = goesOn && here() == u':';
    int value = -1;
    if (hasColon) {
        ++pos_;
        const int after = pos_;
        const bool hasValue =
            skipInFlow(indent) && here() != u',' && here() != u'}' && here() != u']';
        value = hasValue ? parseFlowValue(map, indent) : makeNull(map, after);
    } else {
        pos_ = afterKey;
        value = makeNull(map, keyEnd);
    }
    SyntaxNode& made = node(value);
    made.entryBegin = made.keyBegin = begin;
    made.keyEnd = keyEnd;
    made.hasColon = hasColon;
    made.key = key;
}

void SyntaxParser::parseFlowItem(int sequence, int indent) {
    const int begin = pos_;
    const int item = parseFlowValue(sequence, indent);
    node(item).entryBegin = begin;
    const int after = pos_;
    if (!skipInFlow(indent) || here() != u':' || !node(item).isScalar()) {
        pos_ = after;
        return;
    }
    // [a: b] is a list of a map with one member.
    const QString key = out_.value(item);
    const int keyEnd = node(item).end;
    node(item) = SyntaxNode{};
    node(item).kind = NodeKind::kMap;
    node(item).style = Style::kFlow;
    node(item).begin = node(item).entryBegin = begin;
    node(item).parent = sequence;
    ++pos_;
    const int valueAt = pos_;
    const bool hasValue = skipInFlow(indent) && !isFlowMark(here());
    const int value = hasValue ? parseFlowValue(item, indent) : makeNull(item, valueAt);
    node(value).keyBegin = node(value).entryBegin = begin;
    node(value).keyEnd = keyEnd;
    node(value).key = key;
    node(item).end = std::max(node(value).end, valueAt);
}

int SyntaxParser::parseFlowValue(int parent, int indent) {
    skipProperties();
    const QChar c = here();
    if (c == u'[' || c == u'{') {
        return parseFlow(parent, indent);
    }
    if (c == u'"' || c == u'\'') {
        return parseQuoted(parent, indent);
    }
    return parseFlowPlain(parent, indent);
}

int SyntaxParser::parseFlowPlain(int parent, int indent) {
    const int index = make(parent, pos_);
    int end = pos_;
    while (skipInFlow(indent)) {
        const int start = pos_;
        while (!atEnd() && here() != u'\n' && !isFlowMark(here()) &&
               !(here() == u'#' && isBlankAt(pos_ - 1)) &&
               !(here() == u':' && (isBlankAt(pos_ + 1) || isFlowMark(at(pos_ + 1))))) {
            ++pos_;
            end = isBlankAt(pos_ - 1) ? end : pos_;
        }
        if (pos_ == start || here() != u'\n') {
            break;
        }
    }
    node(index).kind = end > node(index).begin ? NodeKind::kScalar : NodeKind::kNull;
    node(index).end = end;
    pos_ = std::max(end, node(index).begin);
    return index;
}

}  // namespace millrace::gui
