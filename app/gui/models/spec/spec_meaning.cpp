#include "app/gui/models/spec/spec_meaning.h"

#include <QHash>
#include <cmath>
#include <unordered_map>

#include "app/gui/models/run_text.h"
#include "backend/spec/variation.h"

namespace millrace::gui {
namespace {

using Role = Meaning::Role;
using spec::KeyType;

// An index, because meanings are computed for each node at each key press; spec::findKey()
// searches.
const spec::Key* tableKey(const std::string& path) {
    static const auto kIndex = [] {
        std::unordered_map<std::string_view, const spec::Key*> index;
        for (const spec::Key& key : spec::keyTable()) {
            index.emplace(key.path, &key);
        }
        return index;
    }();
    const auto found = kIndex.find(path);
    return found == kIndex.end() ? nullptr : found->second;
}

Role roleOf(const spec::Key& key) {
    switch (key.type) {
        case KeyType::kSection:
        case KeyType::kStepBody:
            return Role::kKeys;
        case KeyType::kSectionMap:
        case KeyType::kNamedExprs:
        case KeyType::kTextMap:
        case KeyType::kJoinKeys:
            return Role::kNames;
        case KeyType::kSectionList:
            return Role::kItems;
        case KeyType::kRecipe:
            return Role::kSteps;
        case KeyType::kVariations:
            return Role::kVariations;
        case KeyType::kExpr:
            return Role::kExpression;
        default:
            return Role::kValue;
    }
}

Meaning keyed(std::string path) {
    Meaning meaning;
    meaning.key = tableKey(path);
    meaning.role = meaning.key != nullptr ? roleOf(*meaning.key) : Role::kUnknown;
    meaning.path = std::move(path);
    return meaning;
}

std::string below(const std::string& path, const QString& key) {
    return path.empty() ? key.toStdString() : path + "." + key.toStdString();
}

Meaning namedMeaning(const Meaning& map) {
    Meaning meaning;
    meaning.path = map.path + ".*";
    meaning.key = map.key;
    const KeyType type = map.key != nullptr ? map.key->type : KeyType::kText;
    if (type == KeyType::kNamedExprs) {
        meaning.role = Role::kExpression;
    } else if (type == KeyType::kSectionMap) {
        meaning.role = Role::kKeys;
    } else {
        meaning.role = Role::kValue;
    }
    return meaning;
}

/// The step's kind in `path` selects the known keys: "recipe" or "recipe.sample".
Meaning inStep(const std::string& kindPath, const QStringList& parts, qsizetype at,
               const std::vector<RecipeStep>& steps) {
    const std::string kind = kindPath.substr(kindPath.rfind('.') + 1);
    if (at < parts.size() &&
        (parts[at] == QStringLiteral("name") || parts[at] == QStringLiteral("enabled"))) {
        return keyed(below("recipe", parts[at]));
    }
    // Both `recipe.cheap.keep` and `recipe.cheap.sample.keep` name a key of a step of kind
    // `sample`.
    if (at < parts.size() && parts[at].toStdString() == kind) {
        ++at;
    }
    Meaning meaning = keyed(kindPath);
    for (; at < parts.size(); ++at) {
        meaning = memberMeaning(meaning, parts[at], steps);
    }
    return meaning;
}

// A name has precedence over a kind. The reader refuses a kind that occurs twice; for hints the
// first step of it is good enough.
int stepIndex(const std::vector<RecipeStep>& steps, const QString& part) {
    int found = -1;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        if (steps[i].name == part) {
            return static_cast<int>(i);
        }
        if (steps[i].kind == part && found < 0) {
            found = static_cast<int>(i);
        }
    }
    return found;
}

// Recurses as deep as the text nests, which SpecSyntax bounds at 60 levels.
void fillMeanings(const SpecSyntax& syntax, int index, const std::vector<RecipeStep>& steps,
                  std::vector<Meaning>& out) {
    const SyntaxNode& node = syntax.node(index);
    const Meaning meaning = out[static_cast<std::size_t>(index)];
    for (const int child : node.children) {
        out[static_cast<std::size_t>(child)] =
            node.isMap() ? memberMeaning(meaning, syntax.node(child).key, steps)
                         : itemMeaning(meaning);
        fillMeanings(syntax, child, steps, out);
    }
}

void addPaths(const SpecSyntax& syntax, const std::string& tablePath, const QString& prefix,
              int node, QStringList& out);

void addNamed(const SpecSyntax& syntax, const spec::Key& key, const QString& prefix, int node,
              QStringList& out) {
    for (const int child : node >= 0 ? syntax.node(node).children : std::vector<int>()) {
        const QString path = prefix + u'.' + quotedPart(syntax.node(child).key);
        if (!key.limits.shortKey.empty() || key.type != KeyType::kSectionMap) {
            out << path;
        }
        if (key.type == KeyType::kSectionMap && key.limits.shortKey.empty()) {
            addPaths(syntax, std::string(key.path) + ".*", path, child, out);
        }
    }
}

void addPaths(const SpecSyntax& syntax, const std::string& tablePath, const QString& prefix,
              int node, QStringList& out) {
    for (const spec::Key* key : spec::keysBelow(tablePath)) {
        const QString name = qtext(key->name());
        const QString path = prefix.isEmpty() ? name : prefix + u'.' + name;
        // A variation names steps one by one, cannot contain variations, and is evaluated on the
        // base's rows. Its own `name` names the run.
        const bool isRefused = key->type == KeyType::kRecipe || key->type == KeyType::kVariations ||
                               path == QStringLiteral("eval.dataset") ||
                               path == QStringLiteral("name") || name == QStringLiteral("*");
        if (isRefused) {
            continue;
        }
        const int child = syntax.member(node, name);
        switch (key->type) {
            case KeyType::kSection:
                addPaths(syntax, std::string(key->path), path, child, out);
                out << path;
                break;
            case KeyType::kSectionMap:
            case KeyType::kNamedExprs:
            case KeyType::kTextMap:
                addNamed(syntax, *key, path, child, out);
                break;
            default:
                out << path;
        }
    }
}

void addStepPaths(const SpecSyntax& syntax, const RecipeStep& step, QStringList& out) {
    if (step.kind.isEmpty()) {
        return;
    }
    const QString prefix = QStringLiteral("recipe.") + quotedPart(step.address());
    out << prefix + QStringLiteral(".enabled");
    const std::string table = below("recipe", step.kind);
    const spec::Key* kind = tableKey(table);
    const int body = syntax.member(step.node, step.kind);
    if (kind != nullptr && kind->type == KeyType::kStepBody) {
        addPaths(syntax, table, prefix, body, out);
    } else if (kind != nullptr && kind->type == KeyType::kNamedExprs) {
        addNamed(syntax, *kind, prefix, body, out);
    } else {
        out << prefix + u'.' + step.kind;
    }
}

}  // namespace

