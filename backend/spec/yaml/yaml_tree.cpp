#include "backend/spec/yaml/yaml_tree.h"

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include "backend/text/text.h"
#include "backend/text/utf8.h"

namespace millrace::spec {
namespace {

// Aliases can make a small text a tree of any size ("billion laughs"): nodes are counted as often
// as they are used.
constexpr std::size_t kDepthMax = 50;
constexpr std::size_t kNodesMax = 100'000;

/// Thrown inside the handler, caught in parseYaml: yaml-cpp cannot be stopped in another way.
struct Refusal {
    SpecError error;
};

/// yaml-cpp counts lines from 0 and columns in bytes.
class Lines {
 public:
    explicit Lines(std::string_view text) : text_(text) {
        starts_.push_back(0);
        for (std::size_t i = 0; i < text.size(); ++i) {
            if (text[i] == '\n') {
                starts_.push_back(i + 1);
            }
        }
    }
    std::size_t offset(const YAML::Mark& mark) const {
        const auto line = static_cast<std::size_t>(std::max(mark.line, 0));
        const std::size_t start = line < starts_.size() ? starts_[line] : text_.size();
        return std::min(start + static_cast<std::size_t>(std::max(mark.column, 0)), text_.size());
    }
    /// The text of the mark's line.
    std::string_view lineOf(const YAML::Mark& mark) const {
        const auto line = static_cast<std::size_t>(std::max(mark.line, 0));
        const std::size_t start = line < starts_.size() ? starts_[line] : text_.size();
        return text_.substr(start, text_.find('\n', start) - start);
    }
    expr::Position position(const YAML::Mark& mark) const {
        if (mark.is_null()) {
            return {};
        }
        const std::size_t end = offset(mark);
        const auto line = static_cast<std::size_t>(std::max(mark.line, 0));
        const std::size_t start = std::min(line < starts_.size() ? starts_[line] : end, end);
        if (start != lastStart_ || end < lastEnd_) {  // else: continues from the previous position
            lastStart_ = lastEnd_ = start;
            lastColumn_ = 1;
        }
        lastColumn_ +=
            expr::positionAt(text_.substr(lastEnd_, end - lastEnd_), end - lastEnd_).column - 1;
        lastEnd_ = end;
        return {mark.line + 1, lastColumn_};
    }

 private:
    std::string_view text_;
    std::vector<std::size_t> starts_;
    mutable std::size_t lastStart_ = 0, lastEnd_ = 0;
    mutable int lastColumn_ = 1;
};

class TreeBuilder final : public YAML::EventHandler {
 public:
    TreeBuilder(const Lines& lines, bool isSet) : lines_(lines), isSet_(isSet) {}

    YamlNode takeRoot() { return std::move(root_); }

    void OnDocumentStart(const YAML::Mark&) override {}
    void OnDocumentEnd() override {}
    void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
        add(made(YamlNode::Kind::kNull, mark), anchor);
    }
    void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
        const auto it = anchors_.find(anchor);
        if (it == anchors_.end()) {
            // The anchor is registered only when its node is complete.
            refuse(mark, "syntax", "an alias cannot be inside the node that it names");
        }
        count(mark, it->second.numNodes);
        add(YamlNode(it->second), 0);
    }
    void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  const std::string& value) override {
        YamlNode node = made(YamlNode::Kind::kScalar, mark);
        node.text = value;
        // yaml-cpp gives quoted scalars the tag "!" (YAML 1.2, section 6.9.1).
        node.isQuoted = tag == "!" || tag == "tag:yaml.org,2002:str";
        add(std::move(node), anchor);
    }
    void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                         YAML::EmitterStyle::value) override {
        open(YamlNode::Kind::kSequence, mark, anchor);
    }
    void OnSequenceEnd() override { close(); }
    void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                    YAML::EmitterStyle::value) override {
        open(YamlNode::Kind::kMap, mark, anchor);
    }
    void OnMapEnd() override { close(); }

 private:
    struct Frame {
        YamlNode node;
        YAML::anchor_t anchor = 0;
        std::set<std::string> keys;
        bool hasKey = false;  ///< in a map: the next node is the value of `key`
        std::string key;
        expr::Position keyPosition;
    };

    [[noreturn]] void refuse(const YAML::Mark& mark, const char* code, std::string message) {
        const expr::Position at = isSet_ ? expr::Position{} : lines_.position(mark);
        throw Refusal{{at.line, at.column, std::move(message), "", code}};
    }

    void count(const YAML::Mark& mark, std::size_t nodes) {
        numNodes_ += nodes;
        if (numNodes_ > kNodesMax) {
            refuse(mark, "limit",
                   strCat("a spec has at most ", formatCount(kNodesMax),
                          " values; aliases count as often as they are used"));
        }
    }

    YamlNode made(YamlNode::Kind kind, const YAML::Mark& mark) {
        count(mark, 1);
        YamlNode node;
        node.kind = kind;
        node.isSet = isSet_;
        if (!isSet_) {
            node.position = lines_.position(mark);
            node.offset = lines_.offset(mark);
        }
        return node;
    }

    void open(YamlNode::Kind kind, const YAML::Mark& mark, YAML::anchor_t anchor) {
        if (frames_.size() >= kDepthMax) {
            refuse(mark, "limit", strCat("a spec is at most ", kDepthMax, " levels deep"));
        }
        Frame frame;
        frame.node = made(kind, mark);
        frame.anchor = anchor;
        frames_.push_back(std::move(frame));
    }

    void close() {
        Frame frame = std::move(frames_.back());
        frames_.pop_back();
        add(std::move(frame.node), frame.anchor);
    }

    void add(YamlNode node, YAML::anchor_t anchor) {
        if (anchor != 0) {
            count(YAML::Mark(), node.numNodes);  // counts the stored copy
            anchors_[anchor] = node;
        }
        if (frames_.empty()) {
            root_ = std::move(node);
            return;
        }
        Frame& frame = frames_.back();
        if (frame.node.isSequence()) {
            frame.node.numNodes += node.numNodes;
            frame.node.items.push_back(std::move(node));
        } else if (!frame.hasKey) {
            addKey(frame, node);
        } else {
            frame.node.numNodes += node.numNodes;
            frame.node.members.push_back(
                {std::move(frame.key), frame.keyPosition, std::move(node)});
            frame.hasKey = false;
        }
    }

    void addKey(Frame& frame, const YamlNode& node) {
        if (!node.isScalar() && !node.isNull()) {
            throw Refusal{{node.position.line, node.position.column,
                           strCat("a key must be plain text, not ", node.describe()), "",
                           "syntax"}};
        }
        frame.key = node.isNull() ? "null" : node.text;
        frame.keyPosition = node.position;
        frame.hasKey = true;
        // yaml-cpp accepts a key that occurs twice, which YAML forbids (1.2, section 3.2.1.1).
        if (!frame.keys.insert(frame.key).second) {
            throw Refusal{{node.position.line, node.position.column,
                           strCat("the key '", frame.key.substr(0, 60), "' appears twice"), "",
                           "duplicate"}};
        }
    }

    const Lines& lines_;
    const bool isSet_;
    std::vector<Frame> frames_;
    std::map<YAML::anchor_t, YamlNode> anchors_;
    std::size_t numNodes_ = 0;
    YamlNode root_;
};

