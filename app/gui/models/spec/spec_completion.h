#pragma once
// Completes a spec at a position: keys, words, columns, functions, steps; and hints at a call's
// next argument.
//
// Threads: any; pure functions. 2,000 lines take a few milliseconds.
#include <QString>
#include <QStringList>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "app/gui/models/spec/spec_meaning.h"
#include "backend/values/inspection.h"

namespace millrace::gui {

struct Completion {
    enum class Kind : std::uint8_t { kKey, kWord, kColumn, kFunction, kOperator, kStep };
    QString label, detail, doc;  ///< detail: a type, beside the label; doc: one sentence
    QString insert;              ///< replaces [begin, end)
    int cursorBack = 0;          ///< distance of the cursor from the end of `insert`
    Kind kind = Kind::kKey;
};

struct CompletionList {
    int begin = 0, end = 0;
    QString prefix;
    std::vector<Completion> items;  ///< the best first
};

/// Columns of the dataset and those that the recipe adds: name and type.
struct KnownColumns {
    std::vector<std::pair<QString, QString>> dataset, derived;
};
KnownColumns knownColumns(const values::CheckReply& reply);

CompletionList completionsAt(const QString& text, int place, const KnownColumns& columns);
/// For a cell of the sheet: possible values of a change.
std::vector<Completion> valueCompletions(const SpecSyntax& syntax, const QString& changePath,
                                         const KnownColumns& columns);

/// The call around a position inside an expression: "round(x[, digits])" and the argument being
/// typed.
struct CallHint {
    QString signature, doc;
    int argumentBegin = 0, argumentEnd = 0;  ///< in `signature`: the argument being typed
    int callPlace = 0;                       ///< position of the function's name in the text
};
std::optional<CallHint> callHintAt(const QString& text, int place);

/// "recipe.sample.keep", "number, above 0 to 1", "probability of staying; ..."; empty: not a key.
struct KeyHelp {
    QString path, kind, fallback, doc;
};
KeyHelp keyHelpAt(const SpecSyntax& syntax, const std::vector<Meaning>& meanings, int place);

}  // namespace millrace::gui
