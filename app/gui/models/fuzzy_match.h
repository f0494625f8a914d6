#pragma once
// How well a typed word fits a text: its letters in their order, better at the starts of words and
// side by side.
//
// Threads: any.
#include <QString>
#include <optional>
#include <vector>

namespace millrace::gui {

struct FuzzyMatch {
    int score = 0;            ///< higher is better
    std::vector<int> places;  ///< of the letters found in the text, ascending
};

/// Words of the query (split at blanks) must all be found, in any order; case does not matter.
/// Empty: no match. An empty query matches everything with score 0.
std::optional<FuzzyMatch> fuzzyMatch(const QString& query, const QString& text);

}  // namespace millrace::gui
