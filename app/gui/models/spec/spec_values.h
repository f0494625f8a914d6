#pragma once
// The words that completion offers for a meaning. Private to this folder (spec_completion.h is the
// public part).
#include "app/gui/models/spec/spec_completion.h"
#include "backend/expr/functions.h"

namespace millrace::gui {

struct KeyPlace {
    bool isFlow = false;    ///< inside brackets
    bool hasColon = false;  ///< the key exists already and is being changed
    QString indent;         ///< of the key's line
};

std::vector<Completion> keysFor(const Meaning& map, const QStringList& present,
                                const KeyPlace& place, const SpecSyntax& syntax,
                                const KnownColumns& columns);
std::vector<Completion> changeKeys(const SpecSyntax& syntax, const QStringList& present,
                                   const KeyPlace& place);
std::vector<Completion> valuesFor(const Meaning& meaning, const SpecSyntax& syntax,
                                  const KnownColumns& columns);
/// Columns, functions and operators.
std::vector<Completion> expressionWords(const Meaning& meaning, const KnownColumns& columns,
                                        bool hasCall);

}  // namespace millrace::gui
