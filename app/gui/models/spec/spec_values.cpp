#include "app/gui/models/spec/spec_values.h"

#include <QSet>

#include "app/gui/models/run_text.h"

namespace millrace::gui {
namespace {

using Kind = Completion::Kind;
using Role = Meaning::Role;
using spec::KeyType;

QString withDefault(const spec::Key& key) {
    const QString kind = kindText(key);
    return key.fallback.empty() ? kind
                                : kind + QStringLiteral(" \u00b7 default ") + qtext(key.fallback);
}

/// Sets the text to insert for a key, by the type of its value.
void finishKey(Completion& item, const QString& key, Role role, const KeyPlace& place) {
    item.insert = key;
    if (place.hasColon) {
        return;
    }
    const bool isMap = role == Role::kKeys || role == Role::kNames || role == Role::kChanges;
    const bool isList = role == Role::kSteps || role == Role::kItems || role == Role::kVariations;
    item.insert += QStringLiteral(": ");
    if (place.isFlow && (isMap || isList)) {
        item.insert += isMap ? QStringLiteral("{}") : QStringLiteral("[]");
        item.cursorBack = 1;
    } else if (isMap || isList) {
        // A block value begins on its own line: no blank behind the colon.
        item.insert.chop(1);
        item.insert += u'\n' + place.indent + QStringLiteral("  ") +
                       (isList ? QStringLiteral("- ") : QString());
    }
}

Completion keyItem(const spec::Key& key, const KeyPlace& place) {
    Completion item;
    item.label = qtext(key.name());
    item.detail = withDefault(key);
    item.doc = qtext(key.doc);
    const Meaning parent{
        Role::kKeys, std::string(key.path.substr(0, key.path.size() - key.name().size())), nullptr};
    std::string holder(parent.path);
    if (!holder.empty()) {
        holder.pop_back();
    }
    const Meaning meaning = memberMeaning({Role::kKeys, holder, nullptr}, item.label, {});
    finishKey(item, item.label, meaning.role, place);
    return item;
}

void addColumns(const std::vector<std::pair<QString, QString>>& columns, const QString& origin,
                std::vector<Completion>& out) {
    for (const auto& [name, type] : columns) {
        Completion item;
        item.kind = Kind::kColumn;
        item.label = item.insert = name;
        item.detail = type;
        item.doc = origin;
        out.push_back(std::move(item));
    }
}

std::vector<Completion> columnItems(const KnownColumns& columns, bool withDerived) {
    std::vector<Completion> out;
    if (withDerived) {
        addColumns(columns.derived, QStringLiteral("made by the recipe"), out);
    }
    addColumns(columns.dataset, QStringLiteral("column of the dataset"), out);
    return out;
}

Completion wordItem(const QString& text, const QString& detail, const QString& doc) {
    Completion item;
    item.kind = Kind::kWord;
    item.label = item.insert = text;
    item.detail = detail;
    item.doc = doc;
    return item;
}

// The key table does not say which texts are columns: a new key of that kind is added here.
bool isColumnKey(const std::string& path) {
    static const QSet<QString> kNames = {QStringLiteral("column"), QStringLiteral("by"),
                                         QStringLiteral("on"), QStringLiteral("select")};
    const QString text = QString::fromStdString(path);
    const QString name = text.section(u'.', -1);
    const bool isFeature = text.startsWith(QStringLiteral("features.")) &&
                           name != QStringLiteral("dedup") && name != QStringLiteral("last") &&
                           name != QStringLiteral("name");
    const bool isStep = text.startsWith(QStringLiteral("recipe.")) && kNames.contains(name);
    return isFeature || isStep || text == QStringLiteral("model.keys") ||
           text == QStringLiteral("batch.order.by");
}

/// The features that need a table.
QStringList idFeatures(const SpecSyntax& syntax) {
    QStringList names;
    const int features = syntax.member(syntax.root(), u"features");
    for (const QStringView key : {QStringView(u"ids"), QStringView(u"lists")}) {
        const int list = syntax.member(features, key);
        for (const int item : list >= 0 ? syntax.node(list).children : std::vector<int>()) {
            names << syntax.value(item);
        }
    }
    return names;
}

std::vector<Completion> nameItems(const Meaning& map, const QStringList& present,
                                  const KeyPlace& place, const SpecSyntax& syntax,
                                  const KnownColumns& columns) {
    std::vector<Completion> out;
    if (map.path == "embeddings") {
        for (const QString& name : idFeatures(syntax)) {
            out.push_back(wordItem(name, QStringLiteral("feature"),
                                   QStringLiteral("an embedding table of its own")));
            finishKey(out.back(), name, Role::kKeys, place);
        }
    } else if (map.path == "dataset.csv.types") {
        out = columnItems(columns, false);
        for (Completion& item : out) {
            finishKey(item, item.label, Role::kValue, place);
        }
    }
    std::erase_if(out, [&](const Completion& item) { return present.contains(item.label); });
    return out;
}

std::vector<Completion> stepItems(const QStringList& present, const KeyPlace& place) {
    std::vector<Completion> out;
    bool hasKind = false;
    for (const spec::Key* key : spec::keysBelow("recipe")) {
        const QString name = qtext(key->name());
        const bool isOfAll = name == QStringLiteral("name") || name == QStringLiteral("enabled");
        // A step has one kind: the others are offered only to replace it.
        hasKind = hasKind || (!isOfAll && present.contains(name));
    }
    for (const spec::Key* key : spec::keysBelow("recipe")) {
        const QString name = qtext(key->name());
        const bool isOfAll = name == QStringLiteral("name") || name == QStringLiteral("enabled");
        if (present.contains(name) || (hasKind && !isOfAll && !place.hasColon)) {
            continue;
        }
        KeyPlace inStep = place;
        out.push_back(keyItem(*key, inStep));
        out.back().kind = isOfAll ? Kind::kKey : Kind::kStep;
    }
    return out;
}

std::vector<Completion> variationItems(const QStringList& present, const KeyPlace& place) {
    std::vector<Completion> out;
    Completion name = wordItem(QStringLiteral("name"), QStringLiteral("text"),
                               QStringLiteral("what the run is called, beside the base's name"));
    name.kind = Kind::kKey;
    finishKey(name, name.label, Role::kValue, place);
    Completion set = wordItem(QStringLiteral("set"), QStringLiteral("map"),
                              QStringLiteral("what the variation changes: key.path: value"));
    set.kind = Kind::kKey;
    finishKey(set, set.label, Role::kChanges, place);
    for (Completion& item : {std::ref(name), std::ref(set)}) {
        if (!present.contains(item.label)) {
            out.push_back(item);
        }
    }
    return out;
}

void addFunctions(bool hasCall, std::vector<Completion>& out) {
    QSet<QString> seen;
    for (const expr::Function& function : expr::allFunctions()) {
        const QString name = qtext(function.name);
        // One entry for all overloads of a function.
        if (seen.contains(name)) {
            continue;
        }
        seen.insert(name);
        Completion item;
        item.kind = Kind::kFunction;
        item.label = name;
        item.detail = u'(' + qtext(function.arguments) + u')';
        item.doc = qtext(function.doc);
        item.insert = hasCall ? name : name + QStringLiteral("()");
        item.cursorBack = hasCall ? 0 : 1;
        out.push_back(std::move(item));
    }
}

}  // namespace

std::vector<Completion> keysFor(const Meaning& map, const QStringList& present,
                                const KeyPlace& place, const SpecSyntax& syntax,
                                const KnownColumns& columns) {
    switch (map.role) {
        case Role::kStep:
            return stepItems(present, place);
        case Role::kVariation:
            return variationItems(present, place);
        case Role::kChanges:
            return changeKeys(syntax, present, place);
        case Role::kNames:
            return nameItems(map, present, place, syntax, columns);
        case Role::kKeys:
        case Role::kItems:
            break;
        default:
            return {};
    }
    std::vector<Completion> out;
    for (const spec::Key* key : spec::keysBelow(map.path)) {
        if (key->name() != "*" && !present.contains(qtext(key->name()))) {
            out.push_back(keyItem(*key, place));
        }
    }
    return out;
}

std::vector<Completion> changeKeys(const SpecSyntax& syntax, const QStringList& present,
                                   const KeyPlace& place) {
    std::vector<Completion> out;
    const std::vector<RecipeStep> steps = recipeSteps(syntax);
    for (const QString& path : changePaths(syntax)) {
        if (present.contains(path)) {
            continue;
        }
        const Meaning meaning = changeMeaning(path, steps);
        Completion item;
        item.label = path;
        item.kind = path.startsWith(QStringLiteral("recipe.")) ? Kind::kStep : Kind::kKey;
        if (meaning.key != nullptr) {
            item.detail = meaning.role == Role::kExpression ? QStringLiteral("expression")
                                                            : withDefault(*meaning.key);
            item.doc = qtext(meaning.key->doc);
        }
        KeyPlace flow = place;
        // A change is one line, `key.path: value`: maps and lists are written in brackets.
        flow.isFlow = true;
        finishKey(item, path, meaning.role == Role::kKeys ? Role::kValue : meaning.role, flow);
        out.push_back(std::move(item));
    }
    return out;
}

std::vector<Completion> valuesFor(const Meaning& meaning, const SpecSyntax& syntax,
                                  const KnownColumns& columns) {
    if (isColumnKey(meaning.path)) {
        const bool isDedup = meaning.key != nullptr && meaning.key->type == KeyType::kChoice;
        if (!isDedup) {
            return columnItems(columns, true);
        }
    }
    std::vector<Completion> out;
    if (meaning.path == "embeddings.*.features") {
        for (const QString& name : idFeatures(syntax)) {
            out.push_back(wordItem(name, QStringLiteral("feature"), {}));
        }
    }
    if (meaning.key == nullptr) {
        return out;
    }
    const spec::Key& key = *meaning.key;
    const QString doc = qtext(key.doc);
    if (key.type == KeyType::kBool) {
        for (const QString& text : {QStringLiteral("true"), QStringLiteral("false")}) {
            out.push_back(wordItem(
                text, text == qtext(key.fallback) ? QStringLiteral("default") : QString(), doc));
        }
    } else if (key.type == KeyType::kOrder) {
        out.push_back(wordItem(QStringLiteral("permuted"), QStringLiteral("default"), doc));
        out.push_back(wordItem(QStringLiteral("as_is"), {}, doc));
    } else if (!key.limits.choices.empty()) {
        for (const std::string_view choice : key.limits.choices) {
            const QString text = qtext(choice);
            const bool isDefault =
                // Fallbacks are YAML: a word that YAML would read as another type is in quotes
                // there.
                text == qtext(key.fallback) || u'"' + text + u'"' == qtext(key.fallback);
            out.push_back(wordItem(text, isDefault ? QStringLiteral("default") : QString(), doc));
        }
    } else if (!key.fallback.empty() && key.type != KeyType::kTextList) {
        out.push_back(wordItem(qtext(key.fallback), QStringLiteral("default"), doc));
    }
    return out;
}

std::vector<Completion> expressionWords(const Meaning& meaning, const KnownColumns& columns,
                                        bool hasCall) {
    // dataset.where is evaluated before the recipe makes its columns.
    std::vector<Completion> out = columnItems(columns, meaning.path != "dataset.where");
    addFunctions(hasCall, out);
    static const std::pair<const char16_t*, const char16_t*> kOperators[] = {
        {u"and", u"both; null counts as unknown"},
        {u"or", u"one of both; null counts as unknown"},
        {u"not", u"the opposite"},
        {u"in", u"x in (a, b)"},
        {u"between", u"x between a and b"},
        {u"like", u"x like 'a%': % any text, _ one character"},
        {u"is null", u"never null itself"},
        {u"is not null", u"never null itself"},
        {u"case", u"case when c then x else y end"},
        {u"cast", u"cast(x as type); an error where it does not fit"},
        {u"try_cast", u"try_cast(x as type); null where it does not fit"},
        {u"true", u""},
        {u"false", u""},
        {u"null", u""}};
    for (const auto& [text, doc] : kOperators) {
        out.push_back(wordItem(QString::fromUtf16(text), {}, QString::fromUtf16(doc)));
        out.back().kind = Kind::kOperator;
    }
    return out;
}

}  // namespace millrace::gui
