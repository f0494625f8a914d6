#include "backend/spec/variation.h"

#include <algorithm>

#include <absl/strings/str_join.h>

#include "backend/spec/change.h"
#include "backend/spec/params/params.h"
#include "backend/text/text.h"

namespace millrace::spec {
namespace {

std::string joinedPath(const std::vector<std::string>& parts, std::size_t count) {
    return absl::StrJoin(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(count), ".");
}

std::string kindOf(const YamlNode& step) {
    for (const YamlNode::Member& member : step.members) {
        if (stepBodyOf(member.key)) {
            return member.key;
        }
    }
    return "";
}

std::string nameOf(const YamlNode& step) {
    const YamlNode* name = step.find("name");
    return name != nullptr && name->isScalar() ? name->text : "";
}

/// The step with this name, or else the only step of this kind.
Result<YamlNode*> findStep(YamlNode& recipe, const std::string& part) {
    std::vector<YamlNode*> named, ofKind;
    std::vector<std::string> known;
    for (YamlNode& step : recipe.items) {
        const std::string name = nameOf(step), kind = kindOf(step);
        if (name == part) {
            named.push_back(&step);
        }
        if (kind == part) {
            ofKind.push_back(&step);
        }
        known.push_back(name.empty() ? kind : name);
    }
    if (named.size() == 1 || (named.empty() && ofKind.size() == 1)) {
        return named.empty() ? ofKind[0] : named[0];
    }
    if (named.empty() && ofKind.empty()) {
        return notFound("the recipe has no step '", part, "'", nameHint(part, known));
    }
    return invalidArgument("the recipe has ", std::max(named.size(), ofKind.size()), " steps '",
                           part, "'; give each a name and use it in the path");
}

void setMember(YamlNode& map, const std::string& key, expr::Position keyPosition,
               const YamlNode& value) {
    if (YamlNode* old = map.find(key)) {
        *old = value;
    } else {
        map.members.push_back({key, keyPosition, value});
    }
}

/// Name of an item in a list of features: its text, or the column of `{column: x, ...}`.
std::string featureOf(const YamlNode& item) {
    const YamlNode* const column = item.isMap() ? item.find("column") : nullptr;
    return column != nullptr ? column->text : item.text;
}

std::string namesOf(const YamlNode& list) {
    std::vector<std::string> texts;
    for (const YamlNode& item : list.items) {
        texts.push_back(featureOf(item));
    }
    return absl::StrJoin(texts, ", ");
}

/// `remove: [a, b]`: names to remove from a list.
const YamlNode* removalOf(const YamlNode& value) {
    const YamlNode* const removed =
        value.isMap() && value.members.size() == 1 ? value.find("remove") : nullptr;
    return removed != nullptr && (removed->isSequence() || removed->isScalar()) ? removed : nullptr;
}

/// `add: [c]`, which lists do not know: shows the whole list, as it has to be written.
Status refuseAddition(YamlNode list, const std::string& path, const YamlNode& added) {
    for (const YamlNode& item : added.isSequence() ? added.items : std::vector{added}) {
        list.items.push_back(item);
    }
    return invalidArgument(path, " takes {remove: [...]}, not {add: [...]}; to extend the list, ",
                           "write it as a whole: [", namesOf(list), "]");
}

Status removeItems(YamlNode& list, const std::string& path, const YamlNode& removed) {
    const std::vector<YamlNode> wanted =
        removed.isSequence() ? removed.items : std::vector<YamlNode>{removed};
    for (const YamlNode& item : wanted) {
        const auto at = std::ranges::find_if(list.items, [&item](const YamlNode& known) {
            return !featureOf(known).empty() && featureOf(known) == featureOf(item);
        });
        if (at == list.items.end()) {
            return notFound(path, " names no '", featureOf(item), "' to remove; it names ",
                            namesOf(list));
        }
        list.items.erase(at);
    }
    return okStatus();
}

/// Only names in the spec can be changed, so that a misspelled one is detected.
bool isInParams(const std::string& path) {
    return path == "params" || path.starts_with("params.");
}

Status unknownName(const YamlNode& map, const std::string& path, const std::string& key,
                   std::string_view wish) {
    std::vector<std::string> known;
    for (const YamlNode::Member& member : map.members) {
        known.push_back(member.key);
    }
    return notFound(path, " has no '", key, "' to ", wish, nameHint(key, known));
}

/// A number, a date or a bool stays one, so that a mistyped value does not silently become a text.
Status checkType(const YamlNode& old, const YamlNode& value, const std::string& path) {
    const std::string_view type = Params::fixedTypeOf(old);
    if (type.empty() || type == Params::fixedTypeOf(value)) {
        return okStatus();
    }
    return invalidArgument(path, " is ", type, " in the spec (", old.text, "), and ",
                           value.describe(), " is not");
}

/// Maps with keys chosen by the user: null removes one.
bool hasNamesForKeys(const std::string& path) {
    return path == "embeddings" || path == "labels" || path == "features.sequences" ||
           path == "dataset.types" || path == "dataset.csv.types" || isInParams(path);
}

Status setLast(YamlNode& map, const std::vector<std::string>& parts, std::size_t at,
               const YamlNode& value, expr::Position keyPosition);

/// Sets `old`, which is params or a map in it and has the path `parts`: changes the names that
/// `value` gives, and keeps the others.
Status setParams(YamlNode* old, std::vector<std::string> parts, const YamlNode& value) {
    YamlNode none{.kind = YamlNode::Kind::kMap};
    YamlNode& map = old == nullptr || old->isNull() ? none : *old;
    const std::string path = joinedPath(parts, parts.size());
    if (!map.isMap() || !value.isMap()) {
        return invalidArgument(path,
                               map.isMap() ? " is a map of names, and cannot be set to "
                                           : " is one value, and cannot be set to ",
                               value.describe());
    }
    for (const YamlNode::Member& member : value.members) {
        parts.push_back(member.key);
        RETURN_IF_ERROR(setLast(map, parts, parts.size() - 1, member.value, member.keyPosition));
        parts.pop_back();
    }
    return okStatus();
}

/// Sets, or takes out, the member parts[at] of `map`.
Status setLast(YamlNode& map, const std::vector<std::string>& parts, std::size_t at,
               const YamlNode& value, expr::Position keyPosition) {
    const std::string& key = parts[at];
    YamlNode* const old = map.find(key);
    const YamlNode* const removed = removalOf(value);
    if (removed != nullptr && old != nullptr && old->isSequence()) {
        return removeItems(*old, joinedPath(parts, at + 1), *removed);
    }
    if (const YamlNode* const added = value.find("add");
        added != nullptr && old != nullptr && old->isSequence()) {
        return refuseAddition(*old, joinedPath(parts, at + 1), *added);
    }
    if (value.isNull() && hasNamesForKeys(joinedPath(parts, at))) {
        if (old == nullptr) {
            return unknownName(map, joinedPath(parts, at), key, "take out");
        }
        std::erase_if(map.members, [&key](const YamlNode::Member& m) { return m.key == key; });
        return okStatus();
    }
    if (old == nullptr && isInParams(joinedPath(parts, at))) {
        return unknownName(map, joinedPath(parts, at), key, "set");
    }
    const bool isOfParams = isInParams(joinedPath(parts, at + 1)) && !value.isNull();
    if (isOfParams && (value.isMap() || (old != nullptr && old->isMap()))) {
        return setParams(old, {parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(at) + 1},
                         value);
    }
    if (isOfParams && old != nullptr) {
        RETURN_IF_ERROR(checkType(*old, value, joinedPath(parts, at + 1)));
    }
    setMember(map, key, keyPosition, value);
    return okStatus();
}

/// Continues in a map, from parts[at].
Status setBelow(YamlNode& start, const std::vector<std::string>& parts, std::size_t at,
                const YamlNode& value, expr::Position keyPosition);

Status setInStep(YamlNode& step, const std::vector<std::string>& parts, std::size_t at,
                 const YamlNode& value, expr::Position keyPosition) {
    const std::string kind = kindOf(step);
    const bool isOfStep = at < parts.size() && (parts[at] == "name" || parts[at] == "enabled");
    if (isOfStep && at + 1 == parts.size()) {
        setMember(step, parts[at], keyPosition, value);
        return okStatus();
    }
    YamlNode* body = step.find(kind);
    if (body == nullptr) {
        return invalidArgument(joinedPath(parts, at), " has no kind of step");
    }
    if (at < parts.size() && parts[at] == kind) {
        ++at;
    }
    if (at == parts.size()) {
        *body = value;
        return okStatus();
    }
    if (!body->isMap()) {
        return invalidArgument(joinedPath(parts, at), " has no keys below it; set it as a whole");
    }
    return setBelow(*body, parts, at, value, keyPosition);
}

Status setBelow(YamlNode& start, const std::vector<std::string>& parts, std::size_t at,
                const YamlNode& value, expr::Position keyPosition) {
    YamlNode* node = &start;
    for (; at < parts.size(); ++at) {
        const std::string here = joinedPath(parts, at);
        if (node->isSequence() && (here == "recipe" || here == "eval.recipe")) {
            ASSIGN_OR_RETURN(YamlNode* const step, findStep(*node, parts[at]));
            return setInStep(*step, parts, at + 1, value, keyPosition);
        }
        if (node->isScalar() && at == 2 && parts[0] == "labels") {
            YamlNode expr = *node;
            *node = YamlNode{
                .kind = YamlNode::Kind::kMap, .position = expr.position, .offset = expr.offset};
            node->members.push_back({"expr", expr.position, expr});
        }
        if (node->isNull()) {
            node->kind = YamlNode::Kind::kMap;
        }
        if (!node->isMap()) {
            return invalidArgument(here, " is ", node->describe(), " and has no key '", parts[at],
                                   "'");
        }
        if (at + 1 == parts.size()) {
            return setLast(*node, parts, at, value, keyPosition);
        }
        if (node->find(parts[at]) == nullptr && isInParams(here)) {
            return unknownName(*node, here, parts[at], "set");
        }
        if (node->find(parts[at]) == nullptr) {
            YamlNode empty{.kind = YamlNode::Kind::kMap,
                           .isSet = value.isSet,
                           .position = value.position,
                           .offset = value.offset};
            node->members.push_back({parts[at], keyPosition, std::move(empty)});
        }
        node = node->find(parts[at]);
    }
    return okStatus();
}

}  // namespace

Result<std::vector<std::string>> splitPath(std::string_view path) {
    std::vector<std::string> parts;
    std::string part;
    bool isQuoted = false, wasQuoted = false;
    for (const char c : path) {
        if (c == '"') {
            isQuoted = !isQuoted;
            wasQuoted = true;
        } else if (c == '.' && !isQuoted) {
            if (part.empty() && !wasQuoted) {
                return invalidArgument("'", path, "' is not a path: a part is empty");
            }
            parts.push_back(std::move(part));
            part.clear();
            wasQuoted = false;
        } else {
            part += c;
        }
    }
    if (isQuoted || (part.empty() && !wasQuoted) || parts.size() > 20) {
        return invalidArgument("'", path.substr(0, 100), "' is not a path: ",
                               isQuoted ? "a quote is open" : "write keys joined by dots");
    }
    parts.push_back(std::move(part));
    return parts;
}

Result<Change> parseSet(std::string_view text) {
    bool isQuoted = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        isQuoted = text[i] == '"' ? !isQuoted : isQuoted;
        if (text[i] == '=' && !isQuoted && i > 0) {
            Change change{std::string(text.substr(0, i)), std::string(text.substr(i + 1))};
            RETURN_IF_ERROR(splitPath(change.path).status());
            return change;
        }
    }
    return invalidArgument("--set '", text.substr(0, 100),
                           "': write key=value, as in batch.rows=512");
}

std::vector<std::string> modelTypes(const YamlNode& base, const YamlNode& variations) {
    const auto typeIn = [](const YamlNode* model) -> const YamlNode* {
        return model == nullptr ? nullptr : model->find("type");
    };
    const YamlNode* const ofBase = typeIn(base.find("model"));
    std::vector<std::string> types = {ofBase == nullptr ? "" : ofBase->text};
    for (const YamlNode& variation : variations.items) {
        const YamlNode* const changes = variation.find("set");
        for (const char* const key : {"model", "model.type"}) {
            const YamlNode* value = changes == nullptr ? nullptr : changes->find(key);
            value = key == std::string_view("model") ? typeIn(value) : value;
            if (value != nullptr) {
                types.push_back(value->text);
            }
        }
    }
    return types;
}

Status applyChange(YamlNode& root, std::string_view path, const YamlNode& value,
                   expr::Position keyPosition) {
    ASSIGN_OR_RETURN(const std::vector<std::string> parts, splitPath(path));
    if (parts[0] == "variations") {
        return invalidArgument("variations cannot be set from here");
    }
    return setBelow(root, parts, 0, value, keyPosition);
}

}  // namespace millrace::spec
