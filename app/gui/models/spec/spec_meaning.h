#pragma once
// Maps positions of a spec to their meaning: from a path in the text to the key table of
// backend/spec.
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

/// The meaning of a value. Values that the table does not contain are kUnknown.
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
        kValue,    ///< the value of `key`, or its elements
        kExpression
    };
    Role role = Role::kUnknown;
    std::string path;                ///< in the key table: "recipe.sample.keep", "labels.*.expr"
    const spec::Key* key = nullptr;  ///< nullptr if it has no entry
};

Meaning rootMeaning();
Meaning memberMeaning(const Meaning& map, const QString& key, const std::vector<RecipeStep>& steps);
Meaning itemMeaning(const Meaning& list);
/// The meaning of the key of a change, "recipe.negatives.keep".
Meaning changeMeaning(const QString& path, const std::vector<RecipeStep>& steps);
/// The meaning of every node, by its index.
std::vector<Meaning> meaningsOf(const SpecSyntax& syntax);

/// The parts of a change's path; empty if it is invalid.
QStringList changeParts(const QString& path);
/// A part of such a path, quoted if it must be.
QString quotedPart(const QString& part);
/// The node of the base that a change replaces; -1 if the text has none.
int baseNode(const SpecSyntax& syntax, const QString& path, const std::vector<RecipeStep>& steps);
/// Every path that a variation of this spec may set, steps and heads by their names.
QStringList changePaths(const SpecSyntax& syntax);

/// The type of a value: "number, above 0 to 1", "one of none, inverse", "expression".
QString kindText(const spec::Key& key);

}  // namespace millrace::gui
