#pragma once
// One step of a recipe, of whatever kind. Threads: a value.
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "backend/spec/step_kinds.h"

namespace millrace::spec {

/// One step of a recipe.
struct Step {
    std::string name;  ///< given, or the kind; the salt of its draws
    bool enabled = true;
    StepBody body;

    /// "filter", "join", "semi_join", ...
    std::string_view kind() const;
    /// Null when it is of another kind.
    template <class T>
    const T* as() const {
        return std::get_if<T>(&body);
    }
    /// The step as one line of YAML, as a person would write it: "filter: rating >= 4",
    /// "sample: {where: clicked = 0, keep: 0.1, weight: inverse}". Defaults are left out, and so
    /// are its name and whether it is enabled.
    std::string line() const;
    // What its kind says of it: StepDefaults.
    bool dropsOrWeighs() const;
    bool keepsColumns() const;
    bool makesIds() const;
    bool draws() const;
    StepReads reads() const;
    std::vector<MadeColumn> makes() const;
    const TableLookup* lookup() const;
    bool dropsRows() const;
    bool weighs() const;
    std::string_view handsOn(std::string_view made) const;
    std::int64_t idCount() const;
};

}  // namespace millrace::spec
