#pragma once
// Compares the resolved specs of runs, for every user interface. Pure functions.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/values/run_detail.h"

namespace millrace::session {

/// A key of the resolved spec that is not the same in all runs.
struct Difference {
    std::string key;
    std::vector<std::string> values;  ///< one per run, "-" if it has none
};
std::vector<Difference> differencesOf(const std::vector<const values::RunDetail*>& runs);
/// For a key that counting a vocabulary sets (its hash, or the rows of its table): the key of the
/// hash. A table whose rows the spec sets has no such key.
std::optional<std::string> hashKeyOfCount(std::string_view key);
/// Without what follows from other keys: hashes of counted vocabularies and their rows. They stay
/// where nothing else differs.
std::vector<Difference> withoutFollowing(std::vector<Difference> all);
/// A step that some runs switch off as one line, `recipe.spam` on or off, without its keys that
/// differ only because of that.
std::vector<Difference> withStepsAsLines(std::vector<Difference> all);

/// "+tailnum -origin": items that a list gained and lost against another, "other order" if only the
/// order differs. Nothing unless both are lists; "-" counts as an empty one.
std::optional<std::string> listChange(const std::string& before, const std::string& after);
/// The value of a run as shown beside the base's: for a list, the items added and removed.
std::string besideBase(const Difference& difference, std::size_t run, std::size_t base);

}  // namespace millrace::session
