#pragma once
// YAML tree -> canonical JSON by the key table: unknown keys, types, ranges, defaults, syntax of
// expressions. Private to spec.
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/spec/key_table.h"
#include "backend/spec/params/params.h"
#include "backend/spec/spec_reader.h"
#include "backend/spec/yaml/yaml_tree.h"
#include "backend/text/json.h"

namespace millrace::spec {

inline constexpr std::size_t kErrorsMax = 20;

/// Maps byte `offset` of the scalar at `start` to its byte in the text: undoes quotes, escapes,
/// folding and indentation.
std::size_t scalarByte(std::string_view text, std::size_t start, std::size_t offset);

class TreeReader {
 public:
    /// Nodes' offsets refer to `text`. `params` are those of the tree.
    TreeReader(std::string_view text, const Params& params, SpecErrors& errors)
        : text_(text), params_(params), errors_(errors) {}

    Json readRoot(const YamlNode& root);
    std::map<std::string, SourceMap::Place> takePlaces() { return std::move(places_); }

 private:
    /// A value's position: its path in the canonical JSON, and its name for people.
    struct Where {
        std::string path, shown;
        Where below(std::string_view key) const;
        Where at(std::size_t index) const;
    };

    /// The message is concatenated as in strCat.
    template <class... P>
    void error(const YamlNode& node, const Where& where, const char* code, const P&... parts) {
        errorAt(node.position, where, code, parts...);
    }
    template <class... P>
    void errorAt(expr::Position position, const Where& where, const char* code, const P&... parts) {
        if (errors_.size() < kErrorsMax) {  // the first ones are the causes
            errors_.push_back(
                {position.line, position.column, strCat(parts...), where.shown, code});
        }
    }
    void wrong(const YamlNode& node, const Where& where, std::string_view wanted);
    void note(const YamlNode& node, const Where& where);
    /// Notes and reads each item of a list, or member of a map; another node is an error.
    template <class Each>
    void eachItem(const YamlNode& node, const Where& where, std::string_view wanted, Each each);
    template <class Each>
    void eachMember(const YamlNode& node, const Where& where, std::string_view wanted, Each each);
    /// Position of a byte in the value that `node` was resolved to.
    expr::Position placeIn(const YamlNode& node, const Where& where, std::size_t offset) const;
    /// The text with its constants replaced and recorded; nothing after an error.
    std::optional<std::string> filled(const YamlNode& node, const Where& where,
                                      Params::Filling filling);

    Json section(std::string_view prefix, const YamlNode* node, const Where& where);
    void unknownKey(const YamlNode::Member& member, const std::vector<const Key*>& known,
                    const Where& where);
    Json member(const Key& key, const YamlNode* node, const Where& where, const YamlNode* parent);
    Json fallback(const Key& key, const Where& where);
    Json value(const Key& key, const YamlNode& node, const Where& where);

    Json text(const Key& key, const YamlNode& node, const Where& where);
    Json boolean(const Key& key, const YamlNode& node, const Where& where);
    Json integer(const Key& key, const YamlNode& node, const Where& where);
    Json seed(const Key& key, const YamlNode& node, const Where& where);
    Json real(const Key& key, const YamlNode& node, const Where& where);
    Json expression(const Key& key, const YamlNode& node, const Where& where);
    Json path(const Key& key, const YamlNode& node, const Where& where);
    Json list(const Key& key, const YamlNode& node, const Where& where);
    Json params(const Key& key, const YamlNode& node, const Where& where);
    Json textMap(const Key& key, const YamlNode& node, const Where& where);
    Json namedExprs(const Key& key, const YamlNode& node, const Where& where);
    Json joinKeys(const Key& key, const YamlNode& node, const Where& where);
    Json dense(const Key& key, const YamlNode& node, const Where& where);
    Json vectors(const Key& key, const YamlNode& node, const Where& where);
    Json order(const Key& key, const YamlNode& node, const Where& where);
    static YamlNode asSection(const Key& key, const YamlNode& node);
    Json oneSection(const Key& key, const YamlNode& node, const Where& where);
    Json sectionMap(const Key& key, const YamlNode& node, const Where& where);
    Json sectionList(const Key& key, const YamlNode& node, const Where& where);
    Json recipe(const Key& key, const YamlNode& node, const Where& where);
    Json step(const YamlNode& node, const Where& where);
    Json stepBody(const Key& key, const YamlNode& node, const Where& where);
    bool checkRange(const Key& key, double number, const YamlNode& node, const Where& where);

    std::string_view text_;
    const Params& params_;
    SpecErrors& errors_;
    std::map<std::string, SourceMap::Place> places_;
};

}  // namespace millrace::spec
