#pragma once
// Scores how well a typed word fits a text: its letters must occur in order; matches at the starts
// of words and adjacent letters score higher. Used by the palette and by completion.
//
// Threads: any.
#include <QString>
#include <optional>
#include <vector>

namespace millrace::gui {

struct FuzzyMatch {
    int score = 0;            ///< higher is better
    std::vector<int> places;  ///< ascending positions of the matched letters in the text
};

/// All words of the query (split at blanks) must be found, in any order, ignoring case. Empty: no
/// match. An empty query matches everything with score 0.
std::optional<FuzzyMatch> fuzzyMatch(const QString& query, const QString& text);

}  // namespace millrace::gui
