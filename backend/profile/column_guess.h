#pragma once
// Guesses how a first spec should use a column, from its name and its values, and gives the reason.
//
// Used by first_spec.cpp. Private to profile. Threads: pure.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "backend/profile/column_profile.h"

namespace millrace::profile {

enum class Use { kDense, kId, kList, kVector, kTime, kLabel, kLeftOut };

struct Guess {
    const ColumnProfile* column = nullptr;
    Use use = Use::kLeftOut;
    std::string why;
    bool isRowKey = false;       ///< left out because nearly every row has its own value
    std::string fill = "";       ///< a dense feature's value instead of null; "": it has no nulls
    bool isReadAsInt64 = false;  ///< floats that are whole, and ids
};

/// "dense", "id", ...: the word for users.
std::string_view nameOfUse(Use use);

Guess guessOf(const ColumnProfile& column);

/// Whether the column has few enough values for a first spec to count them and give each a row.
/// `isComplete`: the profile covers all rows of the dataset, so counting is quick.
bool isCounted(const ColumnProfile& column, bool isComplete);

/// How much a column looks like what is to be predicted; 0: not at all. From kNamedLabel on, its
/// name says so.
inline constexpr int kNamedLabel = 50;
int labelScore(const ColumnProfile& column);

/// Words for a missing value (NA, null, ?) beside exactly two other texts of a column; "" is one.
std::vector<std::string> missingTexts(const ColumnProfile& column);
/// Which of a column's two texts is positive: "yes", "true" and their like, else the rarer one; ""
/// where there are not two. missingTexts() do not count.
std::string positiveText(const ColumnProfile& column);
/// Whether the column has two classes: 0 and 1, true and false, or two texts.
bool hasTwoClasses(const ColumnProfile& column);

/// In small letters.
std::string lower(std::string_view text);

/// Whether the name suggests that the values are ids: "user_id", "movieId", "user_id:token".
bool isNamedLikeId(const std::string& name);

/// Four digits, for comments and reasons.
std::string shortNumber(double value);

/// The rules above, with their thresholds, one sentence each.
std::vector<std::string> guessRules();

}  // namespace millrace::profile
