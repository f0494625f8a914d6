#pragma once
// What the places of a spec mean: from a path in the text to the key table of backend/spec.
//
// Threads: any; the table is immutable.
#include <QString>
#include <QStringList>
#include <string>
#include <vector>

#include "app/gui/models/spec/spec_syntax.h"
#include "backend/spec/key_table.h"

namespace millrace::gui {

/// A step of the recipe as variations address it.
struct RecipeStep {
    QString name;  ///< as written; "" none
    QString kind;  ///< "sample"; "" unknown
    int node = -1;
    const QString& address() const { return name.isEmpty() ? kind : name; }
};
std::vector<RecipeStep> recipeSteps(const SpecSyntax& syntax);

/// What a value is. Values that the table does not know are kUnknown.
struct Meaning {
    enum class Role {
        kUnknown,
        kKeys,        ///< a map with the keys below `path`
        kNames,       ///< a map with names that the user chooses
        kSteps,       ///< a list of steps
        kItems,       ///< a list of maps with the keys below `path`
        kStep,        ///< one step
        kVariations,  ///< the list of variations
        kVariation,
        kChanges,  ///< the `set` of a variation
        kValue,    ///< what `key` says, or its elements
        kExpression
    };
    Role role = Role::kUnknown;
    std::string path;                ///< in the key table: "recipe.sample.keep", "labels.*.expr"
    const spec::Key* key = nullptr;  ///< nullptr where the place has no entry of its own
};

Meaning rootMeaning();
Meaning memberMeaning(const Meaning& map, const QString& key, const std::vector<RecipeStep>& steps);
Meaning itemMeaning(const Meaning& list);
/// Of the key of a change, "recipe.negatives.keep".
Meaning changeMeaning(const QString& path, const std::vector<RecipeStep>& steps);
/// Of every node, by its index.
std::vector<Meaning> meaningsOf(const SpecSyntax& syntax);

/// The parts of a path of a change; empty where it is none.
QStringList changeParts(const QString& path);
/// A part of such a path, in quotes where it needs them.
QString quotedPart(const QString& part);
/// The node of the base that a change replaces; -1 where the text has none.
int baseNode(const SpecSyntax& syntax, const QString& path, const std::vector<RecipeStep>& steps);
/// Every path that a variation of this spec may set, steps and heads by their names.
QStringList changePaths(const SpecSyntax& syntax);

/// "number, above 0 to 1", "one of none, inverse", "expression": what the value must be.
QString kindText(const spec::Key& key);
QString fromView(std::string_view text);

}  // namespace millrace::gui