std::vector<RecipeStep> recipeSteps(const SpecSyntax& syntax) {
    std::vector<RecipeStep> steps;
    const int recipe = syntax.member(syntax.root(), u"recipe");
    for (const int item : recipe >= 0 ? syntax.node(recipe).children : std::vector<int>()) {
        RecipeStep step;
        step.node = item;
        if (syntax.node(item).isMap()) {
            for (const int member : syntax.node(item).children) {
                const QString& key = syntax.node(member).key;
                if (key == QStringLiteral("name")) {
                    step.name = syntax.value(member);
                } else if (key != QStringLiteral("enabled") &&
                           tableKey(below("recipe", key)) != nullptr) {
                    step.kind = key;
                }
            }
        }
        steps.push_back(std::move(step));
    }
    return steps;
}

Meaning rootMeaning() {
    Meaning meaning;
    meaning.role = Role::kKeys;
    return meaning;
}

Meaning memberMeaning(const Meaning& map, const QString& key,
                      const std::vector<RecipeStep>& steps) {
    switch (map.role) {
        case Role::kKeys:
        case Role::kItems:
            return keyed(below(map.path, key));
        case Role::kStep:
            return keyed(below("recipe", key));
        case Role::kNames:
            return namedMeaning(map);
        case Role::kVariation: {
            Meaning meaning;
            meaning.role = key == QStringLiteral("set")    ? Role::kChanges
                           : key == QStringLiteral("name") ? Role::kValue
                                                           : Role::kUnknown;
            meaning.path = below("variations", key);
            return meaning;
        }
        case Role::kChanges:
            return changeMeaning(key, steps);
        case Role::kValue:
            if (map.key != nullptr && map.key->type == KeyType::kOrder) {
                return {Role::kValue, map.path + ".by", nullptr};
            }
            return map.key != nullptr && map.key->type == KeyType::kDense
                       ? Meaning{Role::kValue, map.path,
                                 key == QStringLiteral("column") ? map.key : nullptr}
                       : Meaning{};
        default:
            return {};
    }
}

Meaning itemMeaning(const Meaning& list) {
    switch (list.role) {
        case Role::kSteps:
            return {Role::kStep, "recipe", nullptr};
        case Role::kItems:
            return {Role::kKeys, list.path, list.key};
        case Role::kVariations:
            return {Role::kVariation, "variations", list.key};
        case Role::kNames:  // a list of columns
        case Role::kValue:
            return {Role::kValue, list.path, list.key};
        default:
            return {};
    }
}

QStringList changeParts(const QString& path) {
    QStringList parts;
    const auto split = spec::splitPath(path.toStdString());
    if (split.ok()) {
        for (const std::string& part : *split) {
            parts << QString::fromStdString(part);
        }
    }
    return parts;
}

QString quotedPart(const QString& part) {
    return part.isEmpty() || part.contains(u'.') ? u'"' + part + u'"' : part;
}

