#include "backend/spec/yaml/tree_reader.h"

#include <algorithm>
#include <cmath>

#include <absl/strings/str_join.h>
#include <absl/strings/str_replace.h>

#include "backend/spec/yaml/yaml_text.h"
#include "backend/text/numbers.h"
#include "backend/text/text.h"

namespace millrace::spec {
namespace {

std::vector<std::string> namesOf(const std::vector<const Key*>& keys) {
    std::vector<std::string> names;
    for (const Key* key : keys) {
        names.emplace_back(key->name());
    }
    return names;
}

std::vector<std::string> textsOf(const Choices& words) {
    return {words.begin(), words.end()};
}

Json emptyValue(KeyType type) {
    if (type == KeyType::kText || type == KeyType::kExpr || type == KeyType::kChoice) {
        return "";
    }
    if (type == KeyType::kBool) {
        return false;
    }
    if (type == KeyType::kInt || type == KeyType::kSeed || type == KeyType::kReal) {
        return type == KeyType::kReal ? Json(0.0) : Json(0);
    }
    const bool isMap = type == KeyType::kTextMap || type == KeyType::kParams;
    return isMap || type == KeyType::kSectionMap ? Json::object() : Json::array();
}

// A column's name as an expression: `take: [x]` means `take: {x: '"x"'}`.
std::string quotedName(std::string_view name) {
    return strCat(
        "\"", absl::StrReplaceAll(absl::string_view(name.data(), name.size()), {{"\"", "\"\""}}),
        "\"");
}

/// Points to the key of this name here or, if only one section has it, there. Knows the names that
/// PyTorch and pandas users write.
std::string keyHint(const std::string& key, const std::vector<std::string>& known) {
    static const std::map<std::string, std::string> kElsewhere = {{"lr", "learning_rate"},
                                                                  {"batch_size", "rows"},
                                                                  {"num_epochs", "epochs"},
                                                                  {"n_epochs", "epochs"}};
    const auto alias = kElsewhere.find(key);
    const std::string& name = alias == kElsewhere.end() ? key : alias->second;
    const std::string here = nameHint(name, known);
    for (const char* const section : {"batch", "train", "eval", "dataset", "model", "features"}) {
        const std::string path = strCat(section, ".", name);
        if (!here.starts_with("; did you mean") && findKey(path) != nullptr) {
            return strCat("; did you mean '", path, "'?");
        }
    }
    return here;
}

template <class T>
std::optional<T> numberIn(const YamlNode& node) {
    return node.isScalar() && !node.isQuoted ? parseNumber<T>(node.text) : std::nullopt;
}

}  // namespace

TreeReader::Where TreeReader::Where::below(std::string_view key) const {
    const auto join = [&](const std::string& base) {
        return base.empty() ? std::string(key) : strCat(base, ".", key);
    };
    return {join(path), join(shown)};
}

TreeReader::Where TreeReader::Where::at(std::size_t index) const {
    return {strCat(path, "[", index, "]"), strCat(shown, "[", index, "]")};
}

void TreeReader::wrong(const YamlNode& node, const Where& where, std::string_view wanted) {
    error(node, where, "type", where.shown, " must be ", wanted, ", not ", node.describe());
}

void TreeReader::note(const YamlNode& node, const Where& where) {
    places_[where.path] = {node.offset, node.isSet, {}};
}

expr::Position TreeReader::placeIn(const YamlNode& node, const Where& where,
                                   std::size_t offset) const {
    const auto place = places_.find(where.path);
    const std::size_t written = place == places_.end() ? offset : place->second.written(offset);
    return node.isSet ? expr::Position{}
                      : expr::positionAt(text_, scalarByte(text_, node.offset, written));
}

std::optional<std::string> TreeReader::filled(const YamlNode& node, const Where& where,
                                              Params::Filling filling) {
    if (const auto* wrong = std::get_if<expr::ExprError>(&filling)) {
        errorAt(placeIn(node, where, wrong->offset), where, "parameter", where.shown, ": ",
                wrong->message);
        return std::nullopt;
    }
    auto& text = std::get<Params::Filled>(filling);
    if (!text.constants.empty()) {
        places_[where.path].constants = std::move(text.constants);
    }
    return std::move(text.text);
}

template <class Each>
void TreeReader::eachItem(const YamlNode& node, const Where& where, std::string_view wanted,
                          Each each) {
    if (!node.isSequence()) {
        wrong(node, where, wanted);
    }
    for (std::size_t i = 0; i < node.items.size(); ++i) {
        note(node.items[i], where.at(i));
        each(node.items[i], where.at(i));
    }
}

template <class Each>
void TreeReader::eachMember(const YamlNode& node, const Where& where, std::string_view wanted,
                            Each each) {
    if (!node.isMap()) {
        wrong(node, where, wanted);
    }
    for (const YamlNode::Member& member : node.members) {
        const Where at = where.below(member.key);
        note(member.value, at);
        each(member, at);
    }
}

Json TreeReader::readRoot(const YamlNode& root) {
    if (!root.isMap()) {
        error(root, {}, "type",
              root.isNull()
                  ? std::string("the spec is empty; it needs dataset and labels, or a command")
                  : strCat("a spec must be a map of keys, not ", root.describe()));
        return Json::object();
    }
    return section("", &root, {});
}

Json TreeReader::section(std::string_view prefix, const YamlNode* node, const Where& where) {
    const std::vector<const Key*> known = keysBelow(prefix);
    const Key* self = findKey(prefix);
    const std::string word(self == nullptr ? "" : self->limits.word);
    const bool isWord = node != nullptr && node->isScalar() && !word.empty() && node->text == word;
    if (node != nullptr && !node->isMap() && !isWord) {
        wrong(*node, where,
              strCat(word, word.empty() ? "" : " or ",
                     "a map (keys: ", absl::StrJoin(namesOf(known), ", "), ")"));
        return Json::object();
    }
    if (node != nullptr) {
        note(*node, where);
        for (const YamlNode::Member& member : node->members) {
            unknownKey(member, known, where);
        }
    }
    Json out = Json::object();
    for (const Key* key : known) {
        if (key->type == KeyType::kVariations) {  // of a file, not of a run
            continue;
        }
        const std::string name(key->name());
        const YamlNode* value = node == nullptr ? nullptr : node->find(name);
        out[name] = member(*key, value, where.below(name), node);
    }
    return out;
}

void TreeReader::unknownKey(const YamlNode::Member& member, const std::vector<const Key*>& known,
                            const Where& where) {
    if (std::ranges::find(known, member.key, &Key::name) != known.end()) {
        return;
    }
    // Within {}, a comma of an unquoted expression ends its value: `where: f(a, b) < 1`.
    const bool isRest = member.value.isNull() && member.key.find(')') < member.key.find('(');
    // YAML 1.1 reads `on` as true; a program that read the spec so writes it back as `true`.
    const bool wasOn =
        member.key == "true" && std::ranges::find(known, "on", &Key::name) != known.end();
    errorAt(member.keyPosition, where.below(member.key), "unknown_key",
            strCat("unknown key '", member.key.substr(0, 60), "'",
                   where.shown.empty() ? "" : strCat(" in ", where.shown),
                   isRest  ? "; a comma within {} ends a value: put that value in quotes"
                   : wasOn ? "; PyYAML and other YAML 1.1 writers make `true` of the key `on`: "
                             "write `\"on\"`, or give it quotes before they read the spec"
                           : keyHint(member.key, namesOf(known))));
}

Json TreeReader::member(const Key& key, const YamlNode* node, const Where& where,
                        const YamlNode* parent) {
    const bool isNullChoice = key.type == KeyType::kChoice && node != nullptr && node->isNull() &&
                              std::ranges::count(key.limits.choices, "null") > 0;
    if (isNullChoice) {
        return "null";
    }
    if (node != nullptr && !node->isNull()) {
        return value(key, *node, where);
    }
    if (key.limits.isRequired) {
        const YamlNode* at = node != nullptr ? node : parent;
        errorAt(at == nullptr ? expr::Position{} : at->position, where, "missing", where.shown,
                " is missing: ", key.doc);
        return emptyValue(key.type);
    }
    return fallback(key, where);
}

Json TreeReader::fallback(const Key& key, const Where& where) {
    if (key.type == KeyType::kSection) {
        return key.limits.isOptional ? Json() : section(key.path, nullptr, where);
    }
    if (key.fallback.empty()) {
        return key.limits.isOptional ? Json() : emptyValue(key.type);
    }
    SpecErrors none;
    const std::optional<YamlNode> node = parseYaml(key.fallback, true, none);
    INVARIANT(node.has_value(), "the defaults of the key table are YAML");
    Json read = value(key, *node, where);
    places_.erase(where.path);  // a default has no position in the text
    return read;
}

Json TreeReader::value(const Key& key, const YamlNode& node, const Where& where) {
    using Read = Json (TreeReader::*)(const Key&, const YamlNode&, const Where&);
    static const std::map<KeyType, Read> kReaders = {
        {KeyType::kText, &TreeReader::text},
        {KeyType::kChoice, &TreeReader::text},
        {KeyType::kExpr, &TreeReader::expression},
        {KeyType::kBool, &TreeReader::boolean},
        {KeyType::kInt, &TreeReader::integer},
        {KeyType::kSeed, &TreeReader::seed},
        {KeyType::kReal, &TreeReader::real},
        {KeyType::kTextList, &TreeReader::list},
        {KeyType::kIntList, &TreeReader::list},
        {KeyType::kRealList, &TreeReader::list},
        {KeyType::kTextMap, &TreeReader::textMap},
        {KeyType::kParams, &TreeReader::params},
        {KeyType::kNamedExprs, &TreeReader::namedExprs},
        {KeyType::kJoinKeys, &TreeReader::joinKeys},
        {KeyType::kDense, &TreeReader::dense},
        {KeyType::kVectors, &TreeReader::vectors},
        {KeyType::kOrder, &TreeReader::order},
        {KeyType::kSectionMap, &TreeReader::sectionMap},
        {KeyType::kSectionList, &TreeReader::sectionList},
        {KeyType::kRecipe, &TreeReader::recipe},
    };
    note(node, where);
    const auto read = kReaders.find(key.type);
    return (this->*(read == kReaders.end() ? &TreeReader::oneSection : read->second))(key, node,
                                                                                      where);
}

bool TreeReader::checkRange(const Key& key, double number, const YamlNode& node,
                            const Where& where) {
    const KeyLimits& l = key.limits;
    const bool isLow = l.isMinExcluded ? number <= l.min : number < l.min;
    if (!isLow && number <= l.max && !std::isnan(number)) {
        return true;
    }
    const std::string low = strCat(l.word, l.word.empty() ? "" : ", or ",
                                   l.isMinExcluded ? "above " : "at least ", plainNumber(l.min));
    const std::string range =
        isLow && l.max >= 1e6 ? low : strCat(low, " and at most ", plainNumber(l.max));
    error(node, where, "range", where.shown, " must be ", range, ", not ", node.text);
    return false;
}

Json TreeReader::text(const Key& key, const YamlNode& node, const Where& where) {
    if (!node.isScalar()) {
        wrong(node, where, key.type == KeyType::kText ? "a text" : "one of the known words");
        return "";
    }
    const auto& choices = key.limits.choices;
    if (!choices.empty() && std::ranges::find(choices, node.text) == choices.end()) {
        const std::string near = nearestName(node.text, textsOf(choices));
        error(node, where, "type", where.shown, " must be ",
              absl::StrJoin(textsOf(choices), " or "), ", not ", node.describe(),
              near.empty() ? "" : strCat("; did you mean '", near, "'?"));
    }
    return node.text;
}

Json TreeReader::boolean(const Key&, const YamlNode& node, const Where& where) {
    if (!node.isScalar() || node.isQuoted || (node.text != "true" && node.text != "false")) {
        wrong(node, where, "true or false");
        return false;
    }
    return node.text == "true";
}

Json TreeReader::integer(const Key& key, const YamlNode& node, const Where& where) {
    const std::string word(key.limits.word);
    if (!word.empty() && node.isScalar() && node.text == word) {
        return {};
    }
    const auto number = numberIn<std::int64_t>(node);
    if (!number) {
        wrong(node, where, strCat(word, word.empty() ? "" : " or ", "a whole number"));
        return 0;
    }
    checkRange(key, static_cast<double>(*number), node, where);
    return *number;
}

Json TreeReader::seed(const Key&, const YamlNode& node, const Where& where) {
    const auto number = numberIn<std::uint64_t>(node);  // beyond int64, too
    if (!number) {
        wrong(node, where, "a whole number from 0 to 2^64 - 1");
    }
    return number.value_or(0);
}

Json TreeReader::real(const Key& key, const YamlNode& node, const Where& where) {
    const auto number = numberIn<double>(node);
    if (!number || !std::isfinite(*number)) {
        wrong(node, where, "a number");
        return 0.0;
    }
    checkRange(key, *number, node, where);
    return *number;
}

Json TreeReader::expression(const Key&, const YamlNode& node, const Where& where) {
    if (!node.isScalar()) {
        wrong(node, where, "an expression in one text");
        return "";
    }
    const std::optional<std::string> text = filled(node, where, params_.inExpression(node.text));
    if (!text) {
        return "";
    }
    const auto parsed = expr::tryParseExpression(*text);
    if (const auto* failure = std::get_if<expr::ExprError>(&parsed)) {
        errorAt(placeIn(node, where, failure->offset), where, "expression", where.shown, ": ",
                failure->message);
    }
    return *text;
}

Json TreeReader::path(const Key& key, const YamlNode& node, const Where& where) {
    return node.isScalar() ? Json(filled(node, where, params_.inPath(node.text)).value_or(""))
                           : text(key, node, where);
}

Json TreeReader::list(const Key& key, const YamlNode& node, const Where& where) {
    const bool isPaths = key.name() == "path" || key.name() == "table";  // ${x} as bare text
    const auto one = [&](const YamlNode& item, const Where& at) {
        return isPaths                          ? path(key, item, at)
               : key.type == KeyType::kTextList ? text(key, item, at)
               : key.type == KeyType::kIntList  ? integer(key, item, at)
                                                : real(key, item, at);
    };
    Json out = Json::array();
    if (node.isScalar()) {
        out.push_back(one(node, where));
    } else {
        eachItem(node, where, "a list",
                 [&](const YamlNode& item, const Where& at) { out.push_back(one(item, at)); });
    }
    if (key.limits.isRequired && node.isSequence() && node.items.empty()) {
        wrong(node, where, "a list of at least one");
    }
    return out;
}

Json TreeReader::params(const Key&, const YamlNode&, const Where&) {
    return params_.json();
}

Json TreeReader::textMap(const Key&, const YamlNode& node, const Where& where) {
    Json out = Json::object();
    eachMember(node, where, "a map of names and texts",
               [&](const YamlNode::Member& member, const Where& at) {
                   if (!member.value.isScalar()) {
                       wrong(member.value, at, "a text");
                   }
                   out[member.key] = member.value.text;
               });
    return out;
}

Json TreeReader::namedExprs(const Key& key, const YamlNode& node, const Where& where) {
    Json out = Json::array();
    const bool mayList = key.name() == "take";
    if (mayList && (node.isSequence() || node.isScalar())) {
        for (const Json& name : list({key.path, KeyType::kTextList, "", "", {}}, node, where)) {
            out.push_back({{"name", name}, {"expr", quotedName(name.get<std::string>())}});
        }
    } else {
        const auto* const wanted =
            mayList ? "a list of columns, or a map `name: expression`" : "a map `name: expression`";
        eachMember(node, where, wanted, [&](const YamlNode::Member& member, const Where& at) {
            out.push_back({{"name", member.key}, {"expr", expression(key, member.value, at)}});
        });
    }
    return out;
}

Json TreeReader::joinKeys(const Key& key, const YamlNode& node, const Where& where) {
    Json out = Json::array();
    if (node.isMap()) {
        const Json pairs = textMap(key, node, where);
        for (const YamlNode::Member& member : node.members) {
            out.push_back({{"left", member.key}, {"right", pairs[member.key]}});
        }
    } else {
        for (const Json& name : list({"on", KeyType::kTextList, "", "", {}}, node, where)) {
            out.push_back({{"left", name}, {"right", name}});
        }
    }
    if (out.empty()) {
        wrong(node, where, "a column, a list of columns, or a map `column: column of the table`");
    }
    return out;
}

Json TreeReader::dense(const Key&, const YamlNode& node, const Where& where) {
    Json out = Json::array();
    if (node.isScalar()) {
        return Json::array({{{"column", node.text}, {"fill", 0.0}}});
    }
    eachItem(node, where, "a list of columns", [&](const YamlNode& item, const Where& at) {
        Json entry = {{"column", item.text}, {"fill", 0.0}};
        if (item.isMap()) {
            const YamlNode* column = item.find("column");
            const YamlNode* fill = item.find("fill");
            const std::size_t known = (column != nullptr ? 1 : 0) + (fill != nullptr ? 1 : 0);
            if (column == nullptr || !column->isScalar() || item.members.size() != known) {
                wrong(item, at, "a column, or {column: x, fill: 0}");
                return;
            }
            entry["column"] = column->text;
            if (fill != nullptr) {
                entry["fill"] = real({"fill", KeyType::kReal, "", "", {}}, *fill, at.below("fill"));
            }
        } else if (!item.isScalar()) {
            wrong(item, at, "a column, or {column: x, fill: 0}");
        }
        out.push_back(std::move(entry));
    });
    return out;
}

Json TreeReader::vectors(const Key&, const YamlNode& node, const Where& where) {
    static const Key kSize{"size", KeyType::kInt, "", "", {.min = 1, .max = 1e6}};
    Json out = Json::array();
    if (node.isScalar()) {
        return Json::array({node.text});
    }
    eachItem(node, where, "a list of columns", [&](const YamlNode& item, const Where& at) {
        const YamlNode* column = item.find("column");
        const YamlNode* size = item.find("size");
        if (item.isScalar()) {
            out.push_back(item.text);
        } else if (column == nullptr || !column->isScalar() || size == nullptr ||
                   item.members.size() != 2) {
            wrong(item, at, "a column, or {column: x, size: 64}");
        } else {
            out.push_back(
                {{"column", column->text}, {"size", integer(kSize, *size, at.below("size"))}});
        }
    });
    return out;
}

Json TreeReader::order(const Key&, const YamlNode& node, const Where& where) {
    const YamlNode* by = node.find("by");
    if (by != nullptr && by->isScalar() && node.members.size() == 1) {
        note(*by, where);
        return {{"by", by->text}};
    }
    const std::vector<std::string> words = {"permuted", "as_is"};
    if (!node.isScalar() || std::ranges::find(words, node.text) == words.end()) {
        const std::string near = node.isScalar() ? nearestName(node.text, words) : "";
        error(node, where, "type", where.shown, " must be permuted, as_is or {by: column}, not ",
              node.describe(), near.empty() ? "" : strCat("; did you mean '", near, "'?"));
    }
    return node.text;
}

// A plain value sets the section's short key.
YamlNode TreeReader::asSection(const Key& key, const YamlNode& node) {
    return !node.isScalar() || key.limits.shortKey.empty() ? node
                                                           : node.within(key.limits.shortKey);
}

Json TreeReader::oneSection(const Key& key, const YamlNode& node, const Where& where) {
    const YamlNode full = asSection(key, node);
    return section(key.path, &full, where);
}

Json TreeReader::sectionMap(const Key& key, const YamlNode& node, const Where& where) {
    Json out = Json::object();
    eachMember(node, where, "a map of names", [&](const YamlNode::Member& member, const Where& at) {
        const YamlNode full = asSection(key, member.value);
        out[member.key] = section(strCat(key.path, ".*"), &full, at);
    });
    return out;
}

Json TreeReader::sectionList(const Key& key, const YamlNode& node, const Where& where) {
    Json out = Json::array();
    eachItem(node, where, "a list", [&](const YamlNode& item, const Where& at) {
        out.push_back(section(key.path, &item, at));
    });
    return out;
}

Json TreeReader::recipe(const Key&, const YamlNode& node, const Where& where) {
    Json out = Json::array();
    eachItem(node, where, "a list of steps, each beginning with '-'",
             [&](const YamlNode& item, const Where& at) { out.push_back(step(item, at)); });
    return out;
}

Json TreeReader::step(const YamlNode& node, const Where& where) {
    // A disabled step: after an error, later checks find a valid tree.
    const Json broken = {{"kind", "filter"}, {"name", "filter"}, {"enabled", false}};
    std::vector<const Key*> known = keysBelow("recipe");
    if (!node.isMap()) {
        wrong(node, where, "a step, as in `filter: x > 0`");
        return broken;
    }
    note(node, where);
    const YamlNode::Member* kind = nullptr;
    for (const YamlNode::Member& member : node.members) {
        unknownKey(member, known, where);
        if (!stepBodyOf(member.key)) {
            continue;
        }
        if (kind != nullptr) {
            errorAt(member.keyPosition, where, "type", "a step is of one kind, not ", kind->key,
                    " and ", member.key, "; put the second into a step of its own");
        }
        kind = kind == nullptr ? &member : kind;
    }
    if (kind == nullptr) {
        error(node, where, "missing", "the step has no kind; one of ",
              absl::StrJoin(stepKindNames(), ", "));
        return broken;
    }
    const YamlNode* name = node.find("name");
    const YamlNode* enabled = node.find("enabled");
    Json out = stepBody(*findKey(strCat("recipe.", kind->key)), kind->value, where);
    out["kind"] = kind->key;
    out["name"] = name == nullptr || name->isNull()
                      ? Json(kind->key)
                      : text({"name", KeyType::kText, "", "", {}}, *name, where.below("name"));
    out["enabled"] = enabled == nullptr ? Json(true)
                                        : boolean({"enabled", KeyType::kBool, "", "", {}}, *enabled,
                                                  where.below("enabled"));
    return out;
}

Json TreeReader::stepBody(const Key& key, const YamlNode& node, const Where& where) {
    const std::string kind(key.name());
    const Where shown = {where.path, strCat(where.shown, ".", kind)};
    if (node.isNull()) {
        wrong(node, shown, key.type == KeyType::kExpr ? "an expression" : "given");
        return Json::object();
    }
    if (key.type == KeyType::kStepBody) {
        Json out = section(key.path, &node, shown);
        if (out.contains("as") && out["as"] == "") {  // default: replaces the column
            out["as"] = out["column"];
        }
        return out;
    }
    const char* jsonKey = key.type == KeyType::kExpr ? "expr" : "columns";
    return {{jsonKey, value(key, node, {strCat(where.path, ".", jsonKey), shown.shown})}};
}

}  // namespace millrace::spec
