#pragma once
// Splits a spec into coloured tokens, which the editor's highlighter paints.
//
// Threads: any; a pure function of the syntax.
#include <QStringView>
#include <cstdint>
#include <vector>

#include "app/gui/models/spec/spec_meaning.h"
#include "app/gui/models/spec/spec_syntax.h"

namespace millrace::gui {

struct SpecToken {
    enum class Kind : std::uint8_t {
        kComment,
        kKey,
        kName,        ///< a key that the user chose: a column, a head, a tag
        kChange,      ///< the key of a variation's change
        kUnknownKey,  ///< not a key of the table
        kText,
        kNumber,
        kWord,       ///< true, null, a word of a choice
        kMark,       ///< brackets, commas, dashes
        kVariation,  ///< the name of a variation or of a step
        // inside expressions
        kColumn,
        kFunction,
        kOperator,
        kLiteral
    };
    int begin = 0, end = 0;
    Kind kind = Kind::kText;
};

/// In order, without overlaps; a token may span lines.
std::vector<SpecToken> specTokens(const SpecSyntax& syntax, const std::vector<Meaning>& meanings);
/// For an expression as written in the text (with escapes of quotes); positions from `begin`.
void expressionTokens(QStringView text, int begin, std::vector<SpecToken>& out);

}  // namespace millrace::gui