std::optional<YamlNode> parseWith(std::string_view text, bool isSet, const Lines& lines) {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    TreeBuilder builder(lines, isSet);
    if (!parser.HandleNextDocument(builder)) {
        return YamlNode{};
    }
    YamlNode root = builder.takeRoot();
    // A second document is parsed only to say where it begins.
    TreeBuilder second(lines, isSet);
    if (parser.HandleNextDocument(second)) {
        throw Refusal{{second.takeRoot().position.line, 1,
                       isSet ? strCat(kNotYaml, "more text follows its value")
                             : "a spec is one YAML document; remove what follows '---'",
                       "", "syntax"}};
    }
    return root;
}

}  // namespace

const YamlNode* YamlNode::find(std::string_view key) const {
    for (const Member& member : members) {
        if (member.key == key) {
            return &member.value;
        }
    }
    return nullptr;
}

YamlNode* YamlNode::find(std::string_view key) {
    return const_cast<YamlNode*>(static_cast<const YamlNode*>(this)->find(key));
}

YamlNode YamlNode::within(std::string_view key) const {
    YamlNode map;
    map.kind = Kind::kMap;
    map.isSet = isSet;
    map.position = position;
    map.offset = offset;
    map.members.push_back({std::string(key), position, *this});
    return map;
}

std::string YamlNode::describe() const {
    switch (kind) {
        case Kind::kNull:
            return "nothing";
        case Kind::kMap:
            return "a map";
        case Kind::kSequence:
            return "a list";
        default:
            return strCat("'", text.size() > 60 ? strCat(text.substr(0, 57), "...") : text, "'");
    }
}

std::optional<YamlNode> parseYaml(std::string_view text, bool isSet, SpecErrors& errors) {
    if (text.size() > kSpecBytesMax) {
        errors.push_back({0, 0,
                          strCat("the spec has ", formatBytes(static_cast<double>(text.size())),
                                 "; at most 1 MB is read (is this the right file?)"),
                          "", "limit"});
        return std::nullopt;
    }
    // yaml-cpp would accept UTF-16 and UTF-32, which other programs that show the text do not.
    if (const std::optional<BadByte> bad = findBadByte(text)) {
        errors.push_back({bad->line, bad->column,
                          "not UTF-8; 'iconv -f ENCODING -t UTF-8' converts a text, from the "
                          "encoding that it has (latin1, UTF-16)",
                          "", "syntax"});
        return std::nullopt;
    }
    if (text.find('\0') != std::string_view::npos) {
        errors.push_back({1, 1,
                          "holds zero bytes, as UTF-16 and UTF-32 do; 'iconv -f UTF-16 -t UTF-8' "
                          "converts such a text",
                          "", "syntax"});
        return std::nullopt;
    }
    const Lines lines(text);
    try {
        return parseWith(text, isSet, lines);
    } catch (const Refusal& refusal) {
        errors.push_back(refusal.error);
    } catch (const YAML::Exception& e) {
        const expr::Position at = isSet ? expr::Position{} : lines.position(e.mark);
        // Inside braces and brackets, YAML ends a plain value at the { of ${name}.
        const std::string_view line = lines.lineOf(e.mark);
        const bool isParamUse = line.find("${") != std::string_view::npos;
        const bool hasTab =
            line.substr(0, line.find_first_not_of(" \t")).find('\t') != std::string_view::npos;
        errors.push_back(
            {at.line, at.column,
             strCat(kNotYaml, e.msg,
                    hasTab       ? "; indent lines with spaces, which YAML needs, not with tabs"
                    : isParamUse ? "; within {} and [] put a value that holds ${...} "
                                   "in double quotes"
                    : e.msg.starts_with("end of ")
                        ? "; within {} and [] put a value that holds a comma, a bracket "
                          "or a quote in single quotes"
                        : ""),
             "", "syntax"});
    } catch (const std::exception& e) {
        errors.push_back({0, 0, strCat(kNotYaml, e.what()), "", "syntax"});
    }
    return std::nullopt;
}

}  // namespace millrace::spec