Meaning changeMeaning(const QString& path, const std::vector<RecipeStep>& steps) {
    const QStringList parts = changeParts(path);
    if (parts.isEmpty() || parts[0] == QStringLiteral("variations")) {
        return {};
    }
    const bool isEval = parts.size() > 1 && parts[0] == QStringLiteral("eval") &&
                        parts[1] == QStringLiteral("recipe");
    const qsizetype stepAt = isEval ? 2 : 1;
    if ((isEval || parts[0] == QStringLiteral("recipe")) && parts.size() > stepAt) {
        // Steps of eval.recipe are known by their kind only: `steps` has those of the run.
        const int found = isEval ? -1 : stepIndex(steps, parts[stepAt]);
        const QString kind =
            found >= 0 ? steps[static_cast<std::size_t>(found)].kind : parts[stepAt];
        const std::string kindPath = below("recipe", kind);
        return tableKey(kindPath) == nullptr ? Meaning{}
                                             : inStep(kindPath, parts, stepAt + 1, steps);
    }
    Meaning meaning = rootMeaning();
    for (const QString& part : parts) {
        meaning = memberMeaning(meaning, part, steps);
    }
    return meaning;
}

std::vector<Meaning> meaningsOf(const SpecSyntax& syntax) {
    std::vector<Meaning> out(static_cast<std::size_t>(syntax.numNodes()));
    if (syntax.root() >= 0) {
        out[0] = rootMeaning();
        fillMeanings(syntax, 0, recipeSteps(syntax), out);
    }
    return out;
}

int baseNode(const SpecSyntax& syntax, const QString& path, const std::vector<RecipeStep>& steps) {
    const QStringList parts = changeParts(path);
    int node = syntax.root();
    for (qsizetype i = 0; i < parts.size() && node >= 0; ++i) {
        if (i == 1 && parts[0] == QStringLiteral("recipe") && syntax.node(node).isSequence()) {
            const int found = stepIndex(steps, parts[1]);
            if (found < 0) {
                return -1;
            }
            const RecipeStep& step = steps[static_cast<std::size_t>(found)];
            node = step.node;
            const bool isOfStep = parts.size() == 3 && (parts[2] == QStringLiteral("name") ||
                                                        parts[2] == QStringLiteral("enabled"));
            if (!isOfStep) {
                node = syntax.member(node, step.kind);
                i += parts.size() > 2 && parts[2] == step.kind ? 1 : 0;
            }
            continue;
        }
        // `labels: {click: expr}` is short for `labels: {click: {expr: expr}}`.
        const bool isShort = i == 2 && parts[0] == QStringLiteral("labels") &&
                             parts[2] == QStringLiteral("expr") && syntax.node(node).isScalar();
        node = isShort ? node : syntax.member(node, parts[i]);
    }
    return node;
}

QStringList changePaths(const SpecSyntax& syntax) {
    QStringList out;
    for (const RecipeStep& step : recipeSteps(syntax)) {
        addStepPaths(syntax, step, out);
    }
    addPaths(syntax, "", {}, syntax.root(), out);
    out.removeDuplicates();
    return out;
}

QString kindText(const spec::Key& key) {
    const auto number = [](double value) { return QString::number(value, 'g', 12); };
    switch (key.type) {
        case KeyType::kExpr:
            return QStringLiteral("expression");
        case KeyType::kBool:
            return QStringLiteral("true or false");
        case KeyType::kInt:
        case KeyType::kReal: {
            QString text = key.type == KeyType::kInt ? QStringLiteral("whole number")
                                                     : QStringLiteral("number");
            if (!key.limits.word.empty()) {
                text.prepend(qtext(key.limits.word) + QStringLiteral(" or "));
            }
            if (!key.limits.unit.empty()) {
                text += QStringLiteral(" of ") + qtext(key.limits.unit);
            }
            if (std::isfinite(key.limits.min)) {
                text += (key.limits.isMinExcluded ? QStringLiteral(", above ")
                                                  : QStringLiteral(", from ")) +
                        number(key.limits.min);
            }
            const bool hasMax = std::isfinite(key.limits.max) && key.limits.max < 1e9;
            return hasMax ? text + QStringLiteral(" to ") + number(key.limits.max) : text;
        }
        case KeyType::kSeed:
            return QStringLiteral("whole number");
        case KeyType::kText:
            return QStringLiteral("text");
        case KeyType::kTextList:
            return QStringLiteral("list of texts");
        case KeyType::kIntList:
        case KeyType::kRealList:
            return QStringLiteral("list of numbers");
        case KeyType::kDense:
            return QStringLiteral("list of columns");
        case KeyType::kChoice: {
            QStringList words;
            for (const std::string_view word : key.limits.choices) {
                words << qtext(word);
            }
            return QStringLiteral("one of ") + words.join(QStringLiteral(", "));
        }
        case KeyType::kRecipe:
            return QStringLiteral("list of steps");
        case KeyType::kSectionList:
        case KeyType::kVariations:
            return QStringLiteral("list of maps");
        case KeyType::kNamedExprs:
            return QStringLiteral("names and expressions");
        case KeyType::kTextMap:
            return QStringLiteral("names and texts");
        case KeyType::kJoinKeys:
            return QStringLiteral("columns");
        case KeyType::kOrder:
            return QStringLiteral("permuted, as_is or {by: column}");
        default:
            return QStringLiteral("map");
    }
}

}  // namespace millrace::gui
